//! A network without bandwidth: everything takes the same time each way. Drives a conversation to
//! its end and checks on the way that each end acts only on what happens at it.

use std::collections::BTreeMap;

use cellway_apps::random::Streams;
use cellway_apps::{Action, ConnId, Conversation, Side, Workload};
use cellway_units::{Span, Time};

pub(crate) struct Net {
    /// One way.
    pub(crate) latency: Span,
    /// Bytes that arrive at once; the rest a nanosecond later.
    pub(crate) chunk: u64,
    /// Stop here, for what never ends.
    pub(crate) until: Time,
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
    PeerClosed(Side),
    FinAcked(Side),
    Timer(u32),
}

#[derive(Default)]
struct Conn {
    connected: [bool; 2],
    closed: [bool; 2],
    fin_acked: [bool; 2],
    /// When the last byte of each side arrives, so that what is behind it stays behind.
    busy: [Time; 2],
}

pub(crate) fn new(latency: Span) -> Net {
    Net { latency, chunk: u64::MAX, until: Time::MAX }
}

impl Net {
    pub(crate) fn run(&self, workload: &Workload, seed: u64, slot: &str, number: u64) -> Run {
        let mut conversation = Conversation::new(workload, &Streams::new(seed), slot, number);
        let mut run = Run::default();
        let mut conns: BTreeMap<ConnId, Conn> = BTreeMap::new();
        let mut agenda: BTreeMap<(Time, u64), (ConnId, Event)> = BTreeMap::new();
        let mut sequence = 0;
        let mut out = Vec::new();
        let mut now = Time::ZERO;
        let mut at_side = Side::Originator;
        conversation.start(now, &mut out);
        loop {
            for action in out.drain(..) {
                assert_eq!(run.ended, None, "{action:?} after the end");
                run.actions.push((now, action));
                let mut later = |at: Time, conn, event| {
                    sequence += 1;
                    agenda.insert((at, sequence), (conn, event));
                };
                let l = self.latency;
                match action {
                    Action::Open { conn, from } => {
                        assert_eq!(from, at_side, "opened by the wrong end");
                        assert_eq!(conn, ConnId(run.connections as u32), "connections are numbered in order");
                        run.connections += 1;
                        conns.insert(conn, Conn::default());
                        later(now + l * 2, conn, Event::Connected(from));
                        later(now + l * 3, conn, Event::Connected(from.peer()));
                    }
                    Action::Write { conn, side, bytes } => {
                        assert_eq!(side, at_side, "an end wrote on what happened at the other");
                        assert!(bytes > 0);
                        let c = conns.get_mut(&conn).unwrap();
                        assert!(c.connected[side as usize] && !c.closed[side as usize], "{action:?} when not open");
                        let mut arrival = c.busy[side as usize].max(now + l);
                        let mut left = bytes;
                        while left > 0 {
                            let n = left.min(self.chunk);
                            left -= n;
                            later(arrival, conn, Event::Received(side.peer(), n));
                            later(arrival + l, conn, Event::Acked(side, n));
                            if left > 0 {
                                arrival += Span::from_ns(1);
                            }
                        }
                        c.busy[side as usize] = arrival;
                    }
                    Action::Close { conn, side } => {
                        assert_eq!(side, at_side, "an end closed on what happened at the other");
                        let c = conns.get_mut(&conn).unwrap();
                        assert!(c.connected[side as usize] && !c.closed[side as usize], "{action:?} when not open");
                        c.closed[side as usize] = true;
                        let arrival = c.busy[side as usize].max(now + l);
                        later(arrival, conn, Event::PeerClosed(side.peer()));
                        later(arrival + l, conn, Event::FinAcked(side));
                    }
                    Action::Timer { at, id } => {
                        assert!(at >= now);
                        later(at, ConnId(0), Event::Timer(id));
                    }
                    Action::Ended => run.ended = Some(now),
                    Action::Delay { .. } | Action::Item { .. } => {}
                }
            }
            let Some(((at, _), (conn, event))) = agenda.pop_first() else { return run };
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
                    conversation.received(now, conn, side, bytes, &mut out);
                    side
                }
                Event::Acked(side, bytes) => {
                    conversation.acked(now, conn, side, bytes, &mut out);
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
                    Side::Originator
                }
            };
        }
    }
}

impl Run {
    /// The sizes of what `side` wrote on all connections, in order.
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
}
