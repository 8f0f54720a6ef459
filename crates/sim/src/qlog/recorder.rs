//! Follows the recorded end through a run.

use std::net::SocketAddr;

use cellway_tcp::{Endpoint, Flags, Segment};
use cellway_units::{Span, Time};

use super::events::{self, Packet, Reported, Way};
use super::numbers::{OnTheWay, Outstanding};
use super::writer::Writer;
use super::{Qlog, QlogEnd};
use crate::connection::Place;
use crate::error::Error;
use crate::slot::Slot;

/// The addresses and ports of an end and of its peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
}

/// Writes the events of the recorded end.
pub(crate) struct Recorder<'a> {
    end: QlogEnd,
    slot: usize,
    serial: u32,
    /// The recorded end, and the one that its segments go to: a gateway's if gateways split the connection.
    place: Place,
    peer: Place,
    writer: Writer<'a>,
    events: &'a mut u64,
    /// Set once the connection is open.
    opened: bool,
    /// Segments of this end, and the number of the next.
    sent: Outstanding,
    next: u64,
    /// Segments of the peer, as far as they have arrived.
    received: Outstanding,
    on_the_way: OnTheWay,
    reported: Reported,
    /// Timeouts and loss probes as last counted.
    timeouts: u64,
    loss_probes: u64,
    /// Data before this position is sent again because of a timeout.
    timed_out: u64,
    /// Reused from segment to segment.
    numbers: Vec<u64>,
}

impl<'a> Recorder<'a> {
    /// Begins a record in a run with these slots.
    ///
    /// # Errors
    /// A stack of others drives the slot.
    pub(crate) fn begin<'b: 'a>(qlog: Qlog<'b>, slots: &[Slot]) -> Result<Recorder<'a>, Error> {
        let Qlog { end, to, events } = qlog;
        let index = slots.iter().position(|slot| *slot.plan().name == *end.slot);
        let Some((index, Slot::Tcp(slot))) = index.map(|index| (index, &slots[index])) else {
            let why = "a stack of others drives it; accepted: slots with the built-in TCP".to_owned();
            return Err(Error::Qlog { name: end.slot, why });
        };
        let place = end.side.into();
        let peer = match (place, slot.tcp().split.is_some()) {
            (Place::Originator, true) => Place::Near,
            (_, true) => Place::Far,
            (Place::Originator, false) => Place::Responder,
            (_, false) => Place::Originator,
        };
        Ok(Recorder {
            slot: index,
            serial: end.connection - 1,
            end,
            place,
            peer,
            writer: Writer::new(to),
            events,
            opened: false,
            sent: Outstanding::default(),
            next: 0,
            received: Outstanding::default(),
            on_the_way: OnTheWay::default(),
            reported: Reported::default(),
            timeouts: 0,
            loss_probes: 0,
            timed_out: 0,
            numbers: Vec::new(),
        })
    }

    /// Returns true if the connection `serial` of a slot is the recorded one.
    pub(crate) fn is_of(&self, slot: usize, serial: u32) -> bool {
        (self.slot, self.serial) == (slot, serial)
    }

    /// Returns the slot of the recorded connection.
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// Returns the recorded end.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Returns true if the file can no longer be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.writer.has_failed()
    }

    /// Records that the connection is opened, by the recorded end if `active`.
    pub(crate) fn opened(&mut self, now: Time, active: bool, addresses: Addresses) {
        self.opened = true;
        self.writer.header(&self.end.file_stem(), if active { "client" } else { "server" });
        events::connection_started(&mut self.writer, now, addresses);
    }

    /// Records a segment that the endpoint `tcp` at `from` sends as packet `packet` of the run.
    pub(crate) fn sends(&mut self, now: Time, from: Place, tcp: &Endpoint, segment: &Segment, packet: u64) {
        if from == self.peer {
            self.on_the_way.sent(packet);
        }
        if from != self.place {
            return;
        }
        let cellway_tcp::Stats { timeouts, loss_probes, .. } = tcp.stats();
        if timeouts > std::mem::replace(&mut self.timeouts, timeouts) {
            self.timed_out = self.sent.highest();
        }
        let probes = loss_probes > std::mem::replace(&mut self.loss_probes, loss_probes);
        let number = self.next;
        self.next += 1;
        self.numbers.clear();
        let again = self.sent.carry(segment, number, &mut self.numbers);
        let position = self.sent.position(segment.seq);
        let timed_out = position.is_some_and(|position| position < self.timed_out);
        for &lost in &self.numbers {
            events::packet_lost(&mut self.writer, now, lost, timed_out || probes);
        }
        let trigger = match again {
            false => None,
            true if probes => Some("pto_probe"),
            true if timed_out => Some("retransmit_timeout"),
            true => Some("retransmit_reordered"),
        };
        acknowledge(&mut self.received, segment, &mut self.numbers);
        let acknowledged = &self.numbers;
        let packet = Packet { segment, number: Some(number), position, acknowledged, trigger };
        events::packet(&mut self.writer, now, Way::Sent, &packet);
    }

    /// Records a segment that arrives at the recorded end as packet `packet` of the run.
    pub(crate) fn receives(&mut self, now: Time, segment: &Segment, packet: u64) {
        let number = self.on_the_way.arrived(packet);
        acknowledge(&mut self.sent, segment, &mut self.numbers);
        let mut position = None;
        if let Some(number) = number {
            // Data that arrives twice counts for its last transmission.
            self.received.carry(segment, number, &mut Vec::new());
            position = self.received.position(segment.seq);
        }
        let packet = Packet { segment, number, position, acknowledged: &self.numbers, trigger: None };
        events::packet(&mut self.writer, now, Way::Received, &packet);
    }

    /// Records what has changed in the endpoint by a call, which measured the round trip `rtt`.
    pub(crate) fn update(&mut self, now: Time, tcp: &Endpoint, rtt: Option<Span>) {
        self.reported.update(&mut self.writer, now, tcp, rtt);
    }

    /// Ends the file, in a run that opened `connections` connections of the slot.
    ///
    /// # Errors
    /// The file cannot be written, or the run did not open the connection.
    pub(crate) fn finish(self, connections: u32) -> Result<(), Error> {
        if !self.opened {
            let number = self.end.connection;
            let why = match connections {
                0 => "the run opens no connection of this slot; accepted: a slot that starts before the end".to_owned(),
                most => format!("the run does not open connection {number}; accepted: connections 1 to {most}"),
            };
            return Err(Error::Qlog { name: self.end.slot, why });
        }
        *self.events = self.writer.finish().map_err(Error::QlogNotWritten)?;
        Ok(())
    }
}

/// Replaces `numbers` by those of the segments that `segment` is the first to acknowledge.
fn acknowledge(of: &mut Outstanding, segment: &Segment, numbers: &mut Vec<u64>) {
    numbers.clear();
    of.acknowledge(segment, numbers);
    // A SYN, which is number 0, has a number space of its own; only the other SYN is in it.
    if !segment.is(Flags::SYN) {
        numbers.retain(|number| *number > 0);
    }
}
