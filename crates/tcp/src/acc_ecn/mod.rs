//! Accurate ECN feedback (AccECN): the receiver counts marked packets, and bytes by codepoint; the sender follows the
//! counts. RFC 9768.
//!
//! Each end is both: a [`Reflector`] of what arrives, and the [`Feedback`] on what it has sent. The two SYNs reflect each
//! other's codepoints, as [`handshake`] encodes them.

mod feedback;
pub(crate) mod handshake;
mod option;
mod reflector;

use cellway_units::Ecn;

use crate::{Flags, Segment};
pub(crate) use feedback::{Delivered, Feedback, Marks};
pub use option::{AccEcnOption, FieldOrder};
pub(crate) use reflector::Reflector;

/// The counters of a receiver, or the sender's copy of them, both modulo 2^32. RFC 9768 §3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnCounts {
    /// Packets that arrived with CE; begins at 5.
    pub ce_packets: u32,
    /// Payload that arrived with CE (bytes).
    pub ce_bytes: u32,
    /// Payload that arrived with ECT(0); begins at 1 (bytes).
    pub ect0_bytes: u32,
    /// Payload that arrived with ECT(1); begins at 1 (bytes).
    pub ect1_bytes: u32,
}

impl AccEcnCounts {
    /// RFC 9768 §3.2.1: values that differ from fields which a middlebox has cleared.
    const INITIAL: AccEcnCounts = AccEcnCounts { ce_packets: 5, ce_bytes: 0, ect0_bytes: 1, ect1_bytes: 1 };

    /// Returns the count of bytes with a codepoint; that of packets without one is not kept.
    fn bytes(&self, codepoint: Ecn) -> u32 {
        match codepoint {
            Ecn::NotEct => 0,
            Ecn::Ect0 => self.ect0_bytes,
            Ecn::Ect1 => self.ect1_bytes,
            Ecn::Ce => self.ce_bytes,
        }
    }
    fn add(&mut self, codepoint: Ecn, bytes: u32) {
        let count = match codepoint {
            Ecn::NotEct => return,
            Ecn::Ect0 => &mut self.ect0_bytes,
            Ecn::Ect1 => &mut self.ect1_bytes,
            Ecn::Ce => &mut self.ce_bytes,
        };
        *count = count.wrapping_add(bytes);
    }
}

/// The state of an end in AccECN mode.
#[derive(Clone, Debug)]
pub(crate) struct AccEcn {
    pub(crate) reflector: Reflector,
    pub(crate) feedback: Feedback,
    /// The codepoint of data. Not-ECT once the path or the peer has turned out not to carry ECN.
    codepoint: Ecn,
    /// The codepoint of the peer's latest SYN or SYN/ACK.
    syn: Ecn,
    /// The next pure acknowledgement reflects it. RFC 9768 §3.2.2.1.
    reflects_syn: bool,
}

impl AccEcn {
    /// Begins as the server, which received `syn`. Data will have `codepoint`.
    pub(crate) fn server(codepoint: Ecn, syn: &Segment) -> AccEcn {
        let (reflector, feedback) = (Reflector::default(), Feedback::server());
        AccEcn { reflector, feedback, codepoint, syn: syn.ecn, reflects_syn: false }
    }
    /// Begins as the client, which received `answer` to a SYN that was not ECN-capable.
    pub(crate) fn client(codepoint: Ecn, answer: &Segment) -> AccEcn {
        let (reflector, feedback) = (Reflector::default(), Feedback::client(answer.options.acc_ecn));
        let mut this = AccEcn { reflector, feedback, codepoint, syn: answer.ecn, reflects_syn: false };
        // RFC 9768 §3.2.2.3: another codepoint than the one sent was written on the path.
        if handshake::codepoint(answer.flags).is_some_and(|arrived| arrived != Ecn::NotEct) {
            this.stop_capable();
        }
        this.take_answer(answer);
        this
    }
    /// Takes a SYN/ACK, at first or again: it is to be reflected.
    pub(crate) fn take_answer(&mut self, answer: &Segment) {
        (self.syn, self.reflects_syn) = (answer.ecn, true);
        if answer.ecn == Ecn::Ce {
            self.reflector.answer_marked();
        }
    }
    /// Takes another SYN of the client before the handshake is complete. RFC 9768 §3.1.5.
    pub(crate) fn take_syn_again(&mut self, syn: &Segment) {
        self.syn = syn.ecn;
        if syn.flags.ace() == 0 {
            self.stop_capable();
        }
    }

    /// Sends no more ECN-capable data. The feedback goes on.
    pub(crate) fn stop_capable(&mut self) {
        self.codepoint = Ecn::NotEct;
    }
    /// Returns the flags of a SYN/ACK. RFC 9768 §3.1.1.
    pub(crate) fn answer_flags(&self) -> Flags {
        handshake::reflect(self.syn)
    }
    /// Returns the flags of other segments.
    pub(crate) fn flags(&self) -> Flags {
        Flags::of_ace(self.reflector.counts().ce_packets)
    }
    /// Returns those of an acknowledgement without payload and SACK blocks.
    pub(crate) fn pure_flags(&mut self) -> Flags {
        if std::mem::take(&mut self.reflects_syn) { self.answer_flags() } else { self.flags() }
    }
    /// Returns true while the acknowledgement of the SYN/ACK is to be sent.
    pub(crate) fn reflects_syn(&self) -> bool {
        self.reflects_syn
    }
    /// Returns the codepoint of data.
    pub(crate) fn codepoint(&self) -> Ecn {
        self.codepoint
    }
    /// Takes the feedback that a segment carries, by which `delivered` is delivered.
    pub(crate) fn take_feedback(&mut self, segment: &Segment, delivered: Delivered) -> Marks {
        let marks = self.feedback.take(segment, delivered);
        if !self.feedback.is_trusted() {
            self.stop_capable();
        }
        marks
    }
}
