//! Socket options that no library of ours has. The only unsafe code of the crate.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_void, socklen_t};

/// An option: its level and its number.
type Name = (c_int, c_int);

const WINDOW_CLAMP: Name = (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP);
const INFO: Name = (libc::IPPROTO_TCP, libc::TCP_INFO);
/// asm-generic/socket.h; libc has no name for it.
const MAX_PACING_RATE: Name = (libc::SOL_SOCKET, 47);
const RECEIVE_BUFFER_FORCE: Name = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
const SEND_BUFFER_FORCE: Name = (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE);

/// The longest `struct tcp_info` that is asked for; a kernel that knows more leaves the rest out.
pub(super) const INFO_OCTETS: usize = 320;

/// `TCP_WINDOW_CLAMP`, tcp(7): bound on the advertised window in bytes.
pub(super) fn set_window_clamp(socket: BorrowedFd<'_>, bytes: c_int) -> io::Result<()> {
    set(socket, WINDOW_CLAMP, &bytes.to_ne_bytes())
}

/// `SO_MAX_PACING_RATE`, socket(7): bound on the rate of the sender in byte/s.
pub(super) fn set_max_pacing_rate(socket: BorrowedFd<'_>, bytes_per_second: u64) -> io::Result<()> {
    // unsigned long since Linux 4.20, where it has 64 bits; before that and elsewhere 32 bits.
    match set(socket, MAX_PACING_RATE, &bytes_per_second.to_ne_bytes()) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            let rate = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
            set(socket, MAX_PACING_RATE, &rate.to_ne_bytes())
        }
        done => done,
    }
}

/// `SO_RCVBUFFORCE`, socket(7): as `SO_RCVBUF`, past `rmem_max`, where permitted.
pub(super) fn force_receive_buffer(socket: BorrowedFd<'_>, bytes: c_int) -> io::Result<()> {
    set(socket, RECEIVE_BUFFER_FORCE, &bytes.to_ne_bytes())
}

/// `SO_SNDBUFFORCE`, socket(7): as `SO_SNDBUF`, past `wmem_max`, where permitted.
pub(super) fn force_send_buffer(socket: BorrowedFd<'_>, bytes: c_int) -> io::Result<()> {
    set(socket, SEND_BUFFER_FORCE, &bytes.to_ne_bytes())
}

/// `TCP_INFO`, tcp(7): the octets of `struct tcp_info`, and how many of them this kernel filled.
pub(super) fn info(socket: BorrowedFd<'_>) -> io::Result<([u8; INFO_OCTETS], usize)> {
    let mut octets = [0; INFO_OCTETS];
    let mut length = INFO_OCTETS as socklen_t;
    // SAFETY: the descriptor is open for as long as it is borrowed; the kernel writes at most `length` octets to
    // `octets`, which is as long and takes any content, and the length to `length`.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), INFO.0, INFO.1, octets.as_mut_ptr().cast::<c_void>(), &raw mut length)
    };
    if done == 0 { Ok((octets, (length as usize).min(INFO_OCTETS))) } else { Err(io::Error::last_os_error()) }
}

fn set(socket: BorrowedFd<'_>, (level, name): Name, value: &[u8]) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as it is borrowed; the kernel only reads the octets of `value`.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast::<c_void>(), value.len() as socklen_t)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
