//! Timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::hosts::Token;
use super::moment::Moment;

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// Ends a connection whose client has not acknowledged the answer to its SYN.
    Accept(Token),
    /// Checks whether the host of a connection that ends acknowledges its last bytes.
    Check(Token),
    /// Removes a connection whose host gets no more answers.
    Blackhole(Token),
    /// Accepts connections again, after descriptors have run out.
    Listen,
    /// Closes the connection of a SOCKS client that has not sent its request.
    Greeting(u64),
    /// Sets rules of the kernel again that are missing.
    Rules,
    /// Ends the pass in which a drain may be over.
    Drained,
    /// Returns unused blocks to the kernel.
    Blocks,
}

/// A heap of timers, the earliest first. Timers are not cancelled: one that no longer applies has no effect.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Moment, Due)>>);

impl Timers {
    pub(crate) fn add(&mut self, at: Moment, due: Due) {
        self.0.push(Reverse((at, due)));
    }
    /// Returns the time at which the next timer expires.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }
    /// Removes and returns the next timer that has expired.
    pub(crate) fn next(&mut self, now: Moment) -> Option<Due> {
        self.deadline().filter(|&at| at <= now)?;
        self.0.pop().map(|Reverse((_, due))| due)
    }
}
