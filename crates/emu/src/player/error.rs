//! The reasons for which the applications cannot be played.

use std::io;
use std::net::SocketAddr;

use cellway_apps::Side;
use thiserror::Error;

/// The reasons for which a run of the player ends early. The effects of the network on a connection are none of these:
/// they fail the conversation.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlayerError {
    /// A slot names a host that the plan does not have.
    #[error("slot `{slot}` is at host {host}, but the plan has {hosts} hosts, counted from 0")]
    NoSuchHost {
        /// The slot.
        slot: String,
        /// The host it names.
        host: usize,
        /// The number of hosts.
        hosts: usize,
    },
    /// The two ends of a slot cannot talk.
    #[error("slot `{slot}` connects an IPv4 address to an IPv6 address; both must be of one kind")]
    AddressKinds {
        /// The slot.
        slot: String,
    },
    /// A host gives no socket.
    #[error(
        "host `{host}` cannot make a socket: {source}; each connection or source takes one or two descriptors (see `ulimit -n`)"
    )]
    Socket {
        /// The host.
        host: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A host does not allow an address for a socket.
    #[error("host `{host}` cannot use {address}: {source}; it must be an address of that host, and its port free")]
    Address {
        /// The host.
        host: String,
        /// The address and port; port 0 means any.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The kernel refuses TCP options.
    #[error("host `{host}` cannot have its TCP options: {source}")]
    Options {
        /// The host.
        host: String,
        /// The refused option, and the accepted ones.
        source: cellway_measure::Error,
    },
    /// The system refuses a resource that the player itself needs.
    #[error("cannot {what}: {source}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Payload came other than it was written.
    #[error("slot `{slot}`, connection {connection}: octet {offset} of the stream to the {} differs from the written one", name(.to))]
    Corrupted {
        /// The slot.
        slot: String,
        /// The connection, counted in the slot.
        connection: u32,
        /// The side that read it.
        to: Side,
        /// The octet, from 0.
        offset: u64,
    },
}

impl PlayerError {
    pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> PlayerError {
        move |source| PlayerError::System { what, source }
    }
}

fn name(side: &Side) -> &'static str {
    match side {
        Side::Originator => "originator",
        Side::Responder => "responder",
    }
}
