//! A connection whose other host has vanished: its own host is left without an answer, as it would be without
//! gateways, until its kernel gives up or the user of its program does.

use std::io;

use cellway_units::Span;
use socket2::{SockFilter, Socket};

use super::Daemon;
use super::table::Token;
use super::timers::Due;

/// How long the host may take to find out, 18 minutes: Linux repeats what is not acknowledged for 924.6 s by
/// default (`net.ipv4.tcp_retries2`), and then waits once more, for 120 s at most.
const SILENCE: Span = Span::from_secs(1_080);
/// One in so many of all connections may be silent; further ones are reset.
const SHARE: u32 = 8;

/// Makes a socket deaf and dumb: nothing from the host is acknowledged or answered, and it asks nothing. All that was
/// written must have been acknowledged, or it would be sent again.
pub(crate) fn silence(socket: &Socket) -> io::Result<()> {
    // A filter of a TCP socket sees the header (RFC 9293, section 3.1). A reset passes: the host has ended it. So does
    // an opening, which makes the host's kernel reset the old connection (RFC 5961, section 4.2).
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

impl Daemon {
    /// The host of a connection has all its bytes: it hears nothing more.
    pub(crate) fn fall_silent(&mut self, token: Token) {
        let most = self.config.limits.connections / SHARE;
        let Some(connection) = self.table.get_mut(token) else { return };
        if self.tally.silent < most && connection.fall_silent().is_ok() {
            tracing::debug!(flow = connection.id.0, "left without an answer");
            self.tally.silent += 1;
            self.timers.add(self.now + SILENCE, Due::Silence(token));
        } else {
            self.remove(token);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    /// The error that comes at the socket; none if none does within some seconds.
    fn fails(socket: &Socket) -> Option<io::Error> {
        (0..500).find_map(|_| {
            sleep(Duration::from_millis(10));
            socket.take_error().unwrap()
        })
    }

    #[test]
    fn a_silent_socket_acknowledges_nothing_and_hears_a_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = Socket::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let socket = Socket::from(listener.accept().unwrap().0);
        silence(&socket).unwrap();
        // The least that the kernel takes for giving up.
        host.set_tcp_user_timeout(Some(Duration::from_millis(300))).unwrap();
        host.send(b"anybody there?").unwrap();
        assert_eq!(fails(&host).map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
        let host = Socket::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let socket = Socket::from(listener.accept().unwrap().0);
        silence(&socket).unwrap();
        host.set_linger(Some(Duration::ZERO)).unwrap();
        drop(host);
        assert_eq!(fails(&socket).map(|error| error.kind()), Some(io::ErrorKind::ConnectionReset));
    }
}
