//! The propagation delay of packets: fixed, by a schedule, with random variation.

use std::sync::Arc;

use cellway_spec::{Jitter, JitterDistribution};
use cellway_units::{Span, Time, standard_normal};

use crate::loss::Stream;
use crate::packet::PacketRef;
use crate::schedule::{Place, Schedule, Scheduled};

/// A propagation delay that varies from packet to packet.
#[derive(Clone, Debug)]
pub struct DelaySpec {
    /// The delay over time, in place of that of the link from its first change on.
    pub schedule: Schedule<Span>,
    /// The random part of the delay of each packet, and its random numbers.
    pub jitter: Option<(Jitter, Stream)>,
    /// Equally likely values of the random part in place of its distribution, in ascending order, in units of 2^-20 standard
    /// deviations; not empty.
    pub values: Option<Arc<[i32]>>,
    /// True if a packet with a smaller delay overtakes others; else it arrives with the last packet sent before it.
    pub reorder: bool,
}

impl DelaySpec {
    /// Returns true if the delay is always that of the link.
    pub fn is_fixed(&self) -> bool {
        self.schedule.is_empty() && self.jitter.is_none()
    }
}

/// The delay of the packets of one direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    base: Scheduled<Span>,
    jitter: Option<JitterDraws>,
    pub(crate) reorder: bool,
    /// The latest arrival so far.
    latest: Time,
    /// The last packet, and the changes that had been made before it. It may not have left its line yet.
    last: Option<(PacketRef, Place<Span>)>,
}

impl Delay {
    /// A delay that is `first` before the random part until the first change.
    pub(crate) fn new(first: Span, spec: DelaySpec) -> Delay {
        let DelaySpec { schedule, jitter, values, reorder } = spec;
        let jitter = jitter.map(|(parameters, stream)| JitterDraws { parameters, values, stream, last: None });
        Delay { base: Scheduled::new(first, schedule), jitter, reorder, latest: Time::ZERO, last: None }
    }

    /// A delay that has been fixed so far, behind packets of which the last arrives at `latest`.
    pub(crate) fn fixed(delay: Span, latest: Time) -> Delay {
        let spec = DelaySpec { schedule: Schedule::once(Vec::new()), jitter: None, values: None, reorder: false };
        Delay { latest, ..Delay::new(delay, spec) }
    }

    /// Changes the delay before the random part, until the next change of the schedule, of packets that leave their line from
    /// `now` on.
    pub(crate) fn set(&mut self, now: Time, delay: Span) {
        self.base.advance(now);
        self.base.set(delay);
    }

    /// Returns the last packet as if its arrival had not been asked for, except that its random part is drawn again.
    /// [`Delay::set_latest`] follows.
    pub(crate) fn take_back(&mut self) -> PacketRef {
        let (packet, place) = self.last.take().expect("a packet was sent");
        self.base.return_to(place);
        packet
    }

    /// Sets the latest arrival of the packets that are still to come.
    pub(crate) fn set_latest(&mut self, latest: Time) {
        self.latest = latest;
    }

    /// Returns the last packet.
    pub(crate) fn last(&self) -> Option<PacketRef> {
        self.last.as_ref().map(|&(packet, _)| packet)
    }

    /// Returns the delay before the random part at `now`, with all changes that have been made.
    pub(crate) fn base_at(&self, now: Time) -> Span {
        self.base.clone().at(now)
    }

    /// Returns the arrival of a packet that leaves its line at `leaves`, not before the one that left last.
    pub(crate) fn arrival(&mut self, leaves: Time, packet: PacketRef) -> Time {
        self.last = Some((packet, self.base.place()));
        let base = self.base.at(leaves);
        let delay = match &mut self.jitter {
            Some(jitter) => jitter.added_to(base),
            None => base,
        };
        let arrives = leaves + delay;
        self.latest = self.latest.max(arrives);
        if self.reorder { arrives } else { self.latest }
    }
}

/// Draws of the random part of a delay.
#[derive(Clone, Debug)]
struct JitterDraws {
    parameters: Jitter,
    values: Option<Arc<[i32]>>,
    stream: Stream,
    /// The normal variate of the last packet, if there was one.
    last: Option<f64>,
}

impl JitterDraws {
    /// Returns `base` with the random part of the next packet; never below zero.
    fn added_to(&mut self, base: Span) -> Span {
        let deviation = self.parameters.deviation.as_secs_f64();
        let added = deviation * self.standard();
        let size = Span::from_secs_f64(added.abs());
        if added < 0.0 { base.saturating_sub(size) } else { Span::from_ps(base.as_ps().saturating_add(size.as_ps())) }
    }

    /// Draws the random part in standard deviations.
    ///
    /// A normal variate, correlated with the last by `x' = r x + sqrt(1 - r^2) n`, has its place in the distribution
    /// replaced by that of the wanted one. So each has exactly its distribution, whatever the correlation.
    fn standard(&mut self) -> f64 {
        let fresh = standard_normal([self.stream.bits(), self.stream.bits()]);
        let correlation = self.parameters.correlation.as_f64();
        let normal = match self.last {
            Some(last) => correlation * last + libm::sqrt(1.0 - correlation * correlation) * fresh,
            None => fresh,
        };
        self.last = Some(normal);
        let chance_of_more = || 0.5 * libm::erfc(normal * std::f64::consts::FRAC_1_SQRT_2);
        if let Some(values) = &self.values {
            let place = (1.0 - chance_of_more()) * values.len() as f64;
            return f64::from(values[(place as usize).min(values.len() - 1)]) / 1_048_576.0;
        }
        match self.parameters.distribution {
            JitterDistribution::Normal => normal,
            // From -sqrt(3) to sqrt(3).
            JitterDistribution::Uniform => libm::sqrt(3.0) * (1.0 - 2.0 * chance_of_more()),
            // Pareto with shape 3 and minimum m has the variance 3/4 m^2; its minimum is taken off.
            JitterDistribution::Pareto => (libm::pow(chance_of_more(), -1.0 / 3.0) - 1.0) * (2.0 / libm::sqrt(3.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Probability;

    use super::*;
    use crate::qdisc::testing::xorshift;

    const ANY: PacketRef = PacketRef(0);

    fn delays(distribution: JitterDistribution, correlation: &str, count: usize) -> Vec<f64> {
        let correlation: Probability = correlation.parse().expect("a probability");
        let jitter = Jitter { deviation: Span::from_ms(5), distribution, correlation };
        let spec = DelaySpec {
            schedule: Schedule::once(Vec::new()),
            jitter: Some((jitter, Stream::new(xorshift(7)))),
            values: None,
            reorder: true,
        };
        let mut delay = Delay::new(Span::from_ms(100), spec);
        (0..count)
            .map(|i| Time::ZERO + Span::from_us(i as u64))
            .map(|at| (delay.arrival(at, ANY) - at).as_secs_f64())
            .collect()
    }

    fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = values.len() as f64;
        values.sum::<f64>() / count
    }

    /// Mean, deviation and correlation of neighbours are as declared: of Pareto the mean is 1/sqrt(3) deviations above. The bounds
    /// are four standard errors: of the mean 1 / sqrt(n) deviations, of the deviation sqrt(1 / 2n) of a normal and
    /// sqrt(1 / 5n) of a uniform distribution. The fourth moment of Pareto is infinite: its bound is that of this sample.
    #[test]
    fn delays_have_the_declared_moments() {
        use JitterDistribution::{Normal, Pareto, Uniform};
        let count = 200_000;
        for (distribution, offset, slack) in [(Normal, 0.0, 0.0064), (Uniform, 0.0, 0.004), (Pareto, 0.577_350, 0.03)] {
            let drawn = delays(distribution, "0 %", count);
            let average = mean(drawn.iter().copied());
            let deviation = mean(drawn.iter().map(|d| (d - average) * (d - average))).sqrt();
            let error = 4.0 * 0.005 / (count as f64).sqrt();
            assert!((average - (0.1 + 0.005 * offset)).abs() < error, "{distribution:?}: {average}");
            assert!((deviation - 0.005).abs() < 0.005 * slack, "{distribution:?}: {deviation}");
        }
        let drawn = delays(Normal, "80 %", count);
        let average = mean(drawn.iter().copied());
        let variance = mean(drawn.iter().map(|d| (d - average) * (d - average)));
        let product = mean(drawn.windows(2).map(|pair| (pair[0] - average) * (pair[1] - average)));
        // Four standard errors of a correlation r are 4 (1 - r^2) / sqrt(n), but neighbours depend on each other.
        assert!((product / variance - 0.8).abs() < 0.01, "{}", product / variance);
    }

    /// The quarter points of each distribution, in deviations: normal 0.6745, uniform sqrt(3)/2, Pareto from its function.
    #[test]
    fn quartiles_are_those_of_the_distribution() {
        use JitterDistribution::{Normal, Pareto, Uniform};
        let scale = 2.0 / 3f64.sqrt();
        let pareto = |above: f64| (above.powf(-1.0 / 3.0) - 1.0) * scale;
        for (distribution, quarters) in [
            (Normal, [-0.674_49, 0.0, 0.674_49]),
            (Uniform, [-0.866_03, 0.0, 0.866_03]),
            (Pareto, [pareto(0.75), pareto(0.5), pareto(0.25)]),
        ] {
            let mut drawn = delays(distribution, "50 %", 200_000);
            drawn.sort_by(f64::total_cmp);
            for (quarter, expected) in quarters.into_iter().enumerate() {
                let found = (drawn[drawn.len() * (quarter + 1) / 4] - 0.1) / 0.005;
                assert!((found - expected).abs() < 0.02, "{distribution:?}: {found} for {expected}");
            }
        }
    }

    /// Four values are drawn equally often, within four standard errors, whatever the correlation; that makes equal neighbours
    /// likelier than a quarter.
    #[test]
    fn values_of_a_table_are_equally_likely() {
        let count = 100_000u32;
        for (correlation, factor) in [("0 %", 1.0), ("90 %", 4.5)] {
            let jitter = Jitter {
                deviation: Span::from_ms(4),
                distribution: JitterDistribution::Normal,
                correlation: correlation.parse().expect("a probability"),
            };
            let spec = DelaySpec {
                schedule: Schedule::once(Vec::new()),
                jitter: Some((jitter, Stream::new(xorshift(11)))),
                values: Some([-2, 0, 1, 8].map(|halves| halves << 19).into()),
                reorder: true,
            };
            let mut delay = Delay::new(Span::from_ms(10), spec);
            let at = Time::ZERO + Span::from_secs(1);
            let drawn: Vec<Span> = (0..count).map(|_| delay.arrival(at, ANY) - at).collect();
            // Of correlated draws the error is larger by sqrt((1 + r) / (1 - r)) at most: 4.4 for 90 %.
            let error = factor * 4.0 * (0.25 * 0.75 / f64::from(count)).sqrt();
            for ms in [6, 10, 12, 26] {
                let share = drawn.iter().filter(|found| **found == Span::from_ms(ms)).count() as f64 / f64::from(count);
                assert!((share - 0.25).abs() < error, "{ms} ms: {share}");
            }
            let equal = drawn.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64 / f64::from(count);
            assert_eq!(equal > 0.4, factor > 1.0, "{equal}");
        }
    }

    /// With 100 ms, then 20 ms, a packet that leaves 10 ms later overtakes, or arrives with the one before it.
    #[test]
    fn packets_overtake_only_if_they_may() {
        let ms = |ms| Time::ZERO + Span::from_ms(ms);
        for (reorder, second) in [(true, 30), (false, 100)] {
            let schedule = Schedule::once(vec![(ms(5), Span::from_ms(20))]);
            let mut delay = Delay::new(Span::from_ms(100), DelaySpec { schedule, jitter: None, values: None, reorder });
            assert_eq!(delay.arrival(ms(0), ANY), ms(100));
            assert_eq!(delay.arrival(ms(10), ANY), ms(second));
            assert_eq!(delay.arrival(ms(90), ANY), ms(110));
        }
    }
}
