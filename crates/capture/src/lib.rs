//! Packet captures: the records of a file, the conversations of its packets, and the distributions of a workload file.
//!
//! [`Reader`] yields the records of a capture, [`Packet`] parses one, `Conversations` joins packets to conversations of
//! TCP and UDP, and [`derive()`] has all of it: from files to a [`Workload`], which becomes a workload file. A file that
//! is damaged counts up to the damage, whose place the report names. Memory is bounded: by the limit on open
//! conversations, and by those on the samples of a distribution and on the messages of a class.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod classes;
mod cluster;
mod collect;
mod conversations;
mod derive;
mod exchange;
mod fault;
mod fits;
#[doc(hidden)]
pub mod fuzz;
mod knots;
mod left_out;
mod link;
mod messages;
mod octets;
mod packet;
pub mod path;
mod pcap;
mod pcapng;
mod reader;
mod rules;
mod samples;
mod services;
mod stream;
mod table;
mod tcp;
mod udp;
mod workload;

pub use classes::By;
pub use conversations::{Conversations, Limits, Observer, Protocol, Totals};
pub use derive::{Derived, Next, Options, Progress, derive};
pub use exchange::{Exchange, RoundTrip};
pub use fault::{Cause, Error, Fault};
pub use fits::fit;
pub use knots::{KS, distance, knots};
pub use left_out::{ConversationCounts, ConversationReason, Counts, PacketCounts, PacketReason};
pub use link::Link;
pub use messages::Message;
pub use octets::Octets;
pub use packet::{Endpoint, Packet, Segment, Transport};
pub use reader::{MAX_RECORD, Reader, Record};
pub use rules::Rules;
pub use samples::{MAX_SAMPLES, Samples};
pub use tcp::{DirectionTotals, TcpConversation};
pub use udp::{Datagram, UdpConversation};
pub use workload::{Class, ClassTotals, Workload};
