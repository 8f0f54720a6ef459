//! The originator logs in to the responder and gets one file (Kato et al. 1997, section 4.3.2).
//!
//! The control connection goes from the originator to the responder: greeting, round trips to log in and name a port,
//! the request for the file. The responder then opens the data connection, from the server to the client: that is FTP's
//! active mode, the only one before `PASV` became common (RFC 959, section 3.2). It sends the file over it and closes
//! it, which is the end of the file (section 3.4), and confirms that on the control connection. After both the client
//! closes the control connection.

use cellway_units::Time;

use crate::action::{Action, ConnId, Side};
use crate::item::Item;
use crate::workload::FtpGetWorkload;
use crate::writer::{Pace, Writer};

const CONTROL: ConnId = ConnId(0);
const DATA: ConnId = ConnId(1);
/// Every message on the control connection, in bytes: the mean of tcplib's `ftp_ctlsize`, 27.4, rounded.
const MESSAGE: u64 = 27;
/// The size of a read from a disk, in bytes: a block of 4.2BSD's fast file system.
const DISK_BLOCK: u64 = 8192;

/// One file transfer; its item is the file, from the request to the arrival of the last byte.
#[derive(Debug)]
pub(crate) struct FtpGet {
    size: u64,
    /// Round trips between the greeting and the request.
    handshake: u64,
    /// Bytes that each side has received on the control connection.
    heard: [u64; 2],
    writer: Writer,
    item: Option<Item>,
    /// Set after the originator has received the confirmation of the responder that the transfer is complete.
    confirmed: bool,
    /// The data connection has ended at the originator.
    ended: bool,
}

impl FtpGet {
    pub(crate) fn new(get: &FtpGetWorkload) -> FtpGet {
        let size = get.size.0;
        let (write, pace) = match get.disk_rate {
            Some(rate) => (DISK_BLOCK, Pace::Disk { rate, carry: 0 }),
            None => (size, Pace::Busy(cellway_units::Span::ZERO)),
        };
        FtpGet {
            size,
            handshake: u64::from(get.handshake),
            heard: [0; 2],
            writer: Writer::new(DATA, Side::Responder, Some(size), write, pace),
            item: None,
            confirmed: false,
            ended: false,
        }
    }

    pub(crate) fn connected(&mut self, now: Time, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        match (conn, side) {
            (CONTROL, Side::Responder) => say(side, out),
            (DATA, Side::Responder) => {
                self.writer.start(now, out);
            }
            _ => {}
        }
    }

    pub(crate) fn received(&mut self, now: Time, conn: ConnId, side: Side, bytes: u64, out: &mut Vec<Action>) {
        if conn == DATA {
            if let Some(item) = &mut self.item {
                item.arrived(now, bytes, out);
            }
            return;
        }
        let heard = &mut self.heard[side as usize];
        let before = *heard / MESSAGE;
        *heard += bytes;
        for number in before..*heard / MESSAGE {
            match side {
                Side::Originator => self.reply(now, number, out),
                Side::Responder => self.request(number, out),
            }
        }
    }

    /// Processes reply `number` at the originator; the greeting is 0.
    fn reply(&mut self, now: Time, number: u64, out: &mut Vec<Action>) {
        if number <= self.handshake {
            if number == self.handshake {
                self.item = Some(Item::new(self.size, now));
            }
            say(Side::Originator, out);
        } else if number == self.handshake + 2 {
            // Behind the one that announced the transfer.
            self.confirmed = true;
            self.hang_up(out);
        }
    }

    /// Processes request `number` at the responder, from 0.
    fn request(&mut self, number: u64, out: &mut Vec<Action>) {
        say(Side::Responder, out);
        if number == self.handshake {
            out.push(Action::Open { conn: DATA, from: Side::Responder });
        }
    }

    pub(crate) fn written(&mut self, now: Time, conn: ConnId, out: &mut Vec<Action>) {
        if conn == DATA {
            self.writer.written(now, out);
            if self.writer.is_done() {
                say(Side::Responder, out);
            }
        }
    }

    pub(crate) fn timer(&mut self, now: Time, out: &mut Vec<Action>) {
        self.writer.timer(now, out);
    }

    pub(crate) fn peer_closed(&mut self, conn: ConnId, side: Side, out: &mut Vec<Action>) {
        match (conn, side) {
            (DATA, Side::Originator) => {
                out.push(Action::Close { conn, side });
                self.ended = true;
                self.hang_up(out);
            }
            (CONTROL, Side::Responder) => out.push(Action::Close { conn, side }),
            _ => {}
        }
    }

    fn hang_up(&self, out: &mut Vec<Action>) {
        if self.confirmed && self.ended {
            out.push(Action::Close { conn: CONTROL, side: Side::Originator });
        }
    }
}

fn say(side: Side, out: &mut Vec<Action>) {
    out.push(Action::Write { conn: CONTROL, side, bytes: MESSAGE });
}
