//! Requests and responses that take turns over one connection, as netperf's TCP_RR makes them: a closed loop with one
//! request outstanding.

use cellway_units::{Span, Time};

use crate::action::{Action, ConnId, Side};
use crate::workload::RequestResponseWorkload;

const CONN: ConnId = ConnId(0);

/// One connection with its requests.
#[derive(Debug)]
pub(crate) struct RequestResponse {
    request: u64,
    response: u64,
    think: Span,
    duration: Option<Span>,
    /// No request is sent at this time or later.
    end: Time,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No message is in transfer.
    Thinking,
    /// `left` bytes of the request have not arrived.
    Requesting { since: Time, left: u64 },
    /// `left` bytes of the response have not arrived.
    Responding { since: Time, left: u64 },
    /// The originator has closed.
    Closing,
}

impl RequestResponse {
    pub(crate) fn new(workload: &RequestResponseWorkload) -> RequestResponse {
        RequestResponse {
            request: workload.request.0,
            response: workload.response.0,
            think: workload.think,
            duration: workload.duration,
            end: Time::MAX,
            phase: Phase::Thinking,
        }
    }

    pub(crate) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        if side == Side::Originator {
            self.end = self.duration.map_or(Time::MAX, |duration| now + duration);
            self.request(now, out);
        }
    }

    /// Sends the next request, or closes if the duration is over.
    fn request(&mut self, now: Time, out: &mut Vec<Action>) {
        if now < self.end {
            self.phase = Phase::Requesting { since: now, left: self.request };
            out.push(Action::Write { conn: CONN, side: Side::Originator, bytes: self.request });
        } else {
            self.phase = Phase::Closing;
            out.push(Action::Close { conn: CONN, side: Side::Originator });
        }
    }

    pub(crate) fn received(&mut self, now: Time, side: Side, bytes: u64, out: &mut Vec<Action>) {
        match (side, &mut self.phase) {
            (Side::Responder, Phase::Requesting { since, left }) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    self.phase = Phase::Responding { since: *since, left: self.response };
                    out.push(Action::Write { conn: CONN, side, bytes: self.response });
                }
            }
            (Side::Originator, Phase::Responding { since, left }) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    out.push(Action::Answer { since: *since });
                    self.phase = Phase::Thinking;
                    if self.think.is_zero() {
                        self.request(now, out);
                    } else {
                        out.push(Action::Timer { at: now + self.think, id: 0 });
                    }
                }
            }
            _ => debug_assert!(false, "bytes that were not sent"),
        }
    }

    pub(crate) fn timer(&mut self, now: Time, out: &mut Vec<Action>) {
        if self.phase == Phase::Thinking {
            self.request(now, out);
        }
    }
}
