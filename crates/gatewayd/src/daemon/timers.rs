//! What is to be looked at later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A connection that was let go to the listener must have come by now.
    Accept(u64),
    /// A connection that ends: does its host take what is left?
    Look(u64),
    /// A host that was left without an answer has given up by now.
    Silence(u64),
    /// The listeners and doors are looked at again.
    Listen,
    /// A SOCKS client must have said where to by now.
    Greeting(u64),
    /// Unused blocks are returned to the kernel.
    Blocks,
}

/// Instants (ns) and what is due then, the earliest first.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(u64, Due)>>);

impl Timers {
    pub(crate) fn add(&mut self, at: u64, due: Due) {
        self.0.push(Reverse((at, due)));
    }
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }
    pub(crate) fn next(&mut self, now: u64) -> Option<Due> {
        self.deadline().filter(|&at| at <= now)?;
        self.0.pop().map(|Reverse((_, due))| due)
    }
}
