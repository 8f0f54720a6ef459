//! HyStart++: slow start ends when the round trip begins to rise. RFC 9406 §4.2.

use cellway_units::Span;

use super::Flight;
use crate::Position;

/// RFC 9406 §4.3: the tuning constants.
const MIN_RTT_THRESH: Span = Span::from_ms(4);
const MAX_RTT_THRESH: Span = Span::from_ms(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

/// The growth of the window in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    SlowStart,
    /// Conservative slow start: the window grows by the same, divided.
    Conservative {
        divisor: u64,
    },
    /// Signal avoidance begins.
    Over,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The least round trip of the round in which it began.
    baseline: Span,
    /// Rounds so far, including an incomplete first one.
    rounds: u32,
}

/// Watches the least round trip of each round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HyStart {
    last_min: Option<Span>,
    min: Option<Span>,
    samples: u32,
    /// The round ends when everything below is acknowledged.
    round_end: Position,
    conservative: Option<Conservative>,
}

impl HyStart {
    /// Processes an acknowledgement of new data in slow start, with a measurement or without.
    pub(crate) fn acked(&mut self, rtt: Option<Span>, flight: Flight) -> Phase {
        if let Some(rtt) = rtt {
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        if let Some(min) = self.min
            && self.samples >= N_RTT_SAMPLE
        {
            self.look(min);
        }
        if flight.una >= self.round_end {
            (self.last_min, self.min, self.samples) = (self.min, None, 0);
            self.round_end = flight.nxt;
            if let Some(c) = &mut self.conservative {
                if c.rounds >= CSS_ROUNDS {
                    return Phase::Over;
                }
                c.rounds += 1;
            }
        }
        match self.conservative {
            None => Phase::SlowStart,
            Some(_) => Phase::Conservative { divisor: CSS_GROWTH_DIVISOR },
        }
    }
    /// Checks if the least round trip of this round, `min`, has risen, or fallen again.
    fn look(&mut self, min: Span) {
        match self.conservative {
            // The rise was spurious: slow start resumes.
            Some(c) if min < c.baseline => self.conservative = None,
            Some(_) => {}
            None => {
                let Some(last) = self.last_min else { return };
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if min >= last + threshold {
                    self.conservative = Some(Conservative { baseline: min, rounds: 1 });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of `n` acknowledgements each, the round trip of each round in ms; the phase after each.
    fn rounds(n: u64, rtts: &[u64]) -> Vec<Phase> {
        let (mut hystart, mut una) = (HyStart::default(), 1);
        let mut nxt = 1 + n;
        let flight = |una, nxt| Flight { una, nxt, max: nxt, peer_window: 1 << 20 };
        hystart.acked(None, flight(una, nxt));
        let mut round = |&ms: &u64| {
            let mut phase = Phase::SlowStart;
            let end = nxt;
            for _ in 0..n {
                una += 1;
                // Segments sent in response belong to the next round.
                nxt += 1;
                phase = hystart.acked(Some(Span::from_ms(ms)), flight(una, nxt));
            }
            assert_eq!(una, end);
            phase
        };
        rtts.iter().map(&mut round).collect()
    }
    const SLOW: Phase = Phase::SlowStart;
    const CONSERVATIVE: Phase = Phase::Conservative { divisor: 4 };

    #[test]
    fn a_rise_of_an_eighth_begins_the_end_which_takes_five_rounds() {
        assert_eq!(rounds(16, &[80, 80, 89]), [SLOW; 3]);
        let phases = rounds(16, &[80, 80, 90, 90, 90, 90, 90]);
        assert_eq!(phases, [SLOW, SLOW, CONSERVATIVE, CONSERVATIVE, CONSERVATIVE, CONSERVATIVE, Phase::Over]);
    }

    #[test]
    fn the_threshold_stays_between_4_and_16_ms() {
        assert_eq!(rounds(16, &[8, 11])[1], SLOW);
        assert_eq!(rounds(16, &[8, 12])[1], CONSERVATIVE);
        assert_eq!(rounds(16, &[300, 315])[1], SLOW);
        assert_eq!(rounds(16, &[300, 316])[1], CONSERVATIVE);
    }

    #[test]
    fn slow_start_resumes_when_the_round_trip_comes_down() {
        assert_eq!(rounds(16, &[80, 95, 94]), [SLOW, CONSERVATIVE, SLOW]);
    }

    #[test]
    fn seven_samples_a_round_are_too_few() {
        assert_eq!(rounds(7, &[80, 180])[1], SLOW);
        assert_eq!(rounds(8, &[80, 180])[1], CONSERVATIVE);
    }
}
