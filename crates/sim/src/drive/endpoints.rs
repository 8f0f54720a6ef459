//! Calls of the TCP endpoints of a run, and what follows from each: segments, events, figures and the next timer.

use cellway_net::Packet;
use cellway_tcp::{Endpoint, Output, State};
use cellway_units::Time;

use super::{Run, Todo};
use crate::body::Body;
use crate::connection::{End, Place};
use crate::error::Error;
use crate::model::observe_model;
use crate::timers::{TimerKey, TimerKind};

impl Run<'_> {
    /// Calls an endpoint; sends its segments, and queues its events.
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

    pub(crate) fn end(
        &mut self,
        now: Time,
        index: usize,
        serial: u32,
        place: Place,
        act: impl FnOnce(&mut End, &mut Output),
    ) {
        let slot = self.slots[index].tcp();
        let (conversation, from, to) = slot.path_from(place);
        let (dscp, ip_header) = (slot.plan.dscp, slot.tcp().config.family.ip_header() as u32);
        let receive_window = slot.tcp().config.tcp.window.0;
        let newest = slot.opened - 1 == serial;
        let slot_group = slot.plan.group;
        let Some(connection) = slot.connection(serial) else { return };
        let conn = connection.conn.0;
        let Some(end) = connection.end(place) else { return };
        self.output.clear();
        act(end, &mut self.output);
        let mut qlog = self.qlog.as_mut().filter(|qlog| qlog.is_of(index, serial));
        for &segment in &self.output.segments {
            if let Some(qlog) = &mut qlog {
                qlog.sends(now, place, &end.tcp, &segment, self.packets);
            }
            let octets = ip_header + segment.header_len() + segment.len;
            let body = Body::Segment { serial, conn, number: self.packets, segment };
            self.bed
                .fabric
                .send(now, Packet { conversation, from, to, flow: serial, octets, ecn: segment.ecn, dscp, body });
            self.packets += 1;
        }
        if let Some(qlog) = qlog.filter(|qlog| qlog.place() == place) {
            qlog.update(now, &end.tcp, self.output.rtt);
        }
        for &event in &self.output.events {
            self.todo.push_back(Todo::Tcp { slot: index, serial, place, event });
        }
        if let Some(side) = place.side()
            && end.take_written()
        {
            self.todo.push_back(Todo::Written { slot: index, serial, side });
        }
        if let Some(rtt) = self.output.rtt
            && place.side().is_some()
        {
            self.bed.meter.round_trip(now, index, rtt);
        }
        if let Some(unreported) = end.unreported() {
            self.bed.meter.tcp(index, unreported);
        }
        if let Some(why) = (!self.controllers.is_empty()).then(|| end.tcp.controller_failure()).flatten() {
            let group = self.bed.scenario().traffic[slot_group].name.clone();
            self.fault.get_or_insert(Box::new(Error::ControllerFailed { group, at: now, why }));
        }
        if newest && place.side().is_some() && self.bed.meter.traces(index) {
            observe_model(&mut self.bed.meter, now, index, &end.tcp);
        }
        if newest && place == Place::Originator {
            let window = end.tcp.send_window();
            let full = end.tcp.congestion_window() >= receive_window;
            self.bed.meter.window(now, index, window, full);
        }
        if let Some((at, _)) = end.tcp.deadline()
            && end.armed.is_none_or(|armed| at < armed)
        {
            end.armed = Some(at);
            self.timers.add(at, TimerKey { slot: index as u32, kind: TimerKind::Tcp { serial, place } });
        }
        // A connection can only have ended if this end of it is closed.
        if end.tcp.state() == State::Closed {
            self.touched.push((index, serial));
        }
    }
}
