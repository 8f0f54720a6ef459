//! Explicit congestion notification in the segments of an endpoint. RFC 3168, RFC 9768, RFC 8257 §3.2.

use cellway_units::{Ecn, Time};

use super::Endpoint;
use crate::acc_ecn::{AccEcn, Delivered, Marks, handshake};
use crate::config::TIMESTAMPS;
use crate::congestion::MarkReport;
use crate::ecn::{Classic, EcnState};
use crate::output::{Event, Output};
use crate::{AccEcnOption, CongestionControl, EcnMode, Flags, Options, Position, Segment, State};

/// The octets of options that a header has room for. RFC 9293 §3.1.
const OPTIONS: u32 = 40;

impl Endpoint {
    /// Returns the state of ECN with a peer that has sent `segment`, a SYN or SYN/ACK.
    pub(super) fn agree_to_ecn(&self, segment: &Segment) -> Option<EcnState> {
        let answers = segment.is(Flags::ACK);
        let mode = match self.config.tcp.ecn {
            EcnMode::Off => EcnMode::Off,
            // RFC 3168 §6.1.1.1: not once a SYN without the offer was sent.
            EcnMode::Classic if !self.syn_lost && Classic::is_offered(segment) => EcnMode::Classic,
            EcnMode::Classic => EcnMode::Off,
            EcnMode::Accurate if answers => handshake::answered(segment.flags),
            EcnMode::Accurate => handshake::requested(segment.flags),
        };
        let control = self.config.tcp.control();
        // RFC 9331 §4.1: ECT(1) identifies a sender that reacts as L4S requires.
        let codepoint = if control == CongestionControl::Prague { Ecn::Ect1 } else { Ecn::Ect0 };
        match mode {
            EcnMode::Off => None,
            EcnMode::Classic => Some(EcnState::Classic(Classic::new(control))),
            EcnMode::Accurate if answers => Some(EcnState::Accurate(AccEcn::client(codepoint, segment))),
            EcnMode::Accurate => Some(EcnState::Accurate(AccEcn::server(codepoint, segment))),
        }
    }
    /// Returns the flags of ECN on a SYN, and the option of AccECN on the answer to one.
    pub(super) fn offer_ecn(&mut self, answering: bool) -> (Flags, Option<AccEcnOption>) {
        let tries = self.timeouts_in_a_row;
        if !answering {
            let offer = match self.config.tcp.ecn {
                // RFC 3168 §6.1.1.1: a lost SYN may have been dropped for its offer. Linux also retransmits it without.
                EcnMode::Classic if !self.syn_lost => Classic::offer(false),
                // RFC 9768 §3.1.4.1: the first retransmission offers it again.
                EcnMode::Accurate if tries <= 1 => handshake::REQUEST,
                _ => Flags::default(),
            };
            return (offer, None);
        }
        match self.ecn.as_deref_mut() {
            None => (Flags::default(), None),
            Some(EcnState::Classic(_)) => (Classic::offer(true), None),
            // RFC 9768 §3.2.3.2.2: at first with the option, then without, then without AccECN; the client may then not use
            // it, so that no data may be ECN-capable (§3.1.5).
            Some(EcnState::Accurate(ecn)) if tries <= 1 => {
                (ecn.answer_flags(), (tries == 0).then(|| ecn.reflector.whole_option()))
            }
            Some(EcnState::Accurate(ecn)) => {
                ecn.stop_capable();
                (Flags::default(), None)
            }
        }
    }
    /// Counts the codepoint of a segment at `seq`, which is acceptable if it has no data, for AccECN. Returns true if an
    /// acknowledgement is to be sent at once. RFC 9768 §3.2.
    pub(super) fn count_marks(&mut self, segment: &Segment, seq: Position) -> bool {
        let Some(ecn) = self.ecn.as_mut().and_then(|ecn| ecn.accurate()) else { return false };
        let len = u64::from(segment.len);
        let receives = self.state.may_receive() || self.state == State::SynReceived;
        let inside = seq + len > self.receiver.nxt && seq <= self.receiver.limit() && receives;
        if len > 0 && !inside {
            return false;
        }
        if len > 0 && segment.ecn == Ecn::Ce {
            self.stats.rare().marks_received += 1;
        }
        ecn.reflector.arrived(segment.ecn, segment.len, self.receiver.awaits_ack())
    }
    /// Takes a SYN or SYN/ACK that arrives again. Returns false if it has reset the connection.
    pub(super) fn take_syn_again(&mut self, now: Time, segment: &Segment, out: &mut Output) -> bool {
        let answers = segment.is(Flags::ACK);
        let Some(ecn) = self.ecn.as_mut().and_then(|ecn| ecn.accurate()) else { return true };
        if answers && handshake::answered(segment.flags) == EcnMode::Accurate {
            ecn.take_answer(segment);
        } else if !answers && self.state == State::SynReceived {
            if handshake::requested(segment.flags) == EcnMode::Classic {
                // RFC 9768 §3.1.5: the client would not know which of the two was agreed to.
                self.send_reset(now, out);
                self.fail_handshake(Event::Reset, out);
                return false;
            }
            ecn.take_syn_again(segment);
        }
        true
    }

    /// Takes the codepoint of data, for the echo of RFC 3168.
    pub(super) fn mark_arrived(&mut self, segment: &Segment) {
        if let Some(EcnState::Classic(ecn)) = self.ecn.as_deref_mut()
            && ecn.arrived(segment)
        {
            self.stats.rare().marks_received += 1;
        }
    }
    /// Adds the option of AccECN to `options` of a segment with a `payload`, and returns the flags of ECN.
    pub(super) fn feed_back_marks(&mut self, payload: u64, options: &mut Options) -> Flags {
        let room = self.room(payload);
        let ecn = match self.ecn.as_deref_mut() {
            Some(EcnState::Accurate(ecn)) => ecn,
            other => return other.map_or(Flags::default(), |ecn| ecn.flags()),
        };
        let stamp = options.timestamps.map_or(0, |_| TIMESTAMPS);
        let reflects = ecn.reflects_syn() && payload == 0;
        let option = if reflects {
            Some(ecn.reflector.whole_option())
        } else {
            // Two SACK blocks have precedence. RFC 9768 §3.2.3.3.
            let mut two = options.sack;
            two.truncate(2);
            ecn.reflector.option(OPTIONS - stamp - two.octets())
        };
        if let Some(option) = option {
            let mut sack = options.sack;
            while stamp + sack.octets() + option.octets() > OPTIONS {
                sack.truncate(sack.as_slice().len() - 1);
            }
            let octets = u64::from((sack.octets() + option.octets()).next_multiple_of(4));
            if payload == 0 || octets <= room {
                (options.sack, options.acc_ecn) = (sack, Some(option));
            }
        }
        if reflects && options.sack.is_empty() { ecn.pure_flags() } else { ecn.flags() }
    }

    /// Returns the marks that a segment which acknowledges all below `ack` reports, before it changes anything else.
    #[inline(always)]
    pub(super) fn take_marks(&mut self, now: Time, segment: &Segment, ack: Position, plain: bool) -> Marks {
        if self.ecn.is_some() { self.count_reported(now, segment, ack, plain) } else { Marks::default() }
    }
    #[inline(never)]
    fn count_reported(&mut self, now: Time, segment: &Segment, ack: Position, plain: bool) -> Marks {
        let una = ack.max(self.sender.una);
        let marks = match self.ecn.as_deref_mut() {
            None => return Marks::default(),
            Some(EcnState::Classic(_)) => {
                let delivered = una - self.sender.una;
                let echo = segment.is(Flags::ECE);
                Marks { packets: echo.into(), bytes: if echo { delivered } else { 0 }, delivered }
            }
            Some(EcnState::Accurate(ecn)) => {
                let selectively = match &self.queue {
                    Some(queue) => queue.sacked_from(una),
                    None => self.recovery.sacked_from(una),
                };
                let duplicate = plain && !self.recovery.uses_sack();
                ecn.take_feedback(segment, Delivered { total: una + selectively, duplicate, mss: self.sender.mss })
            }
        };
        if marks.delivered > 0 {
            let (delivered, marked, flight) = (marks.delivered, marks.bytes, self.sender.flight());
            let srtt = self.rto.smoothed();
            self.control.counted(&MarkReport { now, delivered, marked, ack: una, flight, srtt });
        }
        marks
    }
    /// Reduces the window for `marks` on a segment that acknowledges `acked` bytes. RFC 3168 §6.1.2. A loss under repair
    /// has reduced the window already.
    #[inline]
    pub(super) fn react_to_marks(&mut self, now: Time, marks: Marks, acked: u64) {
        if marks.packets > 0 && !self.recovery.in_recovery() && self.control.mark(now, self.sender.flight(), acked) {
            self.note_reduction();
            if !self.control.sets_window() {
                self.stats.rare().mark_reductions += 1;
                self.undo = None;
            }
        }
    }
}
