//! The proportional integral controller of DualPI2. RFC 9332, appendix A.1.

use cellway_spec::{DualPi2, Overload};
use cellway_units::{Span, Time};

use crate::qdisc::updates::Updates;

/// The base probability p', from which both queues have theirs: k p' and the square of p'.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub(super) base: f64,
    coupling: f64,
    target: f64,
    /// The gains of an update, in 1/s.
    alpha: f64,
    beta: f64,
    /// The largest base probability.
    largest: f64,
    /// The wait at the last update, in s.
    delay: f64,
    updates: Updates,
}

impl Controller {
    pub(super) fn new(spec: DualPi2) -> Controller {
        let interval = spec.target.min(spec.rtt_max / 3).max(Span::from_us(1));
        let rtt_max = spec.rtt_max.as_secs_f64();
        let coupling = f64::from(spec.coupling);
        Controller {
            base: 0.0,
            coupling,
            target: spec.target.as_secs_f64(),
            alpha: 0.1 * interval.as_secs_f64() / (rtt_max * rtt_max),
            beta: 0.3 / rtt_max,
            largest: if spec.overload == Overload::Mark { 1.0 / coupling } else { 1.0 },
            delay: 0.0,
            updates: Updates::new(interval),
        }
    }

    /// Returns the probability p_CL with which the low-latency queue is marked for the classic one.
    pub(super) fn coupled(&self) -> f64 {
        (self.coupling * self.base).min(1.0)
    }

    /// Makes the updates that are due; `oldest` is the arrival of the packet that has waited longest since the last call.
    pub(super) fn update(&mut self, now: Time, oldest: Option<Time>) {
        let Controller { base, delay: before, updates, target, alpha, beta, largest, .. } = self;
        let wait = |at: Time| oldest.map_or(0.0, |since| at.since(since).as_secs_f64());
        updates.run(now, |at| {
            let delay = wait(at);
            let next = (*base + *alpha * (delay - *target) + *beta * (delay - *before)).clamp(0.0, *largest);
            // A wait that grows further does not change the largest probability.
            let is_settled = next == *base && (delay == *before || (next == *largest && delay > *target));
            (*base, *before) = (next, delay);
            !is_settled
        });
    }
}
