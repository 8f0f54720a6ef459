//! Checks of the caps in `excess`.

use super::Relay;
use crate::excess::Excess;
use crate::packet::{FlowId, Frame};
use crate::reason::Reason;

/// Most unacknowledged answers while resets of unused identifiers are sent.
const UNUSED: usize = 1024;

impl Relay {
    /// Checks the cap on identifiers after the peer has named `flow`, which has ended.
    pub(super) fn check_identifiers(&mut self, flow: FlowId) {
        if self.ended[(flow.0 & 1) as usize].len() > Excess::MOST_IDENTIFIERS + self.flows.len() {
            self.excess.get_or_insert(Excess::Identifiers);
        }
    }
    /// Checks the other caps; unacknowledged packets take `unacknowledged` bytes.
    pub(crate) fn check_caps(&mut self, unacknowledged: u64) {
        let found = if self.gaps > Excess::MOST_GAPS {
            Excess::Gaps
        } else if self.answers.len() > Excess::MOST_ANSWERS {
            Excess::Answers
        } else if unacknowledged > self.config.most_unacknowledged() {
            Excess::Unacknowledged
        } else {
            return;
        };
        self.excess.get_or_insert(found);
    }
    /// Sends the peer resets for identifiers that were never used, a few at a time, as local hosts control their
    /// number.
    pub(super) fn reset_unused(&mut self) {
        for parity in [0, 1] {
            while self.answers.len() < UNUSED
                && let Some((first, _)) = self.unused[parity as usize].first()
            {
                self.unused[parity as usize].remove(first, first + 1);
                self.answer(Frame::Reset { flow: FlowId(first << 1 | parity), at: 0, reason: Reason::Reset });
            }
        }
    }
    /// Returns true if `flow` is open here or has been.
    pub(crate) fn has_met(&self, flow: FlowId) -> bool {
        self.flows.contains_key(&flow) || self.has_ended(flow)
    }
}
