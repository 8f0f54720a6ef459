//! Processing of the octets of real IP packets: the flow of a packet, the offload of a sending host, and the work of a
//! router. Nothing here does I/O, keeps state or reads a clock.
//!
//! A packet is input from a host, so it may be malformed in any way. Every parser returns [`Malformed`] then, and never
//! panics.

pub mod checksum;
mod coalesce;
mod corrupt;
mod cut;
mod ecn;
mod flow;
mod fragment;
mod hop;
mod icmp;
mod malformed;
mod packet;
mod virtio;

pub use coalesce::Joined;
pub use corrupt::corrupt;
pub use cut::{Pieces, cut};
pub use ecn::{dscp, ecn, set_ecn};
pub use flow::{About, Datagram, Flow, FlowKey, Recognised, Segment, recognise};
pub use fragment::{Fit, Fragments, fit};
pub use hop::{Hop, hop};
pub use icmp::{Trouble, icmp_error};
pub use malformed::Malformed;
pub use packet::{Fragment, Packet, protocol};
pub use virtio::{Gso, VirtioNetHeader};

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod samples;
