//! A segment arrives in SYN-RECEIVED or later. RFC 9293 §3.10.7.4.

use cellway_units::Time;

use super::{Endpoint, tell};
use crate::ecn::EcnState;
use crate::output::{Event, Output};
use crate::{Flags, Position, SackBlock, Segment, State, TimerKind};

impl Endpoint {
    /// Applies the checks in the order of RFC 9293 §3.10.7.4.
    pub(super) fn arrive(&mut self, now: Time, segment: &Segment, out: &mut Output) {
        let Some(seq) = self.receiver.position(segment.seq) else {
            self.answer_unacceptable(now, segment, out);
            return;
        };
        if self.is_old_by_timestamp(now, segment, seq, out) {
            return;
        }
        let (nxt, edge) = (self.receiver.nxt, self.receiver.limit());
        if segment.is(Flags::RST) {
            // RFC 9293 §3.10.7.4, second: a reset counts at exactly RCV.NXT; elsewhere in the
            // window it is challenged, outside it is dropped.
            if seq == nxt {
                self.reset(out);
            } else if (nxt..edge).contains(&seq) {
                self.send_ack(now, out);
            }
            return;
        }
        // First: the sequence number. A segment without length may be at the very edge; one before RCV.NXT is answered,
        // for it may be a keep-alive.
        let stale = segment.sequence_len() == 0 && seq < nxt;
        if segment.is(Flags::SYN) && seq == 0 && !self.take_syn_again(now, segment, out) {
            return;
        }
        // Fourth: a SYN is challenged, at any position.
        if stale || segment.is(Flags::SYN) {
            self.answer_unacceptable(now, segment, out);
            return;
        }
        if let Some(theirs) = segment.options.timestamps
            && self.timestamps.agreed
            && seq + segment.sequence_len() >= nxt
        {
            self.timestamps.take(theirs, seq, now);
        }
        let reports_mark = self.ecn.is_some() && self.count_marks(segment, seq);
        // Fifth: the acknowledgement. It is taken from old and early segments as well.
        if !segment.is(Flags::ACK) {
            return;
        }
        if self.state == State::SynReceived && !self.complete_handshake(now, segment, out) {
            return;
        }
        let Some(ack) = segment.ack.position(self.iss, self.sender.una) else { return };
        if ack > self.sender.sent_end() {
            // It acknowledges data that were never sent.
            self.send_ack(now, out);
            return;
        }
        self.take_acknowledgement(now, segment, (seq, ack), out);
        if matches!(self.state, State::Closed) {
            return;
        }
        // Seventh and eighth: payload and FIN.
        let duplicate = self.repeated(segment, seq);
        if segment.len > 0 || segment.is(Flags::FIN) {
            self.take_payload(now, segment, seq, edge, out);
        }
        self.receiver.ack_now |= reports_mark;
        if self.receiver.ack_alone || duplicate.is_some() {
            self.send_ack_of(duplicate, now, out);
        }
        self.transmit(now, out);
        self.flush_ack(now, out);
    }

    /// Answers an unacceptable segment with an acknowledgement, unless it is a reset. RFC 9293 §3.10.7.4, first.
    fn answer_unacceptable(&mut self, now: Time, segment: &Segment, out: &mut Output) {
        if !segment.is(Flags::RST) {
            self.send_ack(now, out);
        }
    }
    /// RFC 7323 §5.3, R1 (PAWS): a segment older than an accepted one is answered and dropped; one without timestamps
    /// is silently dropped if both sides agreed on them (§3.2). Resets pass.
    fn is_old_by_timestamp(&mut self, now: Time, segment: &Segment, seq: Position, out: &mut Output) -> bool {
        if !self.timestamps.agreed || segment.is(Flags::RST) {
            return false;
        }
        let old = segment.options.timestamps.map(|theirs| self.timestamps.is_old(theirs, now));
        if old == Some(true) {
            // Linux, tcp_send_dupack(), also reports a duplicate here: the delayed first transmission of what was
            // retransmitted is older than the retransmission.
            let duplicate = self.repeated(segment, seq);
            self.send_ack_of(duplicate, now, out);
        }
        let dropped = old.unwrap_or(true);
        if dropped {
            self.stats.rare().timestamp_drops += 1;
        }
        dropped
    }
    fn reset(&mut self, out: &mut Output) {
        match self.state {
            State::SynReceived => self.fail_handshake(Event::Reset, out),
            // Both directions are done; the application has been notified already.
            State::TimeWait => self.close(),
            _ => {
                self.close();
                tell(out, Event::Reset);
            }
        }
    }
    /// Processes the acknowledgement of our SYN in SYN-RECEIVED; returns true if it is one.
    fn complete_handshake(&mut self, now: Time, segment: &Segment, out: &mut Output) -> bool {
        let ack = segment.ack.position(self.iss, self.sender.una);
        let good = ack == Some(1);
        if good {
            self.measure(now, segment, 1, out);
            self.sender.acked(1);
            self.establish(now, out);
        } else {
            self.refuse(segment, out);
        }
        good
    }

    /// Returns the block that reports the data of `segment` at `seq` that have arrived before, if D-SACK is on. RFC 2883.
    #[inline(always)]
    fn repeated(&self, segment: &Segment, seq: Position) -> Option<SackBlock> {
        let reports = self.sack && self.config.tcp.dsack;
        if reports { self.receiver.repeated(seq, seq + segment.sequence_len()) } else { None }
    }
    fn take_payload(&mut self, now: Time, segment: &Segment, seq: Position, edge: Position, out: &mut Output) {
        let (len, fin) = (u64::from(segment.len), segment.is(Flags::FIN));
        if !self.state.may_receive() || seq > edge {
            // The peer has sent its FIN, so this is old; or it lies beyond the window.
            self.receiver.ack_now = true;
            self.receiver.ack_alone = true;
            if self.state == State::TimeWait && fin {
                // RFC 9293 §3.10.7.4, eighth: a FIN sent again restarts the 2 MSL.
                self.start_time_wait(now);
            }
            return;
        }
        // RFC 3168 §6.1.5: not from data outside the window, nor without data.
        if let Some(EcnState::Classic(ecn)) = self.ecn.as_deref()
            && len > 0
            && seq + len > self.receiver.nxt
        {
            let turned = ecn.is_turned_by(segment);
            if turned && self.receiver.awaits_ack() {
                self.send_ack(now, out);
            }
            self.mark_arrived(segment);
            self.receiver.ack_now |= turned;
        }
        let arrival = self.receiver.accept(seq, len, fin);
        if arrival.out_of_order || arrival.duplicate {
            let stats = self.stats.rare();
            stats.out_of_order_received += u64::from(arrival.out_of_order);
            stats.duplicates_received += u64::from(arrival.duplicate);
        }
        if arrival.in_order > 0 {
            self.stats.bytes_received += arrival.in_order;
            tell(out, Event::Readable { bytes: arrival.in_order });
        }
        if arrival.fin {
            self.take_fin(now, out);
        }
    }
    /// Processes the peer's FIN, which is in order. RFC 9293 §3.10.7.4, eighth.
    fn take_fin(&mut self, now: Time, out: &mut Output) {
        tell(out, Event::PeerClosed);
        match self.state {
            State::Established => self.state = State::CloseWait,
            // Had our FIN been acknowledged, this would be FIN-WAIT-2 by now.
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now, out),
            _ => {}
        }
    }
    /// Enters TIME-WAIT: both FINs are acknowledged, this side's first.
    pub(super) fn enter_time_wait(&mut self, now: Time, out: &mut Output) {
        self.state = State::TimeWait;
        self.timers.cancel_all();
        self.start_time_wait(now);
        tell(out, Event::Closed);
    }
    fn start_time_wait(&mut self, now: Time) {
        self.timers.set(TimerKind::TimeWait, self.rto.after(now, self.config.tcp.time_wait));
    }
}
