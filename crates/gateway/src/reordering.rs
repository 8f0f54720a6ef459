//! Packets that overtake each other: where some come that were taken for lost, packets are taken for lost later. RFC 9002,
//! section 6.1, lets a sender adapt both thresholds; RFC 8985, section 6.2, does so for TCP.

use std::collections::{BTreeMap, VecDeque};

use cellway_units::{Bits, Span, Time};

use crate::delivery::Stamp;

/// A packet is lost when one sent so many later was acknowledged. RFC 9002, section 6.1.1.
const PACKETS: u64 = 3;
/// Most packets taken for lost that are remembered.
const REMEMBERED: usize = 8_192;
/// After so long without a late packet the thresholds are the least ones again.
const FORGOTTEN: Span = Span::from_secs(60);

/// A packet that was taken for lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) sent: Time,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) bits: Bits,
}

/// The thresholds beyond which packets are lost.
#[derive(Clone, Debug)]
pub(crate) struct Reordering {
    /// A packet is lost when one sent so many later was acknowledged.
    packets: u64,
    /// How much longer than without reordering a packet may take.
    time: Span,
    /// When a late packet was seen last.
    seen: Time,
    lost: BTreeMap<u64, Lost>,
    /// Late packets that nobody has asked for yet.
    late: VecDeque<Lost>,
}

impl Default for Reordering {
    fn default() -> Reordering {
        Reordering {
            packets: PACKETS,
            time: Span::ZERO,
            seen: Time::ZERO,
            lost: BTreeMap::new(),
            late: VecDeque::new(),
        }
    }
}

impl Reordering {
    /// How many packets later the oldest packet may have been sent that shows a loss.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }
    /// How much longer than without reordering a packet may take.
    pub(crate) fn time(&self) -> Span {
        self.time
    }
    /// The packet `number` is taken for lost.
    pub(crate) fn lost(&mut self, number: u64, packet: Lost) {
        if self.lost.len() >= REMEMBERED {
            self.lost.pop_first();
        }
        self.lost.insert(number, packet);
    }
    /// The peer tells of the packets `start..=end`, and of `newest` as the last of all. Without reordering they would have
    /// been known after `usual`; at most `most` more is allowed from now on.
    pub(crate) fn told(&mut self, now: Time, (start, end): (u64, u64), newest: u64, usual: Span, most: Span) {
        while let Some((&number, &packet)) = self.lost.range(start..).next().filter(|(number, _)| **number <= end) {
            self.lost.remove(&number);
            self.packets = self.packets.max(newest.saturating_sub(number) + 1);
            self.time = self.time.max(now.since(packet.sent).saturating_sub(usual)).min(most);
            self.seen = now;
            self.late.push_back(packet);
        }
    }
    /// Forgets packets that were sent before `oldest`, and thresholds that have not been needed for long.
    pub(crate) fn forget(&mut self, now: Time, oldest: Time) {
        while self.lost.first_entry().is_some_and(|entry| entry.get().sent < oldest) {
            self.lost.pop_first();
        }
        if now.since(self.seen) > FORGOTTEN {
            (self.packets, self.time) = (PACKETS, Span::ZERO);
        }
    }
    /// The next packet that was taken for lost and came after all.
    pub(crate) fn next_late(&mut self) -> Option<Lost> {
        self.late.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }
    fn packet(ms: u64) -> Lost {
        Lost { sent: at(ms), stamp: None, bits: Bits(8) }
    }

    #[test]
    fn a_late_packet_widens_the_thresholds_for_a_minute() {
        let mut reordering = Reordering::default();
        (0..4).for_each(|n| reordering.lost(n, packet(n)));
        reordering.told(at(130), (1, 2), 40, Span::from_ms(112), Span::from_ms(100));
        assert_eq!((reordering.packets(), reordering.time()), (40, Span::from_ms(17)));
        assert_eq!(reordering.next_late().map(|lost| lost.sent), Some(at(1)));
        assert_eq!(reordering.next_late().map(|lost| lost.sent), Some(at(2)));
        // Each comes late once.
        reordering.told(at(131), (0, 2), 90, Span::from_ms(112), Span::from_ms(100));
        assert_eq!((reordering.packets(), reordering.time()), (91, Span::from_ms(19)));
        assert!(reordering.next_late().is_some() && reordering.next_late().is_none());
        reordering.forget(at(60_131), at(0));
        assert_eq!(reordering.packets(), 91);
        reordering.forget(at(60_132), at(0));
        assert_eq!((reordering.packets(), reordering.time()), (3, Span::ZERO));
    }

    #[test]
    fn memory_and_time_are_bounded() {
        let mut reordering = Reordering::default();
        (0..2 * REMEMBERED as u64).for_each(|n| reordering.lost(n, packet(n)));
        assert_eq!(reordering.lost.len(), REMEMBERED);
        reordering.told(at(90_000), (REMEMBERED as u64, REMEMBERED as u64), 9_000, Span::from_ms(1), Span::from_ms(70));
        assert_eq!(reordering.time(), Span::from_ms(70));
        reordering.forget(at(90_000), at(90_000));
        assert!(reordering.lost.is_empty());
    }
}
