//! Sockets that no longer answer, because the other host of the connection has vanished: the host here gets no answer,
//! as it would without gateways, until its kernel or its program closes the connection.

use std::io;

use cellway_units::Span;
use socket2::{SockFilter, Socket};

/// The time after which the host has closed the connection, 18 minutes: Linux retransmits unacknowledged data for 924.6
/// s by default (`net.ipv4.tcp_retries2`), and then waits once more, for 120 s at most.
pub(super) const BLACKHOLED: Span = Span::from_secs(1_080);
/// One in this many of all connections may stop answering; more are reset.
pub(super) const SHARE: u32 = 8;

/// Stops all packets of a socket: segments of the host get neither acknowledgements nor answers, and no keep-alive
/// probes are sent. All bytes written must have been acknowledged, or the kernel would retransmit them.
pub(super) fn drop_packets(socket: &Socket) -> io::Result<()> {
    // A filter of a TCP socket sees the header (RFC 9293, section 3.1). A reset passes: the host has closed the
    // connection. So does a SYN, which makes the host's kernel reset the old connection (RFC 5961, section 4.2).
    const FLAGS_AT: u32 = 13;
    const SYN_OR_RST: u32 = 0x02 | 0x04;
    let step = |code: u32, yes, no, k| SockFilter::new(code as u16, yes, no, k);
    let filter = [
        step(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0, 0, FLAGS_AT),
        step(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 0, 1, SYN_OR_RST),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ];
    socket.set_keepalive(false)?;
    socket.attach_filter(&filter)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    /// Returns the error of the socket; none if there is none within some seconds.
    fn fails(socket: &Socket) -> Option<io::Error> {
        (0..500).find_map(|_| {
            sleep(Duration::from_millis(10));
            socket.take_error().unwrap()
        })
    }

    #[test]
    fn a_blackholed_socket_acknowledges_nothing_and_receives_a_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = Socket::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let socket = Socket::from(listener.accept().unwrap().0);
        drop_packets(&socket).unwrap();
        // The shortest timeout that the kernel accepts.
        host.set_tcp_user_timeout(Some(Duration::from_millis(300))).unwrap();
        host.send(b"anybody there?").unwrap();
        assert_eq!(fails(&host).map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
        let host = Socket::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let socket = Socket::from(listener.accept().unwrap().0);
        drop_packets(&socket).unwrap();
        host.set_linger(Some(Duration::ZERO)).unwrap();
        drop(host);
        assert_eq!(fails(&socket).map(|error| error.kind()), Some(io::ErrorKind::ConnectionReset));
    }
}
