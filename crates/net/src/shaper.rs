//! Shapers: when the next cell of a channel may leave an output port.

use cellway_units::{Cells, Rate, Span};

use crate::gcra::DualGcra;

/// The output of a shaper of a channel's queue: each cell as soon as it conforms to GCRA(1/PCR, 0), and to GCRA(1/SCR,
/// BT) if there is a sustainable rate. With a peak rate alone it is a spacer. ITU-T I.371; ATM Forum TM 4.0 sections
/// 4.4 and 5.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperSpec {
    /// PCR, bit/s of whole cells, above zero.
    pub peak: Rate,
    /// SCR in bit/s of whole cells, above zero, and MBS in cells.
    pub sustained: Option<(Rate, u64)>,
}

impl ShaperSpec {
    pub(crate) fn gcra(self) -> DualGcra {
        let peak = DualGcra::peak(self.peak, Span::ZERO);
        match self.sustained {
            Some((scr, mbs)) => peak.and_sustained(scr, Cells(mbs), Span::ZERO),
            None => peak,
        }
    }
}
