//! A page of HTTP/1.1: a document, and the objects that it names. The originator fetches them over parallel connections
//! that persist until the page is complete (RFC 9112, section 9.3), each with one request outstanding: no pipelining.
//!
//! The first connection carries the document. With its last byte the originator knows all objects and opens the other
//! connections. A connection that is free takes the next object, as browsers assign requests to connections late.

use cellway_units::{Span, Time};

use crate::action::{Action, ConnId, Side};
use crate::flow_sizes::SizeLaw;
use crate::item::Item;
use crate::random::{Named, Stream};
use crate::workload::PageWorkload;

/// One page and the think time behind it. The responses are numbered from 0, which is the document.
#[derive(Debug)]
pub(crate) struct Page {
    html: u64,
    objects: u32,
    sizes: SizeLaw,
    drawn: Stream,
    request: u64,
    think: Span,
    /// The most connections that are open at once.
    limit: u32,
    /// When the first connection was opened.
    since: Time,
    /// Responses requested.
    requested: u32,
    /// Responses that have arrived completely.
    arrived: u32,
    /// By their numbers.
    connections: Vec<Exchange>,
    phase: Phase,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    Connecting,
    Idle,
    /// `left` bytes of the request have not arrived.
    Requesting {
        left: u64,
        response: u64,
        since: Time,
    },
    /// The response has not arrived completely.
    Responding(Item),
    /// The originator has closed.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Loading,
    Thinking,
    Over,
}

impl Page {
    pub(crate) fn new(page: &PageWorkload, named: &Named<'_>) -> Page {
        Page {
            html: page.html.0,
            objects: page.objects,
            sizes: page.sizes.clone(),
            drawn: named.stream("sizes"),
            request: page.request.0,
            think: page.think,
            limit: page.connections,
            since: Time::ZERO,
            requested: 0,
            arrived: 0,
            connections: Vec::new(),
            phase: Phase::Loading,
        }
    }

    /// Returns true once all responses have arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.phase != Phase::Loading
    }

    /// Returns true once the page is complete and the think time over.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    pub(crate) fn start(&mut self, now: Time, out: &mut Vec<Action>) {
        self.since = now;
        self.open(out);
    }

    fn open(&mut self, out: &mut Vec<Action>) {
        let conn = ConnId(self.connections.len() as u32);
        self.connections.push(Exchange::Connecting);
        out.push(Action::Open { conn, from: Side::Originator });
    }

    pub(crate) fn connected(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        match (side, self.phase) {
            (Side::Originator, Phase::Loading) => self.request(now, conn, out),
            (Side::Originator, Phase::Thinking | Phase::Over) => self.close(conn, out),
            (Side::Responder, _) => {}
        }
    }

    /// Requests the next response on a connection that is free, if one is left.
    fn request(&mut self, now: Time, conn: ConnId, out: &mut Vec<Action>) {
        let response = match self.requested {
            0 => self.html,
            number if self.arrived > 0 && number <= self.objects => self.sizes.draw(&mut self.drawn),
            _ => {
                self.connections[conn.0 as usize] = Exchange::Idle;
                return;
            }
        };
        self.requested += 1;
        self.connections[conn.0 as usize] = Exchange::Requesting { left: self.request, response, since: now };
        out.push(Action::Write { conn, side: Side::Originator, bytes: self.request });
    }

    pub(crate) fn received(&mut self, now: Time, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        let exchange = &mut self.connections[conn.0 as usize];
        match (side, exchange) {
            (Side::Responder, Exchange::Requesting { left, response, since }) => {
                *left = left.saturating_sub(bytes);
                if *left == 0 {
                    let bytes = *response;
                    self.connections[conn.0 as usize] = Exchange::Responding(Item::new(bytes, *since));
                    out.push(Action::Write { conn, side, bytes });
                }
            }
            (Side::Originator, Exchange::Responding(item)) => {
                if item.arrived(now, bytes, out) {
                    self.arrived += 1;
                    self.proceed(now, conn, out);
                }
            }
            _ => debug_assert!(false, "bytes that were not sent"),
        }
    }

    /// Proceeds after the response on `conn` has arrived completely.
    fn proceed(&mut self, now: Time, conn: ConnId, out: &mut Vec<Action>) {
        self.request(now, conn, out);
        if self.arrived == 1 {
            (1..self.limit.min(self.objects)).for_each(|_| self.open(out));
        }
        if self.arrived > self.objects {
            self.complete(now, out);
        }
    }

    fn complete(&mut self, now: Time, out: &mut Vec<Action>) {
        out.push(Action::Answer { since: self.since });
        for number in 0..self.connections.len() {
            // One that is not established yet closes when it is.
            if self.connections[number] == Exchange::Idle {
                self.close(ConnId(number as u32), out);
            }
        }
        if self.think.is_zero() {
            self.phase = Phase::Over;
        } else {
            self.phase = Phase::Thinking;
            out.push(Action::Timer { at: now + self.think, id: 0 });
        }
    }

    fn close(&mut self, conn: ConnId, out: &mut Vec<Action>) {
        self.connections[conn.0 as usize] = Exchange::Closed;
        out.push(Action::Close { conn, side: Side::Originator });
    }

    pub(crate) fn timer(&mut self) {
        self.phase = Phase::Over;
    }
}
