//! The sockets on which peers are dialled and dial this gateway.

use std::net::SocketAddr;

use cellway_sys::Interest;
use socket2::{Domain, Protocol, Socket, Type};
use tracing::warn;

use super::settings::buffer;
use super::udp::Udp;
use super::{Peering, SOCKETS, failed};
use crate::config::LineRate;
use crate::error::Error;

impl Peering {
    pub(super) fn add_socket(&mut self, mut udp: Udp) -> Result<usize, Error> {
        udp.set_buffers(buffer(self.line));
        let number = self.sockets.len();
        let added = self.ready.add(&udp, SOCKETS + number as u64, Interest::Read);
        added.map_err(|error| failed("watch a UDP socket".to_owned())(std::io::Error::other(error)))?;
        let (receive, send) = udp.granted;
        if (receive.min(send) as f64) < self.line * LEAST_BUFFERED {
            warn!(
                "the kernel granted {receive} octets for receiving and {send} for sending, and 20 ms of the line are \
                 {:.0}: packets may be lost here; raise net.core.rmem_max and net.core.wmem_max, or run with \
                 CAP_NET_ADMIN",
                self.line * LEAST_BUFFERED
            );
        }
        self.sockets.push(udp);
        Ok(number)
    }

    /// Returns the socket from which `remote` can be reached, and its address in the family of that socket.
    pub(super) fn socket_for(&mut self, remote: SocketAddr) -> Result<(usize, SocketAddr), Error> {
        let reach = |(number, udp): (usize, &Udp)| Some((number, udp.calls(remote)?));
        if let Some(found) = self.sockets.iter().enumerate().find_map(reach) {
            return Ok(found);
        }
        let udp = Udp::anywhere(self.identity.secret()).map_err(failed("open a UDP socket".to_owned()))?;
        let no_route = || std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
        // Checked before the socket is stored: every attempt would leave a socket behind.
        let called = udp.calls(remote).ok_or_else(no_route).map_err(failed(format!("reach {remote} over UDP")))?;
        Ok((self.add_socket(udp)?, called))
    }
}

/// The time of the path's rate that a socket's buffers must hold so that there is no warning (s).
const LEAST_BUFFERED: f64 = 0.02;
/// The assumed rate of a path without a known one (bit/s).
const UNKNOWN: f64 = 1e9;

/// Returns the rate in octets per second.
pub(super) fn octets_per_second(rate: LineRate) -> f64 {
    let rate = match rate {
        LineRate::Fixed { rate, .. } => Some(rate),
        LineRate::Auto { most } => most,
    };
    rate.map_or(UNKNOWN, |rate| rate.as_bps() as f64) / 8.0
}

/// Opens a TCP socket for peers that dial; at the unspecified address of IPv6 it serves both versions of IP.
pub(super) fn listen(address: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.cloexec(), Some(Protocol::TCP))?;
    super::tls::tune(&socket);
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    // Bursts wait in the kernel, up to net.core.somaxconn.
    socket.listen(1024)?;
    Ok(socket)
}
