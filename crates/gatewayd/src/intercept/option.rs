//! The one socket option that no crate has a face for.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

use socket2::Socket;

/// IP_BIND_ADDRESS_NO_PORT (Linux 4.2, ip(7)): a bind to port 0 chooses no port, the connect after it does.
pub(super) fn no_port_at_bind(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: setsockopt reads the int that it is given the size of; the descriptor is open as `socket` is held.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
