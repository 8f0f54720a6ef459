//! Statistics and options of TCP sockets under Linux for which no library has a safe function.
#![allow(unsafe_code)]

mod info;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_ulong, socklen_t};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::raw::check;

pub use info::Info;

/// An option: its level and its number.
type Name = (c_int, c_int);

const INFO: Name = (libc::IPPROTO_TCP, libc::TCP_INFO);
const WINDOW_CLAMP: Name = (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP);
/// linux/tcp.h, since Linux 6.15; libc has no name for it.
const RTO_MAX_MS: Name = (libc::IPPROTO_TCP, 44);
const BIND_ADDRESS_NO_PORT: Name = (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
const MAX_PACING_RATE: Name = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
const RECEIVE_BUFFER_FORCE: Name = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
const SEND_BUFFER_FORCE: Name = (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE);

/// asm-generic/sockios.h; libc has no name for it.
const SIOCATMARK: c_ulong = 0x8905;

/// Returns the bytes in the send queue that the other end has not acknowledged; a FIN counts as one (`SIOCOUTQ` of
/// tcp(7), by its older name).
pub fn unacknowledged(socket: impl AsFd) -> io::Result<u64> {
    // SAFETY: for TIOCOUTQ a socket writes one int.
    let queued = unsafe { ask(socket.as_fd(), libc::TIOCOUTQ as c_ulong) }?;
    Ok(u64::try_from(queued).unwrap_or(0))
}

/// Returns the number of bytes before the urgent one among the `there` bytes that wait to be read; `None` if none of
/// these is urgent. The socket must keep urgent bytes in the stream (`SO_OOBINLINE`).
pub fn urgent(socket: impl AsFd, there: u64) -> io::Result<Option<u64>> {
    let socket = socket.as_fd();
    // There is at most one mark (tcp(7)); it is cleared when the byte behind it is read.
    let mut asked = [PollFd::new(&socket, PollFlags::PRI)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if there == 0 || poll(&mut asked, Some(&now))? == 0 || !asked[0].revents().contains(PollFlags::PRI) {
        return Ok(None);
    }
    if is_at_mark(socket)? {
        return Ok(Some(0));
    }
    let flags = libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: the descriptor is open for as long as it is borrowed. With MSG_TRUNC the kernel counts the bytes of a TCP
    // socket and copies none into the buffer (tcp(7)), which may therefore be null.
    let before = unsafe { libc::recv(socket.as_raw_fd(), ptr::null_mut(), i32::MAX as usize, flags) };
    let before = u64::try_from(before).map_err(|_| io::Error::last_os_error())?;
    // recv stops before the mark. If it counts all `there` bytes, an earlier byte is missing, or more have arrived
    // meanwhile.
    Ok(Some(before).filter(|&before| before < there))
}

/// Returns true if the next byte to be read is the urgent one (`SIOCATMARK`, tcp(7)).
fn is_at_mark(socket: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: for SIOCATMARK a socket writes one int.
    Ok(unsafe { ask(socket, SIOCATMARK) }? != 0)
}

/// Lets `bind` with port 0 choose an address only; `connect` then finds a port that is free towards its peer
/// (`IP_BIND_ADDRESS_NO_PORT`, ip(7), Linux 4.2), so that recently closed connections do not exhaust the ports.
pub fn defer_port(socket: impl AsFd) -> io::Result<()> {
    set(socket.as_fd(), BIND_ADDRESS_NO_PORT, &c_int::from(true).to_ne_bytes())
}

/// Bounds the retransmission timeout by `longest` (`TCP_RTO_MAX_MS`, Linux 6.15), clamped to the range from 1 to 120 s.
/// Without it each timeout is twice the one before, so that TCP may notice the end of an outage only after the duration
/// of the outage again (RFC 6298, section 5.5).
pub fn set_longest_timeout(socket: impl AsFd, longest: Duration) -> io::Result<()> {
    let ms = c_int::try_from(longest.as_millis()).unwrap_or(c_int::MAX).clamp(1_000, 120_000);
    set(socket.as_fd(), RTO_MAX_MS, &ms.to_ne_bytes())
}

/// Bounds the advertised window, in bytes (`TCP_WINDOW_CLAMP`, tcp(7)).
pub fn set_window_clamp(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    set(socket.as_fd(), WINDOW_CLAMP, &whole(bytes).to_ne_bytes())
}

/// Bounds the rate of the sender, in bytes per second (`SO_MAX_PACING_RATE`, socket(7)).
pub fn set_max_pacing_rate(socket: impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    let socket = socket.as_fd();
    // unsigned long since Linux 4.20, where it has 64 bits; before that and elsewhere 32 bits.
    match set(socket, MAX_PACING_RATE, &bytes_per_second.to_ne_bytes()) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            let rate = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
            set(socket, MAX_PACING_RATE, &rate.to_ne_bytes())
        }
        done => done,
    }
}

/// Sets the receive buffer, in bytes, past `rmem_max`, where permitted (`SO_RCVBUFFORCE`, socket(7)).
pub fn force_receive_buffer(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    set(socket.as_fd(), RECEIVE_BUFFER_FORCE, &whole(bytes).to_ne_bytes())
}

/// Sets the send buffer, in bytes, past `wmem_max`, where permitted (`SO_SNDBUFFORCE`, socket(7)).
pub fn force_send_buffer(socket: impl AsFd, bytes: u64) -> io::Result<()> {
    set(socket.as_fd(), SEND_BUFFER_FORCE, &whole(bytes).to_ne_bytes())
}

/// Returns `bytes` as an int, at most the largest one.
fn whole(bytes: u64) -> c_int {
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

/// Fills `octets` with the value of an option as far as the kernel has it, and leaves the rest unchanged.
fn get(socket: BorrowedFd<'_>, (level, name): Name, octets: &mut [u8]) -> io::Result<()> {
    let mut length = octets.len() as socklen_t;
    // SAFETY: the descriptor is open for as long as it is borrowed; the kernel writes at most `length` octets to
    // `octets`, which is as long and takes any content, and their number to `length`.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, octets.as_mut_ptr().cast(), &raw mut length) })
}

fn set(socket: BorrowedFd<'_>, (level, name): Name, value: &[u8]) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as it is borrowed; the kernel only reads the octets of `value`.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as socklen_t) })
}

/// Returns the int that the kernel writes for a request of ioctl(2).
///
/// # Safety
/// For `request` the kernel writes one int, and has no other effect.
unsafe fn ask(socket: BorrowedFd<'_>, request: c_ulong) -> io::Result<c_int> {
    let mut answer: c_int = 0;
    // SAFETY: the descriptor is open for as long as it is borrowed. The caller guarantees that one int is written, and
    // the address is that of one. The type of a request is that of the C library.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &raw mut answer) })?;
    Ok(answer)
}

#[cfg(test)]
mod tests;
