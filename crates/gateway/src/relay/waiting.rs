//! Flows that wait for memory, by class.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::quota::Quota;
use crate::class::ClassId;
use crate::packet::FlowId;

/// The flows of each class wait in order of arrival.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// With the number of flows that arrived before.
    queues: Vec<VecDeque<(u64, FlowId)>>,
    slots: Quota,
    arrived: u64,
}

impl Waiting {
    pub(super) fn new(most: u64, classes: usize) -> Waiting {
        Waiting { queues: vec![VecDeque::new(); classes], slots: Quota::new(most, classes), arrived: 0 }
    }
    /// Returns true if one more of `class` may wait.
    pub(super) fn has_room(&self, class: ClassId) -> bool {
        self.slots.has_room(class)
    }
    pub(super) fn len(&self) -> u64 {
        self.slots.total()
    }
    pub(super) fn push(&mut self, flow: FlowId, class: ClassId) {
        self.queues[class.0].push_back((self.arrived, flow));
        self.arrived += 1;
        self.slots.take(class);
    }
    pub(super) fn pop(&mut self, class: ClassId) -> Option<FlowId> {
        let (_, flow) = self.queues[class.0].pop_front()?;
        self.slots.give_back(class);
        Some(flow)
    }
    /// Removes `flow`, if it waits.
    pub(super) fn remove(&mut self, flow: FlowId, class: ClassId) {
        let queue = &mut self.queues[class.0];
        if let Some(place) = queue.iter().position(|&(_, other)| other == flow) {
            queue.remove(place);
            self.slots.give_back(class);
        }
    }
    /// Returns the classes that have waiting flows.
    pub(super) fn classes(&self) -> impl Iterator<Item = ClassId> {
        let classes = if self.len() == 0 { 0 } else { self.queues.len() };
        (0..classes).map(ClassId).filter(|class| !self.queues[class.0].is_empty())
    }
    /// Returns all flows in order of arrival.
    pub(super) fn into_order(self) -> impl Iterator<Item = FlowId> {
        let mut all: Vec<_> = self.queues.into_iter().flatten().collect();
        all.sort_unstable();
        all.into_iter().map(|(_, flow)| flow)
    }
}
