//! The faults of a link: what becomes of units that have left its line, and the instants at which the queue before the line
//! is emptied.

use cellway_units::{Probability, Time};

use crate::loss::{Loss, RandomBits, Stream};
use crate::schedule::{Schedule, Scheduled};

/// A share of packets, drawn independently.
#[derive(Clone, Debug)]
pub struct Share {
    /// A draw below it is one of the share.
    below: u64,
    stream: Stream,
}

impl Share {
    /// Draws a share `chance` of all packets: one draw from `stream` for each packet. `None` if the chance is zero.
    pub fn new(chance: Probability, stream: impl RandomBits) -> Option<Share> {
        (!chance.is_zero()).then(|| Share { below: chance.threshold(), stream: Stream::new(stream) })
    }

    fn draw(&mut self) -> bool {
        self.stream.bits() < self.below
    }
}

/// The outcome of a link for a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrives {
    /// It arrives twice.
    pub(crate) twice: bool,
    /// Bits of its payload are wrong.
    pub(crate) corrupted: bool,
}

/// The faults of one direction of a link. Few links have any, so ports hold them in a box.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    pub(crate) loss: Loss,
    duplicate: Option<Share>,
    corrupt: Option<Share>,
    /// True from each instant at which the queue is emptied.
    flushes: Scheduled<bool>,
    pub(crate) counters: FaultCounters,
}

/// Totals of the faults of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultCounters {
    pub(crate) duplicated: u64,
    pub(crate) corrupted: u64,
    pub(crate) flushed: u64,
}

impl Faults {
    /// Creates the faults of a port; `None` if it has none. The queue is emptied at each change of `flushes` to true.
    pub(crate) fn new(
        loss: Loss,
        duplicate: Option<Share>,
        corrupt: Option<Share>,
        flushes: Schedule<bool>,
    ) -> Option<Faults> {
        let is_idle = loss.is_idle() && duplicate.is_none() && corrupt.is_none() && flushes.is_empty();
        let flushes = Scheduled::new(false, flushes);
        (!is_idle).then(|| Faults { loss, duplicate, corrupt, flushes, counters: FaultCounters::default() })
    }

    /// Returns true if packets may arrive twice.
    pub(crate) fn duplicates(&self) -> bool {
        self.duplicate.is_some()
    }

    /// Returns true if the queue is ever emptied.
    pub(crate) fn flushes(&self) -> bool {
        self.flushes.next_change() != Time::MAX
    }

    /// Returns the outcome for the unit that leaves the line at `now`; `None` if it is lost. A unit that is lost draws, too, so
    /// that the draws of others do not shift.
    #[inline(never)]
    pub(crate) fn outcome(&mut self, now: Time) -> Option<Arrives> {
        let lost = self.loss.strikes(now);
        let draw = |share: &mut Option<Share>| share.as_mut().is_some_and(Share::draw);
        let (twice, corrupted) = (draw(&mut self.duplicate), draw(&mut self.corrupt));
        if lost {
            return None;
        }
        self.counters.duplicated += u64::from(twice);
        self.counters.corrupted += u64::from(corrupted);
        Some(Arrives { twice, corrupted })
    }

    /// Returns the next instant at which the queue is emptied, and proceeds to the one after it.
    pub(crate) fn next_flush(&mut self) -> Option<Time> {
        loop {
            let at = self.flushes.next_change();
            if at == Time::MAX {
                return None;
            }
            self.flushes.change();
            if self.flushes.value() {
                return Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Span;

    use super::*;
    use crate::qdisc::testing::xorshift;

    fn chance(text: &str) -> Probability {
        text.parse().expect("a probability")
    }

    fn never() -> Schedule<bool> {
        Schedule::once(Vec::new())
    }

    /// Each share within four standard errors, and both of a packet as often as independent draws have it.
    #[test]
    fn shares_are_drawn_independently() {
        let share = |text, seed| Share::new(chance(text), xorshift(seed));
        let mut faults = Faults::new(Loss::default(), share("20 %", 3), share("10 %", 4), never()).expect("faults");
        let count = 200_000;
        let mut found = [0u32; 3];
        for _ in 0..count {
            let Arrives { twice, corrupted } = faults.outcome(Time::ZERO).expect("nothing is lost");
            found[0] += u32::from(twice);
            found[1] += u32::from(corrupted);
            found[2] += u32::from(twice && corrupted);
        }
        for (found, p) in found.into_iter().zip([0.2, 0.1, 0.02]) {
            let error = 4.0 * (p * (1.0 - p) / f64::from(count)).sqrt();
            assert!((f64::from(found) / f64::from(count) - p).abs() < error, "{found} of {count} for {p}");
        }
    }

    /// With the same streams, losses do not change which of the other packets arrive twice.
    #[test]
    fn a_lost_packet_draws_too() {
        let outcomes = |loss| -> Vec<Option<Arrives>> {
            let twice = Share::new(chance("50 %"), xorshift(5));
            let mut faults = Faults::new(loss, twice, None, never()).expect("faults");
            (0..1000).map(|_| faults.outcome(Time::ZERO)).collect()
        };
        let (all, some) = (outcomes(Loss::default()), outcomes(Loss::random(chance("30 %"), xorshift(9))));
        assert!(some.iter().filter(|outcome| outcome.is_none()).count() > 200);
        assert!(all.iter().zip(&some).all(|(all, some)| some.is_none() || all == some));
    }

    #[test]
    fn the_queue_is_emptied_at_each_change_to_true() {
        let ms = |ms| Time::ZERO + Span::from_ms(ms);
        let outages = Schedule::repeating(vec![(ms(0), true), (ms(2), false)], Span::from_ms(10));
        let mut faults =
            Faults::new(Loss::default(), None, None, outages.starting_at(Span::from_ms(5))).expect("faults");
        assert_eq!([0; 3].map(|_| faults.next_flush()), [5, 15, 25].map(|at| Some(ms(at))));
        let once = Schedule::once(vec![(ms(3), true), (ms(4), false)]);
        let mut faults = Faults::new(Loss::default(), None, None, once).expect("faults");
        assert_eq!([0; 2].map(|_| faults.next_flush()), [Some(ms(3)), None]);
        assert!(Faults::new(Loss::default(), None, None, never()).is_none());
    }
}
