//! The messages of a conversation with their causes, so that it can be played as it was, also where both ends send at
//! once.
//!
//! A message is what one end sends without having received anything new, and without a rest. It depends on the octets
//! of the other end that had arrived before, by the acknowledgement in its first segment, and on the message before it.

use std::collections::VecDeque;

use crate::exchange::RoundTrip;

/// The rest after which an end begins another message, in ns: all of its octets are acknowledged, and it sends nothing
/// for so long, so that it had nothing to send.
const REST: u64 = 10_000_000;
/// The most unacknowledged segments whose times are remembered; of more, the last ones are taken together.
const MAX_FLIGHT: usize = 256;

/// A message of one end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Its octets.
    pub octets: u64,
    /// The octets of the other end that had arrived before it.
    pub after: u64,
    /// From the arrival of these, or from the message before it if that was later, to this one, at its sender, in s.
    pub delay: f64,
}

/// The messages of one end. Octets are counted from 0; times are in ns, at the tap.
#[derive(Clone, Debug, Default)]
struct End {
    messages: Vec<Message>,
    sent: u64,
    /// The time of its last octets.
    last: u64,
    /// Unacknowledged segments: the octets up to their ends, and their times.
    flight: VecDeque<(u64, u64)>,
    acked: u64,
    /// The time of the segment whose end was acknowledged last.
    acked_segment: u64,
    /// The time of that acknowledgement.
    acked_at: u64,
}

/// Records the messages of both ends, that of the originator first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    ends: [End; 2],
}

impl Recorder {
    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.ends.iter().map(|end| end.messages.len()).sum()
    }

    /// Notes that octets of `end` up to `octets` were acknowledged.
    pub(crate) fn acknowledged(&mut self, end: usize, octets: u64, now: u64) {
        let end = &mut self.ends[end];
        if octets > end.acked {
            end.acked = octets;
            end.acked_at = now;
        }
        while let Some(&(_, at)) = end.flight.front().filter(|(upto, _)| *upto <= octets) {
            end.acked_segment = at;
            end.flight.pop_front();
        }
    }

    /// Takes `span` new octets of an end. `established` is the time of the end of the handshake.
    pub(crate) fn data(&mut self, side: usize, span: u64, now: u64, path: RoundTrip, established: u64) {
        let (received, arrived) = (self.ends[1 - side].acked, self.ends[1 - side].acked_segment);
        let round_trip = [path.originator, path.responder][side];
        let end = &mut self.ends[side];
        let is_resting = end.acked >= end.sent && now > end.last.max(end.acked_at + round_trip) + REST;
        match end.messages.last_mut() {
            Some(last) if received <= last.after && !is_resting => last.octets += span,
            last => {
                // The originator is connected with the answer to its SYN, which passes with the handshake's end; the
                // responder with that end.
                let begin = if last.is_some() { end.last } else { established + [0, round_trip][side] };
                let cause = if received > 0 { begin.max(arrived + round_trip) } else { begin };
                let delay = now.saturating_sub(cause) as f64 / 1e9;
                end.messages.push(Message { octets: span, after: received, delay });
            }
        }
        end.sent += span;
        end.last = now;
        if end.flight.len() >= MAX_FLIGHT {
            end.flight.pop_back();
        }
        end.flight.push_back((end.sent, now));
    }

    /// Notes that missing octets of an end have arrived.
    pub(crate) fn late(&mut self, side: usize, now: u64) {
        self.ends[side].last = now;
    }

    /// Returns the messages of the originator and of the responder.
    pub(crate) fn finish(self) -> [Vec<Message>; 2] {
        self.ends.map(|end| end.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const PATH: RoundTrip = RoundTrip { originator: 10 * MS, responder: 30 * MS };

    fn message(octets: u64, after: u64, delay: f64) -> Message {
        Message { octets, after, delay }
    }

    /// A tap 10 ms from the originator and 30 ms from the responder, there and back; the handshake ends at 40 ms.
    #[test]
    fn messages_that_cross_keep_their_causes() {
        let mut recorder = Recorder::default();
        // Both greet at once: the originator at 40 ms, the responder 3 ms after the handshake has arrived at it.
        recorder.data(0, 21, 40 * MS, PATH, 40 * MS);
        recorder.data(1, 40, 73 * MS, PATH, 40 * MS);
        // The greeting passes the tap at 73 ms; 2 ms after it has arrived the originator sends the next message.
        recorder.acknowledged(1, 40, 85 * MS);
        recorder.data(0, 1000, 85 * MS, PATH, 40 * MS);
        recorder.data(0, 500, 86 * MS, PATH, 40 * MS);
        // The responder has received the first one, and sends 60 ms after its own greeting.
        recorder.acknowledged(0, 21, 133 * MS);
        recorder.data(1, 7, 133 * MS, PATH, 40 * MS);
        assert_eq!(recorder.len(), 4);
        let there = vec![message(21, 0, 0.0), message(1500, 40, 0.002)];
        let back = vec![message(40, 0, 0.003), message(7, 21, 0.060)];
        assert_eq!(recorder.finish(), [there, back]);
    }

    /// A responder that pushes: 10 ms after an acknowledgement could have made it send, it had nothing to send.
    #[test]
    fn a_rest_ends_a_message_and_a_full_window_does_not() {
        let mut recorder = Recorder::default();
        recorder.data(1, 100, 100 * MS, PATH, 40 * MS);
        // The window is full: the acknowledgement passes at 150 ms, and the answer to it at 181 ms.
        recorder.acknowledged(1, 100, 150 * MS);
        recorder.data(1, 100, 181 * MS, PATH, 40 * MS);
        recorder.acknowledged(1, 200, 191 * MS);
        recorder.data(1, 50, 1181 * MS, PATH, 40 * MS);
        // Not all is acknowledged: it may have waited.
        recorder.data(1, 50, 1281 * MS, PATH, 40 * MS);
        assert_eq!(recorder.finish()[1], [message(200, 0, 0.030), message(100, 0, 1.0)]);
    }

    #[test]
    fn times_of_a_long_flight_are_taken_together() {
        let mut recorder = Recorder::default();
        for k in 0..1000 {
            recorder.data(1, 10, (100 + k) * MS, PATH, 40 * MS);
        }
        assert!(recorder.ends[1].flight.len() == MAX_FLIGHT && recorder.len() == 1);
        recorder.acknowledged(1, 10_000, 2000 * MS);
        recorder.data(0, 1, 2000 * MS, PATH, 40 * MS);
        assert_eq!(recorder.finish()[0], [message(1, 10_000, (2000.0 - 1099.0 - 10.0) / 1000.0)]);
    }
}
