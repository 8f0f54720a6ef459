//! Measured conversations that arrive by themselves, each over a connection of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_units::{Span, Time};

use super::exchanges::Exchanges;
use super::script::Script;
use super::{ExchangeModel, MeasuredArrivals, MeasuredWorkload};
use crate::action::{Action, ConnId, FlowEvent, Side};
use crate::random::{NamedStreams, Stream};

/// The most connections of a slot; timers have twice as many identifiers.
const MOST_CONNECTIONS: u64 = 1 << 30;

/// The conversations of one slot. The memory is proportional to the number of open ones.
#[derive(Debug)]
pub(crate) struct OpenMeasured {
    model: Arc<ExchangeModel>,
    fits: bool,
    /// Names the streams of each conversation.
    streams: NamedStreams,
    gaps: Stream,
    scale: f64,
    start: Time,
    /// When the next conversation arrives; `None` once none does any more.
    next: Option<Time>,
    arrived: u64,
    count: u64,
    duration: Option<Span>,
    limit: usize,
    /// Connections opened.
    opened: u32,
    open: BTreeMap<ConnId, Exchanges>,
}

impl OpenMeasured {
    /// Creates the conversations of a slot; `None` if these are not open arrivals.
    pub(crate) fn new(workload: &MeasuredWorkload, streams: NamedStreams) -> Option<OpenMeasured> {
        let MeasuredArrivals::Open { scale, count, duration, limit } = workload.arrivals else { return None };
        Some(OpenMeasured {
            model: Arc::clone(&workload.model),
            fits: workload.fits,
            gaps: streams.stream("arrivals"),
            streams,
            scale,
            start: Time::ZERO,
            next: None,
            arrived: 0,
            count: count.unwrap_or(u64::MAX).min(MOST_CONNECTIONS),
            duration,
            limit: limit as usize,
            opened: 0,
            open: BTreeMap::new(),
        })
    }

    /// Returns true once no conversation is open and none arrives any more.
    pub(crate) fn is_over(&self) -> bool {
        self.next.is_none() && self.open.is_empty()
    }

    pub(crate) fn start(&mut self, now: Time, out: &mut Vec<Action>) {
        self.start = now;
        self.schedule(now, out);
    }

    /// Sets the time of the next arrival, after one at `last`.
    fn schedule(&mut self, last: Time, out: &mut Vec<Action>) {
        let gaps = self.model.arrival_gap.as_ref().filter(|_| self.arrived < self.count);
        let at = gaps.map(|gaps| last + gaps.scaled_span(self.fits, self.scale, &mut self.gaps));
        self.next = at.filter(|&at| self.duration.is_none_or(|duration| at < self.start + duration));
        out.extend(self.next.map(|at| Action::Timer { at, id: 0 }));
    }

    pub(crate) fn timer(&mut self, now: Time, id: u32, out: &mut Vec<Action>) {
        match Exchanges::of_timer(id) {
            None => self.arrive(now, out),
            Some((conn, side)) => self.with(conn, |exchanges| exchanges.timer(now, side, out)),
        }
    }

    /// Lets the conversation arrive that is due.
    fn arrive(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(at) = self.next.filter(|&at| at <= now) else { return };
        let number = self.arrived;
        self.arrived += 1;
        if self.open.len() < self.limit {
            let conn = ConnId(self.opened);
            self.opened += 1;
            // Drawn by its number, so that one that is rejected shifts no other.
            let stream = self.streams.stream(format_args!("conversation-{number}"));
            let script = Script::new(Arc::clone(&self.model), self.fits, stream);
            self.open.insert(conn, Exchanges::new(conn, script, at));
            out.push(Action::Flow(FlowEvent::Arrived));
            out.push(Action::Open { conn, from: Side::Originator });
        } else {
            out.push(Action::Flow(FlowEvent::Rejected));
        }
        self.schedule(at, out);
    }

    /// Calls the conversation of a connection, if it is open.
    pub(super) fn with(&mut self, conn: ConnId, act: impl FnOnce(&mut Exchanges)) {
        if let Some(exchanges) = self.open.get_mut(&conn) {
            act(exchanges);
        }
    }

    pub(crate) fn connected(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        self.with(conn, |exchanges| exchanges.connected(now, side, out));
    }

    pub(crate) fn received(&mut self, now: Time, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        self.with(conn, |exchanges| exchanges.received(now, side, bytes, out));
    }

    pub(crate) fn written(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        self.with(conn, |exchanges| exchanges.written(now, side, out));
    }

    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.open.remove(&conn);
    }

    /// Ends a conversation whose connection was reset or timed out.
    pub(crate) fn failed(&mut self, conn: ConnId, out: &mut Vec<Action>) {
        if let Some(exchanges) = self.open.remove(&conn) {
            if !exchanges.is_completed() {
                out.push(Action::Flow(FlowEvent::Failed { since: exchanges.since() }));
            }
            out.push(Action::Abort { conn });
        }
    }
}
