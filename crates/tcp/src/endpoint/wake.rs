//! The actions of the timers.

use cellway_units::Time;

use super::{Endpoint, tell};
use crate::congestion::Repair;
use crate::output::{Event, Output};
use crate::recovery::{Context, Reaction};
use crate::{State, TimerKind};

impl Endpoint {
    /// Executes the timer `kind`, which is due and no longer set.
    pub(super) fn fire(&mut self, kind: TimerKind, now: Time, out: &mut Output) {
        match kind {
            TimerKind::Retransmit => self.time_out(now, out),
            TimerKind::LossDetection => self.detect_loss(now, out),
            TimerKind::Persist => self.probe(now, out),
            TimerKind::DelayedAck => self.send_ack(now, out),
            TimerKind::TimeWait => self.close(),
            TimerKind::Pace => self.transmit(now, out),
        }
    }

    /// Retransmits the earliest segment, doubles the timeout, and starts the timer. RFC 6298 (5.4) to (5.6).
    fn time_out(&mut self, now: Time, out: &mut Output) {
        self.stats.rare().timeouts += 1;
        if self.timeouts_in_a_row >= self.config.tcp.max_retransmissions {
            // RFC 9293 §3.8.3: past the threshold R2 the connection is given up.
            self.give_up(now, out);
            return;
        }
        self.timeouts_in_a_row += 1;
        self.rto.back_off();
        self.rto.resent();
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.syn_lost = true;
            self.send_syn(now, out);
            return;
        }
        self.note_reduction();
        let again = self.timeouts_in_a_row > 1;
        if !again && !self.recovery.in_recovery() {
            self.begin_episode(self.before_loss(), Repair::Timeout, self.recovery.probed());
        }
        let context = self.context(now);
        if self.recovery.timed_out(&mut self.control, context, self.queue.as_deref_mut(), again) == Reaction::GoBackN {
            // Go-back-N, as in BSD: later data are retransmitted as the window grows, unless an acknowledgement skips
            // them.
            self.sender.nxt = self.sender.una;
        }
        self.transmit(now, out);
    }

    /// Executes the timer of loss detection. RFC 8985 §6.2, §7.3.
    fn detect_loss(&mut self, now: Time, out: &mut Output) {
        let context = self.context(now);
        let before = self.before_loss();
        let queue = self.queue.as_deref_mut();
        let (reaction, probe) = self.recovery.expired(&mut self.control, context, &self.sender, queue);
        self.count_fast_retransmit(reaction, before);
        self.react(reaction, now, out);
        if let Some(chunk) = probe {
            self.stats.rare().loss_probes += 1;
            self.send_chunk(chunk, now, out);
        }
        // RFC 8985 §7.3: the retransmission timer starts anew.
        if self.in_flight() > 0 {
            self.start_retransmit_timer(now);
        }
        self.transmit(now, out);
    }
    /// Sets the timer of loss detection. RFC 8985 §8 cancels that of retransmissions meanwhile; here both are set, and this
    /// one is due no later, as in Linux.
    pub(super) fn arm_loss_detection(&mut self, now: Time) {
        let context = self.context(now);
        let deadline = self.recovery.deadline(&context, self.queue.as_deref());
        let Some(at) = deadline else {
            self.timers.cancel(TimerKind::LossDetection);
            return;
        };
        self.timers.set(TimerKind::LossDetection, at);
    }
    pub(super) fn context(&self, now: Time) -> Context {
        Context {
            now,
            flight: self.sender.flight(),
            srtt: self.rto.smoothed(),
            echo: None,
            duplicate: None,
            timeout_at: self.timers.at(TimerKind::Retransmit),
        }
    }

    /// Probes a closed window. RFC 9293 §3.8.6.1. A window too small for sender's silly window avoidance is filled now:
    /// the override of RFC 9293 §3.8.6.2.1 (4).
    fn probe(&mut self, now: Time, out: &mut Output) {
        if self.probes_unanswered >= self.config.tcp.max_retransmissions {
            self.give_up(now, out);
            return;
        }
        let chunk = self.sender.forced();
        if self.sender.window == 0 {
            self.probes += 1;
            self.probes_unanswered += 1;
            self.stats.rare().window_probes += 1;
            // The byte is not counted as sent: if it is refused, it is retransmitted with those behind it.
            self.sender.probed = self.sender.probed.max(chunk.end());
            self.push_data(chunk, false, now, out);
        } else {
            self.send_chunk(chunk, now, out);
        }
        self.arm_persist(now);
    }
    /// Arms the persist timer while only the peer's window delays data, since no acknowledgement will arrive then.
    pub(super) fn arm_persist(&mut self, now: Time) {
        let waits_for_other = self.timers.is_set(TimerKind::Retransmit) || self.timers.is_set(TimerKind::Pace);
        let blocked = self.sender.waiting() > 0 && self.in_flight() == 0 && !waits_for_other;
        if !blocked {
            self.probes = 0;
            self.timers.cancel(TimerKind::Persist);
        } else if !self.timers.is_set(TimerKind::Persist) {
            // First after one timeout, then at doubling intervals. RFC 9293 §3.8.6.1.
            let at = self.rto.after(now, self.rto.backed_off(self.probes));
            self.timers.set(TimerKind::Persist, at);
        }
    }

    /// Ends the connection to an unresponsive peer.
    fn give_up(&mut self, now: Time, out: &mut Output) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.fail_handshake(Event::TimedOut, out);
            return;
        }
        self.send_reset(now, out);
        self.close();
        tell(out, Event::TimedOut);
    }
}
