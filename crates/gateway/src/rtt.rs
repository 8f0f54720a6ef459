//! The round-trip time between the gateways. RFC 9002, section 5.

use cellway_delivery::GRANULARITY;
use cellway_units::Span;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rtt {
    latest: Span,
    least: Span,
    smoothed: Span,
    variation: Span,
    measured: bool,
}

impl Rtt {
    pub(crate) fn new(initial: Span) -> Rtt {
        Rtt { latest: initial, least: initial, smoothed: initial, variation: initial / 2, measured: false }
    }
    /// Takes a sample of an acknowledged packet, of which the peer reports that it held the acknowledgement for
    /// `delay`. Returns the round trip without the part of the delay that is possible.
    pub(crate) fn measure(&mut self, sample: Span, delay: Span) -> Span {
        self.latest = sample;
        if !self.measured {
            *self = Rtt { measured: true, ..Rtt::new(sample) };
            return sample;
        }
        self.least = self.least.min(sample);
        // Section 5.3: the delay counts only if the remainder is still possible.
        let adjusted = if sample >= self.least + delay { sample - delay } else { sample };
        self.variation = (self.variation * 3 + self.smoothed.abs_diff(adjusted)) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
        adjusted
    }
    /// Returns the smoothed round-trip time.
    pub(crate) fn smoothed(&self) -> Span {
        self.smoothed
    }
    /// Returns the time after its sending at which a packet is lost if a later one was acknowledged. Section 6.1.2.
    pub(crate) fn loss_delay(&self) -> Span {
        let longest = self.smoothed.max(self.latest);
        (longest + longest / 8).max(GRANULARITY)
    }
    /// Returns the time to wait for any acknowledgement when the peer may hold it for `ack_delay`. Section 6.2.1.
    pub(crate) fn probe_timeout(&self, ack_delay: Span) -> Span {
        self.smoothed + (self.variation * 4).max(GRANULARITY) + ack_delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_follow_the_formulas() {
        let ms = Span::from_ms;
        let mut rtt = Rtt::new(ms(333));
        // Section 6.2.2: 999 ms before the first measurement, here with 25 ms of the peer's.
        assert_eq!(rtt.probe_timeout(ms(25)), Span::from_us(333_000 + 4 * 166_500 + 25_000));
        rtt.measure(ms(200), ms(25));
        assert_eq!((rtt.smoothed, rtt.variation), (ms(200), ms(100)));
        rtt.measure(ms(240), ms(16));
        assert_eq!((rtt.smoothed, rtt.variation), (ms(203), ms(81)));
        // 201 less 16 would be below the least.
        rtt.measure(ms(211), ms(16));
        assert_eq!(rtt.smoothed, ms(204));
        assert_eq!(rtt.loss_delay(), Span::from_us(211_000 * 9 / 8));
    }
}
