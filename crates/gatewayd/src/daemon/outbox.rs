//! Events between components.
//!
//! A component that is called pushes events for others into the outbox. The event loop pops them in order and calls the
//! components that they concern, see [`Daemon::step`](super::Daemon).

use std::collections::VecDeque;

use cellway_gateway::{Excess, FlowId, Reason};

use super::attempts::Attempt;
use super::hosts::Token;
use super::moment::Moment;
use super::port_listeners::Arrival;
use super::timers::Due;
use crate::intercept::Syn;
use crate::peer_id::PeerId;

/// An event for another component. Rare ones with large data are boxed, as the frequent ones are a few words.
#[derive(Debug)]
pub(crate) enum Event {
    /// A timer to set.
    Timer(Moment, Due),
    /// A server cannot be reached; for the state machine of the peer that requested it.
    Refused(PeerId, FlowId, Reason),
    /// A server has accepted; for the state machine of the peer that requested the connection.
    Connected(PeerId, FlowId),
    /// The socket of a host may have bytes or the end of the stream that the state machine does not count yet. True if the
    /// socket has reported the end.
    Readable(Token, bool),
    /// The socket of a host has accepted this many bytes.
    Written(Token, u64),
    /// The connection of a host has failed.
    HostLost(Token, Reason),
    /// Bytes that a state machine sends are no longer held.
    LostBytes(PeerId),
    /// A peer is over a cap.
    Excess(PeerId, Excess),
    /// A peer is up (true) or down (false); for the rules of the kernel.
    Reachable(PeerId, bool),
    /// A peer requests a connection to a server.
    Attempt(Attempt),
    /// A peer has reset a flow that has no connection yet.
    Withdrawn(PeerId, FlowId),
    /// The kernel is to answer a SYN.
    Release(Box<Syn>),
    /// A SYN bypasses the gateways to its server.
    Bypass(Box<Syn>),
    /// A SYN is refused.
    Refuse(Box<Syn>, Reason),
    /// A SYN has arrived from the port of a connection that has not ended.
    Again(Box<Syn>),
    /// A host has connected to a port of the gateway.
    Arrival(Box<Arrival>),
    /// The process has no descriptors left for connections.
    NoDescriptors,
}

/// A queue of events.
#[derive(Debug, Default)]
pub(crate) struct Outbox(VecDeque<Event>);

impl Outbox {
    pub(crate) fn push(&mut self, event: Event) {
        self.0.push_back(event);
    }
    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of every packet are copied into and out of the queue.
    #[test]
    fn events_are_small() {
        assert!(size_of::<Event>() <= 48, "{} bytes", size_of::<Event>());
    }
}
