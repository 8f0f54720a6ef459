//! The peer's acknowledgement and window. RFC 9293 §3.10.7.4, fifth.

use cellway_units::{Span, Time};

use super::{Endpoint, tell};
use crate::acc_ecn::Marks;
use crate::congestion::{Acked, Repair, Window};
use crate::output::{Event, Output};
use crate::recovery::{AckKind, Context, Reaction};
use crate::undo::Duplicate;
use crate::{Position, SackBlock, Segment, State, TimerKind};

impl Endpoint {
    /// Processes the acknowledgement `ack` of a segment at `seq`.
    #[inline(always)]
    pub(super) fn take_acknowledgement(
        &mut self,
        now: Time,
        segment: &Segment,
        (seq, ack): (Position, Position),
        out: &mut Output,
    ) {
        // The connection is kept open as long as probes are answered. RFC 9293 §3.8.6.1.
        self.probes_unanswered = 0;
        let window = u64::from(segment.window) << self.peer_shift;
        // RFC 5681 §2: a duplicate acknowledges nothing new while data is outstanding, has neither payload nor SYN nor
        // FIN, and does not change the window. Answers to window probes are no duplicates: the retransmission timer
        // does not run then.
        let plain = ack == self.sender.una
            && segment.sequence_len() == 0
            && window == self.sender.window
            && self.timers.is_set(TimerKind::Retransmit);
        if ack >= self.sender.una {
            self.sender.update_window(seq, ack, window);
        }
        if let Some(queue) = &mut self.queue {
            queue.begin_ack();
        }
        let (news, duplicate) = match segment.options.sack.as_slice() {
            [] => (false, None),
            blocks => self.take_sack_blocks(now, blocks, ack),
        };
        let una = self.sender.una;
        let acked = ack.saturating_sub(una);
        let marks = self.take_marks(now, segment, ack, plain);
        if acked > 0 {
            self.advance(now, segment, ack, marks, out);
        }
        if self.undo.is_some() {
            self.judge_reduction(now, segment, una, duplicate);
        }
        let kind = match acked {
            0 if plain && segment.options.sack.is_empty() => AckKind::Duplicate,
            0 => AckKind::Other,
            _ => AckKind::Advance,
        };
        // Most senders keep no records, and most ends that keep them only receive.
        if let Some(queue) = &self.queue
            && (kind != AckKind::Other || duplicate.is_some() || !queue.is_idle())
        {
            self.complete_records(now, segment, (kind, duplicate), out);
        }
        // RFC 6675 §2: with SACK a duplicate is any acknowledgement that reports new data beyond a gap.
        let duplicate = if self.recovery.uses_sack() { news } else { plain };
        if duplicate {
            self.stats.rare().duplicate_acks_received += 1;
            let before = self.before_loss();
            let reaction = self.recovery.duplicate(&mut self.control, self.sender.flight());
            self.count_fast_retransmit(reaction, before);
            self.react(reaction, now, out);
        }
        self.react_to_marks(now, marks, acked);
        if self.sender.fin_acked() {
            self.follow_fin(now, out);
        }
    }

    /// Passes the segments that this acknowledgement reports to a recovery that uses their records.
    #[inline(never)]
    fn complete_records(
        &mut self,
        now: Time,
        segment: &Segment,
        (kind, duplicate): (AckKind, Option<Duplicate>),
        out: &mut Output,
    ) {
        let echo = self.timestamps.echo_until(segment, now);
        let context = Context { echo, duplicate, ..self.context(now) };
        let before = self.before_loss();
        let Some(queue) = self.queue.as_deref_mut() else { return };
        queue.take_sample();
        let reaction = self.recovery.delivered(&mut self.control, context, queue, kind);
        if reaction == Reaction::Undo {
            self.undo_reduction(now);
        }
        self.update_model(now);
        self.count_fast_retransmit(reaction, before);
        self.react(reaction, now, out);
    }
    /// Passes an acknowledgement to a controller that sets the window itself.
    fn update_model(&mut self, now: Time) {
        let Some(queue) = self.queue.as_deref_mut().filter(|_| self.control.sets_window()) else { return };
        // An end that only receives has nothing to control.
        if queue.is_empty() && queue.arrived().is_empty() {
            return;
        }
        let was_full = self.control.was_full(self.sender.flight());
        self.control.acknowledged(&queue.ack(now, self.recovery.repair(), was_full));
        if self.control.holds_back() {
            queue.limit();
        }
    }
    /// Counts a fast retransmit, if `reaction` is one. The window was `before`.
    pub(super) fn count_fast_retransmit(&mut self, reaction: Reaction, before: Option<Window>) {
        if matches!(reaction, Reaction::Continue | Reaction::Undo) {
            return;
        }
        let repaired = reaction == Reaction::Reduced;
        if !repaired {
            self.stats.rare().fast_retransmits += 1;
        }
        self.note_reduction();
        // The data that a probe has repaired were lost.
        self.begin_episode(before.filter(|_| !repaired), Repair::Fast, self.recovery.probed());
    }
    /// Records a reduction for a loss, which is reported to the peer like a reduction for a mark. RFC 3168 §6.1.2.
    pub(super) fn note_reduction(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.reduced();
        }
    }

    /// RFC 6675 §4, Update(); returns true if a block reports new data. The first block may report a duplicate instead.
    #[inline(never)]
    fn take_sack_blocks(&mut self, now: Time, blocks: &[SackBlock], ack: Position) -> (bool, Option<Duplicate>) {
        let flight = self.sender.flight();
        let iss = self.iss;
        let mut news = false;
        let duplicate = Duplicate::of(blocks, ack, iss, flight.una);
        if duplicate.is_some() {
            self.stats.rare().dsacks_received += 1;
        }
        for block in &blocks[usize::from(duplicate.is_some())..] {
            if let (Some(start), Some(end)) =
                (block.start.position(iss, flight.una), block.end.position(iss, flight.una))
            {
                news |= self.recovery.sacked(start, end, flight);
                if let Some(queue) = &mut self.queue {
                    news |= queue.sacked(start, end, now);
                }
            }
        }
        (news, duplicate)
    }

    /// Returns the round trip that `segment` measures by acknowledging everything below `ack`.
    pub(super) fn measure(&mut self, now: Time, segment: &Segment, ack: Position, out: &mut Output) -> Option<Span> {
        out.rtt = if self.timestamps.agreed {
            let rtt = self.timestamps.round_trip(segment, now);
            rtt.inspect(|&rtt| self.rto.sample(rtt))
        } else {
            self.rto.acked(ack, now)
        };
        out.rtt
    }

    /// Advances to `ack`: everything below it is newly acknowledged, by `segment`.
    fn advance(&mut self, now: Time, segment: &Segment, ack: Position, marks: Marks, out: &mut Output) {
        let before = self.sender.una;
        let bytes = self.sender.payload_between(before, ack);
        let rtt = self.measure(now, segment, ack, out);
        self.sender.acked(ack);
        if let Some(queue) = &mut self.queue {
            queue.acked(ack, now);
        }
        self.timeouts_in_a_row = 0;
        self.stats.bytes_acked += bytes;
        let echoes_mark = marks.packets > 0;
        let acked =
            Acked { bytes: ack - before, now, rtt, srtt: self.rto.smoothed(), marked: marks.bytes, echoes_mark };
        let reaction = self.recovery.acked(&mut self.control, acked, self.sender.flight());
        if self.in_flight() == 0 {
            // RFC 6298 (5.2): all is acknowledged.
            self.timers.cancel(TimerKind::Retransmit);
        } else if reaction != Reaction::RetransmitKeepingTimer {
            // RFC 6298 (5.3): an acknowledgement of new data starts the timer anew.
            self.start_retransmit_timer(now);
        }
        if bytes > 0 {
            tell(out, Event::Acked { bytes });
        }
        if self.sender.take_writable() && self.writable() > 0 {
            tell(out, Event::Writable);
        }
        self.react(reaction, now, out);
    }

    /// Executes what the recovery requests.
    pub(super) fn react(&mut self, reaction: Reaction, now: Time, out: &mut Output) {
        match reaction {
            Reaction::Continue | Reaction::Reduced | Reaction::Undo => {}
            Reaction::Retransmit => {
                // As in BSD, a fast retransmit gives the segment a whole timeout to arrive.
                self.timers.cancel(TimerKind::Retransmit);
                self.resend_first(now, out);
            }
            // Lost data are sent with the next transmission, and have a whole timeout to arrive.
            Reaction::Repair => self.start_retransmit_timer(now),
            Reaction::RetransmitKeepingTimer => self.resend_first(now, out),
            Reaction::GoBackN => {
                self.timers.cancel(TimerKind::Retransmit);
                self.sender.nxt = self.sender.una;
            }
        }
    }

    /// Changes the state after our FIN is acknowledged. RFC 9293 §3.10.7.4, fifth.
    fn follow_fin(&mut self, now: Time, out: &mut Output) {
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now, out),
            State::LastAck => {
                self.close();
                tell(out, Event::Closed);
            }
            _ => {}
        }
    }
}
