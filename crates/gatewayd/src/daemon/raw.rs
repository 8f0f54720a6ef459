//! What no library asks of a socket.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, RawFd};

use socket2::Socket;

/// Bytes in the send buffer that the host has not acknowledged (`SIOCOUTQ`, tcp(7)); 0 if there is no telling.
pub(crate) fn unsent(socket: &Socket) -> u64 {
    let fd: RawFd = socket.as_raw_fd();
    let mut bytes: libc::c_int = 0;
    // SAFETY: TIOCOUTQ writes one int to the address that it is given, which is that of `bytes`.
    let status = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) };
    if status == 0 { u64::try_from(bytes).unwrap_or(0) } else { 0 }
}
