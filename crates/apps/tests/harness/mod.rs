//! A network without bandwidth: the delay of each direction is constant. Sockets have buffers: for bytes that are
//! written and not acknowledged, and for bytes that have arrived and are not read. Drives a conversation to its end and
//! checks that each end acts only on its own events.

// Each file of tests uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;

use cellway_apps::random::Streams;
use cellway_apps::{Action, ConnId, Conversation, Side, Workload};
use cellway_units::{Span, Time};

pub(crate) struct Net {
    /// The delay of one direction.
    pub(crate) latency: Span,
    /// Bytes that arrive at once; the others arrive a nanosecond later.
    pub(crate) chunk: u64,
    /// The end of the run, for conversations without end.
    pub(crate) until: Time,
    /// Bytes that a socket holds until they are acknowledged.
    pub(crate) send_buffer: u64,
    /// Bytes that wait at most for a side that reads by itself.
    pub(crate) receive_buffer: u64,
    /// The owner of the timers, unless `timer_side` has another.
    pub(crate) timers_at: Side,
    /// Returns the owner of a timer by its identifier.
    pub(crate) timer_side: fn(u32) -> Option<Side>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Run {
    pub(crate) actions: Vec<(Time, Action)>,
    /// When it ended.
    pub(crate) ended: Option<Time>,
    /// Connections opened.
    pub(crate) connections: usize,
}

#[derive(Debug)]
enum Event {
    Connected(Side),
    Received(Side, u64),
    Acked(Side, u64),
    Written(Side),
    /// The side is notified that its peer has read.
    Room(Side, u64),
    PeerClosed(Side),
    FinAcked(Side),
    Timer(u32),
}

#[derive(Default)]
struct Conn {
    connected: [bool; 2],
    closed: [bool; 2],
    fin_sent: [bool; 2],
    fin_acked: [bool; 2],
    /// Written and not taken by the socket.
    pending: [u64; 2],
    /// Taken by the socket and not sent.
    queued: [u64; 2],
    /// Taken by the socket and not acknowledged.
    held: [u64; 2],
    /// The bytes that each side may send before its peer reads.
    room: [u64; 2],
    /// The unread bytes of each side that controls its own reading; absent for one that reads at once.
    unread: [Option<u64>; 2],
    /// The arrival time of the last byte of each side, so that later events stay behind it.
    busy: [Time; 2],
}

/// Pending events, in the order of time and then of scheduling.
#[derive(Default)]
struct Agenda {
    events: BTreeMap<(Time, u64), (ConnId, Event)>,
    planned: u64,
}

impl Agenda {
    fn add(&mut self, at: Time, conn: ConnId, event: Event) {
        self.planned += 1;
        self.events.insert((at, self.planned), (conn, event));
    }
}

pub(crate) fn new(latency: Span) -> Net {
    Net {
        latency,
        chunk: u64::MAX,
        until: Time::MAX,
        send_buffer: u64::MAX,
        receive_buffer: u64::MAX,
        timers_at: Side::Originator,
        timer_side: |_| None,
    }
}

impl Net {
    pub(crate) fn run(&self, workload: &Workload, seed: u64, slot: &str, number: u64) -> Run {
        let mut conversation = Conversation::new(workload, &Streams::new(seed), slot, number);
        let mut run = Run::default();
        let mut conns: BTreeMap<ConnId, Conn> = BTreeMap::new();
        let mut agenda = Agenda::default();
        let mut out = Vec::new();
        let mut now = Time::ZERO;
        let mut at_side = Side::Originator;
        conversation.start(now, &mut out);
        loop {
            for action in out.drain(..) {
                assert_eq!(run.ended, None, "{action:?} after the end");
                run.actions.push((now, action));
                let l = self.latency;
                match action {
                    Action::Open { conn, from } => {
                        assert_eq!(from, at_side, "opened by the wrong end");
                        assert_eq!(conn, ConnId(run.connections as u32), "connections are numbered in order");
                        run.connections += 1;
                        let sides = [Side::Originator, Side::Responder];
                        let unread = sides.map(|side| conversation.reads_itself(conn, side).then_some(0));
                        let room = sides.map(|side| match unread[side.peer() as usize] {
                            Some(_) => self.receive_buffer,
                            None => u64::MAX,
                        });
                        conns.insert(conn, Conn { unread, room, ..Conn::default() });
                        agenda.add(now + l * 2, conn, Event::Connected(from));
                        agenda.add(now + l * 3, conn, Event::Connected(from.peer()));
                    }
                    Action::Write { conn, side, bytes } => {
                        assert_eq!(side, at_side, "an end wrote on what happened at the other");
                        assert!(bytes > 0);
                        let c = conns.get_mut(&conn).unwrap();
                        assert!(c.connected[side as usize] && !c.closed[side as usize], "{action:?} when not open");
                        c.pending[side as usize] += bytes;
                        self.flush(now, conn, c, side, &mut agenda);
                    }
                    Action::Close { conn, side } => {
                        assert_eq!(side, at_side, "an end closed on what happened at the other");
                        let c = conns.get_mut(&conn).unwrap();
                        assert!(c.connected[side as usize] && !c.closed[side as usize], "{action:?} when not open");
                        c.closed[side as usize] = true;
                        self.flush(now, conn, c, side, &mut agenda);
                    }
                    Action::Consume { conn, side, bytes } => {
                        assert_eq!(side, at_side, "an end read on what happened at the other");
                        assert!(bytes > 0);
                        let unread = conns.get_mut(&conn).unwrap().unread[side as usize].as_mut().unwrap();
                        *unread = unread.checked_sub(bytes).expect("no more than is there");
                        agenda.add(now + l, conn, Event::Room(side.peer(), bytes));
                    }
                    Action::Timer { at, id } => {
                        assert!(at >= now);
                        agenda.add(at, ConnId(0), Event::Timer(id));
                    }
                    Action::Ended => run.ended = Some(now),
                    Action::Delay { .. }
                    | Action::Item { .. }
                    | Action::Answer { .. }
                    | Action::Flow(_)
                    | Action::Abort { .. } => {}
                }
            }
            let Some(((at, _), (conn, event))) = agenda.events.pop_first() else { return run };
            if at > self.until {
                return run;
            }
            now = at;
            at_side = match event {
                Event::Connected(side) => {
                    conns.get_mut(&conn).unwrap().connected[side as usize] = true;
                    conversation.connected(now, conn, side, &mut out);
                    side
                }
                Event::Received(side, bytes) => {
                    let c = conns.get_mut(&conn).unwrap();
                    if let Some(unread) = &mut c.unread[side as usize] {
                        *unread += bytes;
                        assert!(*unread <= self.receive_buffer, "more than the buffer holds");
                    }
                    conversation.received(now, conn, side, bytes, &mut out);
                    side
                }
                Event::Acked(side, bytes) => {
                    let c = conns.get_mut(&conn).unwrap();
                    c.held[side as usize] -= bytes;
                    self.flush(now, conn, c, side, &mut agenda);
                    conversation.acked(now, conn, side, bytes, &mut out);
                    side
                }
                Event::Room(side, bytes) => {
                    let c = conns.get_mut(&conn).unwrap();
                    c.room[side as usize] += bytes;
                    self.flush(now, conn, c, side, &mut agenda);
                    side
                }
                Event::Written(side) => {
                    conversation.written(now, conn, side, &mut out);
                    side
                }
                Event::PeerClosed(side) => {
                    conversation.peer_closed(now, conn, side, &mut out);
                    side
                }
                Event::FinAcked(side) => {
                    let c = conns.get_mut(&conn).unwrap();
                    c.fin_acked[side as usize] = true;
                    if c.fin_acked == [true, true] {
                        conversation.closed(now, conn, &mut out);
                    }
                    side
                }
                Event::Timer(id) => {
                    conversation.timer(now, id, &mut out);
                    (self.timer_side)(id).unwrap_or(self.timers_at)
                }
            };
        }
    }

    /// Moves bytes that `side` wrote into its socket, and from there to its peer, as far as there is room.
    fn flush(&self, now: Time, conn: ConnId, c: &mut Conn, side: Side, agenda: &mut Agenda) {
        let (s, l) = (side as usize, self.latency);
        let taken = c.pending[s].min(self.send_buffer - c.held[s]);
        c.pending[s] -= taken;
        c.held[s] += taken;
        c.queued[s] += taken;
        if taken > 0 && c.pending[s] == 0 {
            agenda.add(now, conn, Event::Written(side));
        }
        let mut left = c.queued[s].min(c.room[s]);
        c.queued[s] -= left;
        if c.unread[side.peer() as usize].is_some() {
            c.room[s] -= left;
        }
        let mut arrival = c.busy[s].max(now + l);
        while left > 0 {
            let n = left.min(self.chunk);
            left -= n;
            agenda.add(arrival, conn, Event::Received(side.peer(), n));
            agenda.add(arrival + l, conn, Event::Acked(side, n));
            if left > 0 {
                arrival += Span::from_ns(1);
            }
        }
        c.busy[s] = arrival;
        if c.closed[s] && c.pending[s] == 0 && c.queued[s] == 0 && !c.fin_sent[s] {
            c.fin_sent[s] = true;
            agenda.add(arrival, conn, Event::PeerClosed(side.peer()));
            agenda.add(arrival + l, conn, Event::FinAcked(side));
        }
    }
}

impl Run {
    /// Returns the sizes of the writes of `side` on all connections, in order.
    pub(crate) fn writes(&self, side: Side) -> Vec<u64> {
        let of = |(_, action): &(Time, Action)| match *action {
            Action::Write { side: s, bytes, .. } if s == side => Some(bytes),
            _ => None,
        };
        self.actions.iter().filter_map(of).collect()
    }

    pub(crate) fn items(&self) -> Vec<(u64, Span)> {
        let of = |(_, action): &(Time, Action)| match *action {
            Action::Item { bytes, span } => Some((bytes.0, span)),
            _ => None,
        };
        self.actions.iter().filter_map(of).collect()
    }

    pub(crate) fn delays(&self) -> Vec<Span> {
        let of = |(_, action): &(Time, Action)| match *action {
            Action::Delay { span } => Some(span),
            _ => None,
        };
        self.actions.iter().filter_map(of).collect()
    }

    /// Returns the times of the actions that `of` selects.
    pub(crate) fn times(&self, of: impl Fn(&Action) -> bool) -> Vec<Time> {
        self.actions.iter().filter(|(_, action)| of(action)).map(|(at, _)| *at).collect()
    }
}
