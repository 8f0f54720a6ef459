//! The timers of hosts and applications, in a total order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cellway_apps::Side;
use cellway_units::Time;

use crate::connection::Place;

/// The owner of a timer. The derived order is that of timers of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerKey {
    /// The conversation slot; the pair of gateways; the change of the scenario.
    pub(crate) slot: u32,
    pub(crate) kind: TimerKind,
}

/// The receiver of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKind {
    /// The slot begins its next conversation.
    Begin,
    /// The slot sends its next datagram, from its originator or its responder.
    Datagram { side: Side },
    /// An endpoint of a connection.
    Tcp { serial: u32, place: Place },
    /// The application of one conversation.
    App { conversation: u32, id: u32 },
    /// One end of the slot's stack of others: 0 is the originator.
    Stack { end: u8 },
    /// A gateway of a pair.
    Gateway { which: u8 },
    /// The scenario changes a rate.
    Change,
}

/// Pending timers. One that no longer matters is not removed: its owner ignores it.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, TimerKey)>>,
}

impl Timers {
    pub(crate) fn add(&mut self, at: Time, key: TimerKey) {
        self.heap.push(Reverse((at, key)));
    }

    /// Sets a timer if it has a time.
    pub(crate) fn add_if(&mut self, at: Option<Time>, key: TimerKey) {
        if let Some(at) = at {
            self.add(at, key);
        }
    }

    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Returns the next timer that is due at `now`.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<TimerKey> {
        let Reverse((at, key)) = *self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        Some(key)
    }
}
