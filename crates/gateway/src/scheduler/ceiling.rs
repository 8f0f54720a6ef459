//! The ceiling of a class.

use cellway_units::{Bits, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::pacer::Pacer;

/// Paces the data frames of a class, and counts the time in which it holds them back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ceiling {
    rate: Rate,
    pacer: Pacer,
    /// The instant of the last [`Ceiling::wait`], and true if the class had data then.
    seen: (Time, bool),
    pub(super) held: Span,
}

impl Ceiling {
    pub(super) fn new(rate: Rate) -> Ceiling {
        Ceiling { rate, pacer: Pacer::new(rate, Span::ZERO), seen: (Time::ZERO, false), held: Span::ZERO }
    }
    pub(super) fn rate(&self) -> Rate {
        self.rate
    }
    /// Sets by how much time a frame may be late for the next one to make up for it, where `classes` share a `line`. In
    /// addition to `slack` that is the time for which a class waits for others as long as its share is above its
    /// ceiling: a `packet` of each on the link, and rounds in which the others send more in proportion to their larger
    /// shares.
    pub(super) fn set_slack(&mut self, slack: Span, packet: Bits, classes: u64, line: Rate) {
        let packets = Bits(packet.0 * classes);
        let (own, others) =
            (self.rate.time_for(packet, 0).0, Rate::from_bps(line.as_bps().max(1)).time_for(packets, 0).0);
        self.pacer.set_slack(slack + (own + others).min(self.rate.time_for(packets, 0).0));
    }
    /// Returns the earliest instant at which the class may send.
    pub(super) fn ready(&self) -> Time {
        self.pacer.next()
    }
    /// Records that the class has sent a frame of `bits`.
    pub(super) fn send(&mut self, now: Time, bits: Bits) {
        self.count(now);
        self.pacer.send(now, bits);
    }
    /// Sets whether the class has data.
    pub(super) fn wait(&mut self, now: Time, waits: bool) {
        self.count(now);
        self.seen.1 = waits;
        self.pacer.wait(now, waits);
    }
    fn count(&mut self, now: Time) {
        if self.seen.1 {
            self.held += self.ready().min(now).since(self.seen.0);
        }
        self.seen.0 = now;
    }
    /// Prepares for a clock that starts again.
    pub(super) fn restart(&mut self) {
        let slack = self.pacer.slack();
        (self.pacer, self.seen) = (Pacer::new(self.rate, slack), (Time::ZERO, false));
    }
}
