//! An open loop: what arrives by itself, each over a connection of its own, up to a number, a time and a limit.

use std::collections::BTreeMap;

use cellway_units::{Span, Time};

use crate::action::{Action, ConnId, FlowEvent, Side};

/// The arrivals of one slot, and a `T` for each whose connection is open. The memory is proportional to the open ones.
#[derive(Debug)]
pub(crate) struct OpenLoop<T> {
    start: Time,
    /// When the next one arrives; `None` once none does any more.
    next: Option<Time>,
    arrived: u64,
    count: u64,
    duration: Option<Span>,
    limit: usize,
    /// Connections opened.
    opened: u32,
    open: BTreeMap<ConnId, T>,
}

impl<T> OpenLoop<T> {
    /// `count` and `duration`, from the start, end the arrivals; `limit` bounds those that are open at once.
    pub(crate) fn new(count: u64, duration: Option<Span>, limit: u32) -> OpenLoop<T> {
        let (start, limit, open) = (Time::ZERO, limit as usize, BTreeMap::new());
        OpenLoop { start, next: None, arrived: 0, count, duration, limit, opened: 0, open }
    }

    /// Starts the time from which the duration counts.
    pub(crate) fn begin(&mut self, now: Time) {
        self.start = now;
    }

    pub(crate) fn start(&self) -> Time {
        self.start
    }

    /// Returns the number of the next one to arrive, from 0; `None` if all have arrived.
    pub(crate) fn number(&self) -> Option<u64> {
        (self.arrived < self.count).then_some(self.arrived)
    }

    /// Sets the time of the next arrival, if there is one, and its timer.
    pub(crate) fn schedule(&mut self, at: Option<Time>, out: &mut Vec<Action>) {
        self.next = at.filter(|&at| self.duration.is_none_or(|duration| at < self.start + duration));
        out.extend(self.next.map(|at| Action::Timer { at, id: 0 }));
    }

    /// Takes the arrival that is due; returns its number and its time.
    pub(crate) fn due(&mut self, now: Time) -> Option<(u64, Time)> {
        let at = self.next.filter(|&at| at <= now)?;
        self.arrived += 1;
        Some((self.arrived - 1, at))
    }

    /// Opens a connection for one that has arrived, or rejects it at the limit.
    pub(crate) fn arrive(&mut self, made: impl FnOnce(ConnId) -> T, out: &mut Vec<Action>) {
        if self.open.len() < self.limit {
            let conn = ConnId(self.opened);
            self.opened += 1;
            self.open.insert(conn, made(conn));
            out.push(Action::Flow(FlowEvent::Arrived));
            out.push(Action::Open { conn, from: Side::Originator });
        } else {
            out.push(Action::Flow(FlowEvent::Rejected));
        }
    }

    /// Returns true once none is open and none arrives any more.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none() && self.open.is_empty()
    }

    /// Returns the one of a connection, if that is open.
    pub(crate) fn get(&mut self, conn: ConnId) -> Option<&mut T> {
        self.open.get_mut(&conn)
    }

    /// Removes the one of a connection that is closed.
    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.open.remove(&conn);
    }

    /// Removes the one of a connection that was reset or timed out. `since` returns the time of its arrival if it was
    /// not complete.
    pub(crate) fn failed(&mut self, conn: ConnId, since: impl FnOnce(&T) -> Option<Time>, out: &mut Vec<Action>) {
        if let Some(one) = self.open.remove(&conn) {
            out.extend(since(&one).map(|since| Action::Flow(FlowEvent::Failed { since })));
            out.push(Action::Abort { conn });
        }
    }
}
