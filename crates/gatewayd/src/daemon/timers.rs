//! What is to be looked at later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::moment::Moment;
use super::table::Token;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A connection that was let go to the listener must have come by now.
    Accept(Token),
    /// A connection that ends: does its host take what is left?
    Look(Token),
    /// A host that was left without an answer has given up by now.
    Silence(Token),
    /// The listeners and doors are looked at again.
    Listen,
    /// A SOCKS client must have said where to by now.
    Greeting(u64),
    /// The rules of the kernel are lacking: they are set again.
    Rules,
    /// The time for connections to end is over.
    Drained,
    /// Unused blocks are returned to the kernel.
    Blocks,
}

/// Instants and what is due then, the earliest first.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Moment, Due)>>);

impl Timers {
    pub(crate) fn add(&mut self, at: Moment, due: Due) {
        self.0.push(Reverse((at, due)));
    }
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }
    pub(crate) fn next(&mut self, now: Moment) -> Option<Due> {
        self.deadline().filter(|&at| at <= now)?;
        self.0.pop().map(|Reverse((_, due))| due)
    }
}
