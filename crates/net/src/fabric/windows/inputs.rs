//! The units that come to a port: in the order of instants, those of one instant in the order of the ports that they come from.

use cellway_units::Time;

use super::train::{Rotation, Train};
use crate::cell::Cell;
use crate::fabric::rm_path::Control;
use crate::pace::{Pace, Pulse};
use crate::packet::PacketRef;
use crate::place::Place;
use crate::slim;

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

/// The place of a unit in the order of those that come to a port, or to hosts: within an instant by its round, in the high half,
/// and the port that it comes from.
impl Place {
    #[inline]
    pub(super) fn new(Moment { at, round }: Moment, from: u32) -> Place {
        Place { at, within: u64::from(round) << 32 | u64::from(from) }
    }

    #[inline]
    pub(super) fn moment(self) -> Moment {
        Moment { at: self.at, round: (self.within >> 32) as u32 }
    }

    /// Returns the port that it comes from.
    #[inline]
    pub(super) fn from(self) -> u32 {
        self.within as u32
    }
}

/// A unit that comes to a port.
#[derive(Clone, Copy, Debug)]
pub(in crate::fabric) enum Arriving {
    /// A cell, into the queue that it names.
    Cell(Cell),
    /// Cells of one frame, the first of which comes now: one of [`Groups::trains`].
    Train(u32),
    /// Cells of several frames by turns, the first of which comes now: one of [`Groups::rotations`].
    Rotation(u32),
    /// A packet to be cut into cells, for a queue.
    Frame { frame: PacketRef, slot: u32 },
    /// A backward RM cell that has come over the other direction of the port's link, and names its queue there; `slot` is that
    /// of its connection here.
    ToMark { cell: Cell, slot: u32 },
    /// A part of an ABR control loop.
    Control(Control),
}

#[derive(Clone, Copy, Debug)]
struct Input {
    place: Place,
    unit: Arriving,
}

/// Values with numbers, which are used again.
#[derive(Clone, Debug)]
struct Numbered<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { all: Vec::new(), free: Vec::new() }
    }
}

/// The trains and rotations of a port.
#[derive(Clone, Debug, Default)]
struct Groups {
    trains: Numbered<Train>,
    /// Boxed, since only lines behind a round robin receive any.
    rotations: Option<Box<Numbered<Rotation>>>,
}

impl Groups {
    #[inline]
    fn rotation(&self, number: u32) -> Option<&Rotation> {
        Some(&self.rotations.as_ref()?.all[number as usize])
    }
}

/// The units that will come to a port. A train or a rotation has the place of its next cell.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs {
    all: Vec<Input>,
    /// Boxed, since few groups come to the lines of hosts.
    groups: Option<Box<Groups>>,
    /// The first of `all` that has not been taken.
    next: u32,
    /// The end of the part of `all` that is in order for certain.
    settled: u32,
    /// True if `all` is not in order from `next` on.
    mixed: bool,
}

impl Inputs {
    /// Adds a unit. Returns true if it is the first, or does not follow the last.
    #[inline]
    pub(super) fn push(&mut self, place: Place, unit: Arriving) -> bool {
        let last = self.all.last().map(|last| last.place);
        let is_mixed = last.is_some_and(|last| last > place);
        self.mixed |= is_mixed;
        slim::push(&mut self.all, Input { place, unit });
        is_mixed || last.is_none()
    }

    /// Adds cells of a frame. Returns as [`Inputs::push`].
    #[inline]
    pub(super) fn push_train(&mut self, from: u32, train: Train) -> bool {
        let trains = &mut self.groups.get_or_insert_default().trains;
        let number = match trains.free.pop() {
            Some(number) => {
                trains.all[number as usize] = train;
                number
            }
            None => {
                slim::push(&mut trains.all, train);
                trains.all.len() as u32 - 1
            }
        };
        self.push(Place::new(Moment::first(train.first.at()), from), Arriving::Train(number))
    }

    /// Adds cells by turns, of which the first comes at `first`: those of the members that the caller sets, from the one on
    /// whose turn it is. Returns these, and as [`Inputs::push`].
    pub(super) fn push_rotation(
        &mut self,
        from: u32,
        first: Pulse,
        (turn, cells, pace): (usize, u32, Pace),
    ) -> (&mut Vec<Cell>, bool) {
        let rotations = self.groups.get_or_insert_default().rotations.get_or_insert_default();
        let number = rotations.free.pop().unwrap_or_else(|| {
            rotations.all.push(Rotation { first, members: Vec::new(), turn, cells, pace });
            rotations.all.len() as u32 - 1
        });
        let wakes = self.push(Place::new(Moment::first(first.at()), from), Arriving::Rotation(number));
        let rotations = self.groups.get_or_insert_default().rotations.get_or_insert_default();
        let rotation = &mut rotations.all[number as usize];
        (rotation.first, rotation.turn, rotation.cells, rotation.pace) = (first, turn, cells, pace);
        rotation.members.clear();
        (&mut rotation.members, wakes)
    }

    /// Brings the units into their order. To be called before the first is asked for.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.mixed {
            self.mixed = false;
            self.sort();
        }
        self.settled = self.all.len() as u32;
    }

    /// Sorts the new units, and those of the others that come behind the first of them: of a long link only the last.
    fn sort(&mut self) {
        let (old, new) = self.all[self.next()..].split_at((self.settled.max(self.next) - self.next) as usize);
        let Some(first) = new.iter().map(|input| input.place).min() else { return };
        let before = self.next() + old.partition_point(|input| input.place <= first);
        self.all[before..].sort_by_key(|input| input.place);
    }

    /// Returns the place of the first in `all`.
    #[inline]
    fn next(&self) -> usize {
        self.next as usize
    }

    /// Returns the moment of the first.
    #[inline]
    pub(super) fn first(&self) -> Option<Moment> {
        self.all.get(self.next()).map(|input| input.place.moment())
    }

    /// Returns the moment of the second.
    #[inline]
    fn second(&self) -> Option<Moment> {
        self.all.get(self.next() + 1).map(|input| input.place.moment())
    }

    /// Returns true if the first is a train.
    #[inline(always)]
    pub(super) fn begins_with_train(&self) -> bool {
        matches!(self.all.get(self.next()), Some(Input { unit: Arriving::Train(_), .. }))
    }

    /// Returns the first if it is a train, and the moment of the unit behind it.
    #[inline]
    pub(super) fn first_train(&self) -> Option<(Train, Option<Moment>)> {
        let Arriving::Train(number) = self.all.get(self.next())?.unit else { return None };
        Some((self.groups.as_ref()?.trains.all[number as usize], self.second()))
    }

    /// Returns the first if it is a rotation, and the moment of the unit behind it.
    #[inline]
    pub(super) fn first_rotation(&self) -> Option<(&Rotation, Option<Moment>)> {
        let Arriving::Rotation(number) = self.all.get(self.next())?.unit else { return None };
        Some((self.groups.as_ref()?.rotation(number)?, self.second()))
    }

    /// Returns an instant before which no unit is the last cell of a frame; `None` if none is.
    pub(super) fn next_end(&self) -> Option<Time> {
        /// As many are looked through.
        const FEW: usize = 16;
        let left = &self.all[self.next()..];
        let end = |input: &Input| match input.unit {
            Arriving::Train(number) => self.groups.as_ref()?.trains.all[number as usize].end(),
            Arriving::Rotation(number) => self.groups.as_ref()?.rotation(number)?.end(),
            Arriving::Cell(_) | Arriving::Frame { .. } => Some(input.place.at),
            Arriving::ToMark { .. } | Arriving::Control(_) => None,
        };
        left.iter().take(FEW).find_map(end).or_else(|| left.get(FEW).map(|input| input.place.at))
    }

    /// Leaves the first `cells` cells of the first rotation out; the next of them comes at `next`.
    pub(super) fn turn(&mut self, cells: u32, next: Pulse) {
        let Some(&Input { unit: Arriving::Rotation(number), .. }) = self.all.get(self.next()) else { return };
        let Some(Groups { rotations: Some(rotations), .. }) = self.groups.as_deref_mut() else { return };
        let rotation = &mut rotations.all[number as usize];
        if rotation.cells == cells {
            rotations.free.push(number);
            self.next += 1;
            return;
        }
        rotation.leave_out(cells, next);
        self.first_comes_at(next.at());
    }

    /// Leaves the first `cells` cells of the first train out; the next of them comes at `next`.
    #[inline]
    pub(super) fn shorten(&mut self, cells: u16, next: Pulse) {
        let Some(&Input { unit: Arriving::Train(number), .. }) = self.all.get(self.next()) else { return };
        let Some(Groups { trains, .. }) = self.groups.as_deref_mut() else { return };
        let train = &mut trains.all[number as usize];
        if train.cells == cells {
            trains.free.push(number);
            self.next += 1;
            return;
        }
        train.cells -= cells;
        train.cell = train.cell.after(cells);
        train.first = next;
        self.first_comes_at(next.at());
    }

    /// Moves the first, of which the next cell comes at `at`, behind those that come before it.
    #[inline]
    fn first_comes_at(&mut self, at: Time) {
        let left = &mut self.all[self.next as usize..];
        let place = Place::new(Moment { at, ..left[0].place.moment() }, left[0].place.from());
        left[0].place = place;
        if left.get(1).is_some_and(|second| second.place < place) {
            let before = left[1..].partition_point(|input| input.place < place);
            left[..=before].rotate_left(1);
        }
    }

    /// Takes the first; of a group only its first cell.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<Arriving> {
        let unit = self.all.get(self.next())?.unit;
        match unit {
            Arriving::Train(number) => {
                let Train { first, cell, pace, .. } = self.groups.as_ref()?.trains.all[number as usize];
                self.shorten(1, pace.after(first));
                Some(Arriving::Cell(cell))
            }
            Arriving::Rotation(number) => {
                let rotation = self.groups.as_ref()?.rotation(number)?;
                let cell = rotation.members[rotation.turn];
                self.turn(1, rotation.pace.after(rotation.first));
                Some(Arriving::Cell(cell))
            }
            Arriving::Cell(_) | Arriving::Frame { .. } | Arriving::ToMark { .. } | Arriving::Control(_) => {
                self.next += 1;
                Some(unit)
            }
        }
    }

    /// Takes the first, if it comes up to `moment` and before `until`; of a group only its first cell.
    #[inline]
    pub(super) fn take(&mut self, moment: Moment, until: Place) -> Option<(Place, Arriving)> {
        let place = self.all.get(self.next())?.place;
        if place.moment() > moment || place >= until {
            return None;
        }
        Some((place, self.take_first()?))
    }

    /// Forgets the units that have been taken.
    #[inline]
    pub(super) fn tidy(&mut self) {
        if self.next() == self.all.len() {
            self.all.clear();
            (self.next, self.settled) = (0, 0);
        } else if self.next > 64 && self.next() > self.all.len() / 2 {
            self.all.drain(..self.next as usize);
            self.settled -= self.next;
            self.next = 0;
        }
    }
}
