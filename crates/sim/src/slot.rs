//! A conversation slot: one conversation after the other between the same two hosts.

use cellway_apps::random::{Stream, Streams};
use cellway_apps::{Conversation, Workload};
use cellway_net::NodeId;
use cellway_tcp::Config;
use cellway_units::Time;

use crate::connection::Connection;

/// What stays the same over all conversations of a slot.
#[derive(Debug)]
pub(crate) struct SlotPlan {
    /// "ftp-3".
    pub(crate) name: String,
    /// Its traffic group.
    pub(crate) group: usize,
    /// The hosts of originator and responder.
    pub(crate) hosts: [NodeId; 2],
    /// The responder's port.
    pub(crate) port: u16,
    /// When the first conversation begins.
    pub(crate) start: Time,
    pub(crate) tcp: Config,
}

#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) plan: SlotPlan,
    pub(crate) conversation: Option<Conversation>,
    /// Conversations begun.
    pub(crate) begun: u32,
    /// Connections that still exist, also of earlier conversations; oldest first.
    pub(crate) connections: Vec<Connection>,
    /// Connections opened.
    pub(crate) opened: u32,
    initial_sequence: Stream,
}

impl Slot {
    pub(crate) fn new(plan: SlotPlan, streams: &Streams) -> Slot {
        let initial_sequence = streams.stream(&format!("{}/initial-sequence", plan.name));
        Slot { plan, conversation: None, begun: 0, connections: Vec::new(), opened: 0, initial_sequence }
    }

    /// The number of the conversation under way.
    pub(crate) fn current(&self) -> u32 {
        self.begun.saturating_sub(1)
    }

    /// Replaces the conversation by the next one.
    pub(crate) fn next_conversation(&mut self, workload: &Workload, streams: &Streams) -> &mut Conversation {
        let number = u64::from(self.begun);
        self.begun += 1;
        self.conversation.insert(Conversation::new(workload, streams, &self.plan.name, number))
    }

    /// Initial sequence numbers of a new connection's two ends.
    pub(crate) fn initial_sequences(&mut self) -> [u32; 2] {
        [(); 2].map(|()| self.initial_sequence.bits() as u32)
    }

    pub(crate) fn connection(&mut self, serial: u32) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|c| c.serial == serial)
    }
}
