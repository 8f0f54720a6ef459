//! A round: from the sending of a packet until it is acknowledged.

use cellway_units::Span;
use serde::{Deserialize, Serialize};

use crate::{Delivery, Sample};

/// The loss rate (thousandths) above which the link counts as full (draft-ietf-ccwg-bbr, `LossThresh`).
const LOSS: u128 = 20;

/// The measurements of a round.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Round {
    /// It ends with the first sample of a packet that was sent when this amount had been delivered.
    end: u64,
    /// While it lasts, the counts before it; afterwards, the counts in it: bits, and packets.
    pub(super) delivered: u64,
    packets: u64,
    pub(super) lost: u64,
    /// The largest rate of a sender that was not limited by its source (bit/s), and the shortest round trip.
    pub(super) rate: u64,
    pub(super) rtt: Option<Span>,
}

impl Round {
    pub(super) fn ends(&self, sample: &Sample) -> bool {
        sample.prior >= self.end
    }
    /// Returns the measurements of this round and begins the next one.
    pub(super) fn end(&mut self, now: &Delivery) -> Round {
        let &Delivery { delivered, packets_delivered: packets, packets_lost: lost, .. } = now;
        let next = Round { end: delivered, delivered, packets, lost, ..Round::default() };
        let seen = std::mem::replace(self, next);
        Round {
            delivered: delivered - seen.delivered,
            packets: packets - seen.packets,
            lost: lost.saturating_sub(seen.lost),
            ..seen
        }
    }
    /// Restarts the round, which continues until a packet is acknowledged that is sent from now on.
    pub(super) fn restart(&mut self, delivered: u64) {
        (self.end, self.rtt) = (delivered, None);
    }
    /// Returns true if any packet of this round, which has ended, was lost.
    pub(super) fn loses(&self) -> bool {
        self.lost > 0
    }
    /// Returns this round, which has ended, with `lost` of its packets lost.
    pub(super) fn with_losses(self, lost: u64) -> Round {
        Round { lost, packets: (self.packets + self.lost).saturating_sub(lost), ..self }
    }
    /// Returns true if the loss rate of this round, which has ended, exceeds [`LOSS`] by three standard deviations.
    pub(super) fn is_lossy(&self) -> bool {
        let (lost, expected) = (u128::from(self.lost) * 1000, u128::from(self.packets + self.lost) * LOSS);
        lost > expected && (lost - expected).pow(2) > 9 * 1000 * expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_per_cent_are_exceeded_beyond_doubt() {
        let lossy = |lost, packets| Round { lost, packets: packets - lost, ..Round::default() }.is_lossy();
        // 2 % of 10 000 are 200 +- 14: 3 sigma above is 242.4.
        assert!(!lossy(242, 10_000) && lossy(243, 10_000));
        // 2 % of 20 are 0.4 +- 0.63: two are chance, three are not.
        assert!(!lossy(2, 20) && lossy(3, 20));
        assert!(!lossy(0, 0) && !lossy(0, 100));
    }
}
