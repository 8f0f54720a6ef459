//! An upper bound of the time that packets of a host have waited in its device before they were read. It is a bound
//! because a device does not record when a packet enters.
//!
//! A packet that is read was sent after the device was last known to be empty, and after the read that made room for it
//! in the device's queue. Time in which the host's own line had no room does not count, because a host waits for its
//! own line on any network.

use std::collections::VecDeque;

use cellway_units::{Span, Time};

use crate::sys::TunConfig;

/// The capacity of a device's queue, in packets.
const QUEUE: usize = TunConfig::QUEUE as usize;
/// The interval of reads whose instant is stored.
const STEP: usize = 50;

/// The bound for one device.
#[derive(Clone, Debug, Default)]
pub(super) struct Ingress {
    /// No packet in the device was sent before this instant, or could have been read before it.
    since: Time,
    /// The instants of every [`STEP`]th read, the latest last, back to the capacity of the queue.
    reads: VecDeque<Time>,
    /// Reads since the last stored one.
    skipped: usize,
}

impl Ingress {
    /// Records that at `at` the device was empty, or its host's line had no room.
    pub(super) fn clear(&mut self, at: Time) {
        self.since = self.since.max(at);
    }

    /// Returns an upper bound of the time that the packet read at `now` has waited.
    pub(super) fn read(&mut self, now: Time) -> Span {
        if self.skipped == 0 {
            // The queue has a bounded capacity: this packet cannot have entered before the read that is a full queue
            // ago.
            if self.reads.len() > QUEUE / STEP
                && let Some(freed) = self.reads.pop_front()
            {
                self.since = self.since.max(freed);
            }
            self.reads.push_back(now);
        }
        self.skipped = (self.skipped + 1) % STEP;
        now.since(self.since)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_backlog_counts_from_the_last_time_without() {
        let us = |us| Time::ZERO + Span::from_us(us);
        let mut ingress = Ingress::default();
        ingress.clear(us(100));
        assert_eq!(ingress.read(us(130)), Span::from_us(30));
        assert_eq!(ingress.read(us(140)), Span::from_us(40));
        ingress.clear(us(145));
        assert_eq!(ingress.read(us(150)), Span::from_us(5));
        // An older instant does not weaken the bound.
        ingress.clear(us(120));
        assert_eq!(ingress.read(us(155)), Span::from_us(10));
    }

    proptest! {
        /// Compares the bound with a queue whose packets carry their arrival times: it is never below the wait, and
        /// above it at most by the time to read a full queue and one step.
        #[test]
        fn it_is_a_bound(steps in prop::collection::vec((0u64..40, 0usize..60, 0usize..60), 1..400)) {
            let (mut queue, mut ingress) = (VecDeque::new(), Ingress::default());
            let (mut now, mut reads) = (Time::ZERO, Vec::new());
            for (pause, sent, read) in steps {
                now += Span::from_us(pause);
                queue.extend((0..sent).map(|_| now));
                queue.truncate(QUEUE);
                for _ in 0..read {
                    let Some(at) = queue.pop_front() else {
                        ingress.clear(now);
                        break;
                    };
                    let bound = ingress.read(now);
                    prop_assert!(bound >= now.since(at), "{bound:?} for {:?}", now.since(at));
                    reads.push(now);
                    if let Some(place) = reads.len().checked_sub(QUEUE + 2 * STEP + 1) {
                        prop_assert!(bound <= now.since(reads[place]));
                    }
                }
            }
        }
    }
}
