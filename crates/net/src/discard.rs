//! Early and partial packet discard: the treatment of the rest of a frame by a switch.
//!
//! Source: A. Romanow and S. Floyd, *Dynamics of TCP Traffic over ATM Networks*, IEEE JSAC 13(4), 1995, sections 4 and
//! 5. The switch recognises frames only by the end-of-frame mark of their last cells.
//!
//! After a lost cell the rest of the frame is dropped, except its last cell, which is offered to the buffer like any
//! other: reassembly needs it to end the damaged frame, or would lose the next one too. A last cell ends the frame here
//! whether the buffer accepted it or not. Two other rules have the same name: one also drops the last cell (US patent
//! 5,764,641 keeps it as the boundary of packets), the other drops the frame that follows a lost last cell (US patent
//! 6,151,299, "enhanced" partial packet discard).

use crate::cell::Cell;

/// The position of one channel within a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FrameDiscard {
    /// The next cell is the first of a frame.
    #[default]
    Between,
    /// No cell of the frame has been dropped.
    Passing,
    /// The frame is refused as a whole.
    Refused,
    /// A cell of the frame has been dropped: only the last is still of use, as it marks the end.
    Damaged,
}

/// The treatment of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The buffer may take it.
    Offer,
    /// It is dropped; `new_frame` if it is the first of a frame that is refused whole.
    Drop { new_frame: bool },
}

impl FrameDiscard {
    /// Returns the treatment of a cell; `full` returns true if new frames are refused, and is called at the first cell
    /// of each frame.
    #[inline]
    pub(crate) fn cell(&mut self, cell: Cell, full: impl FnOnce() -> bool) -> Fate {
        let first = *self == FrameDiscard::Between;
        if first {
            *self = if full() { FrameDiscard::Refused } else { FrameDiscard::Passing };
        }
        let fate = match *self {
            FrameDiscard::Refused => Fate::Drop { new_frame: first },
            FrameDiscard::Damaged if !cell.is_last() => Fate::Drop { new_frame: false },
            _ => Fate::Offer,
        };
        if cell.is_last() {
            *self = FrameDiscard::Between;
        }
        fate
    }

    /// Records that the offered cell has been lost.
    #[inline]
    pub(crate) fn lost(&mut self) {
        if *self == FrameDiscard::Passing {
            *self = FrameDiscard::Damaged;
        }
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::{Ecn, Time};

    use super::*;
    use crate::cell::Flags;
    use crate::packet::{Packet, Packets};

    #[test]
    fn a_frame_passes_is_refused_or_keeps_its_end() {
        let mut packets = Packets::new();
        let node = crate::ids::NodeId(0);
        let frame = packets.insert(
            Time::ZERO,
            Packet { conversation: 0, from: node, to: node, flow: 0, octets: 100, ecn: Ecn::NotEct, dscp: 0, body: () },
            0,
        );
        let cell = |index| Cell { slot: 0, frame, index, count: 4, flags: Flags::PLAIN };
        let mut state = FrameDiscard::default();
        let drop = |new_frame| Fate::Drop { new_frame };
        // The threshold counts at the first cell only.
        assert_eq!([0, 1, 2, 3].map(|i| state.cell(cell(i), || i > 0)), [Fate::Offer; 4]);
        assert_eq!([0, 1, 2, 3].map(|i| state.cell(cell(i), || i == 0)), [true, false, false, false].map(drop));
        assert_eq!(state.cell(cell(0), || false), Fate::Offer);
        state.lost();
        assert_eq!([1, 2].map(|i| state.cell(cell(i), || false)), [drop(false); 2]);
        assert_eq!(state.cell(cell(3), || false), Fate::Offer, "the end of the frame");
        state.lost();
        assert_eq!(state.cell(cell(0), || false), Fate::Offer, "a lost end is the end of the frame all the same");
    }
}
