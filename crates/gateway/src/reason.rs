//! Why a connection was refused or ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a connection was refused or reset, as told between gateways (one octet).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// The host answered with a reset: nobody listens (`ECONNREFUSED`).
    Refused = 1,
    /// No way to the host (`EHOSTUNREACH`; RFC 792, code 1; RFC 4443, code 3).
    HostUnreachable = 2,
    /// No way to its network (`ENETUNREACH`; RFC 792, code 0; RFC 4443, code 0).
    NetUnreachable = 3,
    /// Forbidden on the way (RFC 1812, code 13; RFC 4443, code 1).
    Prohibited = 4,
    /// No answer in time (`ETIMEDOUT`).
    TimedOut = 5,
    /// The name of the server has no address.
    NoName = 6,
    /// The far gateway does not connect there for this peer.
    NotAllowed = 7,
    /// A limit on connections, openings or memory is reached.
    Busy = 8,
    /// A host reset the connection.
    Reset = 9,
    /// The way between the gateways is lost.
    PeerLost = 10,
    /// A gateway stops.
    Stopping = 11,
    /// The other gateway sent what it must not send.
    Violation = 12,
    /// A host that was connected does not answer any more (`ETIMEDOUT`).
    Vanished = 13,
}

impl Reason {
    /// All there are.
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

    /// Its place in [`Reason::ALL`].
    pub const fn index(self) -> usize {
        self as usize - 1
    }
    /// The one with this octet.
    pub fn from_octet(octet: u8) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| *reason as u8 == octet)
    }
    /// Its name in metrics and tables.
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
