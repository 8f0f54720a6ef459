//! Samples of the rate at which packets reach the peer, one for each acknowledgement.
//! draft-cheng-iccrg-delivery-rate-estimation, section 3.

use cellway_units::{Bits, Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// A time without acknowledgements is a stall if it exceeds this many times their smoothed interval, which soon adapts
/// to a slower link.
const UNUSUAL: u64 = 4;
const PS_PER_S: u128 = 1_000_000_000_000;

/// Returns the rate of `bits` in `span`; the largest rate if `span` is 0.
pub fn rate_of(bits: u64, span: Span) -> Rate {
    let ps = u128::from(span.as_ps());
    let bps = (u128::from(bits) * PS_PER_S).checked_div(ps).unwrap_or(u128::MAX);
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}
/// Returns the bits that pass in `span` at `rate`.
pub fn bits_of(rate: Rate, span: Span) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(span.as_ps()) / PS_PER_S;
    u64::try_from(bits).unwrap_or(u64::MAX)
}
/// Returns `per_mille` thousandths of `n`.
pub fn times(n: u64, per_mille: u64) -> u64 {
    u64::try_from(u128::from(n) * u128::from(per_mille) / 1000).unwrap_or(u64::MAX)
}

/// The state of a packet in flight, until it is acknowledged or lost (section 3.1.2, `P`).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Stamp {
    sent: Time,
    bits: u64,
    /// The bits that had been delivered when it was sent, and the time of the last delivery.
    delivered: u64,
    delivered_at: Time,
    /// The time at which the packet was sent that was acknowledged last before this one was sent.
    first_sent: Time,
    /// Set if the sender had less to send than it was allowed.
    limited: bool,
}

impl Stamp {
    /// Returns the time at which the packet was sent.
    pub fn sent(&self) -> Time {
        self.sent
    }
    /// Returns the data that had been delivered when the packet was sent (bits).
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    /// Returns true if the source limited the sender when the packet was sent.
    pub fn is_limited(&self) -> bool {
        self.limited
    }
}

/// The rate sample of one acknowledgement.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The delivery rate.
    pub rate: Rate,
    /// The time over which it was measured.
    pub interval: Span,
    /// The bits that had been delivered when the newest of the packets was sent: the first sample with at least the
    /// count of the last round's end begins a new round.
    pub prior: u64,
    /// The time at which that packet was sent.
    pub sent: Time,
    /// True if the source limited the sender (`is_app_limited`).
    pub limited: bool,
    /// Set if the newest packet was sent before the end of a stall, so that the interval includes the stall.
    pub stalled: bool,
}

/// The state of the connection (section 3.1.1, `C`). All amounts are bits on the link.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Delivery {
    /// The acknowledged data (bits).
    pub delivered: u64,
    /// When `delivered` last grew.
    pub delivered_at: Time,
    first_sent: Time,
    /// The bits that were sent and are neither acknowledged nor lost.
    pub in_flight: u64,
    /// Packets acknowledged, without those whose loss a stall caused.
    pub packets_delivered: u64,
    /// Packets lost, without those whose loss a stall caused.
    pub packets_lost: u64,
    /// Packets are application-limited until this many bits are delivered.
    limited_until: Option<u64>,
    newest: Option<Stamp>,
    /// The time at which the last packet was acknowledged, and that at which it had been sent; `None` after an idle
    /// time.
    last: Option<(Time, Time)>,
    /// The usual time between acknowledgements, smoothed.
    usual: Span,
    /// Set from a probe timeout until the next acknowledgement.
    silent: bool,
    /// The end of the last stall: packets sent before it measure the stall.
    stall_end: Option<Time>,
}

impl Delivery {
    /// Records a packet that leaves.
    pub fn sent(&mut self, now: Time, bits: Bits) -> Stamp {
        if self.in_flight == 0 {
            (self.first_sent, self.delivered_at, self.last) = (now, now, None);
        }
        self.in_flight += bits.0;
        let &mut Delivery { delivered, delivered_at, first_sent, .. } = self;
        let limited = self.limited_until.is_some();
        Stamp { sent: now, bits: bits.0, delivered, delivered_at, first_sent, limited }
    }
    /// Records that the application has no more data although more could be sent.
    pub fn nothing_left(&mut self) {
        self.limited_until = Some(self.delivered + self.in_flight);
    }
    /// Returns true if packets sent now are application-limited.
    pub fn is_limited(&self) -> bool {
        self.limited_until.is_some()
    }
    /// Counts an acknowledged packet; [`Delivery::sample`] ends the acknowledgement, which would have arrived at
    /// `answered` without its delays. If acknowledgements are further apart than their packets were, by more than
    /// `patience` and `UNUSUAL` times the usual interval, the bottleneck link or a gateway has stalled.
    pub fn acked(&mut self, answered: Time, stamp: &Stamp, patience: Span) {
        let at = answered.max(self.delivered_at);
        let (apart, sent_apart) =
            self.last.map_or_else(Default::default, |(last, sent)| (at.since(last), stamp.sent.since(sent)));
        let late = apart > sent_apart + patience + self.usual * UNUSUAL;
        if apart > Span::ZERO {
            self.usual = self.usual * 7 / 8 + apart / 8;
        }
        if std::mem::take(&mut self.silent) || late {
            self.stall_end = Some(at);
        }
        self.last = Some((at, stamp.sent));
        self.in_flight -= stamp.bits;
        self.delivered += stamp.bits;
        self.delivered_at = at;
        self.packets_delivered += 1;
        if self.newest.is_none_or(|n| (stamp.delivered, stamp.sent) >= (n.delivered, n.sent)) {
            self.newest = Some(*stamp);
            self.first_sent = stamp.sent;
        }
        if self.limited_until.is_some_and(|until| self.delivered > until) {
            self.limited_until = None;
        }
    }
    /// Records that no acknowledgement arrived for a probe timeout: a stall, until one arrives.
    pub fn timed_out(&mut self) {
        self.silent = true;
    }
    /// Records that a packet was declared lost.
    pub fn lost(&mut self, stamp: &Stamp) {
        self.in_flight -= stamp.bits;
        // Losses in the overflow after a stall do not bound the rate after it.
        if !self.silent && !self.measures_stall(stamp) {
            self.packets_lost += 1;
        }
    }
    /// Records that a packet that was declared lost is in flight after all.
    pub fn found(&mut self, stamp: &Stamp) {
        self.in_flight += stamp.bits;
        if !self.measures_stall(stamp) {
            self.packets_lost = self.packets_lost.saturating_sub(1);
        }
    }
    /// Records a late acknowledgement of a packet that was declared lost: it counts as delivered.
    pub fn acked_late(&mut self, stamp: &Stamp) {
        self.delivered += stamp.bits;
        if !self.measures_stall(stamp) {
            self.packets_lost = self.packets_lost.saturating_sub(1);
            self.packets_delivered += 1;
        }
    }
    fn measures_stall(&self, stamp: &Stamp) -> bool {
        self.stall_end.is_some_and(|end| stamp.sent < end)
    }
    /// Returns the rate sample of the packets that were acknowledged since the last call. The longer of the times in
    /// which they were sent and acknowledged counts, so that neither a burst nor aggregated acknowledgements look like
    /// a fast link.
    pub fn sample(&mut self) -> Option<Sample> {
        let newest = self.newest.take()?;
        let interval = newest.sent.since(newest.first_sent).max(self.delivered_at.since(newest.delivered_at));
        let rate = rate_of(self.delivered - newest.delivered, interval);
        let stalled = self.measures_stall(&newest);
        Some(Sample { rate, interval, prior: newest.delivered, sent: newest.sent, limited: newest.limited, stalled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        let mut delivery = Delivery::default();
        // Ten packets of 1000 bits at 100 kbit/s over a link of 50 kbit/s with a round trip of 100 ms.
        let sent: Vec<_> = (0..10).map(|n| delivery.sent(at(10 * n), Bits(1000))).collect();
        assert_eq!(delivery.in_flight, 10_000);
        for (n, stamp) in (0..).zip(&sent[..9]) {
            delivery.acked(at(120 + 20 * n), stamp, Span::from_secs(1));
            delivery.sample();
        }
        delivery.acked(at(300), &sent[9], Span::from_secs(1));
        let sample = delivery.sample().unwrap();
        // All were sent before the first was acknowledged: 10 000 bits since the first was sent.
        assert_eq!((sample.rate.as_bps(), sample.interval), (33_333, Span::from_ms(300)));
        // The next ten are measured from the last acknowledgement of the first.
        let sent: Vec<_> = (0..10).map(|n| delivery.sent(at(290 + n), Bits(1000))).collect();
        assert_eq!(delivery.in_flight, 10_000);
        for (n, stamp) in (0..).zip(&sent) {
            delivery.acked(at(320 + 20 * n), stamp, Span::from_secs(1));
        }
        assert_eq!(delivery.sample().unwrap().rate.as_bps(), 10_000 * 1000 / 210);
        assert!(delivery.sample().is_none());
    }

    #[test]
    fn aggregated_acknowledgements_are_no_fast_link() {
        let mut delivery = Delivery::default();
        let first = delivery.sent(at(0), Bits(1000));
        delivery.acked(at(100), &first, Span::from_secs(1));
        delivery.sample();
        let late: Vec<_> = (0..10).map(|n| delivery.sent(at(100 + 10 * n), Bits(1000))).collect();
        late.iter().for_each(|stamp| delivery.acked(at(191), stamp, Span::from_secs(1)));
        // In 1 ms if only the last were seen; it was sent 90 ms after the first.
        assert_eq!(delivery.sample().unwrap().rate.as_bps(), 10_000 * 1000 / 91);
    }

    #[test]
    fn packets_before_the_source_runs_dry_are_app_limited_until_delivered() {
        let mut delivery = Delivery::default();
        let before = delivery.sent(at(0), Bits(8));
        delivery.nothing_left();
        let after = delivery.sent(at(1), Bits(8));
        delivery.acked(at(9), &before, Span::from_secs(1));
        assert!(!delivery.sample().unwrap().limited);
        delivery.acked(at(10), &after, Span::from_secs(1));
        assert!(delivery.sample().unwrap().limited);
        let later = delivery.sent(at(11), Bits(8));
        delivery.acked(at(20), &later, Span::from_secs(1));
        assert!(!delivery.sample().unwrap().limited);
    }
}
