//! Events of sockets for applications, and actions of applications on sockets, within an instant.

use std::io;
use std::os::fd::AsRawFd;

use cellway_apps::{Action, ConnId, Outcome, Side, Workload};
use cellway_units::Time;
use mio::Interest;
use mio::unix::SourceFd;
use socket2::Socket;

use super::RETRY;
use super::connection::Connection;
use super::end::{End, Event, Link, Payload};
use super::error::PlayerError;
use super::observe::{Seen, TcpReport};
use super::options::{SIDES, Settings, at};
use super::run::{Player, SERIALS, Todo, from_token, token};
use super::sockets::{connect, internet};
use super::timers::Due;
use crate::clock::Clock;

/// Returns true if the application uses the acknowledgements of `side`'s bytes.
fn reports_acks(workload: &Workload, side: Side) -> bool {
    side == Side::Originator
        && match workload {
            Workload::Telnet(telnet) => !telnet.echo,
            Workload::Bulk(bulk) => bulk.blocking.is_none(),
            Workload::Ftp(_)
            | Workload::Nntp(_)
            | Workload::Smtp(_)
            | Workload::Ttcp(_)
            | Workload::FtpGet(_)
            | Workload::Www(_)
            | Workload::Animation(_)
            | Workload::Flows(_)
            | Workload::RequestResponse(_)
            | Workload::Page(_)
            | Workload::Measured(_) => false,
        }
}

impl Player {
    /// Processes the readiness of the socket of a token; `ended` is true if its peer has closed.
    pub(super) fn service(&mut self, clock: &Clock, number: usize, ended: bool) -> Result<(), PlayerError> {
        let (slot, last_bits, side) = from_token(number);
        let found = self.slots[slot].connections.iter().find(|c| c.serial & SERIALS == last_bits);
        // None: an event from before the connection was dropped.
        if let Some(serial) = found.map(|c| c.serial) {
            self.end(slot, serial, side, |end, payload, out| end.service(ended, payload, out));
            self.process_pending_now(clock)?;
        }
        Ok(())
    }

    /// Connections wait at a listener.
    pub(super) fn accept(&mut self, clock: &Clock, index: usize) -> Result<(), PlayerError> {
        while let Some(listener) = self.listeners.get(index) {
            let (socket, from) = match listener.socket.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                // Someone has shut it down: it listens no more, and whoever connects is refused.
                Err(e) if e.kind() == io::ErrorKind::InvalidInput => break,
                // The connection was reset before it was accepted.
                Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => continue,
                Err(e) => return Err(PlayerError::system("accept a connection")(e)),
            };
            // A connection that this player has not opened is dropped.
            let from = internet(Ok(from));
            let Some((slot, serial)) = from.and_then(|from| self.listeners.claim(index, from)) else { continue };
            let Some(connection) = self.slots[slot].connection(serial) else { continue };
            let Some((_, side)) = connection.awaited.take() else { continue };
            socket.set_nonblocking(true).map_err(PlayerError::system("make a socket nonblocking"))?;
            self.register(&socket, slot, serial, side)?;
            self.end(slot, serial, side, |end, _, out| end.connected(socket, out));
            self.process_pending_now(clock)?;
        }
        Ok(())
    }

    fn register(&self, socket: &Socket, slot: usize, serial: u32, side: Side) -> Result<(), PlayerError> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registered =
            self.poll.registry().register(&mut SourceFd(&socket.as_raw_fd()), token(slot, serial, side), interest);
        registered.map_err(PlayerError::system("wait for a socket"))
    }

    /// Processes the events of a socket, with an instant read from the clock after the socket was read: data are never
    /// dated before their arrival, even if this thread was stopped in between. Timers that were due by then run first,
    /// so that an application receives all events in the order of time.
    pub(super) fn process_pending_now(&mut self, clock: &Clock) -> Result<(), PlayerError> {
        let arrived = std::mem::take(&mut self.todo);
        self.now = clock.now().unwrap_or(Time::ZERO);
        self.fire_due(clock)?;
        self.todo = arrived;
        self.process_pending(self.now)
    }

    /// Processes all pending events and actions; for the applications the time is `time`.
    pub(super) fn process_pending(&mut self, time: Time) -> Result<(), PlayerError> {
        while let Some(todo) = self.todo.pop_front() {
            match todo {
                Todo::Tcp { slot, serial, side, event } => self.notify_application(time, slot, serial, side, event)?,
                Todo::App { slot, conversation, action } => self.execute(time, slot, conversation, action)?,
            }
        }
        Ok(())
    }

    fn notify_application(
        &mut self,
        time: Time,
        index: usize,
        serial: u32,
        side: Side,
        event: Event,
    ) -> Result<(), PlayerError> {
        let slot = &mut self.slots[index];
        let name = &slot.plan.name;
        let Some(connection) = slot.connections.iter_mut().find(|c| c.serial == serial) else { return Ok(()) };
        let (conversation, conn) = (connection.conversation, connection.conn);
        match event {
            Event::Connected => self.app(time, index, conversation, |app, t, out| app.connected(t, conn, side, out)),
            Event::Readable { bytes } => {
                self.reporter.delivered(index, side.peer(), bytes);
                self.app(time, index, conversation, |app, t, out| app.received(t, conn, side, bytes, out));
            }
            Event::Acked { bytes } => {
                self.app(time, index, conversation, |app, t, out| app.acked(t, conn, side, bytes, out));
            }
            Event::Written => self.app(time, index, conversation, |app, t, out| app.written(t, conn, side, out)),
            Event::PeerClosed => {
                self.app(time, index, conversation, |app, t, out| app.peer_closed(t, conn, side, out));
            }
            Event::Closed => {
                connection.closed_ends += 1;
                let both = connection.closed_ends == 2;
                self.drop_end(index, serial, side);
                if both {
                    self.slots[index].connections.retain(|c| c.serial != serial);
                    self.app(time, index, conversation, |app, t, out| app.closed(t, conn, out));
                }
            }
            Event::Failed { reason } => {
                slot.reason.get_or_insert_with(|| format!("connection {} of the {}: {reason}", conn.0, word(side)));
                self.app(time, index, conversation, |app, t, out| app.failed(t, conn, out));
            }
            Event::Corrupted { offset } => {
                return Err(PlayerError::Corrupted { slot: name.clone(), connection: serial, to: side, offset });
            }
        }
        Ok(())
    }

    fn execute(&mut self, time: Time, index: usize, conversation: u32, action: Action) -> Result<(), PlayerError> {
        match action {
            Action::Open { conn, from } => self.open(index, conversation, conn, from)?,
            Action::Write { conn, side, bytes } => {
                self.at_end(index, (conversation, conn), side, |end, payload, out| {
                    end.write(bytes, false, payload, out);
                });
            }
            Action::Close { conn, side } => {
                self.at_end(index, (conversation, conn), side, |end, payload, out| end.write(0, true, payload, out));
            }
            Action::Consume { conn, side, bytes } => {
                self.at_end(index, (conversation, conn), side, |end, payload, out| end.consume(bytes, payload, out));
            }
            Action::Timer { at, id } => self.timers.add(at, Due::App { slot: index, conversation, id }),
            Action::Delay { span } => self.reporter.report(self.now, index, Seen::Delay { span }),
            Action::Item { bytes, span } => self.reporter.report(self.now, index, Seen::Item { bytes, span }),
            Action::Answer { since } => self.reporter.report(self.now, index, Seen::Answer { since }),
            Action::Flow(event) => self.reporter.report(self.now, index, Seen::Flow(event)),
            Action::Abort { conn } => self.abort(index, (conversation, conn)),
            Action::Ended => self.ended(time, index, conversation),
        }
        Ok(())
    }

    /// Drops both ends of a connection.
    fn abort(&mut self, index: usize, of: (u32, ConnId)) {
        let connections = &self.slots[index].connections;
        let Some(serial) = connections.iter().find(|c| (c.conversation, c.conn) == of).map(|c| c.serial) else {
            return;
        };
        SIDES.into_iter().for_each(|side| self.drop_end(index, serial, side));
        let slot = &mut self.slots[index];
        for connection in slot.connections.extract_if(.., |c| c.serial == serial) {
            if let Some((listener, _)) = connection.awaited {
                self.listeners.forget(listener, index, connection.serial);
            }
        }
    }

    fn ended(&mut self, time: Time, index: usize, conversation: u32) {
        let slot = &self.slots[index];
        let outcome = slot.conversation.as_ref().map_or(Outcome::Failed, |c| c.outcome());
        let left: Vec<u32> = slot.connections.iter().map(|c| c.serial).collect();
        for serial in left {
            SIDES.into_iter().for_each(|side| self.drop_end(index, serial, side));
        }
        let slot = &mut self.slots[index];
        for connection in slot.connections.drain(..) {
            if let Some((listener, _)) = connection.awaited {
                self.listeners.forget(listener, index, connection.serial);
            }
        }
        let reason = slot.reason.take();
        let again = slot.plan.repeat;
        self.reporter.report(self.now, index, Seen::Ended { conversation, outcome, reason });
        match (again, outcome) {
            (false, _) => {}
            (true, Outcome::Failed) => self.timers.add(self.now + RETRY, Due::Begin { slot: index }),
            (true, _) => self.begin(time, index),
        }
    }

    /// Opens a connection: one side listens, the other connects.
    fn open(&mut self, index: usize, conversation: u32, conn: ConnId, from: Side) -> Result<(), PlayerError> {
        let slot = &mut self.slots[index];
        let to = from.peer();
        let serial = slot.opened;
        slot.opened += 1;
        self.played.connections += 1;
        let reads = |side| slot.conversation.as_ref().is_some_and(|app| app.reads_itself(conn, side));
        let settings = SIDES.map(|side| Settings { tcp: slot.plan.end(side).tcp.clone(), reads_itself: reads(side) });
        let ask = SIDES.map(|side| reports_acks(&slot.plan.workload, side));
        let mut connection = Connection::new(serial, conversation, conn, settings.clone(), ask);

        let [local, asked] = [from, to].map(|side| slot.plan.address(side, conn.0));
        let [active, passive] = [from, to].map(|side| slot.plan.end(side).host);
        // Every data connection of FTP has its own port at the originator, as its PORT command announces.
        let single = to == Side::Originator;
        let found = if single { None } else { self.listeners.find(passive, asked, &settings[at(to)]) };
        let listener = match found {
            Some(listener) => listener,
            None => {
                let host = (&mut self.hosts[passive], &self.poll);
                self.listeners.listen(host, passive, asked, &settings[at(to)], single)?
            }
        };
        let remote = self.listeners.address(listener).unwrap_or(asked);
        let (socket, connected) = connect(&mut self.hosts[active], local, remote, &settings[at(from)])?;
        connection.awaited = Some((listener, to));
        match internet(socket.local_addr()) {
            Some(address) if connected.is_ok() => self.listeners.expect(listener, address, index, serial),
            _ => {}
        }
        self.register(&socket, index, serial, from)?;
        connection.end(from).link = Link::Connecting(socket);
        self.slots[index].connections.push(connection);
        if let Err(e) = connected {
            let event = Event::Failed { reason: e.to_string() };
            self.todo.push_back(Todo::Tcp { slot: index, serial, side: from, event });
        }
        Ok(())
    }

    fn at_end(
        &mut self,
        index: usize,
        of: (u32, ConnId),
        side: Side,
        act: impl FnOnce(&mut End, &mut Payload, &mut Vec<Event>),
    ) {
        let connection = self.slots[index].connections.iter().find(|c| (c.conversation, c.conn) == of);
        if let Some(serial) = connection.map(|c| c.serial) {
            self.end(index, serial, side, act);
        }
    }

    /// Ends an end: sends its last report, then closes its socket.
    fn drop_end(&mut self, index: usize, serial: u32, side: Side) {
        self.report(index, serial, side, true);
        if let Some(connection) = self.slots[index].connection(serial) {
            connection.end(side).drop_socket();
        }
    }

    /// Reports the TCP figures of all ends.
    pub(super) fn report_all(&mut self, last: bool) {
        for index in 0..self.slots.len() {
            for place in 0..self.slots[index].connections.len() {
                let serial = self.slots[index].connections[place].serial;
                SIDES.into_iter().for_each(|side| self.report(index, serial, side, last));
            }
        }
    }

    fn report(&mut self, index: usize, serial: u32, side: Side, last: bool) {
        let slot = &mut self.slots[index];
        let newest = slot.opened == serial + 1;
        let Some(connection) = slot.connection(serial) else { return };
        let conn = connection.conn;
        if let Some((info, retransmissions)) = connection.end(side).report() {
            let report = TcpReport { connection: serial, conn, side, newest, retransmissions, info, last };
            self.reporter.report(self.now, index, Seen::Tcp(report));
        }
    }
}

fn word(side: Side) -> &'static str {
    match side {
        Side::Originator => "originator",
        Side::Responder => "responder",
    }
}
