//! A conversation that is played as it was recorded: the messages of both ends.
//!
//! Each end sends its messages in their order. One is due a time after TCP has accepted the one before it, and a number
//! of octets of the other end have arrived, whichever is later. Ends that take turns are the special case in which each
//! message waits for all of the one before it; here both may also send at once. The idea is that of the concurrent
//! connections of tmix (M. C. Weigle and others, ACM SIGCOMM CCR 36(3), 2006), with the dependence on received octets
//! kept.

use std::sync::Arc;

use cellway_units::{Bytes, Span, Time};

use super::exchanges::Exchanges;
use crate::action::{Action, ConnId, FlowEvent, Side};

/// A message of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its octets, at least 1.
    pub octets: u64,
    /// The octets of the other end that arrive before it, counted from its first.
    pub after: u64,
    /// The time from then, or from the message before it, to this one.
    pub delay: Span,
}

/// A recorded conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The messages of the originator and of the responder.
    pub messages: [Vec<Message>; 2],
}

impl Recorded {
    /// Returns the octets from the originator and from the responder.
    pub fn octets(&self) -> [u64; 2] {
        [0, 1].map(|side: usize| self.messages[side].iter().fold(0, |sum: u64, one| sum.saturating_add(one.octets)))
    }
}

/// The state of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The connection is not established.
    Unconnected,
    /// The next message waits for octets, or the end of the conversation for the last ones.
    Expects,
    /// The delay of the next message passes.
    Waits,
    /// The next message is due.
    Due,
    /// TCP has not accepted all of the last message.
    Writes,
    /// The end has sent and received all.
    Done,
}

#[derive(Clone, Copy, Debug)]
struct End {
    phase: Phase,
    /// Messages that were sent.
    sent: usize,
    /// Octets that have arrived.
    received: u64,
}

/// A recorded conversation on one connection.
#[derive(Debug)]
pub(super) struct Replay {
    conn: ConnId,
    recorded: Arc<Recorded>,
    octets: [u64; 2],
    since: Time,
    ends: [End; 2],
    /// The start of the last messages of the originator, and the octets that it had received then; `None` after an
    /// answer.
    requested: Option<(Time, u64)>,
    is_completed: bool,
}

impl Replay {
    pub(super) fn new(conn: ConnId, recorded: Arc<Recorded>, since: Time) -> Replay {
        let end = End { phase: Phase::Unconnected, sent: 0, received: 0 };
        let octets = recorded.octets();
        Replay { conn, recorded, octets, since, ends: [end; 2], requested: None, is_completed: false }
    }

    /// Returns true once each end has received all octets.
    pub(super) fn is_completed(&self) -> bool {
        self.is_completed
    }

    /// Returns when the conversation began.
    pub(super) fn since(&self) -> Time {
        self.since
    }

    fn end(&mut self, side: Side) -> &mut End {
        &mut self.ends[side as usize]
    }

    pub(super) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        self.go_on(now, side, Phase::Unconnected, Phase::Expects, out);
    }

    pub(super) fn written(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        self.go_on(now, side, Phase::Writes, Phase::Expects, out);
    }

    pub(super) fn timer(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        self.go_on(now, side, Phase::Waits, Phase::Due, out);
    }

    pub(super) fn received(&mut self, now: Time, side: Side, bytes: u64, out: &mut Vec<Action>) {
        let end = self.end(side);
        end.received = end.received.saturating_add(bytes);
        self.proceed(now, side, out);
    }

    /// Goes from one phase to the next; an event that is of another phase changes nothing.
    fn go_on(&mut self, now: Time, side: Side, from: Phase, to: Phase, out: &mut Vec<Action>) {
        if self.end(side).phase == from {
            self.end(side).phase = to;
            self.proceed(now, side, out);
        }
    }

    /// Lets an end act until it waits for an event.
    fn proceed(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        loop {
            let End { phase, sent, received } = *self.end(side);
            let next = self.recorded.messages[side as usize].get(sent).copied();
            self.end(side).phase = match (phase, next) {
                (Phase::Expects, Some(message)) if received >= message.after => {
                    self.arrived(side, message.after, out);
                    if message.delay.is_zero() {
                        Phase::Due
                    } else {
                        out.push(Action::Timer { at: now + message.delay, id: Exchanges::timer_id(self.conn, side) });
                        Phase::Waits
                    }
                }
                (Phase::Expects, None) if received >= self.octets[side.peer() as usize] => {
                    self.arrived(side, received, out);
                    if side == Side::Originator {
                        out.push(Action::Close { conn: self.conn, side });
                    }
                    Phase::Done
                }
                (Phase::Due, Some(message)) => {
                    if side == Side::Originator && self.requested.is_none_or(|(_, before)| before < received) {
                        self.requested = Some((now, received));
                    }
                    self.end(side).sent += 1;
                    out.push(Action::Write { conn: self.conn, side, bytes: message.octets });
                    let is_last = sent + 1 == self.recorded.messages[side as usize].len();
                    if is_last { Phase::Expects } else { Phase::Writes }
                }
                _ => break,
            };
        }
        if !self.is_completed && self.ends.iter().all(|end| end.phase == Phase::Done) {
            self.is_completed = true;
            let bytes = Bytes(self.octets[0].saturating_add(self.octets[1]));
            out.push(Action::Flow(FlowEvent::Completed { bytes, since: self.since }));
        }
    }

    /// Reports an answer if octets have arrived that the originator waited for and did not have when it requested.
    fn arrived(&mut self, side: Side, awaited: u64, out: &mut Vec<Action>) {
        if side == Side::Originator
            && let Some((since, _)) = self.requested.take_if(|(_, before)| *before < awaited)
        {
            out.push(Action::Answer { since });
        }
    }
}
