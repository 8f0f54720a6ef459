//! The aggregate rate: when the next packet may leave.

use cellway_units::{Bits, Rate, Time};

/// Spaces packets by what they take on the line. Nothing is saved up while idle, so that over any
/// interval no more is sent than the rate allows and one packet.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    rate: Rate,
    next: Time,
    carry: u64,
}

impl Pacer {
    pub(crate) fn new(rate: Rate) -> Pacer {
        Pacer { rate, next: Time::ZERO, carry: 0 }
    }
    /// The earliest instant at which a packet may leave.
    pub(crate) fn ready(&self) -> Time {
        self.next
    }
    /// A packet of `bits` leaves.
    pub(crate) fn send(&mut self, now: Time, bits: Bits) {
        if now > self.next {
            (self.next, self.carry) = (now, 0);
        }
        let (span, carry) = self.rate.time_for(bits, self.carry);
        self.next += span;
        self.carry = carry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_run_rate_is_exact_and_idle_time_is_not_saved() {
        let mut pacer = Pacer::new(Rate::from_bps(7));
        for _ in 0..7 {
            pacer.send(pacer.ready(), Bits(3));
        }
        assert_eq!(pacer.ready(), Time::from_ps(3_000_000_000_000));
        let late = Time::from_ps(9_000_000_000_000);
        pacer.send(late, Bits(7));
        assert_eq!(pacer.ready() - late, cellway_units::Span::from_secs(1));
    }
}
