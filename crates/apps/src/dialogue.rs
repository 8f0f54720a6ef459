//! The common shape of bulk transfer conversations: messages that take turns.
//!
//! Greeting, opening handshakes, then for each item its handshakes, the item and a reply, and a farewell. Each message
//! waits for the whole of the one before it, so each request costs one round trip: the idle periods "in the order of
//! the network round-trip time during which control handshakes take place" of Caceres 1993, section 2.4. Items flow
//! from the originator, as the bottleneck of that paper is the router attached to the sources. The responder closes
//! after its last reply, as FTP, NNTP and SMTP servers do.

use std::fmt;

use cellway_units::Time;

use crate::action::{Action, ConnId, Side};
use crate::item::Item;
use crate::workload::Handshakes;

/// The sizes of a request and the reply to it, in bytes, each 1 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) request: u64,
    pub(crate) reply: u64,
}

/// The sizes of the messages of one conversation, requested in the order of sending. All in bytes and 1 or more.
pub(crate) trait Script: fmt::Debug + Send {
    /// Returns the number of items of the conversation.
    fn items(&self) -> u64;
    /// Returns the size of the responder's greeting.
    fn greeting(&mut self) -> u64;
    /// Returns the sizes of opening handshake `index`, from 0.
    fn opening(&mut self, index: u32) -> Exchange;
    /// Returns the sizes of a handshake before an item.
    fn before_item(&mut self) -> Exchange;
    /// Returns the size of the next item.
    fn item(&mut self) -> u64;
    /// Returns the size of the reply to a whole item.
    fn after_item(&mut self) -> u64;
    /// Returns the sizes of the farewell.
    fn farewell(&mut self) -> Exchange;
}

/// The connection of the dialogue itself.
const CONTROL: ConnId = ConnId(0);

/// The kind of the message in transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Greeting,
    Opening,
    /// `last` of its item: the item follows.
    BeforeItem {
        last: bool,
    },
    Item,
    AfterItem,
    Farewell,
}

/// A message in transfer on the control connection.
#[derive(Clone, Copy, Debug)]
struct Message {
    stage: Stage,
    from: Side,
    /// Bytes that have not arrived.
    left: u64,
    /// Size of the reply to it, if it is a request.
    reply: u64,
}

/// The connection that carries one item.
#[derive(Clone, Copy, Debug)]
struct Data {
    conn: ConnId,
    /// True if the originator is connected.
    connected: bool,
    /// True if the originator was requested to send.
    asked: bool,
}

/// A conversation whose messages take turns.
#[derive(Debug)]
pub(crate) struct Dialogue {
    script: Box<dyn Script>,
    handshakes: Handshakes,
    /// True if each item has its own connection.
    per_item: bool,
    /// Opening handshakes done.
    opened: u32,
    /// Handshakes done before the next item.
    prepared: u32,
    /// Items not begun.
    items: u64,
    message: Option<Message>,
    item: Option<Item>,
    data: Option<Data>,
    /// Connections opened so far.
    connections: u32,
}

impl Dialogue {
    pub(crate) fn new(script: Box<dyn Script>, handshakes: Handshakes, per_item: bool) -> Dialogue {
        let items = script.items();
        Dialogue {
            script,
            handshakes,
            per_item,
            opened: 0,
            prepared: 0,
            items,
            message: None,
            item: None,
            data: None,
            connections: 1,
        }
    }

    pub(crate) fn connected(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        match (conn, side, &mut self.data) {
            (CONTROL, Side::Responder, _) => {
                let greeting = self.script.greeting();
                self.send(Stage::Greeting, Side::Responder, greeting, 0, out);
            }
            (conn, Side::Originator, Some(data)) if data.conn == conn => {
                data.connected = true;
                self.send_on_data_connection(now, out);
            }
            _ => {}
        }
    }

    pub(crate) fn received(&mut self, now: Time, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        if conn != CONTROL {
            self.item_received(now, bytes, out);
            return;
        }
        let Some(message) = self.message.as_mut().filter(|message| message.from == side.peer()) else {
            debug_assert!(false, "bytes that were not sent");
            return;
        };
        debug_assert!(bytes <= message.left, "more bytes than were sent");
        message.left = message.left.saturating_sub(bytes);
        let message = *message;
        if message.stage == Stage::Item {
            self.item_received(now, bytes, out);
        }
        if message.left == 0 {
            self.message = None;
            self.answer(now, message, out);
        }
    }

    pub(crate) fn peer_closed(&mut self, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        let is_item = self.data.is_some_and(|data| data.conn == conn);
        match side {
            // The responder has sent its farewell; in the other direction this is the response to it.
            Side::Originator if conn == CONTROL => out.push(Action::Close { conn, side }),
            // The end of a data connection is the end of its item (RFC 959, section 3.3).
            Side::Responder if is_item => {
                self.data = None;
                out.push(Action::Close { conn, side });
                self.finish_item(out);
            }
            Side::Originator | Side::Responder => {}
        }
    }

    /// Processes a `message` that has arrived completely at its receiver.
    fn answer(&mut self, now: Time, message: Message, out: &mut Vec<Action>) {
        match (message.stage, message.from) {
            (Stage::Item, _) => self.finish_item(out),
            (stage, Side::Originator) => {
                self.send(stage, Side::Responder, message.reply, 0, out);
                if stage == Stage::Farewell {
                    out.push(Action::Close { conn: CONTROL, side: Side::Responder });
                }
                if self.per_item && stage == (Stage::BeforeItem { last: true }) {
                    let conn = ConnId(self.connections);
                    self.connections += 1;
                    self.data = Some(Data { conn, connected: false, asked: false });
                    out.push(Action::Open { conn, from: Side::Responder });
                }
            }
            (Stage::BeforeItem { last: true }, Side::Responder) if self.per_item => {
                if let Some(data) = &mut self.data {
                    data.asked = true;
                }
                self.send_on_data_connection(now, out);
            }
            (Stage::Farewell, Side::Responder) => {}
            (_, Side::Responder) => self.proceed(now, out),
        }
    }

    /// Sends the next message of the originator.
    fn proceed(&mut self, now: Time, out: &mut Vec<Action>) {
        let (stage, exchange) = if self.opened < self.handshakes.opening {
            self.opened += 1;
            (Stage::Opening, self.script.opening(self.opened - 1))
        } else if self.items == 0 {
            (Stage::Farewell, self.script.farewell())
        } else if self.prepared < self.handshakes.per_item {
            self.prepared += 1;
            (Stage::BeforeItem { last: self.prepared == self.handshakes.per_item }, self.script.before_item())
        } else {
            let bytes = self.begin_item(now);
            self.send(Stage::Item, Side::Originator, bytes, 0, out);
            return;
        };
        self.send(stage, Side::Originator, exchange.request, exchange.reply, out);
    }

    fn send(&mut self, stage: Stage, from: Side, bytes: u64, reply: u64, out: &mut Vec<Action>) {
        self.message = Some(Message { stage, from, left: bytes, reply });
        out.push(Action::Write { conn: CONTROL, side: from, bytes });
    }

    fn send_on_data_connection(&mut self, now: Time, out: &mut Vec<Action>) {
        let Some(Data { conn, connected: true, asked: true }) = self.data else { return };
        let bytes = self.begin_item(now);
        out.push(Action::Write { conn, side: Side::Originator, bytes });
        out.push(Action::Close { conn, side: Side::Originator });
    }

    fn begin_item(&mut self, now: Time) -> u64 {
        self.items -= 1;
        self.prepared = 0;
        let bytes = self.script.item();
        self.item = Some(Item::new(bytes, now));
        bytes
    }

    fn item_received(&mut self, now: Time, bytes: u64, out: &mut Vec<Action>) {
        if let Some(item) = &mut self.item
            && item.arrived(now, bytes, out)
        {
            self.item = None;
        }
    }

    fn finish_item(&mut self, out: &mut Vec<Action>) {
        let bytes = self.script.after_item();
        self.send(Stage::AfterItem, Side::Responder, bytes, 0, out);
    }
}
