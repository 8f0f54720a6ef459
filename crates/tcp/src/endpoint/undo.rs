//! Spurious retransmissions: what the peer reports of them, and the reductions of the window that they undo.

use cellway_units::Time;

use super::Endpoint;
use crate::congestion::{Repair, Window};
use crate::retransmission_queue::RetransmissionQueue;
use crate::undo::{Duplicate, Reduction};
use crate::{Position, Segment};

impl Endpoint {
    /// Returns the window before a loss, for [`begin_episode`](Endpoint::begin_episode).
    #[inline]
    pub(super) fn before_loss(&self) -> Option<Window> {
        if self.recovery.uses_sack() { self.control.before_loss(self.sender.flight()) } else { None }
    }
    /// Records that a loss has reduced the window, which was `before`. `None`: that cannot be undone. `probed` is what a
    /// loss probe has retransmitted.
    pub(super) fn begin_episode(
        &mut self,
        before: Option<Window>,
        repair: Repair,
        probed: Option<(Position, Position)>,
    ) {
        self.undo = before.map(|before| Box::new(Reduction::new(before, repair, probed)));
    }
    /// Undoes the last reduction if all its retransmissions have proved to be spurious. `segment` has moved the first
    /// unacknowledged position from `una`, and reports a duplicate.
    pub(super) fn judge_reduction(
        &mut self,
        now: Time,
        segment: &Segment,
        una: Position,
        duplicate: Option<Duplicate>,
    ) {
        let Some(reduction) = &mut self.undo else { return };
        if let Some(duplicate) = duplicate {
            reduction.reported(duplicate);
        }
        if una < self.sender.una {
            reduction.acked(una, self.timestamps.echo_until(segment, now));
        }
        if reduction.is_spurious(self.sender.una) && self.recovery.may_undo() {
            self.undo_reduction(now);
        }
    }
    /// Ends the present episode, in which nothing was lost, and restores the window before it. RFC 4015 §3; Linux,
    /// tcp_undo_cwnd_reduction().
    pub(super) fn undo_reduction(&mut self, now: Time) {
        let reduction = self.undo.take();
        if reduction.is_some() {
            self.stats.rare().undone += 1;
        }
        let began_with = reduction.as_ref().map(|reduction| reduction.repair);
        let delivered = self.queue.as_deref().map_or(0, RetransmissionQueue::total_delivered);
        self.control.undo(reduction.map(|reduction| reduction.before), self.recovery.repair(), delivered);
        self.recovery.undone(began_with, self.sender.flight(), self.queue.as_deref_mut());
        // Data that go-back-N would retransmit are in flight.
        self.sender.nxt = self.sender.max;
        self.rto.end_back_off();
        if self.in_flight() > 0 {
            self.start_retransmit_timer(now);
        }
    }
}
