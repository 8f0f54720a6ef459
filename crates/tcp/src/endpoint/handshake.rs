//! Connection setup: RFC 9293 §3.5 and §3.10.7.1 to §3.10.7.3.

use std::num::NonZeroU16;

use cellway_units::{Ecn, Time};

use super::{Endpoint, tell};
use crate::config::TIMESTAMPS;
use crate::congestion::{Agreed, Control};
use crate::output::{Event, Output};
use crate::receive::Receiver;
use crate::recovery::Recovery;
use crate::send::Chunk;
use crate::{Flags, Options, Segment, SeqNum, State, TimerKind};

/// The segment size of a peer that announces none (bytes). RFC 9293 §3.7.1.
const DEFAULT_MSS: u64 = 536;
/// The largest shift; a larger one counts as this. RFC 7323 §2.3.
const MAX_SHIFT: u8 = 14;

impl Endpoint {
    /// Answers a segment for a connection that does not exist. RFC 9293 §3.10.7.1.
    pub(super) fn refuse(&mut self, segment: &Segment, out: &mut Output) {
        if segment.is(Flags::RST) {
            return;
        }
        let reset = if segment.is(Flags::ACK) {
            Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
        } else {
            let ack = segment.seq.add(segment.sequence_len());
            Segment { ack, flags: Flags::RST | Flags::ACK, ..Segment::default() }
        };
        self.push(reset, out);
    }

    /// Processes a segment in LISTEN. RFC 9293 §3.10.7.2.
    pub(super) fn arrive_in_listen(&mut self, now: Time, segment: &Segment, out: &mut Output) {
        if segment.is(Flags::RST) {
        } else if segment.is(Flags::ACK) {
            self.refuse(segment, out);
        } else if segment.is(Flags::SYN) {
            self.take_syn(now, segment);
            self.state = State::SynReceived;
            self.send_syn(now, out);
        }
    }

    /// Processes a segment in SYN-SENT. RFC 9293 §3.10.7.3.
    pub(super) fn arrive_in_syn_sent(&mut self, now: Time, segment: &Segment, out: &mut Output) {
        let ack = segment.is(Flags::ACK).then(|| segment.ack.position(self.iss, self.sender.una));
        // First, an acknowledgement of anything but our SYN is refused.
        if ack.is_some_and(|ack| ack != Some(1)) {
            self.refuse(segment, out);
            return;
        }
        // Second, a reset counts only if it acknowledges the SYN.
        if segment.is(Flags::RST) {
            if ack.is_some() {
                self.close();
                tell(out, Event::Reset);
            }
            return;
        }
        // Fourth, the SYN.
        if !segment.is(Flags::SYN) {
            return;
        }
        self.take_syn(now, segment);
        if ack.is_some() {
            self.measure(now, segment, 1, out);
            self.sender.acked(1);
            self.establish(now, out);
            self.receiver.ack_now = true;
            if self.ecn.as_mut().and_then(|ecn| ecn.accurate()).is_some() {
                // RFC 9768 §3.2.2.1: a pure acknowledgement reflects the SYN/ACK, before any data.
                self.send_ack(now, out);
            }
            self.transmit(now, out);
            self.flush_ack(now, out);
        } else {
            // Both opened at once. RFC 9293 §3.5.
            self.state = State::SynReceived;
            self.send_syn(now, out);
        }
    }

    /// Takes the peer's number, window and options from its SYN. Payload on it is not taken.
    fn take_syn(&mut self, now: Time, segment: &Segment) {
        self.receiver.synchronise(segment.seq);
        // RFC 9293 §3.7.1: never send more than the peer's MSS option, nor more than 536 without one.
        let peer_mss = segment.options.mss.map_or(DEFAULT_MSS, |mss| mss.get().into());
        self.sender.mss = self.config.tcp.mss.0.min(peer_mss).max(1);
        self.timestamps.negotiate(segment.options.timestamps, self.config.tcp.timestamps, now);
        if self.timestamps.agreed {
            // RFC 6691: the option does not include other options, which reduce the payload.
            self.sender.mss = self.sender.mss.saturating_sub(u64::from(TIMESTAMPS)).max(1);
        }
        // RFC 7323 §2.2: scaling is used only if both SYNs offer it.
        let offered = segment.options.window_scale.filter(|_| self.config.tcp.window_scaling);
        self.peer_shift = offered.unwrap_or(0).min(MAX_SHIFT);
        self.receiver.negotiated(offered.and(self.own_shift()), self.sender.mss);
        // RFC 2018 §2: selective acknowledgements likewise.
        self.sack = segment.options.sack_permitted && self.config.tcp.recovery().uses_sack();
        self.ecn = self.agree_to_ecn(segment).map(Box::new);
        // The window of a SYN is not scaled. RFC 7323 §2.2.
        self.sender.update_window(0, 0, u64::from(segment.window));
    }
    fn own_shift(&self) -> Option<u8> {
        self.config.tcp.window_scaling.then(|| Receiver::shift_for(self.config.tcp.window.0))
    }

    /// Enters ESTABLISHED: our SYN is acknowledged.
    pub(super) fn establish(&mut self, now: Time, out: &mut Output) {
        self.timers.cancel(TimerKind::Retransmit);
        self.timeouts_in_a_row = 0;
        // RFC 5681 §3.1: if a SYN was lost, the initial window is one segment.
        let initial = if self.syn_lost { 1 } else { u64::from(self.config.tcp.initial_window) };
        let acc_ecn = self.ecn.as_ref().is_some_and(|ecn| ecn.counts().is_some());
        let agreed = Agreed { sack: self.sack, acc_ecn };
        let control = Control::new(&self.config, self.sender.mss, initial, self.iss.0, agreed);
        self.control.establish(control, now, self.rto.smoothed());
        self.recovery = Recovery::new(&self.config, self.sender.mss, self.sack);
        self.queue = self.config.keeps_records().then(Box::default);
        if self.syn_lost {
            self.rto.recover_from_syn_loss();
        }
        self.state = if self.sender.is_finished() { State::FinWait1 } else { State::Established };
        tell(out, Event::Connected);
    }
    /// Ends a handshake that failed: a listener continues to listen. RFC 9293 §3.10.7.4.
    pub(super) fn fail_handshake(&mut self, event: Event, out: &mut Output) {
        if self.passive {
            let stats = std::mem::take(&mut self.stats);
            let control = self.control.clone();
            *self = Endpoint { stats, control, ..Endpoint::passive(self.config.clone(), self.iss.0) };
        } else {
            self.close();
            tell(out, event);
        }
    }

    /// Sends the SYN, with an acknowledgement if the peer's has come.
    pub(super) fn send_syn(&mut self, now: Time, out: &mut Output) {
        let answering = self.state == State::SynReceived;
        let mut flags = Flags::SYN;
        let mut ack = SeqNum::default();
        if answering {
            flags |= Flags::ACK;
            ack = self.receiver.ack();
            self.timestamps.acknowledged(self.receiver.nxt);
        }
        let (ecn, acc_ecn) = self.offer_ecn(answering);
        flags |= ecn;
        let options = Options {
            mss: NonZeroU16::new(u16::try_from(self.config.tcp.mss.0).unwrap_or(u16::MAX)),
            // An answer has only the options that the peer offered.
            window_scale: self.own_shift().filter(|_| !answering || self.receiver.is_scaling()),
            sack_permitted: self.config.tcp.recovery().uses_sack() && (!answering || self.sack),
            timestamps: (self.config.tcp.timestamps && (!answering || self.timestamps.agreed))
                .then(|| self.timestamps.stamp(now)),
            acc_ecn,
            ..Options::default()
        };
        let window = self.receiver.announce_unscaled();
        self.note_sent(Chunk { from: 0, len: 0, syn: true, fin: false }, now);
        self.push(Segment { seq: self.iss, ack, flags, window, len: 0, options, ecn: Ecn::NotEct }, out);
    }
}
