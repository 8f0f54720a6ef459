//! A slot of a traffic group: the traffic between the same two hosts.

use std::collections::VecDeque;
use std::sync::Arc;

use cellway_apps::random::Streams;
use cellway_apps::{ConnId, Conversation, DatagramSource, GroupWorkload, Workload};
use cellway_testbed::{SlotPlan, SlotProtocol, TcpSlotPlan};
use cellway_units::Ecn;

use crate::connection::{Connection, End, Path, Place, SIDES};
use crate::stack_slot::{GroupStack, StackSlot};

/// A slot, by its protocol.
#[derive(Debug)]
pub(crate) enum Slot {
    Tcp(TcpSlot),
    /// Boxed: a source with its random streams is larger than the state of a TCP slot, of which there are many.
    Udp(Box<UdpSlot>),
    /// Boxed for the same reason.
    Stack(Box<StackSlot>),
}

/// Datagrams of a source.
#[derive(Debug)]
pub(crate) struct UdpSlot {
    pub(crate) plan: Arc<SlotPlan>,
    pub(crate) ecn: Ecn,
    /// True if the responder sends each packet back.
    pub(crate) is_echoed: bool,
    /// The packets of the originator and, of measured conversations, of the responder.
    pub(crate) sources: [Option<DatagramSource>; 2],
}

impl Slot {
    /// `stack` is the stack of others that drives the slot, if one does.
    pub(crate) fn new(
        plan: Arc<SlotPlan>,
        workload: &GroupWorkload,
        streams: &Streams,
        stack: Option<GroupStack>,
    ) -> Slot {
        match &plan.protocol {
            SlotProtocol::Tcp(_) => Slot::Tcp(TcpSlot::new(plan)),
            SlotProtocol::Udp(spec) => {
                let sources = [Some(DatagramSource::new(**spec, streams, &plan.name, plan.start)), None];
                let (ecn, is_echoed) = (spec.ecn.field(), spec.is_echoed());
                Slot::Udp(Box::new(UdpSlot { plan, ecn, is_echoed, sources }))
            }
            SlotProtocol::Class(_) => {
                let source = |side| match workload {
                    GroupWorkload::MeasuredDatagrams(measured) => {
                        Some(DatagramSource::measured(measured, side, streams, &plan.name, plan.start))
                    }
                    _ => None,
                };
                let sources = SIDES.map(source);
                Slot::Udp(Box::new(UdpSlot { plan, ecn: Ecn::NotEct, is_echoed: false, sources }))
            }
            SlotProtocol::Stack(_) => {
                let stack = stack.expect("the plan of a slot has a stack if its group has one");
                Slot::Stack(Box::new(StackSlot::new(plan, stack)))
            }
        }
    }

    pub(crate) fn plan(&self) -> &SlotPlan {
        match self {
            Slot::Tcp(slot) => &slot.plan,
            Slot::Udp(slot) => &slot.plan,
            Slot::Stack(slot) => &slot.plan,
        }
    }

    /// Returns the slot of a connection, segment or conversation, which only slots with TCP have.
    pub(crate) fn tcp(&mut self) -> &mut TcpSlot {
        match self {
            Slot::Tcp(slot) => slot,
            other => unreachable!("{} has no connections", other.plan().name),
        }
    }
}

/// One conversation after the other over TCP.
#[derive(Debug)]
pub(crate) struct TcpSlot {
    pub(crate) plan: Arc<SlotPlan>,
    pub(crate) conversation: Option<Conversation>,
    /// Conversations begun.
    pub(crate) begun: u32,
    /// Open connections, also of earlier conversations; oldest first. A slot whose flows arrive by themselves may have
    /// thousands in TIME-WAIT, which end in about this order.
    pub(crate) connections: VecDeque<Connection>,
    /// Connections opened.
    pub(crate) opened: u32,
    /// The number of initial sequence numbers that have been drawn.
    sequences: u64,
}

impl TcpSlot {
    fn new(plan: Arc<SlotPlan>) -> TcpSlot {
        TcpSlot { plan, conversation: None, begun: 0, connections: VecDeque::new(), opened: 0, sequences: 0 }
    }

    /// Returns the TCP of its plan.
    pub(crate) fn tcp(&self) -> &TcpSlotPlan {
        self.plan.tcp().expect("a slot of conversations has TCP")
    }

    /// Returns the path of the segments that the endpoint at `place` sends.
    pub(crate) fn path_from(&self, place: Place) -> Path {
        let ([originator, responder], tcp) = (self.plan.hosts, self.tcp());
        let ([near_leg, far_leg], [near, far]) = (self.plan.legs, tcp.peers);
        let is_split = tcp.split.is_some();
        let (conversation, from, to, peer) = match place {
            Place::Originator if is_split => (near_leg, originator, near, Place::Near),
            Place::Originator => (near_leg, originator, near, Place::Responder),
            Place::Near => (near_leg, near, originator, Place::Originator),
            Place::Far => (far_leg, far, responder, Place::Responder),
            Place::Responder if is_split => (far_leg, responder, far, Place::Far),
            Place::Responder => (far_leg, responder, far, Place::Originator),
        };
        let ip_header = tcp.config.family.ip_header() as u32;
        Path { conversation, from, to, peer, dscp: self.plan.dscp, ip_header }
    }

    /// Returns the number of the conversation in progress.
    pub(crate) fn current(&self) -> u32 {
        self.begun.saturating_sub(1)
    }

    /// Replaces the conversation by the next one.
    pub(crate) fn next_conversation(&mut self, workload: &Workload, streams: &Streams) -> &mut Conversation {
        let number = u64::from(self.begun);
        self.begun += 1;
        self.conversation.insert(Conversation::new(workload, streams, &self.plan.name, number))
    }

    /// Returns the initial sequence numbers of two ends of a connection.
    pub(crate) fn initial_sequences(&mut self, streams: &Streams) -> [u32; 2] {
        let mut stream = streams.stream_after(&format!("{}/initial-sequence", self.plan.name), self.sequences);
        self.sequences += 2;
        [(); 2].map(|()| stream.bits() as u32)
    }

    /// Returns a connection, which mostly is the newest.
    #[inline]
    pub(crate) fn connection(&mut self, serial: u32) -> Option<&mut Connection> {
        if self.connections.back().is_some_and(|newest| newest.serial == serial) {
            return self.connections.back_mut();
        }
        let place = self.place(serial)?;
        self.connections.get_mut(place)
    }

    fn place(&self, serial: u32) -> Option<usize> {
        self.connections.binary_search_by_key(&serial, |c| c.serial).ok()
    }

    /// Returns the connection that was opened last, if it is still open.
    pub(crate) fn newest(&mut self) -> Option<&mut Connection> {
        let newest = self.opened.checked_sub(1)?;
        self.connection(newest)
    }

    /// Returns the two ends of that connection.
    pub(crate) fn newest_ends(&self) -> Option<&[End; 2]> {
        let last = self.connections.back()?;
        (last.serial + 1 == self.opened).then(|| last.host_ends())
    }

    /// Returns the place of a connection by its conversation and its number there, both of which ascend.
    pub(crate) fn place_of(&self, of: (u32, ConnId)) -> Option<usize> {
        self.connections.binary_search_by_key(&of, |c| (c.conversation, c.conn)).ok()
    }

    /// Forgets a connection if all its ends are closed.
    pub(crate) fn forget_if_over(&mut self, serial: u32) {
        if let Some(place) = self.place(serial)
            && self.connections[place].is_over()
        {
            self.connections.remove(place);
        }
    }
}
