//! The actions of the state machines on connections.

use cellway_gateway::{Action, FlowId, Reason};

use super::Hosts;
use super::state::Ending;
use crate::daemon::context::Context;
use crate::daemon::outbox::Event;
use crate::daemon::tally::PASSED;
use crate::peer_id::PeerId;

impl Hosts {
    /// Executes an action of the state machine of `peer` on one of its flows.
    pub(crate) fn execute(&mut self, peer: PeerId, action: &Action, cx: &mut Context) {
        let Some(id) = flow(action) else { return };
        let Some(&token) = self.flows[peer].tokens.get(&id) else {
            // The peer has reset the flow before its connection attempt began.
            if matches!(action, Action::Reset { .. } | Action::Closed { .. }) {
                self.flows[peer].early.remove(&id);
                cx.push(Event::Withdrawn(peer, id));
            }
            return;
        };
        let Some(connection) = self.table.get_mut(token) else { return };
        match *action {
            Action::Accept { .. } => self.answer(token, cx),
            Action::Consume { bytes, .. } if connection.consume(bytes) => {}
            Action::Consume { .. } => cx.push(Event::LostBytes(peer)),
            Action::Released { bytes, .. } => connection.from_host.released(bytes),
            Action::Write { bytes, .. } => {
                connection.to_host.allow(bytes);
                self.list(token);
            }
            Action::Urgent { at, .. } => connection.to_host.mark(at),
            Action::Shutdown { .. } => {
                connection.to_host.shutdown();
                self.list(token);
            }
            Action::Ending { .. } => self.watch(token, cx),
            Action::Reset { reason, .. } => {
                // The interval between checks begins anew.
                connection.watch = None;
                connection.state.close(if reason == Reason::Vanished { Ending::Blackhole } else { Ending::Reset });
                self.list(token);
            }
            Action::Closed { reason, .. } => {
                tracing::debug!(flow = id.0, ?reason, "closed");
                connection.close(reason.is_some());
                cx.tally.ended(if connection.passed { PASSED } else { reason.map_or("clean", Reason::name) });
                let flows = &mut self.flows[peer];
                flows.tokens.remove(&id);
                flows.early.remove(&id);
                self.count_leftover(token);
                self.list(token);
            }
            _ => {}
        }
    }
}

/// Returns the flow of an action on a connection that exists.
fn flow(action: &Action) -> Option<FlowId> {
    match *action {
        Action::Accept { flow }
        | Action::Consume { flow, .. }
        | Action::Released { flow, .. }
        | Action::Write { flow, .. }
        | Action::Urgent { flow, .. }
        | Action::Shutdown { flow }
        | Action::Ending { flow }
        | Action::Reset { flow, .. }
        | Action::Closed { flow, .. } => Some(flow),
        _ => None,
    }
}
