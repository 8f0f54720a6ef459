//! Explicit congestion notification. RFC 3168 §6.1.

use cellway_units::Ecn;

use crate::{Flags, Segment};

/// The ECN state of an end whose peer has agreed to ECN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnState {
    /// Received a mark (CE): each acknowledgement carries ECE until the peer sends CWR. §6.1.3.
    echo: bool,
    /// The window was reduced: the next new data carries CWR. §6.1.2.
    reduced: bool,
}

impl EcnState {
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
        self.echo = marked || self.echo && !segment.is(Flags::CWR);
        marked
    }
    /// Records a reduction of the window, for any reason.
    pub(crate) fn reduced(&mut self) {
        self.reduced = true;
    }
    /// Returns ECE, if the peer's marks are to be echoed.
    pub(crate) fn echo(&self) -> Flags {
        if self.echo { Flags::ECE } else { Flags::default() }
    }
    /// Makes `segment`, which carries new data, ECN-capable. Retransmissions, acknowledgements and window probes are not.
    /// §6.1.4 to §6.1.6.
    pub(crate) fn send_new(&mut self, segment: &mut Segment) {
        segment.ecn = Ecn::Ect0;
        if std::mem::take(&mut self.reduced) {
            segment.flags |= Flags::CWR;
        }
    }
}
