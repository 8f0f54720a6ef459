//! The flows that share the peer's link, and the share of each: the arrivals of the last round trip.

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Counts the flows in each round. A round begins with an arrival and takes a round trip, so that no round is empty.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rounds {
    number: u64,
    end: Time,
    /// Flows with arrivals in this round and in the last one.
    flows: u64,
    before: u64,
}

/// The arrivals of one flow (bytes).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Arrivals {
    /// The last round with arrivals.
    round: u64,
    bytes: u64,
    /// Those of the round before that.
    before: u64,
}

impl Rounds {
    /// Counts `bytes` that have arrived for a flow, or 0 for a flow that begins.
    pub(super) fn note(&mut self, now: Time, rtt: Span, flow: &mut Arrivals, bytes: u64) {
        if now >= self.end {
            *self = Rounds { number: self.number + 1, end: now + rtt, flows: 0, before: self.flows };
        }
        if flow.round != self.number {
            let before = self.arrived(flow);
            *flow = Arrivals { round: self.number, bytes: 0, before };
            self.flows += 1;
        }
        flow.bytes += bytes;
    }
    /// Returns the number of flows that share the link, at least 1.
    pub(super) fn flows(&self) -> u64 {
        self.flows.max(self.before).max(1)
    }
    /// Returns the bytes of a flow that arrived in this round or in the last one, whichever is more.
    pub(super) fn arrived(&self, flow: &Arrivals) -> u64 {
        match self.number - flow.round {
            0 => flow.bytes.max(flow.before),
            1 => flow.bytes,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_ms(100);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_flow_counts_for_two_rounds() {
        let (mut rounds, [mut a, mut b]) = (Rounds::default(), [Arrivals::default(); 2]);
        assert_eq!((rounds.flows(), rounds.arrived(&a)), (1, 0));
        rounds.note(at(0), RTT, &mut a, 10);
        rounds.note(at(99), RTT, &mut b, 20);
        rounds.note(at(99), RTT, &mut b, 0);
        assert_eq!((rounds.flows(), rounds.arrived(&a), rounds.arrived(&b)), (2, 10, 20));
        // Nothing arrives for 10 s, which is no round.
        rounds.note(at(10_000), RTT, &mut a, 5);
        assert_eq!((rounds.flows(), rounds.arrived(&a), rounds.arrived(&b)), (2, 10, 20));
        rounds.note(at(10_100), RTT, &mut a, 7);
        assert_eq!((rounds.flows(), rounds.arrived(&a), rounds.arrived(&b)), (1, 7, 0));
        rounds.note(at(10_200), RTT, &mut b, 1);
        rounds.note(at(10_200), RTT, &mut a, 1);
        assert_eq!((rounds.flows(), rounds.arrived(&a), rounds.arrived(&b)), (2, 7, 1));
    }
}
