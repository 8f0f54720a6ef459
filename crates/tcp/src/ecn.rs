//! Explicit congestion notification. RFC 3168 §6.1.

use cellway_units::Ecn;

use crate::acc_ecn::{AccEcn, AccEcnCounts};
use crate::{CongestionControl, Flags, Segment};

/// The ECN state of an end whose peer has agreed to ECN.
#[derive(Clone, Debug)]
pub(crate) enum EcnState {
    Classic(Classic),
    Accurate(AccEcn),
}

/// The state of the feedback of RFC 3168.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classic {
    /// Received a mark (CE): each acknowledgement carries ECE until the peer sends CWR. §6.1.3.
    echo: bool,
    /// The window was reduced: the next new data carries CWR. §6.1.2.
    reduced: bool,
    /// The echo follows each segment, as DCTCP has it, in place of CWR. RFC 8257 §3.2.
    follows: bool,
}

impl EcnState {
    /// Returns AccECN, if that was agreed to.
    pub(crate) fn accurate(&mut self) -> Option<&mut AccEcn> {
        if let EcnState::Accurate(ecn) = self { Some(ecn) } else { None }
    }
    /// Returns the counters of what arrived, and of what has arrived at the peer.
    pub(crate) fn counts(&self) -> Option<[AccEcnCounts; 2]> {
        if let EcnState::Accurate(ecn) = self { Some([ecn.reflector.counts(), ecn.feedback.counts()]) } else { None }
    }
    /// Records a reduction of the window, for any reason. AccECN does not report it.
    pub(crate) fn reduced(&mut self) {
        if let EcnState::Classic(ecn) = self {
            ecn.reduced = true;
        }
    }
    /// Returns the flags of a segment.
    pub(crate) fn flags(&self) -> Flags {
        match self {
            EcnState::Classic(ecn) => ecn.echo(),
            EcnState::Accurate(ecn) => ecn.flags(),
        }
    }
    /// Makes `segment`, which carries data, ECN-capable: with RFC 3168 only `new` data, neither retransmissions nor window
    /// probes (§6.1.5, §6.1.6). RFC 8311 §4.3 permits these too, as a receiver with AccECN counts marks in them.
    pub(crate) fn send_data(&mut self, segment: &mut Segment, new: bool) {
        match self {
            EcnState::Classic(ecn) if new => ecn.send_new(segment),
            EcnState::Classic(_) => {}
            EcnState::Accurate(ecn) => segment.ecn = ecn.codepoint(),
        }
    }
}

impl Classic {
    /// Begins at an end with this control.
    pub(crate) fn new(control: CongestionControl) -> Classic {
        Classic { echo: false, reduced: false, follows: control == CongestionControl::Dctcp }
    }
    /// Returns true if the echo of a segment differs from that of the data before it, so that an acknowledgement of these
    /// is sent first, and one of the segment at once. RFC 8257 §3.2, figure 1.
    pub(crate) fn is_turned_by(&self, segment: &Segment) -> bool {
        self.follows && self.echo != (segment.ecn == Ecn::Ce)
    }
    /// Returns the flags of a SYN that offers ECN, or of the answer that accepts it. §6.1.1.
    pub(crate) fn offer(answering: bool) -> Flags {
        if answering { Flags::ECE } else { Flags::ECE | Flags::CWR }
    }
    /// Returns true if a SYN offers ECN, or its answer accepts it. §6.1.1.
    pub(crate) fn is_offered(syn: &Segment) -> bool {
        syn.is(Flags::ECE) && syn.is(Flags::CWR) != syn.is(Flags::ACK)
    }

    /// Takes the codepoint and CWR of an arriving segment with data inside the window. Returns true if it is marked.
    pub(crate) fn arrived(&mut self, segment: &Segment) -> bool {
        let marked = segment.ecn == Ecn::Ce;
        self.echo = marked || !self.follows && self.echo && !segment.is(Flags::CWR);
        marked
    }
    /// Returns ECE, if the peer's marks are to be echoed.
    fn echo(&self) -> Flags {
        if self.echo { Flags::ECE } else { Flags::default() }
    }
    /// Makes `segment`, which carries new data, ECN-capable. Acknowledgements are not. §6.1.4.
    fn send_new(&mut self, segment: &mut Segment) {
        segment.ecn = Ecn::Ect0;
        if std::mem::take(&mut self.reduced) {
            segment.flags |= Flags::CWR;
        }
    }
}
