//! The aggregate rate: the time at which the next packet may leave.

use cellway_units::{Bits, Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// The pacers of a gateway. Every packet counts against the highest rate. Ack-eliciting packets also count against an
/// estimated rate, as the estimate is of these; acknowledgements alone do not wait for it (RFC 9002, section 7.7).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pacers {
    all: Pacer,
    estimated: Option<Pacer>,
}

impl Pacers {
    /// Creates pacers for at most `rate`, and for at most `estimated`, if there is an estimate.
    pub(crate) fn new(rate: Rate, estimated: Option<Rate>, slack: Span) -> Pacers {
        Pacers { all: Pacer::new(rate, slack), estimated: estimated.map(|rate| Pacer::new(rate, slack)) }
    }
    /// Sets the rates of packets that leave from now on.
    pub(crate) fn set_rates(&mut self, rate: Rate, estimated: Option<Rate>) {
        self.all.set_rate(rate);
        if let (Some(pacer), Some(rate)) = (&mut self.estimated, estimated) {
            pacer.set_rate(rate);
        }
    }
    /// Returns the earliest instant at which any packet may leave.
    pub(crate) fn ready(&self) -> Time {
        self.estimated.as_ref().map_or(self.all.next, |estimated| estimated.next.max(self.all.next))
    }
    /// Returns the earliest instant at which an acknowledgement may leave.
    pub(crate) fn ack_ready(&self) -> Time {
        self.all.next
    }
    /// Returns true if a packet could have left before and none waited.
    pub(crate) fn idle(&self, now: Time) -> bool {
        let pacer = self.estimated.as_ref().unwrap_or(&self.all);
        pacer.is_idle(now) && pacer.next < now
    }
    /// Records that a packet of `bits` leaves.
    pub(crate) fn send(&mut self, now: Time, bits: Bits, ack_eliciting: bool) {
        self.all.send(now, bits);
        if let Some(estimated) = self.estimated.as_mut().filter(|_| ack_eliciting) {
            estimated.send(now, bits);
        }
    }
    /// Sets which frames wait: those that may leave at [`Pacers::ready`], and an acknowledgement.
    pub(crate) fn wait(&mut self, now: Time, frames: bool, ack: bool) {
        self.all.wait(now, frames || ack);
        if let Some(estimated) = &mut self.estimated {
            estimated.wait(now, frames);
        }
    }
}

/// Spaces packets by the time that their octets take on the link. Idle time earns no credit. If the gateway is called
/// late while a packet waits, it makes up for up to `slack`, also with packets that arrived meanwhile. So over any
/// interval it sends no more than the rate allows in it and in `slack`, and one packet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pacer {
    rate: Rate,
    slack: Span,
    /// The earliest instant at which the next packet may leave.
    next: Time,
    carry: u64,
    /// The instant since which no packet waits; `None` while one does.
    idle_since: Option<Time>,
}

impl Pacer {
    pub(crate) fn new(rate: Rate, slack: Span) -> Pacer {
        Pacer { rate, slack, next: Time::ZERO, carry: 0, idle_since: Some(Time::ZERO) }
    }
    /// Sets the rate of packets that leave from now on.
    fn set_rate(&mut self, rate: Rate) {
        if rate != self.rate {
            (self.rate, self.carry) = (rate, 0);
        }
    }
    /// Sets how much lateness is made up for.
    pub(crate) fn set_slack(&mut self, slack: Span) {
        self.slack = slack;
    }
    pub(crate) fn slack(&self) -> Span {
        self.slack
    }
    /// Returns the earliest instant at which the next packet may leave.
    pub(crate) fn next(&self) -> Time {
        self.next
    }
    /// Records that a packet of `bits` leaves.
    pub(crate) fn send(&mut self, now: Time, bits: Bits) {
        let lost = now.since(self.next);
        let kept = if self.is_idle(now) { Span::ZERO } else { self.slack };
        if lost > kept {
            (self.next, self.carry) = (self.next + lost.saturating_sub(kept), 0);
        }
        let (span, carry) = self.rate.time_for(bits, self.carry);
        self.next += span;
        self.carry = carry;
    }
    /// Sets whether a packet waits.
    pub(crate) fn wait(&mut self, now: Time, waits: bool) {
        if waits && self.is_idle(now) && self.next < now {
            (self.next, self.carry) = (now, 0);
        }
        self.idle_since = (!waits).then(|| self.idle_since.unwrap_or(now));
    }
    /// Returns true if no packet has waited since an earlier instant.
    fn is_idle(&self, now: Time) -> bool {
        self.idle_since.is_some_and(|since| since < now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn the_long_run_rate_is_exact_and_idle_time_is_not_saved() {
        let mut pacer = Pacer::new(Rate::from_bps(7), Span::from_secs(5));
        for _ in 0..7 {
            pacer.send(pacer.next, Bits(3));
        }
        assert_eq!(pacer.next, Time::from_ps(3_000_000_000_000));
        let late = Time::from_ps(9_000_000_000_000);
        pacer.send(late, Bits(7));
        assert_eq!(pacer.next - late, Span::from_secs(1));
    }

    #[test]
    fn acknowledgements_alone_wait_for_the_highest_rate_only() {
        let mut pacers = Pacers::new(Rate::from_bps(8_000), Some(Rate::from_bps(1_000)), Span::ZERO);
        pacers.send(at(10), Bits(8), true);
        assert_eq!((pacers.ack_ready(), pacers.ready()), (at(11), at(18)));
        pacers.send(at(12), Bits(8), false);
        assert_eq!((pacers.ack_ready(), pacers.ready()), (at(13), at(18)));
        pacers.wait(at(12), false, true);
        // An acknowledgement that waits does not mean that the source has more to send.
        assert!(!pacers.idle(at(18)) && pacers.idle(at(19)));
        // A configured rate counts every packet.
        let mut pacers = Pacers::new(Rate::from_bps(1_000), None, Span::ZERO);
        pacers.send(at(10), Bits(8), true);
        assert_eq!((pacers.ack_ready(), pacers.ready()), (at(18), at(18)));
        pacers.send(at(18), Bits(8), false);
        assert_eq!((pacers.ack_ready(), pacers.ready()), (at(26), at(26)));
    }

    #[test]
    fn packets_that_arrive_while_lateness_is_made_up_for_leave_with_it() {
        let mut pacer = Pacer::new(Rate::from_bps(8_000), Span::from_ms(5));
        pacer.send(at(10), Bits(8));
        pacer.wait(at(10), true);
        // 4 ms late: the packets that waited leave, and then none waits for a moment.
        pacer.send(at(15), Bits(8));
        pacer.wait(at(15), false);
        assert!(!pacer.is_idle(at(15)));
        pacer.send(at(15), Bits(8));
        pacer.wait(at(15), false);
        assert_eq!(pacer.next, at(13));
        // A packet that arrives later finds no credit.
        assert!(pacer.is_idle(at(16)));
        pacer.wait(at(16), true);
        assert_eq!(pacer.next, at(16));
        pacer.send(at(16), Bits(8));
        assert_eq!(pacer.next, at(17));
    }

    #[test]
    fn lateness_is_made_up_for_as_far_as_the_slack_goes() {
        let at = |s| Time::ZERO + Span::from_secs(s);
        let mut pacer = Pacer::new(Rate::from_bps(8), Span::from_secs(2));
        pacer.send(at(10), Bits(8));
        pacer.wait(at(10), true);
        // One second late: the next packet is due at once, and then on time.
        pacer.send(at(12), Bits(8));
        assert_eq!(pacer.next, at(12));
        pacer.wait(at(12), true);
        // Eight seconds late: two are kept.
        pacer.send(at(20), Bits(8));
        assert_eq!(pacer.next, at(19));
        pacer.send(at(20), Bits(8));
        assert_eq!(pacer.next, at(20));
        // Nothing waited: nothing is kept.
        pacer.wait(at(20), false);
        pacer.send(at(21), Bits(8));
        assert_eq!(pacer.next, at(22));
    }
}
