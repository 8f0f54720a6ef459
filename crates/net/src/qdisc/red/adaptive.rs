//! Adaptive RED: the thresholds and the weight follow from the rate of the line, and `max_p` is adapted to the average
//! queue. S. Floyd, R. Gummadi, S. Shenker, *Adaptive RED: an algorithm for increasing the robustness of RED's active
//! queue management*, 2001.

use cellway_spec::Ared;
use cellway_units::{Bytes, Rate, Time};

use super::{Parameters, RedQueue};
use crate::line::Line;
use crate::loss::Stream;
use crate::qdisc::chance::power;
use crate::qdisc::updates::Updates;
use crate::qdisc::{Discipline, Memory};

/// The least `min`, in packets; `max` is three times `min`. Section 5.
const LEAST_MIN: f64 = 5.0;
/// The value of `max_p` at the start, and its limits. Figure 5 has the limits; the start is that of ns-2.
const START: f64 = 0.1;
const LEAST: f64 = 0.01;
const MOST: f64 = 0.5;
/// The step by which `max_p` grows, at most a quarter of itself, and the factor by which it falls. Figure 5.
const GROWTH: f64 = 0.01;
const DECREASE: f64 = 0.9;
/// The average is to be in the middle fifth of the distance from `min` to `max`. Figure 5.
const WANTED: [f64; 2] = [0.4, 0.6];

impl RedQueue {
    /// An empty queue of a line of `rate` that adapts itself.
    pub(in crate::qdisc) fn adaptive(
        memory: Memory,
        ared: Ared,
        largest: Bytes,
        rate: Rate,
        stream: Stream,
    ) -> RedQueue {
        let packets = rate.as_bps() as f64 / ared.mean_packet.bits().0 as f64;
        let min = (ared.target.as_secs_f64() * packets / 2.0).max(LEAST_MIN);
        let parameters = Parameters {
            min,
            max: 3.0 * min,
            in_octets: false,
            max_p: START,
            weight: -libm::expm1(-1.0 / packets),
            gentle: true,
            ecn: ared.ecn,
            mean_packet: ared.mean_packet,
        };
        RedQueue::with(memory, parameters, largest, stream, Some(Updates::new(ared.interval)))
    }

    /// Makes the updates of `max_p` that are due. The average changes only when a packet arrives, and falls while the line
    /// is idle.
    pub(super) fn adapt(&mut self, now: Time, line: &Line) {
        let idle_since = self.memory().is_empty().then(|| self.sampled.max(line.free_at()));
        let (before, parameters) = (self.average, &mut self.parameters);
        let Some(updates) = &mut self.updates else { return };
        updates.run(now, |at| {
            let idle = idle_since.filter(|since| *since < at);
            let average = idle.map_or(before, |since| parameters.after_idle(before, line.idle_bits(since, at)));
            let max_p = parameters.adapted(average);
            // Of an average that falls, later updates may change more.
            let is_settled = idle.is_none() || average < parameters.min;
            std::mem::replace(&mut parameters.max_p, max_p) != max_p || !is_settled
        });
    }
}

impl Parameters {
    /// Returns the average after the line has been idle for so many bits.
    pub(super) fn after_idle(&self, average: f64, bits: u128) -> f64 {
        let packets = bits / u128::from(self.mean_packet.bits().0.max(1));
        average * power(1.0 - self.weight, u64::try_from(packets).unwrap_or(u64::MAX))
    }

    /// Returns `max_p` after an update.
    fn adapted(&self, average: f64) -> f64 {
        let [low, high] = WANTED.map(|share| self.min + share * (self.max - self.min));
        if average > high && self.max_p <= MOST {
            self.max_p + GROWTH.min(self.max_p / 4.0)
        } else if average < low && self.max_p >= LEAST {
            self.max_p * DECREASE
        } else {
            self.max_p
        }
    }
}
