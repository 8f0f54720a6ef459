//! What no library asks of a socket.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;

/// Bytes in the send buffer that the host has not acknowledged (`SIOCOUTQ`, tcp(7)); 0 if there is no telling.
pub(crate) fn unsent(socket: &Socket) -> u64 {
    let fd: RawFd = socket.as_raw_fd();
    let mut bytes: libc::c_int = 0;
    // SAFETY: TIOCOUTQ writes one int to the address that it is given, which is that of `bytes`.
    let status = unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) };
    if status == 0 { u64::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// How many of the `there` bytes that wait to be read stand before one that is urgent; `None` if there is none among
/// them. The socket keeps urgent bytes in their place (SO_OOBINLINE).
pub(crate) fn urgent(socket: &Socket, there: u64) -> Option<u64> {
    // There is at most one mark (tcp(7)); it goes when the byte behind it is read.
    let mut asked = [PollFd::new(socket, PollFlags::PRI)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if there == 0 || poll(&mut asked, Some(&now)).is_err() || !asked[0].revents().contains(PollFlags::PRI) {
        return None;
    }
    if is_at_mark(socket) {
        return Some(0);
    }
    let fd: RawFd = socket.as_raw_fd();
    let flags = libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with MSG_TRUNC the kernel counts the bytes of a TCP socket and puts none into the buffer (tcp(7)), which may
    // therefore be null.
    let before = unsafe { libc::recv(fd, ptr::null_mut(), i32::MAX as usize, flags) };
    // It stops before the mark. If it counts all that was there, an earlier byte is missing, or more has come meanwhile.
    u64::try_from(before).ok().filter(|&before| before < there)
}

/// Whether the next byte to be read is the urgent one (`SIOCATMARK`, tcp(7)).
fn is_at_mark(socket: &Socket) -> bool {
    let fd: RawFd = socket.as_raw_fd();
    let mut is: libc::c_int = 0;
    // SAFETY: SIOCATMARK (asm-generic/sockios.h) writes one int to the address that it is given, which is that of `is`.
    let status = unsafe { libc::ioctl(fd, 0x8905, &raw mut is) };
    status == 0 && is != 0
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread::sleep;
    use std::time::Duration;

    use rustix::io::ioctl_fionread;

    use super::*;

    #[test]
    fn the_urgent_byte_is_found_before_it_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = Socket::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let socket = Socket::from(listener.accept().unwrap().0);
        socket.set_out_of_band_inline(true).unwrap();
        // Until so many bytes are there, the mark as well.
        let find = |count| {
            while ioctl_fionread(&socket).unwrap() < count {
                sleep(Duration::from_millis(1));
            }
            urgent(&socket, count)
        };
        (&host).write_all(b"abc").unwrap();
        assert_eq!((urgent(&socket, 0), find(3)), (None, None));
        host.send_out_of_band(b"U").unwrap();
        (&host).write_all(b"def").unwrap();
        assert_eq!((find(7), urgent(&socket, 3)), (Some(3), None));
        let mut read = [0; 3];
        (&socket).read_exact(&mut read).unwrap();
        assert_eq!((find(4), &read), (Some(0), b"abc"));
        (&socket).read_exact(&mut read).unwrap();
        assert_eq!((find(1), &read), (None, b"Ude"));
    }
}
