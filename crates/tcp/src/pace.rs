//! Pacing: how long to wait after a segment before the next may go.
//!
//! Linux gives each socket a rate of window / round trip, times 2 or 1.2, and keeps its segments at
//! least length / rate apart (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`). Here each
//! segment stands alone; Linux sends up to a millisecond's worth at once.

use cellway_units::{Bits, Rate, Span, Time};

use crate::Config;
use crate::congestion::Window;

/// Below half of the slow-start threshold the rate is 200 % of window / round trip, then 120 %.
/// Linux, `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio` (per cent).
const SLOW_START_PERCENT: u128 = 200;
const AVOIDANCE_PERCENT: u128 = 120;
/// So many segments go unpaced at first. Linux, `tcp_update_skb_after_send`.
const UNPACED: u64 = 10;
/// IPv4 header without options (bytes).
const IP_HEADER: u64 = 20;

/// When the next segment may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    by_window: bool,
    rate: Option<Rate>,
    /// Remainder of the division by the rate, carried to the next segment.
    carry: u64,
    next: Time,
    /// Data segments sent.
    sent: u64,
}

impl Pacer {
    pub(crate) fn new(config: &Config) -> Pacer {
        Pacer { by_window: config.pacing, rate: config.pacing_rate, carry: 0, next: Time::ZERO, sent: 0 }
    }

    /// Until when nothing may go, if it may not go at `now`.
    pub(crate) fn holds(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }
    /// A segment of `payload` bytes behind a TCP header of `header` bytes goes at `now`.
    pub(crate) fn sent(&mut self, now: Time, payload: u64, header: u32, window: &Window, srtt: Option<Span>) {
        self.sent = self.sent.saturating_add(1);
        let mut gap = Span::ZERO;
        if self.by_window
            && self.sent >= UNPACED
            && let Some(srtt) = srtt
        {
            gap = window_gap(payload, window, srtt);
        }
        if let Some(rate) = self.rate {
            let bits = Bits(8 * (IP_HEADER + u64::from(header) + payload));
            // Time that passed unused owes nothing.
            let (span, carry) = rate.time_for(bits, if self.next < now { 0 } else { self.carry });
            self.carry = carry;
            gap = gap.max(span);
        }
        self.next = self.next.max(now) + gap;
    }
}

/// payload / (percent * cwnd / srtt).
fn window_gap(payload: u64, window: &Window, srtt: Span) -> Span {
    let percent = if window.cwnd < window.ssthresh / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
    let gap = u128::from(payload) * u128::from(srtt.as_ps()) * 100 / (percent * u128::from(window.cwnd.max(1)));
    Span::from_ps(u64::try_from(gap).unwrap_or(u64::MAX))
}
