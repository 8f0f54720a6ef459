//! Refuses the connections that wait for the far host's answer when the peer is unresponsive.

use std::cmp::Reverse;

use super::Relay;
use crate::flow::{Context, Delivery, Flow, Origin, Stage};
use crate::output::Action;
use crate::reason::Reason;

impl Relay {
    /// Refuses every connection of a local host that has had no answer. The peer receives a reset for each whose `Open`
    /// it may have: it must not connect in the name of a client that now takes another route.
    pub(crate) fn abandon_openings(&mut self, reason: Reason, actions: &mut Vec<Action>) {
        let waits = |state: &Flow| {
            state.origin == Origin::Local && matches!(state.stage, Stage::Waiting | Stage::Opening) && state.told
        };
        let waiting = self.flows.iter().filter(|(_, state)| waits(state));
        let mut waiting: Vec<_> =
            waiting.map(|(&flow, state)| (state.stage != Stage::Waiting, Reverse(flow))).collect();
        // Those without memory go first: memory that becomes free is not for another of them.
        waiting.sort_unstable();
        for (_, Reverse(flow)) in waiting {
            self.stats.count_refusal(reason);
            actions.push(Action::Refuse { flow, reason });
            let Some(state) = self.flows.get_mut(&flow) else { continue };
            state.cause = Some(reason);
            if state.asked {
                self.change(flow, actions, |flow, context| flow.abandon(reason, context));
            } else {
                self.end(flow, actions);
            }
        }
    }
}

impl Flow {
    /// Records that the local host has stopped waiting. Its reset does not wait for the `Open`, which is not
    /// retransmitted either: a peer that receives only the reset refuses the identifier from then on.
    pub(super) fn abandon(&mut self, reason: Reason, context: &mut Context<'_>) {
        self.handshake = Delivery::Acked;
        self.lose_local_side(reason, context);
    }
}
