//! A line of cells: many cells in a step where no decision is made by the cell.

use cellway_units::Time;

use super::inputs::Inputs;
use super::train::{Rotation, Train};
use super::{Arriving, Moment, Windows};
use crate::cell::Cell;
use crate::channel::NextHop;
use crate::fabric::Fabric;
use crate::fabric::handle::{corrupt, lose};
use crate::faults::Arrives;
use crate::link::Unit;
use crate::pace::{Pace, Pulse};
use crate::place::Place;
use crate::port::{Decides, Left, LeftRounds, LeftRun, Merged, PassedRounds};
use crate::turns::Turns;

/// Cells that have left a line by turns, with the arrivals of the first and the last of them.
#[derive(Clone, Copy)]
struct TurnsLeft<'a> {
    members: &'a [Cell],
    turn: usize,
    cells: u32,
    ends: [Pulse; 2],
    pace: Pace,
}

impl<B: Clone> Fabric<B> {
    /// As [`Fabric::run_line`] for a line of cells.
    #[inline(never)]
    pub(super) fn run_cells(&mut self, windows: &mut Windows, index: u32, decides: Decides) -> Option<Time> {
        let known = windows.known(index);
        let until = known.at;
        let mut inputs = std::mem::take(&mut windows.inputs[index as usize]);
        inputs.settle();
        let leaves = Moment::first(self.ports[index as usize].free_at());
        self.leave_link(windows, index);
        self.give_on(windows, index);
        if !self.ports[index as usize].is_idle() && leaves.at < windows.horizon {
            self.cell_leaves(windows, leaves.at, index);
        }
        let mut sent = 0u64;
        let mut comes = inputs.first();
        // The moment at which the line serves what waits, after all that comes up to then.
        let mut ready = leaves;
        while self.ports[index as usize].is_idle() {
            let arrival = comes.filter(|moment| moment.at < until);
            let port = &mut self.ports[index as usize];
            let is_waiting = port.waiting() > 0;
            let cell = if is_waiting && arrival.is_none_or(|moment| moment > ready) {
                if ready.at >= until {
                    break;
                }
                if let Some(next) = self.merge(windows, index, decides, &mut inputs, (ready, until), &mut sent) {
                    ready = next;
                    comes = inputs.first();
                    continue;
                }
                let before = arrival.map_or(until, |moment| moment.at.min(until));
                if let Some(leaves) = self.send_many(windows, index, decides, [ready.at, before], &mut sent) {
                    ready = Moment::first(leaves);
                    continue;
                }
                match self.ports[index as usize].next_cell(ready.at, &self.packets, &mut self.rms) {
                    Some(cell) => cell,
                    // Gates hold all that wait.
                    None => {
                        let Some(release) = self.ports[index as usize].next_release() else { break };
                        ready = Moment::first(release);
                        continue;
                    }
                }
            } else {
                let Some(moment) = arrival else { break };
                if !is_waiting
                    && !decides.any()
                    && let Some((train, behind)) = inputs.first_train()
                {
                    let until = behind.map_or(until, |moment| moment.at.min(until));
                    let cells = (train.cell, train.cells, train.first);
                    let bounds = [until, self.reach(windows, index)];
                    let port = &mut self.ports[index as usize];
                    if let Some(passed) = port.pass_run(cells, train.pace, bounds, &self.packets) {
                        let left = passed.left;
                        sent += u64::from(left.cells);
                        ready = Moment::first(left.leaves);
                        inputs.shorten(left.cells, passed.next);
                        comes = inputs.first();
                        self.run_goes_on(windows, index, left, train.pace);
                        continue;
                    }
                }
                if !is_waiting
                    && !decides.any()
                    && let Some((leaves, cells)) = self.pass_rounds(windows, index, &mut inputs, until)
                {
                    sent += cells;
                    ready = Moment::first(leaves);
                    comes = inputs.first();
                    continue;
                }
                let free_at = self.ports[index as usize].free_at();
                if !is_waiting && moment > Moment::first(free_at) {
                    self.ports[index as usize].end_service();
                }
                let served = if is_waiting { ready } else { moment.max(Moment::first(free_at)) };
                if let Some(next) = self.merge(windows, index, decides, &mut inputs, (served, until), &mut sent) {
                    ready = next;
                    comes = inputs.first();
                    continue;
                }
                let Some(unit) = inputs.take_first() else { break };
                comes = inputs.first();
                if !is_waiting || decides.gates {
                    ready = moment.max(Moment::first(free_at));
                }
                match unit {
                    Arriving::Cell(cell)
                        if !is_waiting
                            && !decides.any()
                            && comes.is_none_or(|next| next > moment)
                            && self.ports[index as usize].pass_cell(moment.at, cell, &self.packets) =>
                    {
                        cell
                    }
                    unit => {
                        // Of those that come one by one, the port from which they come does not matter.
                        self.comes(windows, Place::new(moment, 0), index, unit);
                        continue;
                    }
                }
            };
            if let Some(left) = self.ports[index as usize].send_plain(ready.at, cell, windows.horizon) {
                sent += 1;
                ready = Moment::first(left.leaves);
                self.goes_on(windows, index, left);
            }
        }
        // Units that come while the line is busy up to the end of the window.
        while let Some((place, unit)) = inputs.take(Moment::first(until), known) {
            self.comes(windows, place, index, unit);
        }
        self.events += sent;
        self.cell_hops += sent;
        self.give_on(windows, index);
        inputs.tidy();
        let arrival = inputs.first().map(|moment| moment.at);
        windows.inputs[index as usize] = inputs;
        let port = &self.ports[index as usize];
        let serves = match (port.is_idle(), port.waiting()) {
            // A busy line goes on with a later horizon.
            (false, _) | (true, 0) => None,
            // Later than what is known, unless gates hold all that wait and name no instant.
            (true, _) => Some(if ready.at >= until { ready.at } else { Time::ZERO }),
        };
        windows.wakes_at(index, arrival.into_iter().chain(serves).min());
        windows.rest_of(index, port, arrival, false)
    }

    /// Takes cells of the train that comes first while the line serves the same queue; the next service is at `ready`. Returns
    /// the next service after that, or `None` if it does nothing.
    #[inline(always)]
    fn merge(
        &mut self,
        windows: &mut Windows,
        index: u32,
        decides: Decides,
        inputs: &mut Inputs,
        (ready, until): (Moment, Time),
        sent: &mut u64,
    ) -> Option<Moment> {
        if decides.services || decides.gates || ready.round > 0 || !inputs.begins_with_train() {
            return None;
        }
        self.merge_train(windows, index, inputs, [ready.at, until], sent)
    }

    /// As [`Fabric::merge`], if the first that comes is a train and no service is decided by the cell.
    #[inline(never)]
    fn merge_train(
        &mut self,
        windows: &mut Windows,
        index: u32,
        inputs: &mut Inputs,
        [ready, until]: [Time; 2],
        sent: &mut u64,
    ) -> Option<Moment> {
        let (train, behind) = inputs.first_train()?;
        let before = behind.map_or(until, |moment| moment.at.min(until));
        let bounds = [before, self.reach(windows, index)];
        let port = &mut self.ports[index as usize];
        let cells = (train.cell, train.cells, train.first);
        let Merged { came, next, left, ready } = port.merge(cells, train.pace, ready, bounds, &self.packets)?;
        if came > 0 {
            inputs.shorten(came, next);
        }
        if let Some(left) = left {
            *sent += u64::from(left.cells);
            let pace = port.line().pace();
            self.run_goes_on(windows, index, left, pace);
        }
        Some(Moment::first(ready))
    }

    /// Sends several cells that wait, from the first to before the second instant, if no decision is made by the cell; returns the
    /// departure of the last, and adds their number to `sent`.
    #[inline]
    fn send_many(
        &mut self,
        windows: &mut Windows,
        index: u32,
        decides: Decides,
        [now, before]: [Time; 2],
        sent: &mut u64,
    ) -> Option<Time> {
        if decides.services {
            return None;
        }
        let reach = self.reach(windows, index);
        let port = &mut self.ports[index as usize];
        let run = match decides.gates {
            true => port.send_shaped(now, before, reach, &self.packets),
            false => port.send_run(now, before, reach, &self.packets).map(|run| (run, port.line().pace())),
        };
        if let Some((run, pace)) = run {
            *sent += u64::from(run.cells);
            self.run_goes_on(windows, index, run, pace);
            return Some(run.leaves);
        }
        let rounds = if decides.gates { None } else { self.send_rounds(windows, index, [now, before]) };
        let (leaves, cells) = rounds?;
        *sent += cells;
        Some(leaves)
    }

    /// Sends cells that wait in several queues by turns, from the first to before the second instant; returns the
    /// departure of the last cell, and their number.
    fn send_rounds(&mut self, windows: &mut Windows, index: u32, [now, before]: [Time; 2]) -> Option<(Time, u64)> {
        let mut members = std::mem::take(&mut windows.members);
        let until = [before, self.reach(windows, index)];
        let port = &mut self.ports[index as usize];
        let left = port.send_rounds(now, until, &self.packets, &mut members);
        let pace = port.line().pace();
        let sent = left.map(|LeftRounds { leaves, first, last, cells }| {
            let ends = [first, last];
            self.turns_go_on(windows, index, TurnsLeft { members: &members, turn: 0, cells, ends, pace });
            (leaves, u64::from(cells))
        });
        windows.members = members;
        sent
    }

    /// Passes cells of the first rotation to the free line as they come before `until`; returns the departure of the last, and
    /// their number.
    fn pass_rounds(
        &mut self,
        windows: &mut Windows,
        index: u32,
        inputs: &mut Inputs,
        until: Time,
    ) -> Option<(Time, u64)> {
        let (rotation, behind) = inputs.first_rotation()?;
        let until = behind.map_or(until, |moment| moment.at.min(until));
        let mut members = std::mem::take(&mut windows.members);
        members.clone_from(&rotation.members);
        let Rotation { turn, cells, first, pace, .. } = *rotation;
        let bounds = [until, self.reach(windows, index)];
        let port = &mut self.ports[index as usize];
        let passed = port.pass_rounds((&members, turn, cells, first), pace, bounds, &self.packets);
        let sent = passed.map(|PassedRounds { leaves, first, cells, next }| {
            let ends = [first, pace.after_many(first, cells - 1)];
            self.turns_go_on(windows, index, TurnsLeft { members: &members, turn, cells, ends, pace });
            inputs.turn(cells, next);
            (leaves, u64::from(cells))
        });
        windows.members = members;
        sent
    }

    /// Gives cells that have left their line by turns to the next port, or to the reassembly of each, unless some of them
    /// arrive at the horizon or later.
    fn turns_go_on(&mut self, windows: &mut Windows, index: u32, turns: TurnsLeft<'_>) {
        let TurnsLeft { members, turn, cells, ends: [first, last], pace } = turns;
        if last.at() >= windows.horizon {
            let behind = windows.behind[index as usize].get_or_insert_default();
            return behind.push_rotation(index, first, (turn, cells, pace)).0.extend(members);
        }
        let port = &self.ports[index as usize];
        let hop = |member: &Cell| port.next_hop(member.slot).forward();
        let port_of = |member: &Cell| hop(member).map(|(port, _)| port);
        let leads_to = port_of(&members[0]);
        let together = members.iter().all(|member| port_of(member) == leads_to);
        if !together {
            return self.each_goes_on(windows, index, turns);
        }
        self.events += u64::from(cells);
        if let Some(to) = leads_to {
            let (there, wakes) = windows.inputs[to.0 as usize].push_rotation(index, first, (turn, cells, pace));
            there.extend(members.iter().filter_map(|member| Some(Cell { slot: hop(member)?.1, ..*member })));
            if wakes {
                windows.activate(to.0);
            }
            return;
        }
        let node = port.to;
        let shares = Turns::new(members.len(), turn, cells);
        for (place, member) in members.iter().enumerate() {
            let NextHop::Reassemble(channel) = self.ports[index as usize].next_hop(member.slot) else { continue };
            let of_it = shares.of(place);
            if of_it > 0 {
                let losses = &mut self.nodes[node.0 as usize].1;
                let channel = &mut self.reassembly[channel.0 as usize];
                if let Some(packet) = channel.accept_run(*member, of_it, &mut self.packets, losses) {
                    self.reaches(windows, Moment::first(shares.last_of(place, last, pace)), index, node, packet);
                }
            }
        }
    }

    /// Gives cells that have left their line by turns on one by one.
    fn each_goes_on(&mut self, windows: &mut Windows, index: u32, turns: TurnsLeft<'_>) {
        let TurnsLeft { members, turn, cells, ends: [first, _], pace } = turns;
        let mut pulse = first;
        for number in 0..cells as usize {
            let place = turn + number;
            let cell = members[place % members.len()].after((number / members.len()) as u16);
            let run = LeftRun { leaves: pulse.at(), last: pulse.at(), first: pulse, cell, cells: 1 };
            self.run_goes_on(windows, index, run, pace);
            pulse = pace.after(pulse);
        }
    }

    /// Gives cells that have left their line, at the pace of the line of `pace`, to the next port or to the reassembly, unless
    /// some of them arrive at the horizon or later.
    #[inline]
    pub(super) fn run_goes_on(&mut self, windows: &mut Windows, index: u32, left: LeftRun, pace: Pace) {
        let LeftRun { first, last, cell, cells, .. } = left;
        if last >= windows.horizon && !windows.is_live {
            debug_assert!(cells == 1, "runs arrive before the horizon");
            return self.ports[index as usize].put_cell_on_link(first, cell);
        }
        if last >= windows.horizon {
            let behind = windows.behind[index as usize].get_or_insert_default();
            // One cell has no spacing, and may have the carry of another pace.
            let first = if cells == 1 { Pulse { carry: 0, ..first } } else { first };
            behind.push_train(index, Train { first, cell, cells, pace });
            return;
        }
        self.events += u64::from(cells);
        let port = &self.ports[index as usize];
        match port.next_hop(cell.slot) {
            NextHop::Forward { port, slot } => {
                let cell = Cell { slot, ..cell };
                if cells == 1 {
                    windows.give(port.0, Moment::first(first.at()), index, Arriving::Cell(cell));
                } else if windows.inputs[port.0 as usize].push_train(index, Train { first, cell, cells, pace }) {
                    windows.activate(port.0);
                }
            }
            NextHop::Reassemble(channel) => {
                let node = port.to;
                let losses = &mut self.nodes[node.0 as usize].1;
                let channel = &mut self.reassembly[channel.0 as usize];
                if let Some(packet) = channel.accept_run(cell, cells, &mut self.packets, losses) {
                    self.reaches(windows, Moment::first(last), index, node, packet);
                }
            }
        }
    }

    /// Gives a cell that has left its line to the next port, or to the reassembly, unless it is lost.
    #[inline(always)]
    fn goes_on(&mut self, windows: &mut Windows, index: u32, left: Left) {
        let Left { leaves, arrives, cell } = left;
        let port = &mut self.ports[index as usize];
        match port.outcome(leaves) {
            None => return lose(Unit::Cell(cell), &mut self.packets, &mut self.rms),
            Some(Arrives { corrupted, .. }) if corrupted => corrupt(Unit::Cell(cell), &mut self.packets),
            Some(_) => {}
        }
        let run = LeftRun { leaves, last: arrives.at(), first: arrives, cell, cells: 1 };
        let pace = port.line().pace();
        self.run_goes_on(windows, index, run, pace);
    }

    /// Returns the instant before which runs have to be at the far end: the horizon, or if that is the present and never far, the
    /// instant at which what leaves before it is there.
    #[inline]
    fn reach(&self, windows: &Windows, index: u32) -> Time {
        if windows.is_live { windows.horizon + self.ports[index as usize].delay() } else { windows.horizon }
    }

    /// Handles the departure of the cell that an earlier pass has left on a line.
    fn cell_leaves(&mut self, windows: &mut Windows, leaves: Time, index: u32) {
        let port = &mut self.ports[index as usize];
        self.events += 1;
        self.cell_hops += u64::from(port.depart(leaves));
        let Some(Unit::Cell(cell)) = port.departed() else { return };
        let arrives = Pulse { at: leaves + port.delay(), carry: 0 };
        self.goes_on(windows, index, Left { leaves, arrives, cell });
    }

    /// Gives the cells behind a line on that reach the far end before the horizon.
    fn give_on(&mut self, windows: &mut Windows, index: u32) {
        let Some(mut behind) = windows.behind[index as usize].take() else { return };
        behind.settle();
        while behind.first().is_some_and(|moment| moment.at < windows.horizon) {
            if let Some((Train { first, cell, cells, pace }, _)) = behind.first_train() {
                let cells = pace.count_before(first, cells.into(), windows.horizon) as u16;
                let pulse = pace.after_many(first, u32::from(cells) - 1);
                behind.shorten(cells, pace.after(pulse));
                let last = pulse.at();
                self.run_goes_on(windows, index, LeftRun { leaves: last, last, first, cell, cells }, pace);
            } else if let Some((rotation, _)) = behind.first_rotation() {
                let mut members = std::mem::take(&mut windows.members);
                members.clone_from(&rotation.members);
                let Rotation { turn, first, pace, .. } = *rotation;
                let cells = pace.count_before(first, rotation.cells, windows.horizon);
                let last = pace.after_many(first, cells - 1);
                behind.turn(cells, pace.after(last));
                let ends = [first, last];
                self.turns_go_on(windows, index, TurnsLeft { members: &members, turn, cells, ends, pace });
                windows.members = members;
            }
        }
        behind.tidy();
        windows.behind[index as usize] = Some(behind);
    }
}
