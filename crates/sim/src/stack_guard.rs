//! Limits of stacks of others: a run ends with an error, not never, if one of them is at fault.

use cellway_units::{Span, Time};

/// The interval over which wakes are counted.
const INTERVAL: Span = Span::from_ms(1);
/// The most wakes of an end in an interval in which it neither sends nor receives.
const MOST_WAKES: u32 = 1000;
/// The most datagrams that an end sends at one instant.
const MOST_AT_ONCE: u32 = 1 << 16;
/// The most datagrams of a flow inside the network.
pub(crate) const MOST_INSIDE: u64 = 1 << 18;

/// The rule of [`crate::Stack`] that a stack has broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StackFault {
    /// It is woken over and over without any progress.
    #[error(
        "it was woken {MOST_WAKES} times within {INTERVAL} and neither sent nor received a datagram; after wake(), \
         deadline() must return a later time, or None"
    )]
    Restless,
    /// It sends without end at one instant.
    #[error(
        "it sent {MOST_AT_ONCE} datagrams at one instant; transmit() must return None when no more may be sent at that \
         time"
    )]
    Endless,
    /// It sends faster than the network carries, without end.
    #[error("{MOST_INSIDE} datagrams of the flow are inside the network; a stack must limit what it has in flight")]
    Flood,
    /// A datagram does not fit into the packets of the path.
    #[error("it sent a datagram of {octets} B; the path takes up to {most} B (Setup::max_datagram)")]
    TooLong {
        /// The length of the datagram.
        octets: usize,
        /// The most that is accepted.
        most: usize,
    },
    /// A count that may only grow has decreased.
    #[error("{name}() fell from {before} to {now}; it counts from the start of the flow")]
    Decreased {
        /// The method of [`crate::Stack`].
        name: &'static str,
        /// The earlier count.
        before: u64,
        /// The later one.
        now: u64,
    },
    /// The stack itself reports a failure.
    #[error("{0}")]
    Reported(String),
}

/// The progress of one end.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The start of the present interval of wakes without progress, and their number.
    since: Time,
    wakes: u32,
    /// The instant at which it last sent, and the datagrams sent at it.
    sent_at: Time,
    sent: u32,
    most_octets: usize,
}

impl Guard {
    /// Creates the guard of an end whose datagrams have up to `most_octets`.
    pub(crate) fn new(most_octets: usize) -> Guard {
        Guard { since: Time::ZERO, wakes: 0, sent_at: Time::ZERO, sent: 0, most_octets }
    }

    /// Counts a wake.
    pub(crate) fn woken(&mut self, now: Time) -> Result<(), StackFault> {
        if now.since(self.since) >= INTERVAL {
            (self.since, self.wakes) = (now, 0);
        }
        self.wakes += 1;
        if self.wakes >= MOST_WAKES { Err(StackFault::Restless) } else { Ok(()) }
    }

    /// Records that a datagram has arrived.
    pub(crate) fn received(&mut self) {
        self.wakes = 0;
    }

    /// Counts a datagram that is sent; `inside` are in the network.
    pub(crate) fn sent(&mut self, now: Time, octets: usize, inside: u64) -> Result<(), StackFault> {
        if octets > self.most_octets {
            return Err(StackFault::TooLong { octets, most: self.most_octets });
        }
        if inside >= MOST_INSIDE {
            return Err(StackFault::Flood);
        }
        if now != self.sent_at {
            (self.sent_at, self.sent) = (now, 0);
        }
        (self.wakes, self.sent) = (0, self.sent + 1);
        if self.sent >= MOST_AT_ONCE { Err(StackFault::Endless) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn wakes_without_progress_are_bounded_at_one_instant_and_over_time() {
        for step in [0, 1] {
            let mut guard = Guard::new(100);
            let faults: Vec<usize> =
                (0..1000).filter(|&i| guard.woken(at(i * step)).is_err()).map(|i| i as usize).collect();
            assert_eq!(faults, [999], "{step}");
        }
        // One wake each 2 us is a fast timer, and a busy end may be woken without bound.
        let mut guard = Guard::new(100);
        assert!((0..100_000).all(|i| guard.woken(at(2 * i)).is_ok()));
        assert!((0..100_000).all(|i| guard.woken(at(300_000)).is_ok() && {
            if i % 100 == 0 {
                guard.received()
            };
            true
        }));
        assert!((0..60_000).all(|i| guard.woken(at(400_000)).is_ok() && guard.sent(at(400_000), 100, i).is_ok()));
    }

    #[test]
    fn datagrams_are_bounded_in_length_and_number() {
        let mut guard = Guard::new(100);
        assert_eq!(guard.sent(at(1), 101, 0), Err(StackFault::TooLong { octets: 101, most: 100 }));
        assert_eq!(guard.sent(at(1), 100, MOST_INSIDE), Err(StackFault::Flood));
        assert!((1..MOST_AT_ONCE).all(|_| guard.sent(at(1), 100, 0).is_ok()));
        assert_eq!(guard.sent(at(1), 100, 0), Err(StackFault::Endless));
        assert_eq!(guard.sent(at(2), 100, 0), Ok(()));
    }
}
