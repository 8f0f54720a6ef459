//! A slot that stacks of others drive: its two ends, with the figures that the meter has.

use std::sync::Arc;

use cellway_testbed::SlotPlan;
use cellway_units::Time;

use crate::stack::{Factory, Payload, Stack};
use crate::stack_guard::{Guard, StackFault};

/// The stack of a traffic group.
#[derive(Clone)]
pub(crate) struct GroupStack {
    pub(crate) payload: Payload,
    pub(crate) factory: Factory,
    /// The octets of the longest datagram.
    pub(crate) max_datagram: usize,
}

/// Datagrams between two ends of a stack.
pub(crate) struct StackSlot {
    pub(crate) plan: Arc<SlotPlan>,
    pub(crate) stack: GroupStack,
    /// The originator and the responder, once the flow has started.
    pub(crate) ends: Option<[StackEnd; 2]>,
    /// The datagrams that the originator has sent.
    pub(crate) sequence: u64,
    /// Reused from call to call.
    pub(crate) buffer: Vec<u8>,
}

impl StackSlot {
    pub(crate) fn new(plan: Arc<SlotPlan>, stack: GroupStack) -> StackSlot {
        StackSlot { plan, stack, ends: None, sequence: 0, buffer: Vec::new() }
    }
}

impl std::fmt::Debug for StackSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StackSlot").field("name", &self.plan.name).finish_non_exhaustive()
    }
}

/// One end of a flow.
pub(crate) struct StackEnd {
    pub(crate) stack: Box<dyn Stack>,
    pub(crate) guard: Guard,
    /// The earliest timer that is set for it.
    pub(crate) armed: Option<Time>,
    /// The counts that the meter has.
    delivered: u64,
    retransmissions: u64,
}

impl StackEnd {
    pub(crate) fn new(stack: Box<dyn Stack>, max_datagram: usize) -> StackEnd {
        StackEnd { stack, guard: Guard::new(max_datagram), armed: None, delivered: 0, retransmissions: 0 }
    }

    /// Returns the bytes delivered since the last call, and the retransmissions, if the stack counts them.
    pub(crate) fn unreported(&mut self) -> Result<(u64, Option<u64>), StackFault> {
        let delivered = advance("delivered", &mut self.delivered, self.stack.delivered())?;
        let again = self.stack.retransmissions();
        let again = again.map(|now| advance("retransmissions", &mut self.retransmissions, now)).transpose()?;
        Ok((delivered, again))
    }
}

/// Returns the increase of a count.
fn advance(name: &'static str, count: &mut u64, now: u64) -> Result<u64, StackFault> {
    let before = std::mem::replace(count, now);
    now.checked_sub(before).ok_or(StackFault::Decreased { name, before, now })
}
