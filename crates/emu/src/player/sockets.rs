//! Connection setup: sockets that connect, sockets that listen, and the connection of an accepted socket.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::error::PlayerError;
use super::options::Settings;
use super::plan::PlayerHost;
use super::run::listener_token;
use crate::sys::tcp::defer_port;

/// Connections that wait to be accepted; all slots of a host may begin at once. The kernel takes at most
/// `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// Opens a connection from `local` (port 0: any) to `remote`. Returns the socket and the immediate result of the call.
/// If an earlier connection between the same ports still lingers, it uses any port.
pub(super) fn connect(
    host: &mut PlayerHost,
    local: SocketAddr,
    remote: SocketAddr,
    settings: &Settings,
) -> Result<(Socket, io::Result<()>), PlayerError> {
    match try_connect(host, local, remote, settings)? {
        (_, Err(e)) if e.kind() == io::ErrorKind::AddrNotAvailable && local.port() != 0 => {
            try_connect(host, SocketAddr::new(local.ip(), 0), remote, settings)
        }
        done => Ok(done),
    }
}

fn try_connect(
    host: &mut PlayerHost,
    local: SocketAddr,
    remote: SocketAddr,
    settings: &Settings,
) -> Result<(Socket, io::Result<()>), PlayerError> {
    let socket = prepared(host, local, settings)?;
    if local.port() == 0 {
        defer_port(&socket).map_err(PlayerError::system("defer the choice of a port"))?;
    }
    bind(host, &socket, local)?;
    let connected = match socket.connect(&remote.into()) {
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        done => done,
    };
    Ok((socket, connected))
}

fn prepared(host: &mut PlayerHost, local: SocketAddr, settings: &Settings) -> Result<Socket, PlayerError> {
    let made = (host.socket)(Domain::for_address(local), Type::STREAM, Protocol::TCP);
    let socket = made.map_err(|source| PlayerError::Socket { host: host.name.clone(), source })?;
    socket.set_nonblocking(true).map_err(PlayerError::system("make a socket nonblocking"))?;
    settings.prepare(&host.name, &socket)?;
    // A well-known port is needed again soon. Any other port must be one that no closing connection uses.
    if local.port() != 0 {
        socket.set_reuse_address(true).map_err(PlayerError::system("share a port"))?;
    }
    Ok(socket)
}

/// Binds to any port if the requested one is not free.
fn bind(host: &PlayerHost, socket: &Socket, address: SocketAddr) -> Result<(), PlayerError> {
    let refused = |source| PlayerError::Address { host: host.name.clone(), address, source };
    match socket.bind(&address.into()) {
        Err(e) if e.kind() == io::ErrorKind::AddrInUse && address.port() != 0 => {
            let any = SocketAddr::new(address.ip(), 0);
            socket.bind(&any.into()).map_err(refused)
        }
        done => done.map_err(refused),
    }
}

/// Returns the address and port of an internet socket.
pub(super) fn internet(address: io::Result<SockAddr>) -> Option<SocketAddr> {
    address.ok().and_then(|address| address.as_socket())
}

/// A socket that listens.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) socket: Socket,
    /// The address of the listener.
    address: SocketAddr,
    settings: Settings,
    /// For one connection only.
    single: bool,
    /// The connections in progress to it, by slot and serial number, by their source address.
    expected: HashMap<SocketAddr, (usize, u32)>,
}

/// All sockets that listen, by number.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    all: Vec<Option<Listener>>,
    shared: HashMap<(usize, SocketAddr), Vec<usize>>,
}

impl Listeners {
    pub(super) fn get(&mut self, index: usize) -> Option<&mut Listener> {
        self.all.get_mut(index)?.as_mut()
    }

    /// Returns an existing shared listener of the host.
    pub(super) fn find(&self, host: usize, asked: SocketAddr, settings: &Settings) -> Option<usize> {
        let fits = |&&index: &&usize| self.all[index].as_ref().is_some_and(|l| l.settings == *settings);
        self.shared.get(&(host, asked))?.iter().find(fits).copied()
    }

    /// Creates a listener of host `number`; `single` for one connection only.
    pub(super) fn listen(
        &mut self,
        (host, poll): (&mut PlayerHost, &Poll),
        number: usize,
        asked: SocketAddr,
        settings: &Settings,
        single: bool,
    ) -> Result<usize, PlayerError> {
        let socket = prepared(host, asked, settings)?;
        bind(host, &socket, asked)?;
        let refused = |source| PlayerError::Address { host: host.name.clone(), address: asked, source };
        socket.listen(BACKLOG).map_err(refused)?;
        let address = internet(socket.local_addr()).unwrap_or(asked);
        let settings = settings.clone();
        let listener = Listener { socket, address, settings, single, expected: HashMap::new() };
        let place = self.all.iter().position(Option::is_none).unwrap_or(self.all.len());
        let register = PlayerError::system("wait for connections");
        let descriptor = listener.socket.as_raw_fd();
        poll.registry()
            .register(&mut SourceFd(&descriptor), listener_token(place), Interest::READABLE)
            .map_err(register)?;
        self.all.resize_with(self.all.len().max(place + 1), || None);
        self.all[place] = Some(listener);
        if !single {
            self.shared.entry((number, asked)).or_default().push(place);
        }
        Ok(place)
    }

    /// Returns the address of a listener.
    pub(super) fn address(&self, index: usize) -> Option<SocketAddr> {
        Some(self.all.get(index)?.as_ref()?.address)
    }

    pub(super) fn expect(&mut self, index: usize, from: SocketAddr, slot: usize, serial: u32) {
        if let Some(listener) = self.get(index) {
            listener.expected.insert(from, (slot, serial));
        }
    }

    /// Returns the connection from `from`, if one is expected.
    pub(super) fn claim(&mut self, index: usize, from: SocketAddr) -> Option<(usize, u32)> {
        let claimed = self.get(index)?.expected.remove(&from);
        if claimed.is_some() {
            self.release_single(index);
        }
        claimed
    }

    /// Removes a connection that is no longer expected.
    pub(super) fn forget(&mut self, index: usize, slot: usize, serial: u32) {
        if let Some(listener) = self.get(index) {
            listener.expected.retain(|_, expected| *expected != (slot, serial));
            self.release_single(index);
        }
    }

    fn release_single(&mut self, index: usize) {
        if self.get(index).is_some_and(|listener| listener.single) {
            self.all[index] = None;
        }
    }
}
