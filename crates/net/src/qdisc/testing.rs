//! Packets, limits and random numbers for the tests of disciplines.

use cellway_spec::{Charge, Discard, Sharing};
use cellway_units::{Bits, Ecn, Span, Time};

use super::{Memory, Queued};
use crate::buffer::BufferSpec;
use crate::packet::PacketRef;

/// A packet of conversation 0 that arrives at `at`.
pub(super) fn packet(at: Time, octets: u32, ecn: Ecn) -> Queued {
    Queued {
        packet: PacketRef(0),
        conversation: 0,
        flow: 0,
        octets,
        ecn,
        dscp: 0,
        marked: false,
        since: at,
        hop: Queued::UNKNOWN,
    }
}

/// A packet of a flow, with a number to know it by.
pub(super) fn of_flow(number: u32, flow: u32, octets: u32) -> Queued {
    Queued { packet: PacketRef(number), flow, ..packet(Time::ZERO, octets, Ecn::NotEct) }
}

pub(super) fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

pub(super) fn unlimited() -> Memory {
    Memory::new(None)
}

/// Memory for so many octets of the conversations 0 and 1 together.
pub(super) fn limited(octets: u64) -> Memory {
    memory(octets, Sharing::Pool)
}

/// Memory for so many octets of each of the conversations 0 and 1.
pub(super) fn limited_each(octets: u64) -> Memory {
    memory(octets, Sharing::Conversation)
}

fn memory(octets: u64, sharing: Sharing) -> Memory {
    let limit = BufferSpec {
        size: Bits(octets * 8),
        whole_port: sharing == Sharing::Pool,
        sharing,
        charge: Charge::Packet,
        discard: Discard::Frame,
        threshold: None,
        clp_threshold: None,
    };
    let mut memory = Memory::new(Some(limit.into()));
    (0..2).for_each(|conversation| memory.buffer_mut().add_conversation(conversation, 0));
    memory
}

pub(crate) fn xorshift(mut state: u64) -> impl FnMut() -> u64 + Clone + Send + Sync + 'static {
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
