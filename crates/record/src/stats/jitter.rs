//! The interarrival jitter of RTP.

use cellway_units::Time;

/// The interarrival jitter of RFC 3550 section 6.4.1: with D the difference of the one-way delays of two packets that
/// arrive one after the other, J is increased by (|D| - J) / 16 at each arrival. It starts at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InterarrivalJitter {
    /// The one-way delay of the last packet (ps), which may be negative if the two clocks differ.
    last: Option<i128>,
    /// In seconds.
    estimate: f64,
}

impl InterarrivalJitter {
    /// Records a packet that was sent at `sent` and has arrived at `at`. Returns the estimate, in seconds, from the
    /// second packet on.
    pub fn arrived(&mut self, sent: Time, at: Time) -> Option<f64> {
        let transit = i128::from(at.as_ps()) - i128::from(sent.as_ps());
        let last = self.last.replace(transit)?;
        let difference = (transit - last).unsigned_abs() as f64 / 1e12;
        self.estimate += (difference - self.estimate) / 16.0;
        Some(self.estimate)
    }

    /// Returns the present estimate, in seconds; `None` before the second packet.
    pub fn estimate(&self) -> Option<f64> {
        self.last.map(|_| self.estimate)
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Span;

    use super::*;

    /// The equations of RFC 3550, by hand: packets every 20 ms take 100, 103, 99 and 103 ms, so |D| is 3, 4 and 4 ms, and
    /// J is 3/16, then 3/16 + (4 - 3/16)/16 = 109/256, then 109/256 + (4 - 109/256)/16 = 2659/4096 ms.
    #[test]
    fn four_packets_by_hand() {
        let mut jitter = InterarrivalJitter::default();
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let seen = [(0, 100), (20, 123), (40, 139), (60, 163)].map(|(sent, came)| jitter.arrived(at(sent), at(came)));
        assert_eq!(seen[0], None);
        let expected = [3.0 / 16.0, 109.0 / 256.0, 2659.0 / 4096.0];
        for (found, expected) in seen[1..].iter().zip(expected) {
            assert!((found.unwrap() * 1e3 - expected).abs() < 1e-12, "{found:?} {expected}");
        }
        assert_eq!(jitter.estimate(), seen[3]);
    }

    /// Only differences count: an offset between the clocks of both ends cancels.
    #[test]
    fn an_offset_of_the_clocks_cancels() {
        let mut pair = [InterarrivalJitter::default(); 2];
        let at = |us| Time::ZERO + Span::from_us(us);
        for i in 0..100u64 {
            let came = i * 20_000 + i * i % 7 * 100;
            let [plain, shifted] = [0, 5_000_000].map(|offset| (at(i * 20_000 + offset), at(came)));
            assert_eq!(pair[0].arrived(plain.0, plain.1), pair[1].arrived(shifted.0, shifted.1));
        }
    }

    #[test]
    fn constant_delay_has_none() {
        let mut jitter = InterarrivalJitter::default();
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let last = (0..50).map(|i| jitter.arrived(at(20 * i), at(20 * i + 70))).last();
        assert_eq!(last.flatten(), Some(0.0));
    }
}
