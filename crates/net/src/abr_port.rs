//! A port's part in ABR control loops: its marking, its measurements, the ends of loops behind its link.

use cellway_spec::Fraction;
use cellway_units::{Cells, Rate, Span, Time};

use crate::abr::{EfciMarker, Erica, EricaSpec, RmCell, RmDirection};
use crate::cell::Cell;
use crate::ids::PortId;
use crate::pace::{Pace, Pulse};
use crate::rm_cells::RmCells;

/// The control of ABR connections by output ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbrSwitchSpec {
    /// Data cells that leave while at least `threshold` wait are marked ([`EfciMarker`]). Cells in the queues of the
    /// port's own ABR sources do not count: they have not entered the network.
    Efci {
        /// In cells.
        threshold: Cells,
    },
    /// Explicit rates ([`Erica`]). Cells of channels without a control loop that the port sends count as
    /// capacity that is not left for ABR, whatever their class.
    Erica {
        /// The part of the capacity to hand out.
        target: Fraction,
        /// Measurement interval, above zero.
        interval: Span,
    },
}

#[derive(Clone, Debug)]
enum Marking {
    Efci(EfciMarker),
    Erica(Box<Erica>),
}

/// A queue of a port.
pub(crate) type PortQueue = (PortId, u32);

/// The ends of control loops at the node behind the link, for one channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    /// The channel's cells are at their destination, whose RM cells are sent back through this queue.
    pub(crate) destination: Option<PortQueue>,
    /// The channel's RM cells are back at the source at this queue.
    pub(crate) source: Option<PortQueue>,
    /// The last value reported to the destination: true for a marked data cell.
    told: bool,
}

impl Ends {
    /// Returns the destination if it must be notified of a data cell: not of one without a mark after another.
    #[inline]
    pub(crate) fn tells(&mut self, marked: bool) -> Option<PortQueue> {
        let news = std::mem::replace(&mut self.told, marked) || marked;
        self.destination.filter(|_| news)
    }
}

/// The role of a queue's channel in control loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Loop {
    /// None runs over this port.
    #[default]
    None,
    /// One begins here: an ABR source sends the queue's cells.
    Begins,
    /// One runs through.
    Passes,
}

#[derive(Clone, Debug)]
pub(crate) struct AbrPort {
    marking: Marking,
    /// By slot, up to the last that has a loop.
    loops: Vec<Loop>,
    /// By slot, up to the last slot that has ends.
    ends: Vec<Ends>,
}

impl AbrPort {
    pub(crate) fn new(spec: AbrSwitchSpec, line: Rate) -> AbrPort {
        AbrPort { marking: Marking::new(spec, line), loops: Vec::new(), ends: Vec::new() }
    }

    /// Changes the marking.
    pub(crate) fn set(&mut self, spec: AbrSwitchSpec, line: Rate) {
        self.marking = Marking::new(spec, line);
    }

    pub(crate) fn set_line_rate(&mut self, now: Time, line: Rate) {
        if let Marking::Erica(erica) = &mut self.marking {
            erica.set_line_rate(now, line);
        }
    }

    /// Records that a control loop of the channel in `slot` begins or passes.
    pub(crate) fn control(&mut self, slot: u32, what: Loop) {
        let slot = slot as usize;
        if slot >= self.loops.len() {
            self.loops.resize(slot + 1, Loop::None);
        }
        self.loops[slot] = what;
    }

    /// Removes a channel that is no longer in use: its queue is in no loop, and none ends on it.
    pub(crate) fn forget(&mut self, slot: u32) {
        if let Some(what) = self.loops.get_mut(slot as usize) {
            *what = Loop::None;
        }
        if let Some(ends) = self.ends.get_mut(slot as usize) {
            *ends = Ends::default();
        }
        if let Marking::Erica(erica) = &mut self.marking {
            erica.forget(slot as usize);
        }
    }

    /// Returns the ends of control loops behind the link for the cells of queue `slot`.
    #[inline]
    pub(crate) fn ends(&self, slot: u32) -> Ends {
        self.ends.get(slot as usize).copied().unwrap_or_default()
    }

    /// Returns the queues of the destinations of loops behind the link.
    pub(crate) fn destinations(&self) -> impl Iterator<Item = PortQueue> {
        self.ends.iter().filter_map(|ends| ends.destination)
    }

    /// Returns the queues of the sources of loops behind the link.
    pub(crate) fn sources(&self) -> impl Iterator<Item = PortQueue> {
        self.ends.iter().filter_map(|ends| ends.source)
    }

    pub(crate) fn ends_mut(&mut self, slot: u32) -> &mut Ends {
        let slot = slot as usize;
        if slot >= self.ends.len() {
            self.ends.resize(slot + 1, Ends::default());
        }
        &mut self.ends[slot]
    }

    #[inline]
    fn loop_of(&self, slot: u32) -> Loop {
        self.loops.get(slot as usize).copied().unwrap_or_default()
    }

    /// Counts a data cell that arrives at queue `slot`. At the beginning of a loop, cells are counted when the source
    /// sends them.
    #[inline]
    pub(crate) fn data_comes(&mut self, now: Time, slot: u32) {
        let passes = self.loop_of(slot) == Loop::Passes;
        if let Marking::Erica(erica) = &mut self.marking
            && passes
        {
            erica.cell(now, slot as usize);
        }
    }

    /// Counts an RM cell that arrives at queue `slot`.
    pub(crate) fn rm_comes(&mut self, now: Time, slot: u32, rm: &RmCell) {
        let passes = self.loop_of(slot) == Loop::Passes;
        if let Marking::Erica(erica) = &mut self.marking
            && passes
        {
            count(erica, now, slot, Some(rm));
        }
    }

    /// Processes an RM cell about the channel in queue `slot` that passes in the backward direction.
    pub(crate) fn backward(&mut self, now: Time, slot: u32, rm: &mut RmCell) {
        if let Marking::Erica(erica) = &mut self.marking {
            erica.backward(now, slot as usize, rm);
        }
    }

    /// Returns true if data cells leave queue `slot` without a mark while no other waits: those of a source, which have not
    /// entered the network before.
    pub(crate) fn sends_plain(&self, slot: u32) -> bool {
        let is_marked = matches!(&self.marking, Marking::Efci(marker) if marker.marks(Cells(0)));
        self.loop_of(slot) == Loop::Begins && !is_marked
    }

    /// Counts data cells that have left queue `slot` at a pace, the first at `first`.
    pub(crate) fn sent(&mut self, first: Pulse, cells: u16, pace: Pace, slot: u32) {
        let Marking::Erica(erica) = &mut self.marking else { return };
        let mut next = first;
        for _ in 0..cells {
            erica.cell(next.at(), slot as usize);
            next = pace.after(next);
        }
    }

    /// Processes a cell that leaves a queue, with `waiting` cells of the network behind it. Returns true if it is
    /// marked.
    #[inline(never)]
    pub(crate) fn leaves(&mut self, now: Time, slot: u32, cell: Cell, waiting: u32, rms: &RmCells) -> bool {
        let what = self.loop_of(slot);
        match (&mut self.marking, what) {
            (Marking::Efci(marker), _) => {
                let itself = u32::from(what != Loop::Begins);
                return !cell.flags.is_rm() && marker.marks(Cells(u64::from(waiting + itself)));
            }
            (Marking::Erica(erica), Loop::None) => erica.higher_priority(now),
            (Marking::Erica(erica), Loop::Begins) => {
                count(erica, now, slot, cell.flags.is_rm().then(|| rms.get(cell).0).as_ref());
            }
            (Marking::Erica(_), Loop::Passes) => {}
        }
        false
    }
}

/// Counts a cell of an ABR connection; `rm` is its contents if it is an RM cell.
#[inline]
fn count(erica: &mut Erica, now: Time, slot: u32, rm: Option<&RmCell>) {
    match rm {
        Some(rm) if rm.direction == RmDirection::Forward => erica.forward(now, slot as usize, rm),
        _ => erica.cell(now, slot as usize),
    }
}

impl Marking {
    fn new(spec: AbrSwitchSpec, line: Rate) -> Marking {
        match spec {
            AbrSwitchSpec::Efci { threshold } => Marking::Efci(EfciMarker::new(threshold)),
            AbrSwitchSpec::Erica { target, interval } => {
                Marking::Erica(Box::new(Erica::new(EricaSpec::new(target, interval), line)))
            }
        }
    }
}
