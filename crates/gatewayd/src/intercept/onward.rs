//! Connections to servers in the name of clients.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use cellway_gateway::Reason;
use cellway_sys::tcp::defer_port;
use cellway_units::Span;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

/// The number of keep-alive probes without an answer after which a host counts as unresponsive, each after a fifth of
/// the time that it may send nothing.
const KEEPALIVE_PROBES: u32 = 5;

/// Begins to connect to `server`, non-blocking: the socket is writable when the attempt ends, and `take_error` returns
/// the result. From `client` if given, with its port if that is free: two connections of one client's port to one
/// server cannot be told apart, and ports below 1024 need CAP_NET_BIND_SERVICE.
///
/// # Errors
/// Errors that the kernel reports at once, such as that there is no route; [`reason`] converts them.
pub(crate) fn connect(client: Option<SocketAddr>, server: SocketAddr) -> io::Result<Socket> {
    let Some(client) = client else { return begin(stream(server)?, server) };
    match from(client, server) {
        Err(e) if taken(&e) => from(SocketAddr::new(client.ip(), 0), server),
        other => other,
    }
}

/// Returns true if the error means that a port is not available.
fn taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EADDRINUSE | libc::EADDRNOTAVAIL))
}

fn from(client: SocketAddr, server: SocketAddr) -> io::Result<Socket> {
    let socket = stream(server)?;
    if server.is_ipv4() {
        socket.set_ip_transparent_v4(true)?;
    } else {
        socket.set_ip_transparent_v6(true)?;
    }
    // Connections to other servers may use the same port.
    socket.set_reuse_address(true)?;
    if client.port() == 0 {
        // The kernel then chooses the port when the server is known, and it need not be unused by all others.
        defer_port(&socket)?;
    }
    socket.bind(&client.into()).map_err(|e| match e.raw_os_error() {
        // A privileged port, and no privilege for it.
        Some(libc::EACCES) => io::Error::from_raw_os_error(libc::EADDRINUSE),
        _ => e,
    })?;
    begin(socket, server)
}

fn stream(server: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_linger(Some(Duration::ZERO))?;
    Ok(socket)
}

fn begin(socket: Socket, server: SocketAddr) -> io::Result<Socket> {
    match socket.connect(&server.into()) {
        Ok(()) => Ok(socket),
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
        // A route of the type `unreachable` in this machine. For a forwarded packet of IPv6 Linux then sends "no route
        // to destination" (ip6_pkt_discard), and the host gets ENETUNREACH.
        Err(e) if e.raw_os_error() == Some(libc::EHOSTUNREACH) && server.is_ipv6() => {
            Err(io::Error::from_raw_os_error(libc::ENETUNREACH))
        }
        Err(e) => Err(e),
    }
}

/// Sets the options of every connection to a host. It is reset when the process dies (SO_LINGER with 0), never ended
/// cleanly; a host that has sent nothing for `keepalive` gets keep-alive probes, and is timed out after twice that;
/// urgent bytes stay in the stream, with their mark; small segments are not delayed.
pub(crate) fn prepare(socket: &Socket, keepalive: Span) -> io::Result<()> {
    // The kernel counts in seconds, up to 32767.
    let silent =
        Duration::from_secs_f64(keepalive.as_secs_f64()).clamp(Duration::from_secs(1), Duration::from_secs(32_767));
    let keepalive = TcpKeepalive::new()
        .with_time(silent)
        .with_interval((silent / KEEPALIVE_PROBES).max(Duration::from_secs(1)))
        .with_retries(KEEPALIVE_PROBES);
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_out_of_band_inline(true)?;
    socket.set_tcp_nodelay(true)
}

/// Returns the reason for which a connection to a server failed.
pub(crate) fn reason(error: &io::Error) -> Reason {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Reason::Refused,
        Some(libc::ECONNRESET | libc::EPIPE) => Reason::Reset,
        // ENONET, EHOSTDOWN: other codes of "destination unreachable" (RFC 1122, section 3.2.2.1).
        Some(libc::EHOSTUNREACH | libc::EHOSTDOWN | libc::ENONET) => Reason::HostUnreachable,
        Some(libc::ENETUNREACH | libc::ENETDOWN) => Reason::NetUnreachable,
        // EPERM: a packet filter of this machine.
        Some(libc::EACCES | libc::EPERM) => Reason::Prohibited,
        // EINVAL: a route of the type `blackhole`, which drops forwarded packets without an answer.
        Some(libc::ETIMEDOUT | libc::EINVAL) => Reason::TimedOut,
        // No descriptor, memory or port is left.
        Some(
            libc::EMFILE
            | libc::ENFILE
            | libc::ENOBUFS
            | libc::ENOMEM
            | libc::EAGAIN
            | libc::EADDRINUSE
            | libc::EADDRNOTAVAIL,
        ) => Reason::Busy,
        _ => Reason::Refused,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn each_error_has_its_reason() {
        for (errno, expected) in [
            (libc::ECONNREFUSED, Reason::Refused),
            (libc::ECONNRESET, Reason::Reset),
            (libc::EHOSTUNREACH, Reason::HostUnreachable),
            (libc::ENETUNREACH, Reason::NetUnreachable),
            (libc::EACCES, Reason::Prohibited),
            (libc::EPERM, Reason::Prohibited),
            (libc::ETIMEDOUT, Reason::TimedOut),
            (libc::EMFILE, Reason::Busy),
            (libc::EADDRNOTAVAIL, Reason::Busy),
            (libc::EPROTO, Reason::Refused),
        ] {
            assert_eq!(reason(&io::Error::from_raw_os_error(errno)), expected, "{errno}");
        }
    }

    /// Uses the gateway's own address, which needs no privilege.
    #[test]
    fn a_prepared_connection_resets_when_it_is_dropped() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = connect(None, listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        prepare(&socket, Span::from_secs(50)).unwrap();
        assert_eq!(socket.linger().unwrap(), Some(Duration::ZERO));
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(50));
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(10));
        assert!(socket.out_of_band_inline().unwrap() && socket.tcp_nodelay().unwrap());
        drop(TcpStream::from(socket));
        let error = io::Read::read(&mut far, &mut [0; 1]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
}
