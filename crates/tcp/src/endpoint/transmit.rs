//! Sending: data as the windows allow, acknowledgements, resets.

use cellway_units::Time;

use super::Endpoint;
use crate::output::Output;
use crate::send::Chunk;
use crate::{Flags, Options, SackBlock, SackBlocks, Segment, TimerKind};

impl Endpoint {
    /// Sends all segments that may be sent now.
    pub(super) fn transmit(&mut self, now: Time, out: &mut Output) {
        if !self.state.may_transmit() {
            return;
        }
        if self.sender.is_idle() {
            self.timers.cancel(TimerKind::Pace);
        } else {
            self.restart_after_idle(now);
            self.resume(now);
            while self.may_go(now) && self.transmit_one(now, out) {}
        }
        self.end_transmission(now);
        self.arm_persist(now);
        self.transmitted = now;
    }
    /// Updates the records of segments after all that may be sent has been sent.
    #[inline]
    fn end_transmission(&mut self, now: Time) {
        let Some(queue) = &mut self.queue else { return };
        if self.control.sets_window() && queue.in_network() + self.sender.mss > self.control.window.cwnd {
            self.control.filled(self.sender.flight());
        }
        // Limited by neither a window nor pacing.
        if !self.sender.has_more() && queue.in_network() < self.control.window.cwnd && self.pacer.holds(now).is_none() {
            queue.nothing_left();
        }
        self.arm_loss_detection(now);
    }
    /// Returns true if pacing permits a segment; if not, the endpoint is woken when it does.
    fn may_go(&mut self, now: Time) -> bool {
        let held = self.pacer.holds(now);
        match held {
            Some(at) if self.sender.has_more() || self.in_recovery() || self.has_lost() => {
                self.timers.set(TimerKind::Pace, at)
            }
            _ => self.timers.cancel(TimerKind::Pace),
        }
        held.is_none()
    }

    /// Notifies a controller that sets the window before data is sent while none is in flight.
    fn resume(&mut self, now: Time) {
        let Some(queue) = self.queue.as_deref().filter(|_| self.control.sets_window()) else { return };
        if queue.in_network() == 0 && self.sender.has_more() {
            self.control.resumed(now, queue.is_limited());
        }
    }

    fn has_lost(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.has_lost())
    }

    /// RFC 5681 §4.1: after an idle time longer than the timeout, no acknowledgements clock out segments; begins with
    /// the initial window again.
    fn restart_after_idle(&mut self, now: Time) {
        let idle = self.sender.una == self.sender.max && self.sender.waiting() > 0;
        if self.config.tcp.idle_restart && idle && now.since(self.last_sent) > self.rto.current() {
            self.control.restart();
            self.undo = None;
        }
    }

    /// Sends one segment if one may go.
    fn transmit_one(&mut self, now: Time, out: &mut Output) -> bool {
        let Some(chunk) = self.recovery.next(&self.control, &mut self.sender, self.queue.as_deref_mut()) else {
            return false;
        };
        self.send_chunk(chunk, now, out);
        true
    }
    /// Retransmits the first unacknowledged segment (fast retransmit).
    pub(super) fn resend_first(&mut self, now: Time, out: &mut Output) {
        if let Some(chunk) = self.recovery.first(&self.sender) {
            self.send_chunk(chunk, now, out);
        }
    }

    /// Sends a range of the sequence space.
    pub(super) fn send_chunk(&mut self, chunk: Chunk, now: Time, out: &mut Output) {
        if chunk.syn {
            self.send_syn(now, out);
            return;
        }
        let new = chunk.from >= self.sender.max;
        if !new {
            self.stats.rare().bytes_retransmitted += chunk.len;
        }
        self.note_sent(chunk, now);
        self.last_sent = now;
        self.push_data(chunk, new, now, out);
        if chunk.len > 0 {
            let header = || out.segments.last().map_or(0, Segment::header_len);
            self.pacer.sent(now, (chunk.len, header), &self.config, &self.control, self.rto.smoothed());
        }
    }
    /// Accounts for a range sent: timer, round-trip measurement, next position.
    #[inline]
    pub(super) fn note_sent(&mut self, chunk: Chunk, now: Time) {
        if chunk.from < self.sender.max {
            self.stats.rare().retransmissions += 1;
            self.rto.resent();
            if let Some(reduction) = &mut self.undo {
                reduction.resent(chunk, now);
            }
        } else {
            self.rto.sent(chunk.end(), now);
        }
        if let Some(queue) = &mut self.queue {
            queue.sent(chunk.from, chunk.end(), now);
            self.recovery.sent(chunk, chunk.end() > self.sender.max);
        }
        self.sender.nxt = self.sender.nxt.max(chunk.end());
        self.sender.max = self.sender.max.max(chunk.end());
        // RFC 6298 (5.1): whenever something is sent and the timer is not running, start it.
        if !self.timers.is_set(TimerKind::Retransmit) {
            self.start_retransmit_timer(now);
        }
    }
    pub(super) fn start_retransmit_timer(&mut self, now: Time) {
        self.timers.set(TimerKind::Retransmit, self.rto.deadline(now));
    }
    /// Sends the segment for a range of data or the FIN, which is `new` or was sent before.
    pub(super) fn push_data(&mut self, chunk: Chunk, new: bool, now: Time, out: &mut Output) {
        let segment = self.acknowledge(chunk.len, None, now, out);
        segment.seq = self.iss.add(chunk.from);
        // In range: a chunk is at most one segment.
        segment.len = chunk.len as u32;
        if let Some(ecn) = self.ecn.as_mut().filter(|_| chunk.len > 0) {
            ecn.send_data(segment, new);
        }
        if chunk.fin {
            segment.flags |= Flags::FIN;
        }
        // RFC 9293 §3.9.1.2: push when nothing more is queued.
        if chunk.len > 0 && self.sender.is_end(chunk.from + chunk.len) {
            segment.flags |= Flags::PSH;
        }
        self.stats.bytes_sent += chunk.len;
    }

    /// Sends a segment without payload. RFC 9293 §3.10.7.4: <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>.
    pub(super) fn send_ack(&mut self, now: Time, out: &mut Output) {
        self.send_ack_of(None, now, out);
    }
    /// Sends a segment without payload that reports data received twice, if there are any. RFC 2883.
    pub(super) fn send_ack_of(&mut self, duplicate: Option<SackBlock>, now: Time, out: &mut Output) {
        self.acknowledge(0, duplicate, now, out);
        self.stats.acks_sent += 1;
    }
    /// Sends the acknowledgement that is due, or sets the timer for it.
    #[inline]
    pub(super) fn flush_ack(&mut self, now: Time, out: &mut Output) {
        if self.receiver.ack_now {
            self.send_ack(now, out);
        } else if let Some(delay) = self.config.tcp.delayed_ack.0
            && self.receiver.awaits_ack()
            && !self.timers.is_set(TimerKind::DelayedAck)
        {
            self.timers.set(TimerKind::DelayedAck, now + delay);
        }
    }
    /// Sends a segment of a synchronised connection that acknowledges everything and reports `duplicate`. It has room for
    /// `payload` bytes, which the caller adds.
    fn acknowledge<'a>(
        &mut self,
        payload: u64,
        duplicate: Option<SackBlock>,
        now: Time,
        out: &'a mut Output,
    ) -> &'a mut Segment {
        let window = self.receiver.announce();
        // After all data ever sent, also while older data are retransmitted.
        let seq = self.iss.add(self.sender.max);
        let flags = Flags::ACK;
        let segment = self.push(Segment { seq, ack: self.receiver.ack(), flags, window, ..Segment::default() }, out);
        let options = &mut segment.options;
        if self.timestamps.agreed {
            options.timestamps = Some(self.timestamps.stamp(now));
        }
        if self.sack && (duplicate.is_some() || self.receiver.has_gaps()) {
            options.sack = self.receiver.sack_blocks(duplicate);
            if self.timestamps.agreed {
                // RFC 2018 §3: with timestamps there is room for three.
                options.sack.truncate(3);
            }
            if payload > 0 && u64::from(options.sack.octets().next_multiple_of(4)) > self.room(payload) {
                options.sack = SackBlocks::default();
            }
        }
        if self.ecn.is_some() {
            segment.flags |= self.feed_back_marks(payload, options);
            if let Some(ecn) = self.ecn.as_mut().and_then(|ecn| ecn.accurate()) {
                ecn.reflector.acknowledged(options.acc_ecn);
            }
        }
        self.receiver.acknowledged();
        self.timestamps.acknowledged(self.receiver.nxt);
        self.timers.cancel(TimerKind::DelayedAck);
        segment
    }
    /// Returns the part of a segment that a `payload` leaves for options, as it may not outgrow the segment size (RFC 6691):
    /// full ones go without (bytes).
    pub(super) fn room(&self, payload: u64) -> u64 {
        self.sender.mss.saturating_sub(payload)
    }
    pub(super) fn send_reset(&mut self, now: Time, out: &mut Output) {
        let flags = Flags::RST | Flags::ACK;
        let seq = self.iss.add(self.sender.max);
        // RFC 7323 §3.2: a reset of a known connection also carries timestamps.
        let timestamps = self.timestamps.agreed.then(|| self.timestamps.stamp(now));
        let options = Options { timestamps, ..Options::default() };
        self.push(Segment { seq, ack: self.receiver.ack(), flags, options, ..Segment::default() }, out);
    }
    #[inline]
    pub(super) fn push<'a>(&mut self, segment: Segment, out: &'a mut Output) -> &'a mut Segment {
        self.stats.segments_sent += 1;
        out.segments.push(segment);
        out.segments.last_mut().expect("it has just been added")
    }
}
