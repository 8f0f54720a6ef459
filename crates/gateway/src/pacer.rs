//! The aggregate rate: when the next packet may leave.

use cellway_units::{Bits, Rate, Span, Time};

/// Spaces packets by what they take on the line. Nothing is saved up while idle. Time lost because
/// the machine was called late, while something waited, is made up for up to `slack`; so over any
/// interval no more is sent than the rate allows in it and in `slack`, and one packet.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    rate: Rate,
    slack: Span,
    next: Time,
    carry: u64,
    /// Whether something has waited for `next`.
    waits: bool,
}

impl Pacer {
    pub(crate) fn new(rate: Rate, slack: Span) -> Pacer {
        Pacer { rate, slack, next: Time::ZERO, carry: 0, waits: false }
    }
    /// What leaves from now on leaves at `rate`.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        (self.rate, self.carry) = (rate, 0);
    }
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }
    /// The earliest instant at which a packet may leave.
    pub(crate) fn ready(&self) -> Time {
        self.next
    }
    /// Whether nothing has waited at an instant at which a packet might have left.
    pub(crate) fn idle(&self, now: Time) -> bool {
        !self.waits && self.next < now
    }
    /// A packet of `bits` leaves.
    pub(crate) fn send(&mut self, now: Time, bits: Bits) {
        let lost = now.since(self.next);
        let kept = if self.waits { self.slack } else { Span::ZERO };
        if lost > kept {
            (self.next, self.carry) = (self.next + lost.saturating_sub(kept), 0);
        }
        let (span, carry) = self.rate.time_for(bits, self.carry);
        self.next += span;
        self.carry = carry;
    }
    /// Tells whether something waits now for [`ready`](Pacer::ready).
    pub(crate) fn wait(&mut self, now: Time, waits: bool) {
        if !waits && self.next < now {
            (self.next, self.carry) = (now, 0);
        }
        self.waits = waits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_run_rate_is_exact_and_idle_time_is_not_saved() {
        let mut pacer = Pacer::new(Rate::from_bps(7), Span::from_secs(5));
        for _ in 0..7 {
            pacer.send(pacer.ready(), Bits(3));
        }
        assert_eq!(pacer.ready(), Time::from_ps(3_000_000_000_000));
        let late = Time::from_ps(9_000_000_000_000);
        pacer.send(late, Bits(7));
        assert_eq!(pacer.ready() - late, Span::from_secs(1));
    }

    #[test]
    fn lateness_is_made_up_for_as_far_as_the_slack_goes() {
        let at = |s| Time::ZERO + Span::from_secs(s);
        let mut pacer = Pacer::new(Rate::from_bps(8), Span::from_secs(2));
        pacer.send(at(10), Bits(8));
        pacer.wait(at(10), true);
        // One second late: the next packet is due at once, and then on time.
        pacer.send(at(12), Bits(8));
        assert_eq!(pacer.ready(), at(12));
        pacer.wait(at(12), true);
        // Eight seconds late: two are kept.
        pacer.send(at(20), Bits(8));
        assert_eq!(pacer.ready(), at(19));
        pacer.send(at(20), Bits(8));
        assert_eq!(pacer.ready(), at(20));
        // Nothing waited: nothing is kept.
        pacer.wait(at(20), false);
        pacer.send(at(21), Bits(8));
        assert_eq!(pacer.ready(), at(22));
    }
}
