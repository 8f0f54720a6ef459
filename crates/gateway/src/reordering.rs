//! Adaptive loss detection thresholds. Late acknowledgements of packets that were declared lost show reordering, and
//! raise the packet and the time threshold. RFC 9002, section 6.1, allows that; RFC 8985, section 6.2, specifies it for
//! TCP.

use std::collections::{BTreeMap, VecDeque};

use cellway_units::{Bits, Span, Time};
use serde::{Deserialize, Serialize};

use cellway_delivery::Stamp;

/// The initial packet threshold (`kPacketThreshold`). RFC 9002, section 6.1.1.
const PACKETS: u64 = 3;
/// The most lost packets that are remembered.
const REMEMBERED: usize = 8_192;
/// The thresholds return to their initial values after this time without a late acknowledgement.
const EXPIRY: Span = Span::from_secs(60);

/// A packet that was declared lost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Lost {
    pub(crate) sent: Time,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) bits: Bits,
}

/// The thresholds of loss detection, and the packets that were declared lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reordering {
    /// The packet threshold: a packet is lost when one sent this many packets later is acknowledged.
    packets: u64,
    /// The addition to the time threshold.
    time: Span,
    /// The time of the last late acknowledgement.
    seen: Time,
    lost: BTreeMap<u64, Lost>,
    /// Packets that were acknowledged late, until [`Reordering::next_late`] returns them.
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
    /// The packet threshold: a packet is lost when one sent this many packets later is acknowledged.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }
    /// The addition to the time threshold.
    pub(crate) fn time(&self) -> Span {
        self.time
    }
    /// The packet `number` is declared lost.
    pub(crate) fn lost(&mut self, number: u64, packet: Lost) {
        if self.lost.len() >= REMEMBERED {
            self.lost.pop_first();
        }
        self.lost.insert(number, packet);
    }
    /// The peer acknowledges the packets `start..=end`, and `newest` is the largest acknowledged. Raises the thresholds
    /// if one of them was declared lost: `usual` is the time threshold without reordering, `most` the largest addition
    /// to it.
    pub(crate) fn acknowledged(&mut self, now: Time, (start, end): (u64, u64), newest: u64, usual: Span, most: Span) {
        while let Some((&number, &packet)) = self.lost.range(start..).next().filter(|(number, _)| **number <= end) {
            self.lost.remove(&number);
            self.packets = self.packets.max(newest.saturating_sub(number) + 1);
            self.time = self.time.max(now.since(packet.sent).saturating_sub(usual)).min(most);
            self.seen = now;
            self.late.push_back(packet);
        }
    }
    /// Forgets packets that were sent before `oldest`, and resets thresholds that have not been needed for [`EXPIRY`].
    pub(crate) fn expire(&mut self, now: Time, oldest: Time) {
        while self.lost.first_entry().is_some_and(|entry| entry.get().sent < oldest) {
            self.lost.pop_first();
        }
        if now.since(self.seen) > EXPIRY {
            (self.packets, self.time) = (PACKETS, Span::ZERO);
        }
    }
    /// Returns the next packet that was declared lost and acknowledged late.
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
    fn a_late_acknowledgement_raises_the_thresholds_for_a_minute() {
        let mut reordering = Reordering::default();
        (0..4).for_each(|n| reordering.lost(n, packet(n)));
        reordering.acknowledged(at(130), (1, 2), 40, Span::from_ms(112), Span::from_ms(100));
        assert_eq!((reordering.packets(), reordering.time()), (40, Span::from_ms(17)));
        assert_eq!(reordering.next_late().map(|lost| lost.sent), Some(at(1)));
        assert_eq!(reordering.next_late().map(|lost| lost.sent), Some(at(2)));
        // Each packet counts once.
        reordering.acknowledged(at(131), (0, 2), 90, Span::from_ms(112), Span::from_ms(100));
        assert_eq!((reordering.packets(), reordering.time()), (91, Span::from_ms(19)));
        assert!(reordering.next_late().is_some() && reordering.next_late().is_none());
        reordering.expire(at(60_131), at(0));
        assert_eq!(reordering.packets(), 91);
        reordering.expire(at(60_132), at(0));
        assert_eq!((reordering.packets(), reordering.time()), (3, Span::ZERO));
    }

    #[test]
    fn memory_and_time_are_bounded() {
        let mut reordering = Reordering::default();
        (0..2 * REMEMBERED as u64).for_each(|n| reordering.lost(n, packet(n)));
        assert_eq!(reordering.lost.len(), REMEMBERED);
        reordering.acknowledged(
            at(90_000),
            (REMEMBERED as u64, REMEMBERED as u64),
            9_000,
            Span::from_ms(1),
            Span::from_ms(70),
        );
        assert_eq!(reordering.time(), Span::from_ms(70));
        reordering.expire(at(90_000), at(90_000));
        assert!(reordering.lost.is_empty());
    }
}
