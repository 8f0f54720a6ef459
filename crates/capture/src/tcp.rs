//! One TCP connection, from the packets that pass the tap.

use crate::exchange::{Exchange, Exchanges, RoundTrip};
use crate::left_out::ConversationReason;
use crate::messages::{Message, Recorder};
use crate::packet::{Endpoint, Segment};
use crate::stream::{Place, Stream};
use crate::table::Key;

/// The time within which a SYN that is seen again is a copy that the capture has, not one that was sent again, in ns.
const COPY: u64 = 10_000_000;

/// The most octets of the responder that may cross data of the originator: two session tickets.
const MAX_TICKET: i64 = 800;

/// The state of the handshake. Times are in ns.
#[derive(Clone, Copy, Debug)]
enum Handshake {
    /// The capture begins after it.
    Unseen,
    /// A SYN was seen; `is_repeated` if it was sent again.
    Syn { is_repeated: bool },
    /// The responder has answered.
    Answered { at: u64, is_repeated: bool },
    /// The originator has acknowledged the answer.
    Established { at: u64, path: Option<RoundTrip> },
}

/// The totals of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionTotals {
    /// Segments, with and without payload.
    pub packets: u64,
    /// Octets of payload, each counted once.
    pub octets: u64,
    /// Segments whose octets had all passed the tap before.
    pub retransmitted: u64,
    /// Segments whose octets fill a gap: reordered, or retransmitted after a loss before the tap.
    pub late: u64,
    /// True if octets that the other side acknowledged are not in the capture.
    pub has_missing: bool,
}

/// A TCP conversation that has ended, or a part of a long one.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConversation {
    /// The number of the conversation, from 0 in the order of their first packets.
    pub id: u64,
    /// The side that sent the SYN, if that was seen; else the one with the higher port.
    pub originator: Endpoint,
    /// The other side.
    pub responder: Endpoint,
    /// Time of the first packet, in ns since the start of 1970.
    pub start: u64,
    /// Time of the last packet, likewise.
    pub end: u64,
    /// The round trip of the handshake; `None` if it was not seen, or part of it was retransmitted.
    pub round_trip: Option<RoundTrip>,
    /// True if the handshake was seen and has succeeded.
    pub is_established: bool,
    /// The reason for which it does not count, if any.
    pub left_out: Option<ConversationReason>,
    /// The exchanges since the part before.
    pub exchanges: Vec<Exchange>,
    /// The number of exchanges in the parts before.
    pub exchanges_before: u64,
    /// The messages of the originator and of the responder, if they were recorded from the first to the last; at the
    /// end of the conversation.
    pub messages: Option<[Vec<Message>; 2]>,
    /// False if the conversation goes on.
    pub is_last: bool,
    /// Totals from the originator, and from the responder.
    pub directions: [DirectionTotals; 2],
}

/// The way in which a conversation leaves the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// It has ended, or is idle.
    Ended,
    /// The capture has ended.
    CaptureEnded,
    /// The table is full.
    Evicted,
}

/// A connection in the table.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) id: u64,
    pub(crate) class: u16,
    /// The index of the originator in the key.
    originator: usize,
    handshake: Handshake,
    start: u64,
    end: u64,
    /// By the index of the sender in the key.
    streams: [Stream; 2],
    exchanges: Exchanges,
    exchanges_before: u64,
    is_concurrent: bool,
    /// The octet of the responder at which the first data that crossed began.
    ticket: Option<i64>,
    /// Records messages; `None` if they are not wanted, or too many, or times are unknown.
    recorder: Option<Box<Recorder>>,
    has_ended: bool,
}

impl Tcp {
    /// Begins with the first packet that is seen, which `side` sent.
    pub(crate) fn new(id: u64, key: &Key, side: usize, segment: &Segment, now: u64) -> Tcp {
        let (originator, handshake) = match (segment.syn, segment.ack) {
            (true, None) => (side, Handshake::Syn { is_repeated: false }),
            (true, Some(_)) => (1 - side, Handshake::Unseen),
            // Servers listen at low ports; of two equal ones the sender is taken for the originator.
            _ if key.ends[side].port >= key.ends[1 - side].port => (side, Handshake::Unseen),
            _ => (1 - side, Handshake::Unseen),
        };
        Tcp {
            id,
            class: 0,
            originator,
            handshake,
            start: now,
            end: now,
            streams: Default::default(),
            exchanges: Exchanges::default(),
            exchanges_before: 0,
            is_concurrent: false,
            ticket: None,
            recorder: None,
            has_ended: false,
        }
    }

    /// Returns originator and responder.
    pub(crate) fn ends(&self, key: &Key) -> [Endpoint; 2] {
        [key.ends[self.originator], key.ends[1 - self.originator]]
    }

    /// Returns true if a SYN is of a later connection with the same addresses and ports.
    pub(crate) fn is_another(&self, side: usize, segment: &Segment) -> bool {
        let is_syn = segment.syn && segment.ack.is_none();
        let known = self.streams[side].base();
        is_syn && (self.has_ended || known != Some(segment.seq) || matches!(self.handshake, Handshake::Unseen))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the number of exchanges that wait for the end of the conversation.
    pub(crate) fn pending(&self) -> usize {
        self.exchanges.complete.len()
    }

    /// Begins to record messages.
    pub(crate) fn record_messages(&mut self) {
        self.recorder = Some(Box::default());
    }

    /// Forgets the messages, of which there are too many.
    pub(crate) fn forget_messages(&mut self) {
        self.recorder = None;
    }

    /// Returns the number of messages that wait for the end of the conversation.
    pub(crate) fn messages(&self) -> usize {
        self.recorder.as_ref().map_or(0, |recorder| recorder.len())
    }

    /// Takes a packet that `side` sent. Returns false if it is outside of the window.
    pub(crate) fn packet(&mut self, side: usize, segment: &Segment, now: u64) -> bool {
        let is_originator = side == self.originator;
        self.handshake(side, segment, now);
        let first = segment.seq.wrapping_add(u32::from(segment.syn));
        if segment.syn && self.streams[side].base().is_none() {
            self.streams[side].begin(segment.seq);
        }
        let place = self.streams[side].segment(first, segment.payload);
        if place == Place::Outside {
            return false;
        }
        self.end = self.end.max(now);
        self.streams[side].packets += 1;
        if let Some(ack) = segment.ack {
            self.streams[1 - side].acknowledge(ack);
        }
        self.record(side, place, now);
        match place {
            Place::New { span } => self.data(side, segment, span, now),
            Place::Late if !self.is_concurrent => self.exchanges.late(is_originator, now),
            _ => {}
        }
        if segment.fin {
            let stream = &mut self.streams[side];
            stream.fin = Some(stream.octet(first.wrapping_add(segment.payload)));
        }
        let is_closed = |stream: &Stream| stream.fin.is_some_and(|fin| stream.acked > fin);
        self.has_ended = self.has_ended || segment.rst || self.streams.iter().all(is_closed);
        true
    }

    /// Records a segment and its acknowledgement. Octet 0 of a stream is its SYN.
    fn record(&mut self, side: usize, place: Place, now: u64) {
        let Some(recorder) = &mut self.recorder else { return };
        // The recorder has the originator first.
        let (own, other) = (side ^ self.originator, 1 - (side ^ self.originator));
        let acked = self.streams[1 - side].acked.min(self.streams[1 - side].highest());
        recorder.acknowledged(other, (acked - 1).max(0) as u64, now);
        match (place, self.handshake) {
            (Place::New { span }, Handshake::Established { at, path: Some(path) }) => {
                recorder.data(own, span, now, path, at);
            }
            (Place::New { .. }, _) => self.recorder = None,
            (Place::Late, _) => recorder.late(own, now),
            _ => {}
        }
    }

    fn handshake(&mut self, side: usize, segment: &Segment, now: u64) {
        let is_originator = side == self.originator;
        let start = self.start;
        match &mut self.handshake {
            Handshake::Syn { is_repeated } if is_originator && segment.syn => {
                *is_repeated |= now.saturating_sub(start) > COPY;
            }
            &mut Handshake::Syn { is_repeated } if !is_originator && segment.syn && segment.ack.is_some() => {
                self.handshake = Handshake::Answered { at: now, is_repeated };
            }
            Handshake::Answered { at, is_repeated } if segment.syn => {
                *is_repeated |= now.saturating_sub(*at) > COPY;
            }
            &mut Handshake::Answered { at, is_repeated } if is_originator && segment.ack.is_some() && !segment.rst => {
                let path = RoundTrip { originator: now.saturating_sub(at), responder: at.saturating_sub(self.start) };
                self.handshake = Handshake::Established { at: now, path: (!is_repeated).then_some(path) };
            }
            _ => {}
        }
    }

    /// Takes new octets: `span` of them, which `side` sent.
    fn data(&mut self, side: usize, segment: &Segment, span: u64, now: u64) {
        let (at, path) = match self.handshake {
            Handshake::Established { at, path } => (at, path),
            Handshake::Answered { .. } | Handshake::Syn { .. } => (now, None),
            Handshake::Unseen => return,
        };
        if self.is_concurrent {
            return;
        }
        let (own, other) = (&self.streams[side], &self.streams[1 - side]);
        let start = own.octet(segment.seq);
        // The sender had not received all that the other side had sent, which had not received this.
        let received = segment.ack.map_or(0, |ack| other.octet(ack));
        let has_crossed = other.octets > 0 && other.highest() > received && own.acked <= start;
        if has_crossed && !self.is_ticket(side, received, start) {
            self.is_concurrent = true;
            self.exchanges = Exchanges::default();
            return;
        }
        let own = &self.streams[side];
        if side == self.originator {
            let is_acknowledged = own.acked >= own.highest() - span as i64;
            self.exchanges.request(span, now, path, is_acknowledged);
        } else {
            self.exchanges.response(span, now, path, at);
        }
    }

    /// Returns true if data that crossed are few octets of the responder near the start. A server of TLS 1.3 sends session
    /// tickets before it has received the first request (RFC 8446, section 4.6.1): what follows is a sequence.
    fn is_ticket(&mut self, side: usize, received: i64, start: i64) -> bool {
        let exchanges = self.exchanges_before + self.exchanges.complete.len() as u64;
        if self.ticket.is_none() && exchanges >= 3 {
            return false;
        }
        let begin = *self.ticket.get_or_insert(if side == self.originator { received } else { start });
        self.streams[1 - self.originator].highest() - begin <= MAX_TICKET
    }

    /// Returns the exchanges up to now, of a conversation that goes on.
    pub(crate) fn part(&mut self, key: &Key) -> TcpConversation {
        let exchanges = std::mem::take(&mut self.exchanges.complete);
        let part = self.conversation(key, None, exchanges, None);
        self.exchanges_before += part.exchanges.len() as u64;
        part
    }

    /// Returns the conversation, which leaves the table.
    pub(crate) fn finish(mut self, key: &Key, leaving: Leaving) -> TcpConversation {
        let is_whole = self.has_ended || leaving == Leaving::Ended;
        if is_whole {
            self.exchanges.finish();
        }
        let exchanges = std::mem::take(&mut self.exchanges.complete);
        let left_out = match self.handshake {
            Handshake::Unseen => Some(ConversationReason::CutAtStart),
            Handshake::Syn { .. } | Handshake::Answered { .. } => Some(ConversationReason::NotEstablished),
            Handshake::Established { .. } if self.is_concurrent => Some(ConversationReason::Concurrent),
            Handshake::Established { .. } => match leaving {
                _ if is_whole && exchanges.is_empty() && self.exchanges_before == 0 => Some(ConversationReason::NoData),
                _ if is_whole => None,
                Leaving::Evicted => Some(ConversationReason::Evicted),
                _ => Some(ConversationReason::CutAtEnd),
            },
        };
        let is_played = matches!(left_out, None | Some(ConversationReason::Concurrent)) && is_whole;
        let is_known = is_played && !self.streams.iter().any(Stream::has_missing);
        let messages = self.recorder.take().filter(|_| is_known).map(|recorder| recorder.finish());
        self.conversation(key, left_out, exchanges, Some(messages))
    }

    /// Returns the conversation; `last` has the messages of one that has ended.
    fn conversation(
        &self,
        key: &Key,
        left_out: Option<ConversationReason>,
        exchanges: Vec<Exchange>,
        last: Option<Option<[Vec<Message>; 2]>>,
    ) -> TcpConversation {
        let [originator, responder] = self.ends(key);
        let (is_established, round_trip) = match self.handshake {
            Handshake::Established { path, .. } => (true, path),
            _ => (false, None),
        };
        let totals = |side: usize| {
            let stream = &self.streams[side];
            DirectionTotals {
                packets: stream.packets,
                octets: stream.octets,
                retransmitted: stream.retransmitted,
                late: stream.late,
                has_missing: stream.has_missing(),
            }
        };
        TcpConversation {
            id: self.id,
            originator,
            responder,
            start: self.start,
            end: self.end,
            round_trip,
            is_established,
            left_out,
            exchanges,
            exchanges_before: self.exchanges_before,
            is_last: last.is_some(),
            messages: last.flatten(),
            directions: [totals(self.originator), totals(1 - self.originator)],
        }
    }
}
