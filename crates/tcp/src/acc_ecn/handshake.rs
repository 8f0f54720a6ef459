//! The negotiation of AccECN by the flags of the SYNs. RFC 9768 §3.1.

use cellway_units::Ecn;

use crate::{EcnMode, Flags};

/// The flags of a SYN that requests AccECN. RFC 9768 §3.1.1.
pub(crate) const REQUEST: Flags = Flags(Flags::AE.0 | Flags::CWR.0 | Flags::ECE.0);

/// Returns the mode of an AccECN server for the flags of a SYN. RFC 9768 §3.1.2, §3.1.3.
pub(crate) fn requested(flags: Flags) -> EcnMode {
    match flags.ace() {
        0b000 => EcnMode::Off,
        0b011 => EcnMode::Classic,
        _ => EcnMode::Accurate,
    }
}

/// Returns the mode of an AccECN client for the flags of a SYN/ACK. RFC 9768 §3.1.2, table 2; §3.1.3.
pub(crate) fn answered(flags: Flags) -> EcnMode {
    match flags.ace() {
        0b001 => EcnMode::Classic,
        // A server without ECN, and one that returns the flags of the SYN.
        0b000 | 0b111 => EcnMode::Off,
        _ => EcnMode::Accurate,
    }
}

/// Returns the flags that reflect the codepoint of a SYN or a SYN/ACK. RFC 9768, tables 2 and 3.
pub(crate) fn reflect(codepoint: Ecn) -> Flags {
    Flags::of_ace(match codepoint {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// Returns the codepoint that flags reflect; `None` for a combination that is not used. RFC 9768, tables 2 and 4.
pub(crate) fn codepoint(flags: Flags) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().find(|&codepoint| reflect(codepoint).ace() == flags.ace())
}
