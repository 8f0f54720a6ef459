//! The recovery of Tahoe: fast retransmit without fast recovery. V. Jacobson, SIGCOMM 1988.

use super::{DuplicateAcks, Reaction};
use crate::FastRetransmit;
use crate::congestion::{Acked, Control, Flight, Timeout};

/// Any loss takes the window to one segment.
#[derive(Clone, Debug)]
pub(crate) struct Tahoe {
    duplicates: DuplicateAcks,
    fast_retransmit: FastRetransmit,
}

impl Tahoe {
    pub(super) fn new(duplicates: DuplicateAcks, fast_retransmit: FastRetransmit) -> Tahoe {
        Tahoe { duplicates, fast_retransmit }
    }

    pub(super) fn acked(&mut self, control: &mut Control, acked: Acked, flight: Flight) -> Reaction {
        self.duplicates.reset();
        control.grow(acked, flight);
        Reaction::Continue
    }
    /// Counts a duplicate. Fast retransmit: exactly the threshold's duplicate means a loss, later ones are ignored.
    pub(super) fn duplicate(&mut self, control: &mut Control, flight: Flight) -> Reaction {
        self.duplicates.add(flight);
        if self.duplicates.count != self.duplicates.threshold {
            return Reaction::Continue;
        }
        control.collapse(flight, Timeout::Loss, &[]);
        match self.fast_retransmit {
            FastRetransmit::GoBackN => Reaction::GoBackN,
            FastRetransmit::OneSegment => Reaction::Retransmit,
        }
    }
    pub(super) fn timed_out(&mut self, control: &mut Control, flight: Flight) {
        self.duplicates.reset();
        control.collapse(flight, Timeout::Loss, &[]);
    }
}
