//! A line of cells that decides nothing by the cell.

use cellway_units::Time;

use super::train::Train;
use super::{Arriving, Moment, Windows};
use crate::cell::Cell;
use crate::channel::NextHop;
use crate::fabric::Fabric;
use crate::port::{Left, LeftRun, Port};

/// Returns a port to change and another.
fn two(ports: &mut [Port], index: u32, other: u32) -> (&mut Port, &Port) {
    let (index, other) = (index as usize, other as usize);
    if other < index {
        let (before, from) = ports.split_at_mut(index);
        (&mut from[0], &before[other])
    } else {
        let (before, from) = ports.split_at_mut(other);
        (&mut before[index], &from[0])
    }
}

impl<B: Clone> Fabric<B> {
    /// As [`Fabric::run_line`] for a line of cells that decides nothing by the cell.
    pub(super) fn run_plain(&mut self, windows: &mut Windows, index: u32) -> Option<Time> {
        let until = windows.lookahead.known(index, windows.sent_until, windows.horizon);
        let mut inputs = std::mem::take(&mut windows.inputs[index as usize]);
        inputs.settle(&self.ports);
        let leaves = Moment::first(self.ports[index as usize].free_at());
        if !self.ports[index as usize].is_idle() && leaves.at < windows.horizon {
            self.leaves_line(windows, leaves, index);
        }
        self.leave_link(windows, index);
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
                let before = arrival.map_or(until, |moment| moment.at.min(until));
                if let Some(left) = port.send_run(ready.at, before, windows.horizon, &self.packets) {
                    sent += u64::from(left.cells);
                    ready = Moment::first(left.leaves);
                    self.run_goes_on(windows, index, left, index);
                    continue;
                }
                let Some(cell) = port.next_cell(ready.at, &self.packets) else { break };
                cell
            } else {
                let Some(moment) = arrival else { break };
                if !is_waiting && let Some((train, behind)) = inputs.first_train() {
                    let until = behind.map_or(until, |moment| moment.at.min(until));
                    let (port, pace) = two(&mut self.ports, index, train.pace);
                    let cells = (train.cell, train.cells, train.first);
                    if let Some(passed) = port.pass_run(cells, pace.line(), [until, windows.horizon], &self.packets) {
                        let left = passed.left;
                        sent += u64::from(left.cells);
                        ready = Moment::first(left.leaves);
                        inputs.shorten(left.cells, passed.next, &self.ports);
                        comes = inputs.first();
                        self.run_goes_on(windows, index, left, train.pace);
                        continue;
                    }
                }
                let port = &self.ports[index as usize];
                let free_at = port.free_at();
                let Some(unit) = inputs.take_first(&self.ports) else { break };
                comes = inputs.first();
                if !is_waiting {
                    ready = moment.max(Moment::first(free_at));
                }
                match unit {
                    Arriving::Cell(cell)
                        if !is_waiting
                            && comes.is_none_or(|next| next > moment)
                            && self.ports[index as usize].pass_cell(moment.at, cell, &self.packets) =>
                    {
                        cell
                    }
                    unit => {
                        if !is_waiting && moment > Moment::first(self.ports[index as usize].free_at()) {
                            self.ports[index as usize].end_service();
                        }
                        self.comes(moment.at, index, unit);
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
        // What comes while the line is busy up to the end of the window.
        while let Some((at, unit)) = inputs.take(Moment::first(until), until, &self.ports) {
            self.comes(at, index, unit);
        }
        self.events += sent;
        self.cell_hops += sent;
        inputs.tidy();
        let arrival = inputs.first().map(|moment| moment.at);
        windows.inputs[index as usize] = inputs;
        windows.rest(index, &self.ports[index as usize], arrival, false)
    }

    /// Gives cells that have left their line, at the pace of the line of `pace`, to the next port or to the reassembly.
    #[inline]
    fn run_goes_on(&mut self, windows: &mut Windows, index: u32, left: LeftRun, pace: u32) {
        let LeftRun { first, last, cell, cells, .. } = left;
        self.events += u64::from(cells);
        let port = &self.ports[index as usize];
        match port.next_hop(cell.slot) {
            NextHop::Forward { port, slot } => {
                let cell = Cell { slot, ..cell };
                let unit = match cells {
                    1 => Arriving::Cell(cell),
                    _ => Arriving::Train(Train { first, cell, cells, pace }),
                };
                windows.give(port.0, Moment::first(first.at()), index, unit);
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

    /// Gives a cell that has left its line to the next port, or to the reassembly, unless it arrives at the horizon or later.
    #[inline(always)]
    fn goes_on(&mut self, windows: &mut Windows, index: u32, left: Left) {
        let Left { leaves, arrives, cell } = left;
        if arrives.at() >= windows.horizon {
            return self.ports[index as usize].keep_on_link(left);
        }
        let run = LeftRun { leaves, last: arrives.at(), first: arrives, cell, cells: 1 };
        self.run_goes_on(windows, index, run, index);
    }
}
