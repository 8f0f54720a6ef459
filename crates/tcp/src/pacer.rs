//! Pacing: the time between a segment and the next.
//!
//! The congestion controller sets the rate. Linux keeps segments at least length / rate apart
//! (`tcp_update_skb_after_send`). This pacer paces single segments, or the groups that the controller permits (its
//! quantum); Linux sends the data of up to a millisecond at once.

use cellway_units::{Bits, Span, Time};

use crate::Config;
use crate::congestion::Control;

/// When the next segment may go.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// Remainder of the division by the rate, carried to the next segment.
    carry: u64,
    /// The present group of segments may be sent together, up to this many bytes more.
    group: u32,
    next: Time,
    /// Data segments sent. The first of a connection are not paced. Linux, `tcp_update_skb_after_send`: 10.
    sent: u32,
}

impl Pacer {
    /// Returns the time until which pacing delays a segment at `now`, if it does.
    pub(crate) fn holds(&self, now: Time) -> Option<Time> {
        (self.next > now && self.group == 0).then_some(self.next)
    }
    /// Records that a segment of `payload` bytes is sent at `now`; `header` returns the length of its TCP header (bytes).
    #[inline]
    pub(crate) fn sent(
        &mut self,
        now: Time,
        (payload, header): (u64, impl FnOnce() -> u32),
        config: &Config,
        control: &Control,
        srtt: Option<Span>,
    ) {
        self.sent = self.sent.saturating_add(1);
        let mut gap = Span::ZERO;
        if control.sets_window() {
            gap = control.pacing_gap(payload, srtt.unwrap_or_default());
            let left = if self.next <= now { control.quantum() } else { u64::from(self.group) };
            // A group of whole segments, at least one.
            let left = left.saturating_sub(payload);
            self.group = if left < payload { 0 } else { u32::try_from(left).unwrap_or(u32::MAX) };
        } else if self.follows_window(config, control)
            && let Some(srtt) = srtt
        {
            gap = control.pacing_gap(payload, srtt);
        }
        if let Some(rate) = config.tcp.pacing_rate {
            let bits = Bits(8 * (config.family.ip_header() + u64::from(header()) + payload));
            // Unused time is not made up for.
            let (span, carry) = rate.time_for(bits, if self.next < now { 0 } else { self.carry });
            self.carry = carry;
            gap = gap.max(span);
            // A bound on the rate holds for each segment.
            self.group = 0;
        }
        self.next = self.next.max(now) + gap;
    }
    /// Returns true if segments are paced at a multiple of window / round trip.
    fn follows_window(&self, config: &Config, control: &Control) -> bool {
        (config.tcp.pacing || control.paces()) && self.sent >= config.tcp.unpaced_segments
    }
    /// Returns the rate at which full segments of `payload` bytes are paced (bit/s of payload); `None` if they are not.
    pub(crate) fn rate(
        &self,
        (payload, header): (u64, u32),
        config: &Config,
        control: &Control,
        srtt: Option<Span>,
    ) -> Option<u64> {
        let paced = control.sets_window() || self.follows_window(config, control);
        let mut gap = srtt.filter(|_| paced).map_or(Span::ZERO, |srtt| control.pacing_gap(payload, srtt));
        if let Some(rate) = config.tcp.pacing_rate {
            let bits = Bits(8 * (config.family.ip_header() + u64::from(header) + payload));
            gap = gap.max(rate.time_for(bits, 0).0);
        }
        let bits = u128::from(payload) * 8 * u128::from(Span::from_secs(1).as_ps());
        bits.checked_div(gap.as_ps().into()).and_then(|rate| u64::try_from(rate).ok())
    }
}
