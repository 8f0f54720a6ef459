//! A measured conversation of a user who begins the next one when it is over.

use std::sync::Arc;

use cellway_units::{Span, Time};

use super::exchanges::Exchanges;
use super::talk::{Drawn, Talk};
use super::{ExchangeModel, MeasuredArrivals, MeasuredWorkload};
use crate::action::{Action, ConnId, FlowEvent, Side};
use crate::random::Stream;

const CONN: ConnId = ConnId(0);

/// The timer of the time after the conversation. Those of its ends have others.
const GAP: u32 = 0;

/// One conversation, and the time until the next one.
#[derive(Debug)]
pub(crate) struct ClosedMeasured {
    /// The draw until the start, then the conversation.
    state: State,
    gap: Span,
    is_over: bool,
}

#[derive(Debug)]
enum State {
    Drawn(Option<Drawn>),
    Runs(Talk),
}

impl ClosedMeasured {
    pub(crate) fn new(workload: &MeasuredWorkload, stream: Stream) -> ClosedMeasured {
        let gap = match workload.arrivals {
            MeasuredArrivals::Closed { gap } => gap,
            MeasuredArrivals::Open { .. } => Span::ZERO,
        };
        let model: Arc<ExchangeModel> = Arc::clone(&workload.model);
        let drawn = Drawn::new(model, workload.fits, stream);
        ClosedMeasured { state: State::Drawn(Some(drawn)), gap, is_over: false }
    }

    /// Returns true once the connection is closed and the time after it has passed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(crate) fn start(&mut self, now: Time, out: &mut Vec<Action>) {
        if let State::Drawn(drawn) = &mut self.state
            && let Some(drawn) = drawn.take()
        {
            self.state = State::Runs(drawn.begin(CONN, now));
            out.push(Action::Flow(FlowEvent::Arrived));
            out.push(Action::Open { conn: CONN, from: Side::Originator });
        }
    }

    fn with(&mut self, act: impl FnOnce(&mut Talk)) {
        if let State::Runs(talk) = &mut self.state {
            act(talk);
        }
    }

    pub(crate) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        self.with(|talk| talk.connected(now, side, out));
    }

    pub(crate) fn received(&mut self, now: Time, side: Side, bytes: u64, out: &mut Vec<Action>) {
        self.with(|talk| talk.received(now, side, bytes, out));
    }

    pub(crate) fn written(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        self.with(|talk| talk.written(now, side, out));
    }

    pub(crate) fn timer(&mut self, now: Time, id: u32, out: &mut Vec<Action>) {
        match Exchanges::of_timer(id) {
            None => self.is_over = true,
            Some((_, side)) => self.with(|talk| talk.timer(now, side, out)),
        }
    }

    /// Begins the time after the conversation, whose connection is closed.
    pub(crate) fn closed(&mut self, now: Time, out: &mut Vec<Action>) {
        if self.gap.is_zero() {
            self.is_over = true;
        } else {
            out.push(Action::Timer { at: now + self.gap, id: GAP });
        }
    }

    /// Reports that the connection was reset or timed out; returns false if the conversation was complete.
    pub(crate) fn failed(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        if let State::Runs(talk) = &self.state
            && talk.is_completed()
        {
            self.closed(now, out);
            return false;
        }
        let since = match &self.state {
            State::Runs(talk) => talk.since(),
            State::Drawn(_) => now,
        };
        out.push(Action::Flow(FlowEvent::Failed { since }));
        true
    }
}
