//! Options that are set before a socket connects or listens.

use std::fs;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;

use cellway_sys::tcp;
use cellway_units::{Bytes, Rate};
use socket2::Socket;

use super::window;
use crate::Error;

/// The range of `TCP_MAXSEG`, in bytes: `TCP_MIN_MSS` to `MAX_TCP_WINDOW` of the kernel.
pub const MSS: RangeInclusive<u64> = 88..=32767;

/// The options of a TCP socket. Options that are not set do not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpOptions {
    /// The advertised receive window, held from the first few round trips on; see [`TcpOptions::hold_window`]. Of the
    /// receiving side.
    pub window: Option<Bytes>,
    /// The payload that fits the send buffer (`SO_SNDBUF`; the kernel doubles it for its own memory). Of the sending
    /// side.
    pub send_buffer: Option<Bytes>,
    /// Largest segment (`TCP_MAXSEG`), of both directions; the options of a segment come out of it, so that it carries
    /// 12 bytes less of payload with timestamps (RFC 6691).
    pub mss: Option<Bytes>,
    /// Congestion control (`TCP_CONGESTION`). Of the sending side.
    pub congestion: Option<String>,
    /// Small segments are sent at once (`TCP_NODELAY`). Of the sending side.
    pub no_delay: bool,
    /// Bound on the rate of the sender (`SO_MAX_PACING_RATE`), headers of IP and TCP included. Of the sending side.
    pub pace: Option<Rate>,
}

impl TcpOptions {
    /// Sets the options on a socket that has not yet connected or listened. Accepted sockets inherit them from the
    /// listener, except the window: call [`TcpOptions::hold_window`] on these as well.
    pub fn apply(&self, socket: &Socket) -> Result<(), Error> {
        if let Some(window) = self.window {
            window::prepare(socket, window)?;
        }
        if let Some(mss) = self.mss {
            if !MSS.contains(&mss.0) {
                return Err(Error::Mss { mss });
            }
            let mss = self.window.map_or(mss, |window| mss.min(Bytes(window.0 / 2)));
            socket.set_tcp_mss(mss.0 as u32).map_err(Error::option("the segment size"))?;
        }
        self.apply_to_sender(socket)
    }

    /// Sets the options that a sending socket accepts at any time, also once it is connected: congestion control, send
    /// buffer, no delay and pace.
    pub fn apply_to_sender(&self, socket: &Socket) -> Result<(), Error> {
        if let Some(buffer) = self.send_buffer {
            set_send_buffer(socket, buffer)?;
        }
        if let Some(name) = &self.congestion {
            set_congestion(socket, name)?;
        }
        if self.no_delay {
            socket.set_tcp_nodelay(true).map_err(Error::option("no delay"))?;
        }
        if let Some(pace) = self.pace {
            if pace.as_bps() < 8 {
                return Err(Error::Pace { pace });
            }
            tcp::set_max_pacing_rate(socket, pace.as_bps() / 8).map_err(Error::option("the pace"))?;
        }
        Ok(())
    }

    /// Sets the window again, if there is one. To be called when the connection is established and after each read: the
    /// kernel changes it with its estimate of the size of segments.
    pub fn hold_window(&self, socket: &impl AsFd) -> Result<(), Error> {
        self.window.map_or(Ok(()), |window| window::hold(socket, window))
    }
}

fn set_send_buffer(socket: &Socket, buffer: Bytes) -> Result<(), Error> {
    if tcp::force_send_buffer(socket, buffer.0).is_ok() {
        return Ok(());
    }
    // The kernel reads an int.
    let most = buffer.0.min(i32::MAX as u64) as usize;
    socket.set_send_buffer_size(most).map_err(Error::option("the send buffer"))?;
    // Above wmem_max the kernel uses the maximum without an error.
    let got = socket.send_buffer_size().map_err(Error::option("the send buffer"))? as u64 / 2;
    if got < buffer.0 { Err(Error::SendBuffer { buffer, max: Bytes(got) }) } else { Ok(()) }
}

fn set_congestion(socket: &Socket, name: &str) -> Result<(), Error> {
    socket.set_tcp_congestion(name.as_bytes()).map_err(|source| match source.raw_os_error() {
        Some(libc::ENOENT | libc::EINVAL | libc::EPERM) => {
            Error::Congestion { name: name.to_owned(), available: congestion_controls().join(", ") }
        }
        _ => Error::option("the congestion control")(source),
    })
}

/// Returns the congestion controls that the kernel has loaded.
pub fn congestion_controls() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}
