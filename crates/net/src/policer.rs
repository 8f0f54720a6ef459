//! Policers: usage parameter control of a channel's cells before an output port.

use cellway_spec::PolicerAction;
use cellway_units::{Cells, Rate, Span, Time};

use crate::gcra::DualGcra;

/// The contract of a channel: GCRA(1/PCR, CDVT), and GCRA(1/SCR, BT + CDVT) if there is a sustainable rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerSpec {
    /// PCR, bit/s of whole cells, above zero.
    pub peak: Rate,
    /// CDVT of the peak rate.
    pub cdvt: Span,
    /// SCR in bit/s of whole cells, above zero; its CDVT; MBS in cells.
    pub sustained: Option<(Rate, Span, u64)>,
    /// The treatment of other cells.
    pub action: PolicerAction,
}

/// The verdict of the policer on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Tag,
    Discard,
}

/// The clock's grain: a line rounds each cell's last bit to a picosecond, so the cells of a stream that is
/// shaped to its contract are up to this early after one line.
const GRAIN: Span = Span::from_ps(1);

#[derive(Clone, Debug)]
pub(crate) struct Policer {
    gcra: DualGcra,
    action: PolicerAction,
}

impl Policer {
    pub(crate) fn new(spec: PolicerSpec) -> Policer {
        let peak = DualGcra::peak(spec.peak, spec.cdvt + GRAIN);
        let gcra = match spec.sustained {
            Some((scr, cdvt, mbs)) => peak.and_sustained(scr, Cells(mbs), cdvt + GRAIN),
            None => peak,
        };
        Policer { gcra, action: spec.action }
    }

    /// Counts a cell that conforms; returns false, and changes nothing, if it does not.
    #[inline]
    pub(crate) fn passes(&mut self, now: Time) -> bool {
        self.gcra.conforms(now)
    }

    #[inline]
    pub(crate) fn judge(&mut self, now: Time) -> Verdict {
        match (self.passes(now), self.action) {
            (true, _) => Verdict::Pass,
            (false, PolicerAction::Tag) => Verdict::Tag,
            (false, PolicerAction::Discard) => Verdict::Discard,
        }
    }
}
