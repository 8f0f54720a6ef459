//! Events and actions between endpoints, applications and gateways within an instant.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use cellway_apps::{Action, ConnId, Conversation, Outcome, Side};
use cellway_tcp::{Config, Event, Output};
use cellway_units::Time;

use super::{Run, Todo};
use crate::connection::{Connection, End, Path, Place, SIDES};
use crate::octets::{ip_address, tcp_ports};
use crate::qlog::Addresses;
use crate::timers::{TimerKey, TimerKind};

impl Run<'_> {
    /// Calls the application of a conversation, if that conversation is still the current one.
    #[inline(always)]
    pub(super) fn app(
        &mut self,
        index: usize,
        conversation: u32,
        act: impl FnOnce(&mut Conversation, &mut Vec<Action>),
    ) {
        let slot = self.slots[index].tcp();
        if slot.current() == conversation
            && let Some(app) = &mut slot.conversation
        {
            act(app, &mut self.actions);
            // Most events only change the application's counters.
            if !self.actions.is_empty() {
                self.ask(index, conversation);
            }
        }
    }

    /// Queues the actions of the application of a conversation.
    #[inline(never)]
    fn ask(&mut self, slot: usize, conversation: u32) {
        let ask = |action| Todo::App { slot, conversation, action };
        self.todo.extend(self.actions.drain(..).map(ask));
    }

    /// Processes all pending actions of applications and gateways, and forgets connections that have ended. Most segments
    /// leave nothing to do.
    #[inline(always)]
    pub(super) fn process_pending(&mut self, now: Time) {
        if !self.todo.is_empty() || !self.touched.is_empty() {
            self.process_all(now);
        }
    }

    #[inline(never)]
    fn process_all(&mut self, now: Time) {
        while let Some(todo) = self.todo.pop_front() {
            match todo {
                Todo::Written { slot, serial, side } => {
                    let Some(connection) = self.slots[slot].tcp().connection(serial) else { continue };
                    let (conversation, conn) = (connection.conversation, connection.conn);
                    self.app(slot, conversation, |app, out| app.written(now, conn, side, out));
                }
                Todo::App { slot, conversation, action } => self.execute(now, slot, conversation, action),
                Todo::Gateway { pair, which, action } => self.execute_gateway(now, pair, which, action),
            }
        }
        while let Some((index, serial)) = self.touched.pop() {
            self.slots[index].tcp().forget_if_over(serial);
        }
    }

    /// Notifies the application of an event at `side` of the connection `of`, its conversation and its number there.
    #[inline(always)]
    pub(super) fn notify_application(
        &mut self,
        now: Time,
        (index, serial): (usize, u32),
        of: (u32, ConnId),
        side: Side,
        event: Event,
    ) {
        let (conversation, conn) = of;
        match event {
            Event::Readable { bytes } => {
                self.bed.meter.delivered(index, side, bytes);
                self.app(index, conversation, |app, out| app.received(now, conn, side, bytes, out));
            }
            Event::Acked { bytes } => {
                self.app(index, conversation, |app, out| app.acked(now, conn, side, bytes, out));
            }
            _ => self.notify_of_state(now, (index, serial), of, side, event),
        }
    }

    /// Notifies the application that the state of a connection has changed.
    #[inline(never)]
    fn notify_of_state(
        &mut self,
        now: Time,
        (index, serial): (usize, u32),
        (conversation, conn): (u32, ConnId),
        side: Side,
        event: Event,
    ) {
        match event {
            Event::Connected => self.app(index, conversation, |app, out| app.connected(now, conn, side, out)),
            Event::PeerClosed => self.app(index, conversation, |app, out| app.peer_closed(now, conn, side, out)),
            Event::Closed => {
                let Some(connection) = self.slots[index].tcp().connection(serial) else { return };
                connection.closed_ends += 1;
                if connection.closed_ends == 2 {
                    self.app(index, conversation, |app, out| app.closed(now, conn, out));
                }
            }
            Event::Reset | Event::TimedOut => {
                let Some(connection) = self.slots[index].tcp().connection(serial) else { return };
                if !std::mem::replace(&mut connection.failed, true) {
                    self.app(index, conversation, |app, out| app.failed(now, conn, out));
                }
            }
            _ => unreachable!("every event of an endpoint is known here"),
        }
    }

    fn execute(&mut self, now: Time, index: usize, conversation: u32, action: Action) {
        match action {
            Action::Open { conn, from } => self.open(now, index, conversation, conn, from),
            Action::Write { conn, side, bytes } => {
                self.at_end(now, index, (conversation, conn), side, |end, out| end.write(now, bytes, false, out));
            }
            Action::Close { conn, side } => {
                self.at_end(now, index, (conversation, conn), side, |end, out| end.write(now, 0, true, out));
            }
            Action::Consume { conn, side, bytes } => {
                self.at_end(now, index, (conversation, conn), side, |end, out| end.tcp.consume(now, bytes, out));
            }
            Action::Timer { at, id } => {
                self.timers.add(at, TimerKey { slot: index as u32, kind: TimerKind::App { conversation, id } });
            }
            Action::Delay { span } => self.bed.meter.delay(now, index, span),
            Action::Item { bytes, span } => self.bed.meter.item(now, index, bytes, span),
            Action::Answer { since } => self.bed.meter.answer(now, index, since),
            Action::Flow(event) => self.bed.meter.flow(now, index, event),
            Action::Abort { conn } => self.abort(now, index, (conversation, conn)),
            Action::Ended => {
                let slot = self.slots[index].tcp();
                let failed = slot.conversation.as_ref().map(|c| c.outcome()) == Some(Outcome::Failed);
                self.bed.meter.conversation(index, failed);
                if failed {
                    let (over, left): (VecDeque<_>, VecDeque<_>) =
                        slot.connections.drain(..).partition(|c| c.conversation == conversation);
                    slot.connections = left;
                    over.iter().filter_map(|c| c.relay.as_deref()).for_each(|relay| self.abandon(now, relay));
                }
                let slot = self.slots[index].tcp();
                if slot.tcp().repeat {
                    self.begin(now, index);
                }
            }
        }
    }

    fn open(&mut self, now: Time, index: usize, conversation: u32, conn: ConnId, from: Side) {
        let slot = self.slots[index].tcp();
        let (serial, iss) = (slot.opened, slot.initial_sequences(&self.streams));
        slot.opened += 1;
        let config = |side| {
            let immediate_read = !slot.conversation.as_ref().is_some_and(|app| app.reads_itself(conn, side));
            let shared = &slot.tcp().config;
            if shared.immediate_read == immediate_read {
                shared.clone()
            } else {
                Arc::new(Config { immediate_read, ..**shared })
            }
        };
        let paths = SIDES.map(|side| slot.path_from(side.into()));
        let mut connection = Connection::new(serial, conversation, conn, from, SIDES.map(config), iss, paths);
        if let Some(split) = slot.tcp().split.clone() {
            let flow = self.pairs[split.pair].flow(index as u32, serial);
            let paths = [Place::Near, Place::Far].map(|place| slot.path_from(place));
            let iss = slot.initial_sequences(&self.streams);
            connection.split([split.pair, split.near], flow, from, split.tcp.clone(), iss, paths);
        }
        if let Some(factory) = self.controllers.get(slot.plan.group).and_then(Option::as_ref) {
            for side in SIDES {
                connection.end(side.into()).into_iter().for_each(|end| end.tcp.set_controller(factory()));
            }
        }
        slot.connections.push_back(connection);
        if self.qlog.as_ref().is_some_and(|qlog| qlog.is_of(index, serial)) {
            self.begin_qlog(now, index, (serial, conn), from);
        }
        self.tcp(now, index, serial, from.into(), |tcp, out| tcp.connect(now, out));
    }

    /// Begins the record of a connection that `from` opens.
    fn begin_qlog(&mut self, now: Time, index: usize, (serial, conn): (u32, ConnId), from: Side) {
        let Some(qlog) = &mut self.qlog else { return };
        let (slot, place) = (self.slots[index].tcp(), qlog.place());
        let Path { conversation, from: local, to: peer, .. } = slot.path_from(place);
        let mut ports = tcp_ports(&slot.plan, conversation, serial, conn.0 == 0);
        if place == Place::Responder {
            ports.reverse();
        }
        let family = slot.plan.family();
        let [local, peer] =
            [(local, ports[0]), (peer, ports[1])].map(|(host, port)| SocketAddr::new(ip_address(host, family), port));
        qlog.opened(now, place == from.into(), Addresses { local, peer });
    }

    /// Drops both ends of a connection, and those of gateways.
    fn abort(&mut self, now: Time, index: usize, of: (u32, ConnId)) {
        let slot = self.slots[index].tcp();
        let connection = slot.place_of(of).and_then(|place| slot.connections.remove(place));
        if let Some(relay) = connection.as_ref().and_then(|connection| connection.relay.as_deref()) {
            self.abandon(now, relay);
        }
    }

    fn at_end(
        &mut self,
        now: Time,
        index: usize,
        of: (u32, ConnId),
        side: Side,
        act: impl FnOnce(&mut End, &mut Output),
    ) {
        let slot = self.slots[index].tcp();
        if let Some(serial) = slot.place_of(of).map(|place| slot.connections[place].serial) {
            self.end(now, index, serial, side.into(), act);
        }
    }
}
