//! Calls of the TCP endpoints of a run, and what follows from each: segments, events, figures and the next timer.

use cellway_apps::Side;
use cellway_net::Packet;
use cellway_tcp::{Endpoint, Event, Output, State};
use cellway_units::Time;

use super::{Run, Todo};
use crate::body::Body;
use crate::connection::{End, Place};
use crate::error::Error;
use crate::model::observe_model;
use crate::timers::{TimerKey, TimerKind};

impl Run<'_> {
    /// Calls an endpoint; sends its segments, and passes its events on.
    pub(super) fn tcp(
        &mut self,
        now: Time,
        index: usize,
        serial: u32,
        place: Place,
        act: impl FnOnce(&mut Endpoint, &mut Output),
    ) {
        self.end(now, index, serial, place, |end, out| act(&mut end.tcp, out));
    }

    /// As [`Run::tcp`], for an endpoint with the writes that wait for it. The events are passed on before all that is
    /// pending: only a segment or a timer has events, and it finds nothing pending.
    pub(crate) fn end(
        &mut self,
        now: Time,
        index: usize,
        serial: u32,
        place: Place,
        act: impl FnOnce(&mut End, &mut Output),
    ) {
        let slot = self.slots[index].tcp();
        let newest = slot.opened - 1 == serial;
        let Some(connection) = slot.connection(serial) else { return };
        let of = (connection.conversation, connection.conn);
        let is_first = connection.conn.0 == 0;
        let Some(end) = connection.end(place) else { return };
        let side = place.side();
        self.output.clear();
        act(end, &mut self.output);
        let is_writable = |event: &Event| matches!(event, Event::Writable);
        let mut flushes = side.is_some() && end.is_waiting() && self.output.events.iter().any(is_writable);
        loop {
            let mut qlog = self.qlog.as_mut().filter(|qlog| qlog.is_of(index, serial));
            let path = &end.path;
            for segment in &self.output.segments {
                if let Some(qlog) = &mut qlog {
                    qlog.sends(now, place, &end.tcp, segment, self.packets);
                }
                let packet = Packet {
                    conversation: path.conversation,
                    from: path.from,
                    to: path.to,
                    flow: serial,
                    octets: path.ip_header + segment.header_len() + segment.len,
                    ecn: segment.ecn,
                    dscp: path.dscp,
                    body: Body::Segment { to: path.peer, is_first, number: self.packets, segment: *segment },
                };
                self.bed.fabric.send(now, packet);
                self.packets += 1;
            }
            self.output.segments.clear();
            let rtt = self.output.rtt.take();
            if let Some(qlog) = qlog.filter(|qlog| qlog.place() == place) {
                qlog.update(now, &end.tcp, rtt);
            }
            if let Some(rtt) = rtt
                && side.is_some()
            {
                self.bed.meter.round_trip(now, index, rtt);
            }
            if newest && side.is_some() && self.bed.meter.traces(index) {
                observe_model(&mut self.bed.meter, now, index, &end.tcp);
            }
            if newest && place == Place::Originator {
                let full = end.tcp.congestion_window() >= end.tcp.config().tcp.window.0;
                self.bed.meter.window(now, index, end.tcp.send_window(), full);
            }
            if let Some((at, _)) = end.tcp.deadline()
                && at < end.armed
            {
                end.armed = at;
                self.timers.add(at, TimerKey { slot: index as u32, kind: TimerKind::Tcp { serial, place } });
            }
            if !std::mem::take(&mut flushes) || !end.flush(now, &mut self.output) {
                break;
            }
        }
        if let Some(unreported) = end.unreported() {
            self.bed.meter.tcp(index, unreported);
        }
        if let Some(why) = (!self.controllers.is_empty()).then(|| end.tcp.controller_failure()).flatten() {
            let plan = &self.bed.slots()[index];
            let group = self.bed.scenario().traffic[plan.group].name.clone();
            self.fault.get_or_insert(Box::new(Error::ControllerFailed { group, at: now, why }));
        }
        // A connection can only have ended if this end of it is closed.
        if end.tcp.state() == State::Closed {
            self.touched.push((index, serial));
        }
        let written = side.filter(|_| end.take_written());
        for at in 0..self.output.events.len() {
            let event = self.output.events[at];
            match (side, event) {
                (Some(_), Event::Writable) => self.report_written(index, serial, written),
                (Some(side), event) => self.notify_application(now, (index, serial), of, side, event),
                (None, event) => self.notify_gateway(now, index, serial, place, event),
            }
        }
        // Without an event the end was called to write.
        if self.output.events.is_empty() {
            self.report_written(index, serial, written);
        }
    }

    /// Queues the report that all bytes have been accepted that were written at `side`, if one is given.
    #[inline]
    fn report_written(&mut self, index: usize, serial: u32, side: Option<Side>) {
        if let Some(side) = side {
            self.todo.push_back(Todo::Written { slot: index, serial, side });
        }
    }
}
