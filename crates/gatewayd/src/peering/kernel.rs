//! What the kernel tells of a TCP connection, and is told.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Counted by the kernel (`struct tcp_info` in `linux/tcp.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TcpInfo {
    /// Smoothed round-trip time.
    pub(super) rtt: Duration,
    /// Segments sent, pure acknowledgements and repetitions too.
    pub(super) segments: u32,
    /// Octets of payload sent, repetitions too.
    pub(super) octets: u64,
    /// Whether segments carry time stamps (RFC 7323).
    pub(super) stamps: bool,
}

pub(super) fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    // Newer kernels have more fields, older ones fewer: what was not filled is 0.
    let mut raw = [0_u8; 256];
    let mut length = raw.len() as libc::socklen_t;
    let fd = socket.as_fd();
    // SAFETY: the kernel writes at most `length` octets to `raw`, and the descriptor is open.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, raw.as_mut_ptr().cast(), &raw mut length)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let u32_at = |at: usize| u32::from_ne_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
    let u64_at = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| raw[at + i]));
    Ok(TcpInfo {
        stamps: raw[5] & 1 != 0,
        rtt: Duration::from_micros(u64::from(u32_at(68))),
        segments: u32_at(136),
        octets: u64_at(200),
    })
}

/// The longest wait before TCP sends again what was not acknowledged (`TCP_RTO_MAX_MS`, Linux 6.15; from 1 to 120 s).
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// Lets TCP wait for at most `longest` before it sends again. Else each wait is twice the one before, so that a line
/// that comes back is found after up to as long as it was away (RFC 6298, section 5.5).
pub(super) fn set_longest_timeout(socket: impl AsFd, longest: Duration) -> io::Result<()> {
    let ms = libc::c_int::try_from(longest.as_millis()).unwrap_or(libc::c_int::MAX).clamp(1_000, 120_000);
    let fd = socket.as_fd();
    // SAFETY: the kernel reads one int from the address of `ms`, and the descriptor is open.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            TCP_RTO_MAX_MS,
            (&raw const ms).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_was_sent_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[7; 5000]).unwrap();
        server.read_exact(&mut [0; 5000]).unwrap();
        let info = tcp_info(&client).unwrap();
        assert_eq!(info.octets, 5000);
        // SYN, the acknowledgement of SYN-ACK, and data.
        assert!(info.segments >= 2, "{info:?}");
        assert_eq!(tcp_info(&server).unwrap().octets, 0);
    }
    #[test]
    fn the_longest_timeout_is_taken_where_the_kernel_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for wanted in [Duration::ZERO, Duration::from_secs(5), Duration::from_secs(1 << 40)] {
            match set_longest_timeout(&listener, wanted) {
                // Linux before 6.15.
                Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => println!("skipped: {error}"),
                result => result.unwrap(),
            }
        }
    }
}
