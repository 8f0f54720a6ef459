//! The units that come to a port: in the order of instants, those of one instant in the order of the ports that they come from.

use std::cmp::Ordering;

use cellway_units::Time;

use super::train::{Rotation, Train};
use crate::cell::Cell;
use crate::pace::{Pace, Pulse};
use crate::packet::PacketRef;

/// An instant, and how often lines without any time for a unit have served in it before: 0 unless there are such lines. What
/// such a line sends arrives after the service of the others in this instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::fabric) struct Moment {
    pub(super) at: Time,
    pub(super) round: u32,
}

impl Moment {
    /// The first of an instant.
    #[inline]
    pub(super) fn first(at: Time) -> Moment {
        Moment { at, round: 0 }
    }
}

/// The position of a unit in the order of those that come to a port, or to hosts: its moment, then the port that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: Time,
    /// The round in the high half, the port in the low half.
    behind: u64,
}

impl Place {
    #[inline]
    pub(super) fn new(Moment { at, round }: Moment, from: u32) -> Place {
        Place { at, behind: u64::from(round) << 32 | u64::from(from) }
    }

    #[inline]
    pub(super) fn moment(self) -> Moment {
        Moment { at: self.at, round: (self.behind >> 32) as u32 }
    }

    /// Returns the port that it comes from.
    #[inline]
    pub(super) fn from(self) -> u32 {
        self.behind as u32
    }

    /// Compared as one number, without a branch.
    #[inline]
    fn rank(&self) -> u128 {
        u128::from(self.at.as_ps()) << 64 | u128::from(self.behind)
    }
}

impl Ord for Place {
    #[inline]
    fn cmp(&self, other: &Place) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Place {
    #[inline]
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline]
    fn lt(&self, other: &Place) -> bool {
        self.rank() < other.rank()
    }
    #[inline]
    fn gt(&self, other: &Place) -> bool {
        self.rank() > other.rank()
    }
}

/// A unit that comes to a port.
#[derive(Clone, Copy, Debug)]
pub(in crate::fabric) enum Arriving {
    /// A cell, into the queue that it names.
    Cell(Cell),
    /// Cells of one frame, the first of which comes now.
    Train(Train),
    /// Cells of several frames by turns, the first of which comes now: one of [`Inputs::rotations`].
    Rotation(u32),
    /// A packet to be cut into cells, for a queue.
    Frame { frame: PacketRef, slot: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Input {
    moment: Moment,
    from: u32,
    unit: Arriving,
}

/// The units that will come to a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs {
    all: Vec<Input>,
    /// The first of `all` that has not been taken.
    next: usize,
    /// The rotations in `all`, and those that are through and used again.
    rotations: Vec<Rotation>,
    free: Vec<u32>,
    /// True if `all` is not in order from `next` on.
    mixed: bool,
}

impl Inputs {
    #[inline]
    pub(super) fn push(&mut self, moment: Moment, from: u32, unit: Arriving) {
        if let Some(last) = self.all.last()
            && (last.moment, last.from) > (moment, from)
        {
            self.mixed = true;
        }
        if self.all.capacity() == 0 {
            // Few units come to the line of a host at once; a first push would allocate room for four.
            self.all.reserve_exact(1);
        }
        self.all.push(Input { moment, from, unit });
    }

    /// Brings the units into their order. To be called before the first is asked for.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.mixed {
            self.mixed = false;
            self.sort();
        }
    }

    /// Sorts all units, cell by cell.
    fn sort(&mut self) {
        let is_group = |input: &Input| matches!(input.unit, Arriving::Train(_) | Arriving::Rotation(_));
        if self.all[self.next..].iter().any(is_group) {
            let all: Vec<Input> = self.all.drain(self.next..).collect();
            for Input { moment, from, unit } in all {
                if let Arriving::Rotation(number) = unit {
                    let rotation = &mut self.rotations[number as usize];
                    while rotation.cells > 0 {
                        let moment = Moment { at: rotation.first.at(), ..moment };
                        let cell = rotation.take();
                        self.all.push(Input { moment, from, unit: Arriving::Cell(cell) });
                    }
                    self.free.push(number);
                    continue;
                }
                let Arriving::Train(mut train) = unit else {
                    self.all.push(Input { moment, from, unit });
                    continue;
                };
                loop {
                    let moment = Moment { at: train.at(), ..moment };
                    self.all.push(Input { moment, from, unit: Arriving::Cell(train.cell) });
                    if train.cells == 1 {
                        break;
                    }
                    train.advance();
                }
            }
        }
        self.all[self.next..].sort_by_key(|input| (input.moment, input.from));
    }

    /// Returns the moment of the first.
    #[inline]
    pub(super) fn first(&self) -> Option<Moment> {
        self.all.get(self.next).map(|input| input.moment)
    }

    /// Returns the first if it is a train, and the moment of the unit behind it.
    #[inline]
    pub(super) fn first_train(&self) -> Option<(Train, Option<Moment>)> {
        let Arriving::Train(train) = self.all.get(self.next)?.unit else { return None };
        Some((train, self.all.get(self.next + 1).map(|input| input.moment)))
    }

    /// Returns the first if it is a rotation, and the moment of the unit behind it.
    #[inline]
    pub(super) fn first_rotation(&self) -> Option<(&Rotation, Option<Moment>)> {
        let Arriving::Rotation(number) = self.all.get(self.next)?.unit else { return None };
        Some((&self.rotations[number as usize], self.all.get(self.next + 1).map(|input| input.moment)))
    }

    /// Adds cells by turns, of which the first comes at `first`: those of `members` from the one on whose turn it is.
    pub(super) fn push_rotation(
        &mut self,
        from: u32,
        first: Pulse,
        (turn, cells, pace): (usize, u32, Pace),
    ) -> &mut Vec<Cell> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.rotations.push(Rotation { first, members: Vec::new(), turn, cells, pace });
                self.rotations.len() as u32 - 1
            }
        };
        self.push(Moment::first(first.at()), from, Arriving::Rotation(number));
        let rotation = &mut self.rotations[number as usize];
        (rotation.first, rotation.turn, rotation.cells, rotation.pace) = (first, turn, cells, pace);
        rotation.members.clear();
        &mut rotation.members
    }

    /// Leaves the first `cells` cells of the first rotation out; the next of them comes at `next`.
    pub(super) fn turn(&mut self, cells: u32, next: Pulse) {
        let Some(Input { moment, unit: Arriving::Rotation(number), .. }) = self.all.get_mut(self.next) else { return };
        let rotation = &mut self.rotations[*number as usize];
        rotation.leave_out(cells, next);
        if rotation.cells == 0 {
            self.free.push(*number);
            self.next += 1;
            return;
        }
        moment.at = next.at();
        self.order_first();
    }

    /// Leaves the first `cells` cells of the first train out; the next of them comes at `next`.
    #[inline]
    pub(super) fn shorten(&mut self, cells: u16, next: Pulse) {
        let Some(Input { moment, unit: Arriving::Train(train), .. }) = self.all.get_mut(self.next) else { return };
        if train.cells == cells {
            self.next += 1;
            return;
        }
        train.cells -= cells;
        train.cell = train.cell.after(cells);
        train.first = next;
        moment.at = next.at();
        self.order_first();
    }

    /// Sorts if the first is not before the second any more.
    #[inline]
    fn order_first(&mut self) {
        if let [first, second, ..] = self.all[self.next..]
            && (first.moment, first.from) > (second.moment, second.from)
        {
            self.sort();
        }
    }

    /// Takes the first; of a train only its first cell.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<Arriving> {
        let unit = self.all.get(self.next)?.unit;
        if let Arriving::Train(train) = unit {
            let next = train.pace.after(train.first);
            self.shorten(1, next);
            return Some(Arriving::Cell(train.cell));
        }
        if let Arriving::Rotation(number) = unit {
            let rotation = &self.rotations[number as usize];
            let cell = rotation.members[rotation.turn];
            let next = rotation.pace.after(rotation.first);
            self.turn(1, next);
            return Some(Arriving::Cell(cell));
        }
        self.next += 1;
        Some(unit)
    }

    /// Takes the first, if it comes up to `moment` and before `until`; of a train only its first cell.
    #[inline]
    pub(super) fn take(&mut self, moment: Moment, until: Time) -> Option<(Time, Arriving)> {
        let first = self.first().filter(|first| *first <= moment && first.at < until)?;
        Some((first.at, self.take_first()?))
    }

    /// Forgets the units that have been taken.
    #[inline]
    pub(super) fn tidy(&mut self) {
        if self.next == self.all.len() {
            self.all.clear();
            self.next = 0;
        } else if self.next > 64 && self.next > self.all.len() / 2 {
            self.all.drain(..self.next);
            self.next = 0;
        }
    }
}
