//! What is done with the octets of real IP packets: telling the conversation of a packet, undoing the offload of a
//! sending host, and the work of a router. Nothing here does I/O, keeps state or asks for the time.
//!
//! A packet comes from a host, so anything may be wrong with it. Whatever reads one answers with [`Malformed`] and
//! never panics.

pub mod checksum;
mod coalesce;
mod cut;
mod flow;
mod fragment;
mod hop;
mod icmp;
mod malformed;
mod packet;
mod virtio;

pub use coalesce::Joined;
pub use cut::{Pieces, cut};
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
