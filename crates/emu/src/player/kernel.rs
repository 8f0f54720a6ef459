//! What is asked of a TCP socket that no library of ours asks.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::ioctl::{Getter, Opcode, ioctl};

/// `SIOCOUTQ` of tcp(7) by its older name. linux/sockios.h.
const OUTPUT_QUEUE: Opcode = libc::TIOCOUTQ as Opcode;

/// Bytes in the send queue of a TCP socket that are not acknowledged; a FIN counts as one.
pub(super) fn unacknowledged(socket: &impl AsFd) -> io::Result<u64> {
    // SAFETY: the opcode is one that a TCP socket knows, and the kernel writes one `int` for it.
    let queued: libc::c_int = unsafe { ioctl(socket, Getter::<OUTPUT_QUEUE, libc::c_int>::new()) }?;
    Ok(u64::try_from(queued).unwrap_or(0))
}

/// Lets `bind` with port 0 choose an address only; `connect` then finds a port that is free towards its peer
/// (`IP_BIND_ADDRESS_NO_PORT`, ip(7)), so that ports of connections just closed do not run out.
pub(super) fn defer_port(socket: &impl AsFd) -> io::Result<()> {
    let yes: libc::c_int = 1;
    // SAFETY: the descriptor is open for as long as it is borrowed; the kernel only reads the `int`.
    let done = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const yes).cast(),
            size_of_val(&yes) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
