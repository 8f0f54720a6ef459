//! One measured conversation on a connection: of drawn exchanges, or as it was recorded.

use std::sync::Arc;

use cellway_units::Time;

use super::ExchangeModel;
use super::exchanges::Exchanges;
use super::replay::{Recorded, Replay};
use super::script::Script;
use crate::action::{Action, ConnId, Side};
use crate::random::Stream;

/// A conversation that was drawn and has not begun.
#[derive(Debug)]
pub(super) enum Drawn {
    Exchanges(Box<Script>),
    Recorded(Arc<Recorded>),
}

impl Drawn {
    /// Draws a conversation: a recorded one if the class has any and no laws are asked for.
    pub(super) fn new(model: Arc<ExchangeModel>, fits: bool, mut stream: Stream) -> Drawn {
        if model.plays_recorded(fits) {
            let number = stream.below(model.recorded.len() as u64) as usize;
            return Drawn::Recorded(Arc::clone(&model.recorded[number]));
        }
        Drawn::Exchanges(Box::new(Script::new(model, fits, stream)))
    }

    /// Begins the conversation on a connection.
    pub(super) fn begin(self, conn: ConnId, since: Time) -> Talk {
        match self {
            Drawn::Exchanges(script) => Talk::Exchanges(Box::new(Exchanges::new(conn, *script, since))),
            Drawn::Recorded(recorded) => Talk::Recorded(Replay::new(conn, recorded, since)),
        }
    }
}

/// A conversation on its connection.
#[derive(Debug)]
pub(super) enum Talk {
    Exchanges(Box<Exchanges>),
    Recorded(Replay),
}

impl Talk {
    /// Returns true once each end has received all that it waits for.
    pub(super) fn is_completed(&self) -> bool {
        match self {
            Talk::Exchanges(exchanges) => exchanges.is_completed(),
            Talk::Recorded(replay) => replay.is_completed(),
        }
    }

    /// Returns when the conversation began.
    pub(super) fn since(&self) -> Time {
        match self {
            Talk::Exchanges(exchanges) => exchanges.since(),
            Talk::Recorded(replay) => replay.since(),
        }
    }

    pub(super) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        match self {
            Talk::Exchanges(exchanges) => exchanges.connected(now, side, out),
            Talk::Recorded(replay) => replay.connected(now, side, out),
        }
    }

    pub(super) fn received(&mut self, now: Time, side: Side, bytes: u64, out: &mut Vec<Action>) {
        match self {
            Talk::Exchanges(exchanges) => exchanges.received(now, side, bytes, out),
            Talk::Recorded(replay) => replay.received(now, side, bytes, out),
        }
    }

    pub(super) fn written(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        match self {
            Talk::Exchanges(exchanges) => exchanges.written(now, side, out),
            Talk::Recorded(replay) => replay.written(now, side, out),
        }
    }

    pub(super) fn timer(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        match self {
            Talk::Exchanges(exchanges) => exchanges.timer(now, side, out),
            Talk::Recorded(replay) => replay.timer(now, side, out),
        }
    }
}
