//! The receiving side of the transport: the packets that arrived, and the time to acknowledge them.

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::config::GatewayConfig;
use crate::packet::{Ack, PS_PER_US};
use crate::ranges::Ranges;

/// Most ranges of packet numbers that are remembered. More than fit into one acknowledgement, so that a packet that
/// fills an old gap can still be acknowledged.
const RUNS: usize = 256;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Acknowledger {
    every: u32,
    delay: Span,
    /// Set if acknowledgements carry the time of sending.
    times: bool,
    arrived: Ranges,
    /// The largest number that arrived, and its time of arrival.
    newest: Option<(u64, Time)>,
    /// Packets since the last acknowledgement, and the number of ack-eliciting ones.
    fresh: Ranges,
    unanswered: u32,
    deadline: Option<Time>,
    due: bool,
}

impl Acknowledger {
    pub(crate) fn new(config: &GatewayConfig) -> Acknowledger {
        Acknowledger {
            every: config.ack_every,
            delay: config.ack_delay,
            times: config.times_acks,
            arrived: Ranges::default(),
            newest: None,
            fresh: Ranges::default(),
            unanswered: 0,
            deadline: None,
            due: false,
        }
    }

    /// Records a packet that arrived and was processed.
    pub(crate) fn arrived(&mut self, now: Time, number: u64, ack_eliciting: bool) {
        self.arrived.insert(number, number + 1);
        self.arrived.keep_last(RUNS);
        if self.newest.is_none_or(|(newest, _)| number > newest) {
            self.newest = Some((number, now));
        }
        self.fresh.insert(number, number + 1);
        self.fresh.keep_last(RUNS);
        if ack_eliciting {
            self.unanswered += 1;
            if self.unanswered >= self.every {
                self.due = true;
            }
            self.deadline = self.deadline.or(Some(now + self.delay));
        }
    }
    /// Returns the largest number that arrived, and its time of arrival.
    pub(crate) fn newest(&self) -> Option<(u64, Time)> {
        self.newest
    }
    /// Returns the number after the largest that arrived.
    pub(crate) fn expected(&self) -> u64 {
        self.newest.map_or(0, |(number, _)| number + 1)
    }
    /// Drops the ranges that the peer need not receive again: it has an acknowledgement of all up to `number`. RFC
    /// 9000, section 13.2.4.
    pub(crate) fn acknowledged(&mut self, number: u64) {
        self.arrived.remove(0, number + 1);
        for (start, end) in self.fresh.iter() {
            self.arrived.insert(start, end);
        }
    }
    /// Makes an acknowledgement that would be due soon due now, so that it shares the packet of data that leave now.
    pub(crate) fn hurry(&mut self) {
        self.due |= 2 * self.unanswered > self.every;
    }
    pub(crate) fn due(&self) -> bool {
        self.due
    }
    /// Returns the time at which an acknowledgement becomes due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.deadline.filter(|_| !self.due)
    }
    pub(crate) fn wake(&mut self, now: Time) {
        self.due |= self.deadline.is_some_and(|at| at <= now);
    }
    /// Returns the acknowledgement that is due, in at most `room` octets; it stays due if none fits.
    pub(crate) fn take(&mut self, now: Time, room: u32) -> Option<Ack> {
        if !self.due {
            return None;
        }
        let waited = self.newest.map_or(Span::ZERO, |(_, at)| now - at);
        let delay = Span::from_us(waited.as_ps() / PS_PER_US);
        let runs = self.arrived.iter().rev().map(|(start, end)| (start, end - 1));
        let ack = Ack::fitting(runs, delay, self.times.then_some(now), room);
        if ack.is_none() && !self.arrived.is_empty() {
            return None;
        }
        (self.unanswered, self.deadline, self.due) = (0, None, false);
        self.fresh = Ranges::default();
        ack
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Rate;

    use super::*;

    #[test]
    fn an_acknowledgement_due_soon_goes_with_data() {
        let config = GatewayConfig { ack_every: 8, ..GatewayConfig::new(Rate::from_bps(1)) };
        let mut side = Acknowledger::new(&config);
        (0..4).for_each(|number| side.arrived(Time::ZERO, number, true));
        side.hurry();
        assert!(!side.due());
        side.arrived(Time::ZERO, 4, true);
        assert!(!side.due());
        side.hurry();
        assert_eq!(side.take(Time::ZERO, 100).map(|ack| ack.ranges), Some(vec![(0, 4)]));
        side.hurry();
        assert!(!side.due());
    }

    #[test]
    fn every_second_packet_or_after_the_delay() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut side = Acknowledger::new(&GatewayConfig::new(Rate::from_bps(1)));
        side.arrived(at(0), 0, true);
        assert!(!side.due());
        assert_eq!(side.deadline(), Some(at(25)));
        side.arrived(at(10), 1, true);
        assert!(side.due());
        assert_eq!(side.take(at(11), 100), Some(Ack { ranges: vec![(0, 1)], delay: Span::from_ms(1), sent: None }));
        assert_eq!(side.deadline(), None);
        // A bare acknowledgement is not ack-eliciting.
        side.arrived(at(12), 2, false);
        assert_eq!((side.due(), side.deadline()), (false, None));
        side.arrived(at(13), 4, true);
        side.wake(at(37));
        assert!(!side.due());
        side.wake(at(38));
        side.times = true;
        assert_eq!(
            side.take(at(38), 100),
            Some(Ack { ranges: vec![(4, 4), (0, 2)], delay: Span::from_ms(25), sent: Some(at(38)) })
        );
        side.arrived(at(39), 1, true);
        side.acknowledged(2);
        side.arrived(at(40), 5, true);
        // A late packet is acknowledged although the ranges around it are dropped.
        assert_eq!(side.take(at(40), 100).map(|ack| ack.ranges), Some(vec![(4, 5), (1, 1)]));
    }

    #[test]
    fn packets_that_are_not_ack_eliciting_take_no_memory() {
        let mut side = Acknowledger::new(&GatewayConfig::new(Rate::from_bps(1)));
        // Two in a row and one that is missing, as acknowledgements of a download arrive over a lossy link.
        for number in (0..100_000).filter(|number| number % 3 < 2) {
            side.arrived(Time::ZERO, number, false);
        }
        assert!(!side.due());
        assert_eq!((side.fresh.len(), side.arrived.len()), (RUNS, RUNS));
    }
}
