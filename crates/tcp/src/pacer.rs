//! Pacing: the time between a segment and the next.
//!
//! The congestion controller sets the rate. Linux keeps segments at least length / rate apart
//! (`tcp_update_skb_after_send`). This pacer paces single segments, or the groups that the controller permits (its
//! quantum); Linux sends the data of up to a millisecond at once.

use cellway_units::{Bits, Rate, Span, Time};

use crate::Config;
use crate::congestion::Control;

/// When the next segment may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    by_window: bool,
    /// Octets of the IP header of a segment.
    ip_header: u8,
    /// The first segments of a connection, which are not paced. Linux, `tcp_update_skb_after_send`: 10.
    unpaced: u32,
    rate: Option<Rate>,
    /// Remainder of the division by the rate, carried to the next segment.
    carry: u64,
    /// The present group of segments may be sent together, up to this many bytes more.
    group: u32,
    next: Time,
    /// Data segments sent.
    sent: u64,
}

impl Pacer {
    pub(crate) fn new(config: &Config) -> Pacer {
        let unpaced = config.tcp.unpaced_segments;
        Pacer {
            by_window: config.tcp.pacing,
            ip_header: config.family.ip_header() as u8,
            unpaced,
            rate: config.tcp.pacing_rate,
            carry: 0,
            group: 0,
            next: Time::ZERO,
            sent: 0,
        }
    }

    /// Returns the time until which pacing delays a segment at `now`, if it does.
    pub(crate) fn holds(&self, now: Time) -> Option<Time> {
        (self.next > now && self.group == 0).then_some(self.next)
    }
    /// Records that a segment of `payload` bytes after a TCP header of `header` bytes is sent at `now`.
    pub(crate) fn sent(&mut self, now: Time, payload: u64, header: u32, control: &Control, srtt: Option<Span>) {
        self.sent = self.sent.saturating_add(1);
        let mut gap = Span::ZERO;
        if control.sets_window() {
            gap = control.pacing_gap(payload, srtt.unwrap_or_default());
            let left = if self.next <= now { control.quantum() } else { u64::from(self.group) };
            // A group of whole segments, at least one.
            let left = left.saturating_sub(payload);
            self.group = if left < payload { 0 } else { u32::try_from(left).unwrap_or(u32::MAX) };
        } else if self.by_window
            && self.sent >= u64::from(self.unpaced)
            && let Some(srtt) = srtt
        {
            gap = control.pacing_gap(payload, srtt);
        }
        if let Some(rate) = self.rate {
            let bits = Bits(8 * (u64::from(u32::from(self.ip_header) + header) + payload));
            // Unused time is not made up for.
            let (span, carry) = rate.time_for(bits, if self.next < now { 0 } else { self.carry });
            self.carry = carry;
            gap = gap.max(span);
            // A bound on the rate holds for each segment.
            self.group = 0;
        }
        self.next = self.next.max(now) + gap;
    }
}
