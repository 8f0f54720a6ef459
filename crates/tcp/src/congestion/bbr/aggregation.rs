//! The aggregation of acknowledgements. Section "BBR.extra_acked".

use cellway_units::Time;

use super::filter::RoundMax;
use super::{Bbr, PS_PER_S, narrow};

/// BBR.ExtraAckedFilterLen, in rounds, and the same in Startup.
const WINDOW: u64 = 10;
const STARTUP_WINDOW: u64 = 1;

/// The data acknowledged beyond what the bandwidth explains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// BBR.extra_acked_interval_start.
    since: Time,
    /// BBR.extra_acked_delivered (bytes).
    delivered: u64,
    filter: RoundMax,
    /// BBR.extra_acked (bytes).
    pub(super) extra: u64,
}

impl Aggregation {
    /// Begins a new interval.
    pub(super) fn restart(&mut self, now: Time) {
        self.since = now;
    }
}

impl Bbr {
    /// UpdateACKAggregation(); `acked` is newly acknowledged (bytes).
    pub(super) fn update_aggregation(&mut self, now: Time, acked: u64, cwnd: u64) {
        let a = &mut self.aggregation;
        let interval = u128::from(now.since(a.since).as_ps());
        let mut expected = narrow(u128::from(self.bandwidth) * interval / (8 * PS_PER_S));
        if a.delivered <= expected {
            (a.delivered, a.since, expected) = (0, now, 0);
        }
        a.delivered += acked;
        let extra = a.delivered.saturating_sub(expected).min(cwnd);
        let window = if self.full_pipe.reached { WINDOW } else { STARTUP_WINDOW };
        a.extra = a.filter.update(self.rounds.count, window, extra);
    }
}
