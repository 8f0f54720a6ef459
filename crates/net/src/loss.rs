//! Loss on a link: at random, in bursts, by a schedule, in outages, or of units by their number.

use std::fmt;

use cellway_units::{Probability, Time};

use crate::schedule::{Schedule, Scheduled};

/// A source of random numbers that a copy repeats, so that a network with its sources can be copied.
pub trait RandomBits: Send + Sync + 'static {
    /// Returns the next 64 bits, each as likely 0 as 1.
    fn bits(&mut self) -> u64;
    /// Returns a copy that continues with the same numbers.
    fn copy(&self) -> Box<dyn RandomBits>;
}

impl<F: FnMut() -> u64 + Clone + Send + Sync + 'static> RandomBits for F {
    fn bits(&mut self) -> u64 {
        self()
    }
    fn copy(&self) -> Box<dyn RandomBits> {
        Box::new(self.clone())
    }
}

/// A random stream that can be copied.
pub struct Stream(Box<dyn RandomBits>);

impl Stream {
    /// Creates a stream with the numbers of `source`.
    pub fn new(source: impl RandomBits) -> Stream {
        Stream(Box::new(source))
    }

    /// Returns the next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
    }
}

impl Clone for Stream {
    fn clone(&self) -> Stream {
        Stream(self.0.copy())
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

/// Decides for each unit that leaves a line (a cell on a cell line, else a packet) whether it is lost: by draws, during
/// outages, and by a list of numbers. The default loses nothing.
#[derive(Clone, Debug, Default)]
pub struct Loss {
    draws: Option<Draws>,
    /// True during an outage, in which all units are lost.
    outages: Option<Scheduled<bool>>,
    /// Numbers of units to lose, in descending order.
    listed: Vec<u64>,
    /// Units that have left the line.
    passed: u64,
}

impl Loss {
    /// Loses each unit with this probability, independently of all others: one draw from `stream` for each unit, or none
    /// at all if the probability is zero.
    pub fn random(chance: Probability, stream: impl RandomBits) -> Loss {
        let law = Law::Independent { below: chance.threshold() };
        Loss::drawn((!chance.is_zero()).then_some(law), stream)
    }

    /// Loses a share `chance` of all units, in bursts of `length` units on average: the model of Gilbert (1960), in whose bad
    /// state every unit is lost. It enters the bad state with the probability `chance / (1 - chance) / length`, which is at
    /// most 1, and leaves it with `1 / length`. One draw from `stream` for each unit.
    pub fn in_bursts(chance: Probability, length: f64, stream: impl RandomBits) -> Loss {
        let share = chance.as_f64();
        let law = Law::Bursts {
            begins: threshold(share / (1.0 - share) / length),
            ends: threshold(1.0 / length),
            bad: false,
        };
        Loss::drawn((!chance.is_zero()).then_some(law), stream)
    }

    /// Loses each unit with the probability of its time, independently of others.
    pub fn scheduled(first: Probability, chances: Schedule<Probability>, stream: impl RandomBits) -> Loss {
        Loss::drawn(Some(Law::Scheduled(Scheduled::new(first, chances))), stream)
    }

    fn drawn(law: Option<Law>, stream: impl RandomBits) -> Loss {
        Loss { draws: law.map(|law| Draws { law, stream: Stream::new(stream) }), ..Loss::default() }
    }

    /// Also loses all units that leave during outages, which have true at their start and false at their end.
    #[must_use]
    pub fn with_outages(mut self, outages: Schedule<bool>) -> Loss {
        self.outages = (!outages.is_empty()).then(|| Scheduled::new(false, outages));
        self
    }

    /// Also loses the units with these ascending numbers; the first one to leave the line has number 1.
    #[must_use]
    pub fn with_listed(mut self, mut numbers: Vec<u64>) -> Loss {
        numbers.reverse();
        self.listed = numbers;
        self
    }

    /// Loses each unit from now on with this probability, in place of the present law; one that has lost none so far draws
    /// from `stream`. Outages and listed units stay.
    pub(crate) fn set_chance(&mut self, chance: Probability, stream: impl RandomBits) {
        let law = Law::Independent { below: chance.threshold() };
        match &mut self.draws {
            Some(draws) => draws.law = law,
            None => self.draws = Some(Draws { law, stream: Stream::new(stream) }),
        }
    }

    /// Returns true if no unit is ever lost.
    pub(crate) fn is_idle(&self) -> bool {
        self.draws.is_none() && self.outages.is_none() && self.listed.is_empty()
    }

    /// Returns true if the unit that leaves at `now` is lost.
    #[inline(never)]
    pub(crate) fn strikes(&mut self, now: Time) -> bool {
        self.passed += 1;
        let is_listed = self.listed.pop_if(|next| *next == self.passed).is_some();
        // Units that are lost anyway draw, too, so that the draws of other units do not shift.
        let is_drawn = self.draws.as_mut().is_some_and(|draws| draws.strikes(now));
        is_drawn || is_listed || self.outages.as_mut().is_some_and(|outages| outages.at(now))
    }
}

/// One draw for each unit, and what follows from it.
#[derive(Clone, Debug)]
struct Draws {
    law: Law,
    stream: Stream,
}

/// The rule by which a draw decides. A draw below a threshold is a loss, or a change of state.
#[derive(Clone, Debug)]
enum Law {
    Independent { below: u64 },
    Bursts { begins: u64, ends: u64, bad: bool },
    Scheduled(Scheduled<Probability>),
}

impl Draws {
    fn strikes(&mut self, now: Time) -> bool {
        let draw = self.stream.bits();
        match &mut self.law {
            Law::Independent { below } => draw < *below,
            Law::Bursts { begins, ends, bad } => {
                *bad = if *bad { draw >= *ends } else { draw < *begins };
                *bad
            }
            Law::Scheduled(chance) => draw < chance.at(now).threshold(),
        }
    }
}

/// Returns the number of the 2^64 draws below which an event of this probability happens; the largest for certainty.
fn threshold(probability: f64) -> u64 {
    (probability * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use cellway_units::Span;

    use super::*;
    use crate::qdisc::testing::xorshift;

    /// Runs of lost units among `count`.
    fn bursts(loss: &mut Loss, count: usize) -> (usize, usize) {
        let (mut lost, mut runs, mut before) = (0, 0, false);
        for _ in 0..count {
            let now = loss.strikes(Time::ZERO);
            lost += usize::from(now);
            runs += usize::from(now && !before);
            before = now;
        }
        (lost, runs)
    }

    /// The share of units lost, and the mean length of a burst: within four standard errors, of which the dependence of
    /// units makes that of the share larger by sqrt(2 L - 1).
    #[test]
    fn bursts_have_their_rate_and_length() {
        for (chance, length) in [(0.01, 1.0), (0.01, 8.0), (0.2, 3.5)] {
            let probability: Probability = format!("{} %", chance * 100.0).parse().unwrap();
            let count = 1_000_000;
            let (lost, runs) = bursts(&mut Loss::in_bursts(probability, length, xorshift(3)), count);
            let share = lost as f64 / count as f64;
            let error = (chance * (1.0 - chance) * (2.0 * length - 1.0) / count as f64).sqrt();
            assert!((share - chance).abs() < 4.0 * error, "{chance} {length}: {share}");
            let mean = lost as f64 / runs as f64;
            let error = length / (runs as f64).sqrt();
            assert!((mean - length).abs() < 4.0 * error + 1e-9, "{chance} {length}: {mean}");
        }
    }

    #[test]
    fn a_schedule_has_the_chance_of_its_time_and_an_outage_loses_all() {
        let at = |s| Time::ZERO + Span::from_secs(s);
        let half: Probability = "50 %".parse().unwrap();
        let chances = Schedule::once(vec![(at(1), half), (at(2), Probability::ZERO)]);
        let outages = Schedule::once(vec![(at(3), true), (at(4), false)]);
        let mut loss = Loss::scheduled(Probability::ZERO, chances, xorshift(5)).with_outages(outages);
        assert!(!loss.is_idle());
        let shares = [0, 1, 2, 3, 4].map(|s| (0..1000).filter(|_| loss.strikes(at(s))).count());
        assert!((437..=563).contains(&shares[1]), "{shares:?}");
        assert_eq!([shares[0], shares[2], shares[3], shares[4]], [0, 0, 1000, 0]);
    }
}
