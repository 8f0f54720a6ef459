//! Reasons for which a connection is refused or reset.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason for which a connection was refused or reset, one octet between gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// The host answered with a reset: no socket listens (`ECONNREFUSED`).
    Refused = 1,
    /// No route to the host (`EHOSTUNREACH`; RFC 792, code 1; RFC 4443, code 3).
    HostUnreachable = 2,
    /// No route to its network (`ENETUNREACH`; RFC 792, code 0; RFC 4443, code 0).
    NetUnreachable = 3,
    /// Administratively prohibited (RFC 1812, code 13; RFC 4443, code 1).
    Prohibited = 4,
    /// No answer in time (`ETIMEDOUT`).
    TimedOut = 5,
    /// The name of the server has no address.
    NoName = 6,
    /// The far gateway does not connect there for this peer.
    NotAllowed = 7,
    /// A limit on connections, connection attempts or memory is reached.
    Busy = 8,
    /// A host reset the connection.
    Reset = 9,
    /// The connection between the gateways is lost.
    PeerLost = 10,
    /// A gateway stops.
    Stopping = 11,
    /// The other gateway violated the protocol.
    Violation = 12,
    /// An established connection has timed out (`ETIMEDOUT`).
    Vanished = 13,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 13] = [
        Reason::Refused,
        Reason::HostUnreachable,
        Reason::NetUnreachable,
        Reason::Prohibited,
        Reason::TimedOut,
        Reason::NoName,
        Reason::NotAllowed,
        Reason::Busy,
        Reason::Reset,
        Reason::PeerLost,
        Reason::Stopping,
        Reason::Violation,
        Reason::Vanished,
    ];

    /// Returns its index in [`Reason::ALL`].
    pub const fn index(self) -> usize {
        self as usize - 1
    }
    /// Returns the reason of an octet.
    pub fn from_octet(octet: u8) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| *reason as u8 == octet)
    }
    /// Returns its name in metrics and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Refused => "refused",
            Reason::HostUnreachable => "host-unreachable",
            Reason::NetUnreachable => "net-unreachable",
            Reason::Prohibited => "prohibited",
            Reason::TimedOut => "timed-out",
            Reason::NoName => "no-name",
            Reason::NotAllowed => "not-allowed",
            Reason::Busy => "busy",
            Reason::Reset => "reset",
            Reason::PeerLost => "peer-lost",
            Reason::Stopping => "stopping",
            Reason::Violation => "violation",
            Reason::Vanished => "vanished",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
