//! The time limit for local hosts that wait for the far host's answer.

use cellway_units::Time;

use super::Relay;
use crate::flow::Stage;
use crate::output::Action;
use crate::packet::FlowId;
use crate::reason::Reason;

/// The number of entries beyond those of live flows at which answered ones are first removed.
const ANSWERED: usize = 1_024;

impl Relay {
    /// Adds a flow of a local host to the list. A flow without an answer keeps later ones in the list: those that are
    /// answered are removed when they are half of it.
    pub(super) fn note_opening(&mut self, flow: FlowId) {
        self.openings.push_back((self.now + self.config.opening, flow));
        if self.openings.len() > ANSWERED + 2 * self.flows.len() {
            let Relay { openings, flows, .. } = self;
            openings.retain(|(_, flow)| flows.get(flow).is_some_and(|state| state.opening()));
        }
    }
    /// Removes the flows at the front that no longer wait.
    pub(super) fn forget_answered_openings(&mut self) {
        let waits = |relay: &Relay, flow: FlowId| relay.flows.get(&flow).is_some_and(|state| state.opening());
        while self.openings.front().is_some_and(|&(_, flow)| !waits(self, flow)) {
            self.openings.pop_front();
        }
    }
    /// Returns the time of the next [`Relay::expire_openings`].
    pub(crate) fn opening_at(&self) -> Option<Time> {
        self.openings.front().map(|&(until, _)| until)
    }
    /// Refuses local hosts that have waited for [`GatewayConfig::opening`](crate::GatewayConfig::opening), resets those
    /// that were accepted early, and sends the peer, which may still be connecting, a reset.
    pub(crate) fn expire_openings(&mut self, now: Time, actions: &mut Vec<Action>) {
        let reason = Reason::TimedOut;
        self.forget_answered_openings();
        while let Some(&(_, flow)) = self.openings.front().filter(|&&(until, _)| until <= now) {
            self.openings.pop_front();
            let Some(state) = self.flows.get_mut(&flow).filter(|state| state.opening()) else { continue };
            let early = state.stage == Stage::Relaying;
            actions.push(if early { Action::Reset { flow, reason } } else { Action::Refuse { flow, reason } });
            state.cause = Some(reason);
            let asked = state.asked;
            self.stats.count_refusal(reason);
            if asked {
                self.change(flow, actions, |flow, context| flow.abandon(reason, context));
            } else {
                self.end(flow, actions);
            }
            self.forget_answered_openings();
        }
    }
}
