//! The two hosts of an event, and their observations.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use cellway_sys::{Child, Group};
use socket2::Socket;

use crate::common::tcp::{accept, listen, outcome, socket};
use crate::common::world::{CLIENTS, SERVERS, Version, World, address, start};

/// The observations of a host, one per line.
pub(crate) type Seen = Vec<String>;

/// Set in the process of a host that is to be killed: the server's address.
pub(crate) const DIES: &str = "CELLWAY_TEST_DIES";

/// The location of events: a network and a version of IP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) world: &'a World,
    pub(crate) version: Version,
}

impl Scene<'_> {
    /// Returns the client's address, with a port.
    pub(crate) fn client(&self, port: u16) -> SocketAddr {
        (address(self.version, CLIENTS, 2), port).into()
    }

    /// Returns the server's address, with a port.
    pub(crate) fn server(&self, port: u16) -> SocketAddr {
        (address(self.version, SERVERS, 2), port).into()
    }

    /// Opens a listener at the server.
    pub(crate) fn listen(&self, port: u16, backlog: i32) -> (Socket, SocketAddr) {
        let at = self.server(port);
        self.world.server.run(move || listen(at, backlog))
    }

    /// Opens a socket of the client.
    pub(crate) fn socket(&self) -> Socket {
        let at = self.client(0).ip();
        self.world.client.run(move || socket(at))
    }

    /// Connects, runs `client` and `server` on the two ends at once, and returns the observations of both.
    pub(crate) fn meet(
        &self,
        client: impl FnOnce(Socket) -> Seen + Send + 'static,
        server: impl FnOnce(Socket) -> Seen + Send + 'static,
    ) -> Seen {
        self.meet_with(|_| {}, client, server)
    }

    /// Connects like [`Scene::meet`], with both sockets prepared before they connect or listen.
    pub(crate) fn meet_with(
        &self,
        prepare: impl Fn(&Socket),
        client: impl FnOnce(Socket) -> Seen + Send + 'static,
        server: impl FnOnce(Socket) -> Seen + Send + 'static,
    ) -> Seen {
        let (listener, at) = self.listen(0, 16);
        prepare(&listener);
        let socket = self.socket();
        prepare(&socket);
        let server = start(&self.world.server, move || match accept(&listener) {
            Ok(socket) => server(socket),
            Err(error) => vec![format!("accept: {}", outcome::<()>(&Err(error)))],
        });
        let client = start(&self.world.client, move || match socket.connect(&at.into()) {
            Ok(()) => client(socket),
            Err(error) => vec![format!("connect: {}", outcome::<()>(&Err(error)))],
        });
        both(client.join().unwrap(), server.join().unwrap())
    }

    /// Connects to `to` from the client. Returns the result.
    pub(crate) fn try_to(&self, to: SocketAddr) -> Seen {
        let socket = self.socket();
        let tried = start(&self.world.client, move || outcome(&socket.connect(&to.into())));
        vec![format!("client: connect: {}", tried.join().unwrap())]
    }

    /// Starts a client in another process, which connects to `to`, sends 1000 B of the stream 1 and waits for ever.
    /// With `unread` it waits until 1000 B have arrived, which it does not read. Returns when it reports that it has
    /// arrived there.
    pub(crate) fn mortal(&self, to: SocketAddr, unread: bool) -> io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--exact", "a_host_that_is_killed", "--nocapture", "--test-threads=1"]);
        command.env(DIES, format!("{to} {unread}")).stdout(Stdio::piped());
        let mut child = self.world.client.spawn(command, Group::Own).map_err(io::Error::other)?;
        let lines = BufReader::new(child.take_stdout().unwrap()).lines();
        for line in lines {
            if line?.contains("ready to die") {
                return Ok(child);
            }
        }
        Err(io::Error::other("the client did not come so far"))
    }
}

/// Returns the observations of both hosts, each line with its host.
pub(crate) fn both(client: Seen, server: Seen) -> Seen {
    let client = client.into_iter().map(|line| format!("client: {line}"));
    client.chain(server.into_iter().map(|line| format!("server: {line}"))).collect()
}
