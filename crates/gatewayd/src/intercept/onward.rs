//! Connecting to a server in the name of a client.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use cellway_gateway::Reason;
use cellway_sys::tcp::defer_port;
use cellway_units::Span;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

/// How often, and after how many questions without an answer, a silent host is given up: every fifth of the time
/// that it may be silent, five times.
const KEEPALIVE_PROBES: u32 = 5;

/// Begins to connect to `server`, non-blocking: writable when done, then `take_error` says how. From `client` if
/// given, with its port where that is free: two connections of one client's port to one server cannot be told
/// apart, and ports below 1024 need CAP_NET_BIND_SERVICE.
///
/// # Errors
/// What the kernel knows at once, such as that there is no route; [`reason`] tells what to make of it.
pub(crate) fn connect(client: Option<SocketAddr>, server: SocketAddr) -> io::Result<Socket> {
    let Some(client) = client else { return begin(stream(server)?, server) };
    match from(client, server) {
        Err(e) if taken(&e) => from(SocketAddr::new(client.ip(), 0), server),
        other => other,
    }
}

/// Whether an error says that a port cannot be had.
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
    // The same port may be in use towards other servers.
    socket.set_reuse_address(true)?;
    if client.port() == 0 {
        // The port is then chosen when the server is known, and need not be free of all others.
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
        // A route of the type `unreachable` in this machine. For a packet that is forwarded Linux sends "no route
        // to destination" then, by IPv6 (ip6_pkt_discard), and the host sees ENETUNREACH.
        Err(e) if e.raw_os_error() == Some(libc::EHOSTUNREACH) && server.is_ipv6() => {
            Err(io::Error::from_raw_os_error(libc::ENETUNREACH))
        }
        Err(e) => Err(e),
    }
}

/// Options of every connection to a host. It is reset when the process dies (SO_LINGER with 0), never ended
/// cleanly; a host that has been silent for `keepalive` is asked whether it is there, and given up after twice
/// that; urgent bytes stay in their place, with their mark; small segments are not delayed.
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

/// Why a connection to a server failed.
pub(crate) fn reason(error: &io::Error) -> Reason {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Reason::Refused,
        Some(libc::ECONNRESET | libc::EPIPE) => Reason::Reset,
        // ENONET, EHOSTDOWN: other codes of "destination unreachable" (RFC 1122, section 3.2.2.1).
        Some(libc::EHOSTUNREACH | libc::EHOSTDOWN | libc::ENONET) => Reason::HostUnreachable,
        Some(libc::ENETUNREACH | libc::ENETDOWN) => Reason::NetUnreachable,
        // EPERM: a packet filter of this machine.
        Some(libc::EACCES | libc::EPERM) => Reason::Prohibited,
        // EINVAL: a route of the type `blackhole`, which for a packet that is forwarded is silence.
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

    /// Needs no privilege: from the gateway's own address.
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
