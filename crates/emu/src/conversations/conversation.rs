//! The attributes of a conversation, and the limits of the table.

use cellway_units::{Span, Time};
use cellway_wire::ip::FlowKey;

use super::key::Host;
use super::kind::Kind;

/// The largest number of conversations, and their lifetimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Conversations at one time, the overflow conversations of pairs of hosts not counted.
    pub conversations: usize,
    /// A conversation without packets for this long ends.
    pub idle: Span,
    /// The same for one whose TCP connection has ended.
    pub linger: Span,
    /// If there is no room, a conversation idle for longer than this ends for a new one.
    pub makes_room: Span,
    /// Packets whose first fragment is stored.
    pub fragments: usize,
    /// The lifetime of a stored first fragment. RFC 791 gives reassembly 15 s, RFC 8200 60 s.
    pub fragment_lifetime: Span,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            conversations: 4096,
            idle: Span::from_secs(300),
            linger: Span::from_secs(2),
            makes_room: Span::from_secs(1),
            fragments: 1024,
            fragment_lifetime: Span::from_secs(30),
        }
    }
}

/// Identifies a conversation of the table. It is invalid after the conversation has ended: slots are used again with
/// another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

impl Id {
    /// Its place in the table: small numbers, each used by one conversation at a time.
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
    #[cfg(test)]
    pub(super) const fn test(slot: u32) -> Id {
        Id { slot, generation: 0 }
    }
}

/// The attributes of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The host that sent the first packet.
    pub from: Host,
    /// The host that it was sent to.
    pub to: Host,
    /// The five-tuple of the first packet; none for the overflow conversation of two hosts.
    pub flow: Option<FlowKey>,
    /// Its type.
    pub kind: Kind,
    /// The arrival of its first packet.
    pub opened: Time,
    /// The arrival of its last packet.
    pub last: Time,
}

/// The conversation of a packet, and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Its conversation.
    pub id: Id,
    /// It is the first packet: the caller opens a channel.
    pub new: bool,
    /// True if the packet has the direction of the conversation's first packet.
    pub forward: bool,
    /// This conversation had to make room: the caller closes its channel.
    pub closed: Option<Id>,
}
