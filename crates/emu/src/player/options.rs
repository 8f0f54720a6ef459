//! TCP of the scenario, as far as a kernel can follow it.

use cellway_apps::Side;
use cellway_measure::tcp::TcpOptions;
use cellway_scenario::{TcpSpec, TcpVariant};
use cellway_units::Bytes;
use rustix::net::sockopt;
use socket2::Socket;

use super::error::PlayerError;

/// TCP of one end of a slot's connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostTcp {
    /// Window, buffer, segment size, congestion control, Nagle, pace.
    pub options: TcpOptions,
    /// Each segment is acknowledged at once. Best effort: the kernel leaves this mode by itself, so it is asked
    /// anew after each read (`TCP_QUICKACK`, tcp(7)); segments that come before the next read may share an
    /// acknowledgement.
    pub quick_ack: bool,
}

impl HostTcp {
    /// What a kernel can be told of `spec`. It has its own initial window and threshold, duplicate threshold,
    /// retransmission timer, limited transmit and restart after idle, and the delay of its acknowledgements is its own.
    ///
    /// Window scale, timestamps and selective acknowledgements are settings of a whole host
    /// (`net.ipv4.tcp_window_scaling`, `tcp_timestamps`, `tcp_sack`): see [`HostTcp::selective`] for the last.
    pub fn from_spec(spec: &TcpSpec) -> HostTcp {
        let congestion = match spec.variant {
            // The kernel has no Tahoe; it recovers as NewReno or by SACK, whatever the variant.
            TcpVariant::Tahoe | TcpVariant::Reno | TcpVariant::NewReno | TcpVariant::Sack => "reno",
        };
        let options = TcpOptions {
            window: Some(spec.window),
            send_buffer: Some(spec.send_buffer),
            mss: Some(spec.mss),
            congestion: Some(congestion.to_owned()),
            no_delay: !spec.nagle,
            ..TcpOptions::default()
        };
        HostTcp { options, quick_ack: spec.delayed_ack.is_none() }
    }

    /// Whether `spec` wants selective acknowledgements: for `net.ipv4.tcp_sack` of its hosts.
    pub fn selective(spec: &TcpSpec) -> bool {
        match spec.variant {
            TcpVariant::Tahoe | TcpVariant::Reno | TcpVariant::NewReno => false,
            TcpVariant::Sack => true,
        }
    }
}

/// The options of one socket: those of its host, and whether its application reads by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) tcp: HostTcp,
    /// What the application leaves in the receive buffer is to close the window.
    pub(super) reads_itself: bool,
}

impl Settings {
    /// Before the socket connects or listens.
    pub(super) fn prepare(&self, host: &str, socket: &Socket) -> Result<(), PlayerError> {
        let refused = |source| PlayerError::Options { host: host.to_owned(), source };
        self.tcp.options.apply(socket).map_err(refused)?;
        if let Some(window) = self.tcp.options.window.filter(|_| self.reads_itself) {
            bound_buffer(socket, window).map_err(PlayerError::system("set the receive buffer"))?;
        }
        Ok(())
    }

    /// When the connection stands, and after each read.
    pub(super) fn refresh(&self, socket: &Socket) {
        // Either is refused only by a connection that is over, which the next call on it tells.
        let _ = self.tcp.options.hold_window(socket);
        if self.tcp.quick_ack {
            let _ = sockopt::set_tcp_quickack(socket, true);
        }
    }
}

/// A receive buffer in which about `window` bytes find room. The kernel doubles the size for the memory around
/// the payload and counts that memory, so it holds from half to twice as much payload, by the size of the segments.
fn bound_buffer(socket: &Socket, window: Bytes) -> std::io::Result<()> {
    let size = usize::try_from(window.0).unwrap_or(usize::MAX);
    if sockopt::set_socket_recv_buffer_size_force(socket, size).is_err() {
        socket.set_recv_buffer_size(size)?;
    }
    Ok(())
}

/// The place of a side in an array of two.
pub(super) const fn at(side: Side) -> usize {
    match side {
        Side::Originator => 0,
        Side::Responder => 1,
    }
}

pub(super) const SIDES: [Side; 2] = [Side::Originator, Side::Responder];
