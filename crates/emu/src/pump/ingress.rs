//! How long packets of a host have waited in its device before they were read: an upper bound, since nothing dates a
//! packet when it enters a device.
//!
//! A packet that is read cannot have been sent before the device was last known to be empty, nor before the packet
//! was read that made room for it in the device's queue. Time in which the host's own line had no room does not
//! count: a host waits for its own line on any network.

use std::collections::VecDeque;

use cellway_units::{Span, Time};

use crate::sys::TunConfig;

/// Packets that fit into the queue of a device.
const QUEUE: usize = TunConfig::QUEUE as usize;
/// One read in so many is remembered.
const STEP: usize = 50;

/// The bound for one device.
#[derive(Clone, Debug, Default)]
pub(super) struct Ingress {
    /// No packet that is still there was sent before, or could have been read before.
    since: Time,
    /// The instants of one in [`STEP`] reads, the latest last, as far back as the queue reaches.
    reads: VecDeque<Time>,
    /// Reads since the last remembered one.
    skipped: usize,
}

impl Ingress {
    /// At `at` the device was empty, or its host's line had no room.
    pub(super) fn clear(&mut self, at: Time) {
        self.since = self.since.max(at);
    }

    /// Returns the longest that a packet may have waited that was read at `now`.
    pub(super) fn read(&mut self, now: Time) -> Span {
        if self.skipped == 0 {
            // The queue held fewer packets when this one came: an earlier one was read by then.
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
        // What is known already is not forgotten.
        ingress.clear(us(120));
        assert_eq!(ingress.read(us(155)), Span::from_us(10));
    }

    proptest! {
        /// Against a queue whose packets know when they came: never less than the wait, and no more than what a full
        /// queue takes, with one step.
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
