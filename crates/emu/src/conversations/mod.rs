//! The active conversations, recognised from the packets of the hosts (Cáceres 1993, section 8).
//!
//! The first packet of a conversation opens a channel for it; both of its directions are one conversation. The channel
//! is closed when no packet was sent for a long time, or shortly after its TCP connection ended. Fragments are part of
//! the conversation of the first one of their packet, ICMP errors of the conversation that they are about.
//!
//! The number of conversations is bounded. When the table is full, a new one replaces the one that has been idle
//! longest if that has been idle for more than a second. Otherwise the new one shares the overflow conversation of its
//! two hosts until a slot is free; each of its packets tries again.
//!
//! Time is an argument; it never decreases. Nothing in this module depends on the order of a hash map.

mod close;
mod conversation;
mod fragments;
mod key;
mod kind;
mod order;
mod table;

pub use conversation::{Conversation, Id, Limits, Sighting};
pub use key::Host;
pub use kind::{Kind, kind};
pub use table::Conversations;
