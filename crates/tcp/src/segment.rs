//! Segments, as numbers rather than bytes.

use std::num::NonZeroU16;
use std::ops::{BitOr, BitOrAssign};

use cellway_units::Ecn;

use crate::{AccEcnOption, Position};

/// A sequence number: arithmetic modulo 2^32. RFC 9293 §3.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(pub u32);

impl SeqNum {
    /// Returns the number `n` octets later.
    pub const fn add(self, n: u64) -> SeqNum {
        // Truncation is the reduction modulo 2^32.
        SeqNum(self.0.wrapping_add(n as u32))
    }
    /// Returns the signed distance from `other` to `self`, correct while they are less than 2^31 apart (bytes).
    pub const fn distance(self, other: SeqNum) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
    /// Returns the position nearest to `near` that has this number, when position 0 has the number `origin`. `None` if
    /// that would lie before position 0.
    pub(crate) fn position(self, origin: SeqNum, near: Position) -> Option<Position> {
        near.checked_add_signed(i64::from(self.distance(origin.add(near))))
    }
}

/// The control bits of a segment, as in octet 13 of the header and the last bit of octet 12.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(1);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(2);
    /// Reset the connection.
    pub const RST: Flags = Flags(4);
    /// No further data are queued after this segment.
    pub const PSH: Flags = Flags(8);
    /// The acknowledgement field counts.
    pub const ACK: Flags = Flags(16);

    /// ECN echo: the sender has received a mark. RFC 3168 §6.1.
    pub const ECE: Flags = Flags(64);
    /// Congestion window reduced: the sender has reacted to a mark or a loss. RFC 3168 §6.1.
    pub const CWR: Flags = Flags(128);
    /// Accurate ECN. RFC 9768 §3.1.1.
    pub const AE: Flags = Flags(256);

    /// Returns AE, CWR and ECE as a number of three bits (ACE). RFC 9768 §3.2.2.
    pub const fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }
    /// Returns AE, CWR and ECE with the three lowest bits of `count`.
    pub(crate) const fn of_ace(count: u32) -> Flags {
        Flags(((count & 7) << 6) as u16)
    }

    /// Returns true if all of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        *self = *self | other;
    }
}

/// A run of bytes that arrived: from `start` up to, not including, `end`. RFC 2018 §3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: SeqNum,
    /// Sequence number right after the block.
    pub end: SeqNum,
}

/// Up to four selective acknowledgement blocks, held inline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; SackBlocks::MAX],
    len: u8,
}

impl SackBlocks {
    /// The most that fit into 40 octets of options. RFC 2018 §3.
    pub const MAX: usize = 4;

    /// Adds a block; returns true if there was room.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let room = usize::from(self.len) < SackBlocks::MAX;
        if room {
            self.blocks[usize::from(self.len)] = block;
            self.len += 1;
        }
        room
    }
    /// Returns the blocks, the most recent first.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }
    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Drops all but the first `most`.
    pub(crate) fn truncate(&mut self, most: usize) {
        let mut kept = SackBlocks::default();
        self.as_slice().iter().take(most).all(|&block| kept.push(block));
        *self = kept;
    }
    /// Octets of the option in a header, without padding.
    pub(crate) fn octets(&self) -> u32 {
        if self.is_empty() { 0 } else { 2 + 8 * u32::from(self.len) }
    }
}

/// The timestamps of a segment. RFC 7323 §3.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock, in ticks (TSval).
    pub value: u32,
    /// The timestamp that it echoes (TSecr); counts only with the ACK flag.
    pub echo: u32,
}

impl Timestamps {
    /// Octets in a header, without padding at the end. Two NOPs go before the option, as RFC 7323
    /// appendix A shows, unless SACK-permitted takes their place.
    fn octets(sack_permitted: bool) -> u32 {
        if sack_permitted { 10 } else { 12 }
    }
}

/// The options of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Largest payload the sender takes (bytes). RFC 9293 §3.7.1.
    pub mss: Option<NonZeroU16>,
    /// Shift of the window field in later segments. RFC 7323 §2.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements may be sent. RFC 2018 §2.
    pub sack_permitted: bool,
    /// Selective acknowledgements. RFC 2018 §3.
    pub sack: SackBlocks,
    /// Timestamps. RFC 7323 §3.
    pub timestamps: Option<Timestamps>,
    /// Counts of marked bytes. RFC 9768 §3.2.3.
    pub acc_ecn: Option<AccEcnOption>,
}

/// A TCP segment. Its payload is a length only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first octet, or of the SYN.
    pub seq: SeqNum,
    /// Next sequence number expected from the peer, if the ACK flag is set.
    pub ack: SeqNum,
    /// Control bits.
    pub flags: Flags,
    /// The window field as in the header, before scaling.
    pub window: u16,
    /// Payload (bytes).
    pub len: u32,
    /// Options.
    pub options: Options,
    /// The ECN field of the IP packet that carries it.
    pub ecn: Ecn,
}

impl Segment {
    /// Returns the length of the TCP header: 20 octets and the options, padded to a multiple of 4 (bytes).
    pub fn header_len(&self) -> u32 {
        let o = &self.options;
        let octets = u32::from(o.mss.is_some()) * 4
            + u32::from(o.window_scale.is_some()) * 3
            + u32::from(o.sack_permitted) * 2
            + o.timestamps.map_or(0, |_| Timestamps::octets(o.sack_permitted))
            + o.sack.octets()
            + o.acc_ecn.map_or(0, |option| option.octets());
        20 + octets.next_multiple_of(4)
    }
    /// Returns the length of the segment in the sequence space: payload, SYN and FIN (bytes).
    pub fn sequence_len(&self) -> u64 {
        u64::from(self.len) + u64::from(self.is(Flags::SYN)) + u64::from(self.is(Flags::FIN))
    }
    /// Returns true if all of `flags` are set.
    pub fn is(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_the_nearest_position() {
        let origin = SeqNum(u32::MAX - 4);
        for near in [0, 1, 4, 5, 1 << 20, (1 << 32) - 3, 1 << 32, (7 << 32) + 11] {
            for ahead in [0, 1, 65_535, (1 << 31) - 1] {
                assert_eq!(origin.add(near + ahead).position(origin, near), Some(near + ahead));
                assert_eq!(origin.add(near).position(origin, near + ahead), Some(near));
            }
        }
        assert_eq!(SeqNum(u32::MAX - 5).position(origin, 3), None);
    }
}
