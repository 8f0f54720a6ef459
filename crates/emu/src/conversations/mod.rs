//! The conversations that are going on, found from the packets of the hosts (Cáceres 1993, section 8).
//!
//! The first packet of a conversation gets it a channel; both of its directions are one conversation. It loses the
//! channel when nothing was sent for long, or shortly after its TCP connection ended. Fragments go with the first
//! one of their packet, ICMP errors with the conversation that they are about.
//!
//! The number of conversations is bounded. When a new one finds no room, the one that has been idle longest makes
//! room if it has been idle for more than a second. Else the new one shares the overflow conversation of its two
//! hosts until there is room; each of its packets tries again.
//!
//! Time is an argument; it never goes back. Nothing here depends on the order of a hash map.

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
