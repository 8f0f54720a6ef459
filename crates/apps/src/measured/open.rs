//! Measured conversations that arrive by themselves, each over a connection of its own.

use std::sync::Arc;

use cellway_units::Time;

use super::exchanges::Exchanges;
use super::talk::{Drawn, Talk};
use super::{ExchangeModel, MeasuredArrivals, MeasuredWorkload};
use crate::action::{Action, ConnId, Side};
use crate::open_loop::OpenLoop;
use crate::random::{NamedStreams, Stream};

/// The most connections of a slot; timers have twice as many identifiers.
const MOST_CONNECTIONS: u64 = 1 << 30;

/// The conversations of one slot.
#[derive(Debug)]
pub(crate) struct OpenMeasured {
    model: Arc<ExchangeModel>,
    fits: bool,
    /// Names the streams of each conversation.
    streams: NamedStreams,
    gaps: Stream,
    scale: f64,
    open: OpenLoop<Talk>,
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
            open: OpenLoop::new(count.unwrap_or(u64::MAX).min(MOST_CONNECTIONS), duration, limit),
        })
    }

    /// Returns true once no conversation is open and none arrives any more.
    pub(crate) fn is_over(&self) -> bool {
        self.open.is_over()
    }

    pub(crate) fn start(&mut self, now: Time, out: &mut Vec<Action>) {
        self.open.begin(now);
        self.schedule(now, out);
    }

    /// Sets the time of the next arrival, after one at `last`.
    fn schedule(&mut self, last: Time, out: &mut Vec<Action>) {
        let gaps = self.model.arrival_gap.as_ref().filter(|_| self.open.number().is_some());
        let at = gaps.map(|gaps| last + gaps.scaled_span(self.fits, self.scale, &mut self.gaps));
        self.open.schedule(at, out);
    }

    pub(crate) fn timer(&mut self, now: Time, id: u32, out: &mut Vec<Action>) {
        match Exchanges::of_timer(id) {
            None => self.arrive(now, out),
            Some((conn, side)) => self.with(conn, |talk| talk.timer(now, side, out)),
        }
    }

    /// Lets the conversation arrive that is due.
    fn arrive(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some((number, at)) = self.open.due(now) else { return };
        let (model, fits, streams) = (&self.model, self.fits, &self.streams);
        let made = |conn| {
            // Drawn by its number, so that one that is rejected shifts no other.
            let stream = streams.stream(format_args!("conversation-{number}"));
            Drawn::new(Arc::clone(model), fits, stream).begin(conn, at)
        };
        self.open.arrive(made, out);
        self.schedule(at, out);
    }

    /// Calls the conversation of a connection, if it is open.
    fn with(&mut self, conn: ConnId, act: impl FnOnce(&mut Talk)) {
        if let Some(talk) = self.open.get(conn) {
            act(talk);
        }
    }

    pub(crate) fn connected(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        self.with(conn, |talk| talk.connected(now, side, out));
    }

    pub(crate) fn received(&mut self, now: Time, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        self.with(conn, |talk| talk.received(now, side, bytes, out));
    }

    pub(crate) fn written(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        self.with(conn, |talk| talk.written(now, side, out));
    }

    pub(crate) fn closed(&mut self, conn: ConnId) {
        self.open.closed(conn);
    }

    /// Ends a conversation whose connection was reset or timed out.
    pub(crate) fn failed(&mut self, conn: ConnId, out: &mut Vec<Action>) {
        let since = |talk: &Talk| (!talk.is_completed()).then(|| talk.since());
        self.open.failed(conn, since, out);
    }
}
