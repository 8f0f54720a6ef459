//! One measured conversation: exchanges over a connection.
//!
//! Both ends follow the same script, and each acts only on data that have arrived at it. An exchange without a request
//! is a message that the responder sends by itself; one without a response ends for the originator when TCP has
//! accepted the request, as its program is not notified of more. One without either is skipped, with the time before
//! it.

use cellway_units::{Bytes, Span, Time};

use super::script::{Exchange, Script};
use crate::action::{Action, ConnId, FlowEvent, Side};

/// The state of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The connection is not established.
    Unconnected,
    /// The exchange begins.
    Begins,
    /// A timer runs: until the next request at the originator, until the response at the responder.
    Waits,
    /// The response is due, at the responder.
    Responds,
    /// This number of octets has not arrived, at least 1.
    Expects(u64),
    /// TCP has not accepted all of the last message, and the time to the next one counts from then.
    Writes,
    /// The exchange is over for this end.
    Finished,
    /// The conversation is over for this end.
    Done,
}

#[derive(Clone, Copy, Debug)]
struct End {
    /// The number of its exchange, from 0.
    exchange: u64,
    phase: Phase,
    /// Octets that have arrived and are not counted to a message.
    unread: u64,
}

/// The exchanges of one connection.
#[derive(Debug)]
pub(super) struct Exchanges {
    conn: ConnId,
    script: Script,
    /// When the conversation began.
    since: Time,
    /// When the originator began its last request.
    requested: Time,
    ends: [End; 2],
    /// Octets written at both ends.
    octets: u64,
    is_completed: bool,
}

impl Exchanges {
    pub(super) fn new(conn: ConnId, script: Script, since: Time) -> Exchanges {
        let end = End { exchange: 0, phase: Phase::Unconnected, unread: 0 };
        Exchanges { conn, script, since, requested: since, ends: [end; 2], octets: 0, is_completed: false }
    }

    /// Returns true once each end has received all that it waits for.
    pub(super) fn is_completed(&self) -> bool {
        self.is_completed
    }

    /// Returns when the conversation began.
    pub(super) fn since(&self) -> Time {
        self.since
    }

    /// Returns the identifier of the timer of an end of a connection; 0 is of none.
    pub(super) fn timer_id(conn: ConnId, side: Side) -> u32 {
        1 + 2 * conn.0 + side as u32
    }

    /// Returns the connection and the end of a timer's identifier; `None` for 0.
    pub(super) fn of_timer(id: u32) -> Option<(ConnId, Side)> {
        let number = id.checked_sub(1)?;
        Some((ConnId(number / 2), if number % 2 == 0 { Side::Originator } else { Side::Responder }))
    }

    pub(super) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        if self.end(side).phase == Phase::Unconnected {
            if let Some(first) = self.script.exchange(0) {
                self.end(side).phase = self.next(now, side, Span::ZERO, first, out);
            }
            self.proceed(now, side, out);
        }
    }

    pub(super) fn received(&mut self, now: Time, side: Side, bytes: u64, out: &mut Vec<Action>) {
        self.end(side).unread += bytes;
        self.proceed(now, side, out);
    }

    pub(super) fn written(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        if self.end(side).phase == Phase::Writes {
            self.end(side).phase = Phase::Finished;
            self.proceed(now, side, out);
        }
    }

    pub(super) fn timer(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        if self.end(side).phase == Phase::Waits {
            self.end(side).phase = match side {
                Side::Originator => Phase::Begins,
                Side::Responder => Phase::Responds,
            };
            self.proceed(now, side, out);
        }
    }

    fn end(&mut self, side: Side) -> &mut End {
        &mut self.ends[side as usize]
    }

    /// Lets an end act until it waits for an event.
    fn proceed(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        loop {
            let End { exchange: number, phase, unread } = *self.end(side);
            let Some(exchange) = self.script.exchange(number) else { return };
            let next = match phase {
                Phase::Unconnected | Phase::Waits | Phase::Writes | Phase::Done => break,
                Phase::Expects(left) => {
                    let read = left.min(unread);
                    self.end(side).unread -= read;
                    if read < left {
                        self.end(side).phase = Phase::Expects(left - read);
                        break;
                    }
                    self.arrived(now, side, exchange, out)
                }
                Phase::Begins => self.begin(now, side, exchange, out),
                Phase::Responds => self.respond(number, exchange, out),
                Phase::Finished => self.finish(now, side, exchange, out),
            };
            self.end(side).phase = next;
        }
        self.script.forget_before(self.ends[0].exchange.min(self.ends[1].exchange));
        if !self.is_completed && self.ends.iter().all(|end| end.phase == Phase::Done) {
            self.is_completed = true;
            out.push(Action::Flow(FlowEvent::Completed { bytes: Bytes(self.octets), since: self.since }));
        }
    }

    /// Begins an exchange: the originator requests, the responder expects that.
    fn begin(&mut self, now: Time, side: Side, exchange: Exchange, out: &mut Vec<Action>) -> Phase {
        match side {
            Side::Responder => Phase::Expects(exchange.request),
            Side::Originator => {
                self.requested = now;
                self.write(side, exchange.request, out);
                if exchange.response > 0 {
                    Phase::Expects(exchange.response)
                } else if exchange.request > 0 && !self.script.is_last(self.ends[0].exchange) {
                    Phase::Writes
                } else {
                    Phase::Finished
                }
            }
        }
    }

    /// Processes a whole message that has arrived.
    fn arrived(&mut self, now: Time, side: Side, exchange: Exchange, out: &mut Vec<Action>) -> Phase {
        match side {
            Side::Originator => {
                // A message that was not requested has no answer time.
                if exchange.request > 0 {
                    out.push(Action::Answer { since: self.requested });
                }
                Phase::Finished
            }
            Side::Responder if exchange.response == 0 => Phase::Finished,
            Side::Responder => self.wait(now, side, exchange.pause, Phase::Responds, out),
        }
    }

    /// Sends the response of exchange `number`.
    fn respond(&mut self, number: u64, exchange: Exchange, out: &mut Vec<Action>) -> Phase {
        self.write(Side::Responder, exchange.response, out);
        let follows = self.script.exchange(number + 1).is_some_and(|next| next.request == 0);
        if exchange.response > 0 && follows { Phase::Writes } else { Phase::Finished }
    }

    /// Goes on to the next exchange, or closes behind the last.
    fn finish(&mut self, now: Time, side: Side, exchange: Exchange, out: &mut Vec<Action>) -> Phase {
        self.end(side).exchange += 1;
        let number = self.end(side).exchange;
        let Some(next) = self.script.exchange(number) else {
            self.end(side).exchange -= 1;
            if side == Side::Originator {
                out.push(Action::Close { conn: self.conn, side });
            }
            return Phase::Done;
        };
        self.next(now, side, exchange.think, next, out)
    }

    /// Returns how an end goes on to an exchange, `think` after the one before it.
    fn next(&self, now: Time, side: Side, think: Span, next: Exchange, out: &mut Vec<Action>) -> Phase {
        match side {
            // The time before a message that the responder sends by itself passes there.
            Side::Originator if next.request == 0 => Phase::Begins,
            Side::Originator => self.wait(now, side, think, Phase::Begins, out),
            Side::Responder if next.request > 0 => Phase::Begins,
            Side::Responder if next.response > 0 => self.wait(now, side, think + next.pause, Phase::Responds, out),
            Side::Responder => Phase::Finished,
        }
    }

    /// Starts the timer of an end, or returns `then` if there is no time to wait.
    fn wait(&self, now: Time, side: Side, time: Span, then: Phase, out: &mut Vec<Action>) -> Phase {
        if time.is_zero() {
            return then;
        }
        out.push(Action::Timer { at: now + time, id: Exchanges::timer_id(self.conn, side) });
        Phase::Waits
    }

    fn write(&mut self, side: Side, bytes: u64, out: &mut Vec<Action>) {
        if bytes > 0 {
            self.octets = self.octets.saturating_add(bytes);
            out.push(Action::Write { conn: self.conn, side, bytes });
        }
    }
}
