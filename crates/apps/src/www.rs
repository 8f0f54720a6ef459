//! A browser at the originator fetches files from a server at the responder, one after the other, each over its own
//! connection: HTTP/1.0 (RFC 1945, section 1.3) without parallel connections.
//!
//! The browser displays a file as fast as its display accepts it, and reads no faster: unread bytes stay in the receive
//! buffer of TCP, whose window closes. The next file is requested when all of this one is displayed.

use cellway_units::{Bytes, Rate, Time};

use crate::action::{Action, ConnId, Side};
use crate::item::Item;
use crate::workload::WwwWorkload;

/// The most that the browser reads at once, in bytes. Below a segment of Ethernet, so that the rules
/// of TCP and not this decide by which steps the window opens.
const READ: u64 = 1024;

/// One browsing session; each file is an item, from the opening of its connection until all of it is displayed.
#[derive(Debug)]
pub(crate) struct Www {
    sizes: Vec<Bytes>,
    request: u64,
    display: Option<Display>,
    /// The file in transfer, and its connection.
    file: u32,
    item: Item,
    /// Bytes of the request that have not arrived.
    asking: u64,
    /// Set after the responder has closed the connection of the file in transfer.
    ended: bool,
}

/// A display that takes time.
#[derive(Debug)]
struct Display {
    rate: Rate,
    /// The rounding remainder of the last piece.
    carry: u64,
    /// Bytes that wait in the receive buffer.
    unread: u64,
    /// Bytes read that are being shown.
    showing: u64,
}

impl Display {
    /// Reads the next piece unless one is being shown.
    fn read(&mut self, now: Time, conn: ConnId, out: &mut Vec<Action>) {
        if self.showing == 0 && self.unread > 0 {
            self.showing = self.unread.min(READ);
            self.unread -= self.showing;
            let (span, carry) = self.rate.time_for(Bytes(self.showing).bits(), self.carry);
            self.carry = carry;
            out.push(Action::Consume { conn, side: Side::Originator, bytes: self.showing });
            out.push(Action::Timer { at: now + span, id: 0 });
        }
    }
}

impl Www {
    pub(crate) fn new(www: &WwwWorkload) -> Www {
        let display = www.display_rate.map(|rate| Display { rate, carry: 0, unread: 0, showing: 0 });
        Www {
            sizes: www.sizes.clone(),
            request: www.request.0,
            display,
            file: 0,
            item: Item::new(0, Time::ZERO),
            asking: 0,
            ended: false,
        }
    }

    /// Returns true if the originator controls its own reading.
    pub(crate) fn reads_itself(&self, side: Side) -> bool {
        side == Side::Originator && self.display.is_some()
    }

    /// Requests the file number `file`, if there is one.
    pub(crate) fn open(&mut self, now: Time, out: &mut Vec<Action>) {
        if let Some(size) = self.sizes.get(self.file as usize) {
            self.item = Item::new(size.0, now);
            self.asking = self.request;
            self.ended = false;
            out.push(Action::Open { conn: ConnId(self.file), from: Side::Originator });
        }
    }

    pub(crate) fn connected(&mut self, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        if side == Side::Originator {
            out.push(Action::Write { conn, side, bytes: self.request });
        }
    }

    pub(crate) fn received(&mut self, now: Time, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        match (side, &mut self.display) {
            (Side::Responder, _) => {
                self.asking = self.asking.saturating_sub(bytes);
                if self.asking == 0 {
                    out.push(Action::Write { conn, side, bytes: self.sizes[conn.0 as usize].0 });
                    out.push(Action::Close { conn, side });
                }
            }
            (Side::Originator, Some(display)) => {
                display.unread += bytes;
                display.read(now, conn, out);
            }
            (Side::Originator, None) => self.shown(now, bytes, out),
        }
    }

    /// Continues after a piece has been displayed.
    pub(crate) fn timer(&mut self, now: Time, out: &mut Vec<Action>) {
        let conn = ConnId(self.file);
        if let Some(display) = &mut self.display {
            let bytes = std::mem::take(&mut display.showing);
            display.read(now, conn, out);
            self.shown(now, bytes, out);
        }
    }

    pub(crate) fn peer_closed(&mut self, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        match side {
            // The browser finds the end of the file behind its last byte.
            Side::Originator if conn == ConnId(self.file) => self.ended = true,
            Side::Originator => out.push(Action::Close { conn, side }),
            Side::Responder => {}
        }
    }

    /// Counts `bytes` more on the display.
    fn shown(&mut self, now: Time, bytes: u64, out: &mut Vec<Action>) {
        if self.item.arrived(now, bytes, out) {
            if self.ended {
                out.push(Action::Close { conn: ConnId(self.file), side: Side::Originator });
            }
            self.file += 1;
            self.open(now, out);
        }
    }
}
