//! A receive window of an exact number of bytes.
//!
//! The window that Linux advertises is bound by `TCP_WINDOW_CLAMP`, by the receive buffer, and by a threshold that
//! grows as segments arrive. A clamp does not persist: since 6.x the kernel sets it again from the size of the buffer
//! whenever its estimate of the memory of a byte of payload changes (`tcp_measure_rcv_mss`), and each time it lets the
//! buffer grow (`tcp_rcv_space_adjust`). So the clamp is set
//!
//! 1. before the SYN, which also keeps the scale of the window small: windows are advertised in steps of 2^scale bytes,
//!    rounded up. Without a scale they would be rounded down to whole segments, 7240 bytes instead of 8 KiB; so the
//!    clamp here is at least 64 KiB, which gives a scale of 1;
//! 2. when the connection is established; and
//! 3. after each read: [`hold`].
//!
//! Measured on Linux 6.18 over a round trip of 50 ms, sender with `TCP_NODELAY`: bytes in flight, from the second
//! second on, of 8192, 65536 and 1 048 576, each exact. Before that, windows up to 64 KiB (or 4 % above W) are
//! advertised, as an advertised window is never withdrawn. It may happen later, too, when the sizes of segments change
//! between two reads: on loopback 1 MiB was 12 % too large for a moment, in 1 run of about 20. The segment size is held
//! to half of W, which has no effect on a path with frames of 1500 bytes. Without `TCP_NODELAY` a sender sends full
//! segments only.

use std::fs;
use std::io;
use std::os::fd::AsFd;

use cellway_sys::tcp;
use cellway_units::Bytes;
use socket2::Socket;

use crate::Error;

/// The smallest window: below it the kernel's own minimum applies.
pub const WINDOW_MIN: Bytes = Bytes(4 << 10);
/// The largest window that TCP can advertise, but for its last bit. RFC 7323, section 2.3.
pub const WINDOW_MAX: Bytes = Bytes(1 << 29);

/// The least clamp with which the window gets a scale above 0.
const SCALED: u64 = 1 << 16;
/// Memory per byte of window, so that the buffer is not the limit: segments of 512 bytes take two and a half times
/// their payload. The kernel doubles the value of `SO_RCVBUF`.
const MEMORY: u64 = 4;

/// Sets the window before connect or listen.
pub(super) fn prepare(socket: &Socket, window: Bytes) -> Result<(), Error> {
    if !(WINDOW_MIN..=WINDOW_MAX).contains(&window) {
        return Err(Error::Window { window });
    }
    make_room(socket, Bytes(window.0.max(SCALED)))?;
    // The first windows may be larger than W, and a sender with segments of up to half of those would wait for a timer
    // before each that does not fit: loopback and jumbo frames.
    let segment = window.0 / 2;
    if segment < *super::MSS.end() {
        socket.set_tcp_mss(segment as u32).map_err(Error::option("the segment size"))?;
    }
    clamp(socket, window.0.max(SCALED)).map_err(Error::option("the receive window"))
}

/// Sets the window after connect, accept and each read.
pub(super) fn hold(socket: &impl AsFd, window: Bytes) -> Result<(), Error> {
    clamp(socket, window.0).map_err(Error::option("the receive window"))
}

fn clamp(socket: &impl AsFd, bytes: u64) -> io::Result<()> {
    tcp::set_window_clamp(socket, bytes)
}

/// Sets a receive buffer that does not limit the window: a fixed one if permitted, else the kernel's own, which grows
/// up to `tcp_rmem`.
fn make_room(socket: &Socket, window: Bytes) -> Result<(), Error> {
    let asked = window.0 * MEMORY / 2;
    if tcp::force_receive_buffer(socket, asked).is_ok() {
        return Ok(());
    }
    let limit = |path: &str| {
        let text = fs::read_to_string(path).ok()?;
        text.split_whitespace().next_back()?.parse::<u64>().ok()
    };
    if limit("/proc/sys/net/core/rmem_max").is_some_and(|max| asked <= max) {
        let done = socket.set_recv_buffer_size(asked as usize);
        return done.map_err(Error::option("the receive buffer"));
    }
    match limit("/proc/sys/net/ipv4/tcp_rmem") {
        Some(max) if asked > max => Err(Error::ReceiveBuffer { window, asked: Bytes(asked), max: Bytes(max) }),
        _ => Ok(()),
    }
}
