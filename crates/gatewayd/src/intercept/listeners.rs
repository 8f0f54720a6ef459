//! The listeners to which intercepted connections are delivered.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use cellway_units::Span;
use socket2::{Domain, Protocol, Socket, Type};

use super::onward::prepare;
use crate::config::Intercept;
use crate::error::Error;

/// Connections that the kernel has answered and that are not yet accepted; the kernel's `somaxconn` may be less.
const BACKLOG: i32 = 4_096;

/// Transparent listeners, for IPv4 and, if the kernel has it, for IPv6. They are bound to the loopback addresses:
/// connections from outside arrive only by the rules.
#[derive(Debug)]
pub(crate) struct Listeners {
    sockets: Vec<Socket>,
}

impl Listeners {
    /// Listens in the network namespace of the calling thread.
    pub(crate) fn open(intercept: &Intercept) -> Result<Listeners, Error> {
        let port = intercept.port;
        let mut sockets = vec![listen((Ipv4Addr::LOCALHOST, port).into())?];
        if super::tool::has_ipv6() {
            sockets.push(listen((Ipv6Addr::LOCALHOST, port).into())?);
        }
        Ok(Listeners { sockets })
    }

    /// Continues listeners of [`Listeners::into_fds`].
    pub(crate) fn resume(fds: Vec<OwnedFd>) -> Listeners {
        Listeners { sockets: fds.into_iter().map(Socket::from).collect() }
    }
    /// Returns the sockets, with the connections that wait.
    pub(crate) fn into_fds(self) -> impl Iterator<Item = OwnedFd> {
        self.sockets.into_iter().map(OwnedFd::from)
    }

    /// Returns their descriptors, readable when a connection can be accepted.
    pub(crate) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.sockets.iter().map(Socket::as_fd).collect()
    }

    /// Returns the next connection, non-blocking and with the options of [`prepare`], its client, and the server that
    /// the client connected to, if there is one.
    pub(crate) fn accept(&self) -> io::Result<Option<(Socket, SocketAddr, SocketAddr)>> {
        for listener in &self.sockets {
            loop {
                match accept(listener) {
                    Ok(taken) => return Ok(Some(taken)),
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    // It was reset before it was accepted; others may be behind it.
                    Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(None)
    }
}

fn accept(listener: &Socket) -> io::Result<(Socket, SocketAddr, SocketAddr)> {
    let (socket, client) = listener.accept()?;
    socket.set_nonblocking(true)?;
    let internet = |address: socket2::SockAddr| address.as_socket().ok_or(io::Error::from(io::ErrorKind::InvalidData));
    // The local address of a connection that was delivered here is the destination of the client.
    let server = internet(socket.local_addr()?)?;
    Ok((socket, internet(client)?, server))
}

fn listen(address: SocketAddr) -> Result<Socket, Error> {
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        if address.is_ipv4() {
            socket.set_ip_transparent_v4(true)?;
        } else {
            socket.set_only_v6(true)?;
            socket.set_ip_transparent_v6(true)?;
        }
        // Accepted sockets inherit the options of the listener: so the kernel also resets connections that a dying
        // daemon has not accepted. The keep-alive time is set on each socket.
        prepare(&socket, Span::from_secs(7_200))?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket)
    };
    open().map_err(|source| Error::Io { what: format!("a transparent listener (CAP_NET_ADMIN) on {address}"), source })
}
