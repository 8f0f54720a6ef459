//! The applications to play, and their hosts.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use cellway_apps::{Side, Workload};
use cellway_units::{Span, Time};
use socket2::{Domain, Protocol, Socket, Type};

use super::error::PlayerError;
use super::options::{HostTcp, at};

/// Makes a socket inside a host, from any thread.
pub type MakeSocket = Box<dyn FnMut(Domain, Type, Protocol) -> io::Result<Socket> + Send>;

/// A host whose TCP is used.
pub struct PlayerHost {
    /// Its name, for messages.
    pub name: String,
    /// Makes its sockets.
    pub socket: MakeSocket,
}

impl fmt::Debug for PlayerHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayerHost").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One end of a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayerEnd {
    /// The host, by its place in the plan.
    pub host: usize,
    /// The host's address on the path to the other end.
    pub address: IpAddr,
    /// TCP of this end.
    pub tcp: HostTcp,
}

/// Conversations that follow each other between the same two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayerSlot {
    /// The slot as which it is reported.
    pub slot: usize,
    /// "ftp-3"; names its random streams.
    pub name: String,
    /// The application.
    pub workload: Workload,
    /// The start of the first conversation.
    pub start: Time,
    /// True if another conversation follows when one ends: at once, or [`super::RETRY`] after a failure.
    pub repeat: bool,
    /// Originator and responder.
    pub ends: [PlayerEnd; 2],
    /// The responder's port of a conversation's first connection, and of its others; 0 means any. If another socket of
    /// the host has the port, or other TCP options use it, a free one is used.
    pub well_known_ports: [u16; 2],
}

impl PlayerSlot {
    pub(super) fn end(&self, side: Side) -> &PlayerEnd {
        &self.ends[at(side)]
    }

    /// Returns the address of `side` on its connection number `conn`; the originator's port is any.
    pub(super) fn address(&self, side: Side, conn: u32) -> SocketAddr {
        let port = match side {
            Side::Originator => 0,
            Side::Responder => self.well_known_ports[usize::from(conn > 0)],
        };
        SocketAddr::new(self.end(side).address, port)
    }
}

/// A whole run.
#[derive(Debug)]
pub struct PlayerPlan {
    /// The hosts.
    pub hosts: Vec<PlayerHost>,
    /// The slots.
    pub slots: Vec<PlayerSlot>,
    /// The seed of all random streams.
    pub seed: u64,
    /// The duration, since the epoch.
    pub duration: Span,
    /// The interval at which the TCP figures of each open connection are reported; only at its end if absent.
    pub tcp_every: Option<Span>,
    /// True if payload is compared with the written octets. It is always the same pattern.
    pub verify: bool,
}

impl PlayerPlan {
    pub(super) fn check(&self) -> Result<(), PlayerError> {
        for slot in &self.slots {
            let name = || slot.name.clone();
            if let Some(end) = slot.ends.iter().find(|end| end.host >= self.hosts.len()) {
                return Err(PlayerError::NoSuchHost { slot: name(), host: end.host, hosts: self.hosts.len() });
            }
            if slot.ends[0].address.is_ipv4() != slot.ends[1].address.is_ipv4() {
                return Err(PlayerError::AddressKinds { slot: name() });
            }
        }
        Ok(())
    }
}
