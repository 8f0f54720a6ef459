//! RM cells between lines in windows: from the end of a link to the port that marks them, and on.

use cellway_units::Time;

use super::{Arriving, Moment, Windows};
use crate::cell::{Cell, Flags};
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::place::Place;

impl<B: Clone> Fabric<B> {
    /// Gives an RM cell that has come to the end of a link to the port that marks it, or on.
    pub(super) fn rm_leaves_link(&mut self, windows: &mut Windows, at: Time, index: u32, cell: Cell) {
        let moment = Moment::first(at);
        match self.marker(index, cell) {
            Some((marker, slot)) => {
                if let Some(feedback) = &mut windows.feedback {
                    feedback.awaits_mark(marker, Place::new(moment, index));
                }
                windows.give(marker, moment, index, Arriving::ToMark { cell, slot });
            }
            None => {
                let (to, control) = self.beyond_link(index, cell);
                windows.give(to.0, moment, index, Arriving::Control(control));
            }
        }
    }

    /// Marks an RM cell at port `index`, and gives it on from the end of the link of the port that it comes from.
    #[inline(never)]
    pub(super) fn mark_comes(&mut self, windows: &mut Windows, place: Place, (index, slot): (u32, u32), cell: Cell) {
        self.mark(place.at, (index, slot), cell);
        if let Some(feedback) = &mut windows.feedback {
            feedback.marked(index);
        }
        let (to, control) = self.beyond_link(place.from(), cell);
        if to == PortId(index) {
            self.control_comes(place.at, to, control);
        } else {
            windows.give(to.0, place.moment(), place.from(), Arriving::Control(control));
        }
    }

    /// Notifies the destination of a control loop at the end of a link of a data cell; returns its flags from there on.
    pub(super) fn reports(&mut self, windows: &mut Windows, moment: Moment, index: u32, cell: Cell) -> Flags {
        let (flags, reports) = self.at_destination(index, cell);
        if let Some((to, control)) = reports {
            windows.give(to.0, moment, index, Arriving::Control(control));
        }
        flags
    }
}
