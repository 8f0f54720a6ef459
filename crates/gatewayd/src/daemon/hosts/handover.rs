//! The connections of hosts in the record of a handover.

use std::io;

use cellway_gateway::{FlowId, Reason, Server};
use cellway_sys::{Parcel, Readiness};
use serde::{Deserialize, Serialize};
use socket2::Socket;

use super::answer::ACCEPT;
use super::blackhole::BLACKHOLED;
use super::connection::Connection;
use super::halves::Stream;
use super::ring::Ring;
use super::state::{Ending, State};
use super::{Hosts, Token};
use crate::daemon::context::Context;
use crate::daemon::lookup::Lookups;
use crate::daemon::outbox::Event;
use crate::daemon::timers::Due;
use crate::intercept::Syn;

/// All connections. Lists, counts and timers follow from them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostsRecord {
    connections: Vec<ConnectionRecord>,
    /// Bytes of flows without a connection, for each peer.
    early: Vec<Vec<(FlowId, Ring)>>,
}

/// A connection without its socket.
#[derive(Debug, Serialize, Deserialize)]
struct ConnectionRecord {
    connection: Box<Connection>,
    state: StateRecord,
    /// True while we poll whether the host acknowledges its last bytes.
    watched: bool,
}

/// [`State`], with indices of sockets. The layout of a handover has the renamed ones.
#[derive(Debug, Serialize, Deserialize)]
enum StateRecord {
    Held(Syn),
    Arrived(u32),
    Released(Option<Ending>),
    LookingUp,
    Connecting(u32),
    Open(u32),
    #[serde(rename = "Leaving")]
    Closing(u32, Ending),
    #[serde(rename = "Silent")]
    Blackholed(u32),
    #[serde(rename = "Gone")]
    Closed,
}

impl HostsRecord {
    /// Returns the number of connections.
    pub(crate) fn len(&self) -> usize {
        self.connections.len()
    }
}

impl StateRecord {
    fn of(state: State, parcel: &mut Parcel) -> StateRecord {
        let mut place = |stream: Stream| parcel.add(stream.socket);
        match state {
            State::Held(syn) => StateRecord::Held(syn),
            State::Arrived(stream) => StateRecord::Arrived(place(stream)),
            State::Released(how) => StateRecord::Released(how),
            State::LookingUp => StateRecord::LookingUp,
            State::Connecting(stream) => StateRecord::Connecting(place(stream)),
            State::Open(stream) => StateRecord::Open(place(stream)),
            State::Closing { stream, how } => StateRecord::Closing(place(stream), how),
            State::Blackholed(stream) => StateRecord::Blackholed(place(stream)),
            State::Closed => StateRecord::Closed,
        }
    }
    fn state(self, parcel: &mut Parcel) -> io::Result<State> {
        let mut stream = |place| Ok::<_, io::Error>(Stream::new(Socket::from(parcel.take(place)?)));
        Ok(match self {
            StateRecord::Held(syn) => State::Held(syn),
            StateRecord::Arrived(place) => State::Arrived(stream(place)?),
            StateRecord::Released(how) => State::Released(how),
            StateRecord::LookingUp => State::LookingUp,
            StateRecord::Connecting(place) => State::Connecting(stream(place)?),
            StateRecord::Open(place) => State::Open(stream(place)?),
            StateRecord::Closing(place, how) => State::Closing { stream: stream(place)?, how },
            StateRecord::Blackholed(place) => State::Blackholed(stream(place)?),
            StateRecord::Closed => State::Closed,
        })
    }
}

impl ConnectionRecord {
    fn of(mut connection: Box<Connection>, parcel: &mut Parcel) -> ConnectionRecord {
        let state = StateRecord::of(std::mem::take(&mut connection.state), parcel);
        connection.listed = false;
        ConnectionRecord { state, watched: connection.watch.take().is_some(), connection }
    }
}

impl Hosts {
    /// Moves the sockets of all connections into `parcel`; returns everything else of them.
    pub(crate) fn hand_over(&mut self, parcel: &mut Parcel) -> HostsRecord {
        let mut connections: Vec<Box<Connection>> = self.table.drain().collect();
        // Of two connections between the same addresses the open one must be found, not the one that the state machine
        // has closed.
        connections.sort_by_key(|connection| connection.closed.is_none());
        let early = self.flows.iter_mut().map(|(_, flows)| flows.early.drain().collect()).collect();
        HostsRecord {
            connections: connections.into_iter().map(|connection| ConnectionRecord::of(connection, parcel)).collect(),
            early,
        }
    }

    /// Continues the connections of a record.
    ///
    /// # Errors
    /// A socket is missing in `parcel`, or a peer.
    pub(crate) fn resume(
        &mut self,
        record: HostsRecord,
        parcel: &mut Parcel,
        lookups: &mut Lookups,
        readiness: &Readiness,
        cx: &mut Context,
    ) -> io::Result<()> {
        for ((_, flows), early) in self.flows.iter_mut().zip(record.early) {
            flows.early.extend(early);
        }
        for ConnectionRecord { mut connection, state, watched } in record.connections {
            if connection.peer.index() >= self.flows.len() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a connection of a peer that is not configured",
                ));
            }
            connection.state = state.state(parcel)?;
            if std::mem::take(&mut connection.opening) {
                self.waiting.begin(&mut connection);
            }
            let token = self.readmit(*connection);
            self.restart(token, lookups, readiness, cx);
            if watched {
                self.watch(token, cx);
            }
        }
        Ok(())
    }
    /// Adds a connection to the table, the lists and the counts.
    fn readmit(&mut self, connection: Connection) -> Token {
        let (peer, id, closed, key) = (connection.peer, connection.id, connection.closed, connection.intercepted());
        if let Some(source) = connection.source {
            self.clients.enter(source);
        }
        self.blackholed += u32::from(matches!(connection.state, State::Blackholed(_)));
        let token = self.table.insert(connection);
        match closed {
            None => drop(self.flows[peer].tokens.insert(id, token)),
            Some(leftover) => self.flows[peer].leftover += leftover,
        }
        if let Some(key) = key {
            self.intercepted.insert(key, token);
        }
        token
    }
    /// Sets the timers of a connection, and polls its socket at once.
    fn restart(&mut self, token: Token, lookups: &mut Lookups, readiness: &Readiness, cx: &mut Context) {
        let Some(connection) = self.table.get(token) else { return };
        if connection.state.stream().is_some_and(|stream| super::watch(&stream.socket, token, readiness, cx).is_err()) {
            cx.tally.error("socket");
            return cx.push(Event::HostLost(token, Reason::Busy));
        }
        if let State::Blackholed(stream) = &connection.state {
            // Watching has set it: the kernel would give up, and reset the host.
            let _ = stream.socket.set_keepalive(false);
        }
        match (&connection.state, &connection.request.server) {
            (State::Released(_), _) => cx.timer(ACCEPT, Due::Accept(token)),
            (State::Blackholed(_), _) => cx.timer(BLACKHOLED, Due::Blackhole(token)),
            (State::LookingUp, Server::Name(name, port)) if lookups.start(token, name, *port) => {}
            (State::LookingUp, _) => cx.push(Event::Refused(connection.peer, connection.id, Reason::Busy)),
            (State::Open(_), _) => {
                cx.push(Event::Written(token, 0));
                cx.push(Event::Readable(token, false));
            }
            _ => {}
        }
        self.list(token);
    }
}
