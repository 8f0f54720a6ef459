//! The run itself: the network, the endpoints and the applications, event by event.

mod datagrams;
mod endpoints;
mod setup;
mod slices;
mod stacks;
mod talk;
mod view;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use cellway_apps::random::Streams;
use cellway_apps::{Action, GroupWorkload, Side};
use cellway_gateway as gateway;
use cellway_net::{Delivery, Encapsulation, Packet};
use cellway_record::{Counts, RunRecord};
use cellway_scenario::{Engine, Scenario};
use cellway_tcp::{Output, Segment};
use cellway_testbed::{Capture, Leg, Testbed};
use cellway_units::Time;

use crate::body::Body;
use crate::connection::{Place, SIDES};
use crate::controllers::{Controllers, Factory};
use crate::error::Error;
use crate::gateway::GatewayPair;
use crate::octets::octets;
use crate::qlog::{Qlog, Recorder};
use crate::slot::Slot;
use crate::stack::Stacks;
use crate::timers::{TimerKey, TimerKind, Timers};

pub use slices::{Advanced, Slices};

/// The options of a run besides its scenario.
pub struct Control<'a> {
    /// Polled regularly; `true` stops the run.
    pub stop: &'a dyn Fn() -> bool,
    /// Captures the packets that pass one node.
    pub capture: Option<Capture<'a>>,
    /// Records one end of a TCP connection as qlog.
    pub qlog: Option<Qlog<'a>>,
    /// The stacks of others that drive traffic groups in place of the built-in TCP.
    pub stacks: Option<&'a Stacks>,
    /// The congestion controllers of others that take the place of those of the scenario.
    pub controllers: Option<&'a Controllers>,
}

impl<'a> Control<'a> {
    /// Creates the options of a run without captures and records of qlog, and with the scenario's own TCP.
    pub fn new(stop: &'a dyn Fn() -> bool) -> Control<'a> {
        Control { stop, capture: None, qlog: None, stacks: None, controllers: None }
    }
}

/// A run that went to its end.
pub type Outcome = Result<RunRecord, Error>;

/// Runs `scenario` once with `seed`. `workloads` are those of its traffic groups, in order (see
/// [`crate::workload`]).
pub fn run<'a>(scenario: &Scenario, workloads: &'a [GroupWorkload], seed: u64, control: Control<'a>) -> Outcome {
    let stop = control.stop;
    let mut run = Slices::with(scenario, Cow::Borrowed(workloads), seed, control)?;
    run.forget_hosts();
    loop {
        match run.advance(STOP_AFTER)? {
            Advanced::Ended(record) => return Ok(record),
            Advanced::Runs(rest) if stop() => return Err(Error::Stopped { at: rest.now() }),
            Advanced::Runs(rest) => run = rest,
        }
    }
}

/// A pending event or action between parts of a run at one instant.
#[derive(Debug)]
pub(crate) enum Todo {
    /// All bytes that the application wrote at this end have been accepted.
    Written { slot: usize, serial: u32, side: Side },
    /// An action of the application of a slot's conversation `conversation`.
    App { slot: usize, conversation: u32, action: Action },
    /// An action of a gateway of a pair.
    Gateway { pair: usize, which: usize, action: gateway::Action },
}

pub(crate) struct Run<'a> {
    workloads: Cow<'a, [GroupWorkload]>,
    streams: Streams,
    encapsulation: Encapsulation,
    pub(crate) bed: Testbed<Body>,
    pub(crate) slots: Vec<Slot>,
    /// The contents of the network's conversations, by their number.
    legs: Arc<[Leg]>,
    pub(crate) pairs: Vec<GatewayPair>,
    pub(crate) timers: Timers,
    pub(crate) packets: u64,
    timers_fired: u64,
    // Reused from call to call.
    output: Output,
    pub(crate) gateway_output: gateway::Output,
    actions: Vec<Action>,
    pub(crate) todo: VecDeque<Todo>,
    /// Slots and the serial numbers of connections that may have ended.
    touched: Vec<(usize, u32)>,
    /// Of the traffic groups that have a congestion controller of others; empty if none has.
    controllers: Vec<Option<Factory>>,
    /// The packets that pass one node.
    capture: Option<Capture<'a>>,
    /// The record of one end of a connection.
    qlog: Option<Box<Recorder<'a>>>,
    /// The instants of the scenario's changes that are still to come, in order.
    changes: VecDeque<Time>,
    /// True if the network is to run in windows from the end of the present instant on.
    pub(crate) may_enter: bool,
    /// The first fault of a stack or a controller of others, which ends the run.
    fault: Option<Box<Error>>,
}

/// The number of instants with host events between two checks for a stop request. The largest packet has 1,366 cells,
/// so there are at most some million events between two checks on a path of a few lines.
const STOP_AFTER: u64 = 1 << 10;

impl Run<'_> {
    /// Advances by one instant with host events before `end`; returns it, or `None` if there is none.
    fn step(&mut self, end: Time, delivered: &mut Vec<Delivery<Body>>) -> Result<Option<Time>, Error> {
        let (timer, tick) = (self.timers.next().unwrap_or(end).min(end), self.bed.meter.next());
        let change = self.changes.front().copied().unwrap_or(end);
        self.bed.fabric.set_horizon(tick.min(change).min(end));
        let mut reached = None;
        // Without a capture, the network may run through all instants in which no packet reaches a host.
        if self.capture.is_none() {
            reached = self.bed.fabric.run(timer.min(tick), delivered);
        }
        let Some(now) = reached.or_else(|| self.advance(timer, end, delivered)) else { return Ok(None) };
        // A host drops a corrupted packet for its checksum, without any answer.
        for Delivery { packet, transit, .. } in delivered.iter().filter(|delivery| !delivery.corrupted) {
            if let Some(transit) = *transit
                && packet.body.has_data()
            {
                self.bed.transit(now, packet.conversation, transit);
            }
            self.deliver(now, packet);
        }
        self.bed.fabric.recycle(delivered);
        if self.timers.next().is_some_and(|at| at <= now) {
            self.fire_due(now);
        }
        if self.has_failed() {
            return Ok(None);
        }
        self.bed.fabric.serve(now);
        if self.may_enter {
            self.enter_windows(now);
        }
        self.bed.meter.queues(&mut self.bed.fabric);
        if let Some(capture) = &mut self.capture {
            let (slots, legs) = (&self.slots, &self.legs);
            capture.write(&mut self.bed, |packet| octets(packet, slots, legs))?;
        }
        Ok(Some(now))
    }

    /// Advances to the next instant of the network or of a timer, the first of which is `timer`, and has the meter read
    /// before it. Returns `None` at the end.
    #[inline(never)]
    fn advance(&mut self, timer: Time, end: Time, delivered: &mut Vec<Delivery<Body>>) -> Option<Time> {
        let in_windows = self.bed.fabric.has_windows();
        let next = if in_windows {
            timer.min(self.bed.meter.next())
        } else {
            self.bed.fabric.deadline().unwrap_or(end).min(timer)
        };
        while self.bed.meter.next() <= next {
            let tick = self.bed.meter.next();
            self.sample_tcp(tick);
            self.bed.meter.tick(tick, &mut self.bed.fabric);
        }
        if next >= end {
            self.bed.meter.queues(&mut self.bed.fabric);
            return None;
        }
        if self.changes.front().is_some_and(|&at| at <= next) {
            self.changes.pop_front();
            self.may_enter |= in_windows;
            self.bed.fabric.leave_windows(next);
        }
        let change = self.changes.front().copied().unwrap_or(end);
        self.bed.fabric.set_horizon(self.bed.meter.next().min(change).min(end));
        self.bed.fabric.advance(next, delivered);
        Some(next)
    }

    /// Has the network run in windows after `now`, if the scenario asks for it, and no packets are captured.
    fn enter_windows(&mut self, now: Time) {
        let is_asked = self.bed.scenario().run.engine == Engine::Windows && self.capture.is_none();
        let fabric = &mut self.bed.fabric;
        self.may_enter = is_asked && !fabric.has_windows() && !fabric.prefer_windows(now);
    }

    /// Returns true if a stack, a controller or the record of a connection has failed, which ends the run.
    fn has_failed(&self) -> bool {
        self.fault.is_some() || self.qlog.as_ref().is_some_and(|qlog| qlog.has_failed())
    }

    /// Returns the record of a run that has no more instants before `end`, or its fault.
    fn into_record(mut self, end: Time) -> Outcome {
        if let Some(fault) = self.fault {
            return Err(*fault);
        }
        if let Some(capture) = self.capture.take() {
            capture.finish()?;
        }
        if let Some(qlog) = self.qlog.take() {
            let connections = self.slots[qlog.slot()].tcp().opened;
            qlog.finish(connections)?;
        }
        let counts = Counts {
            events: self.bed.fabric.events(end) + self.timers_fired,
            cell_hops: self.bed.fabric.cell_hops(),
            packet_hops: self.bed.fabric.packet_hops(end),
            packets: self.packets,
            simulated: end - Time::ZERO,
        };
        // The tables take half as much memory as the data that they are made from, so data that is no longer needed is
        // dropped first.
        (self.slots, self.timers) = (Vec::new(), Timers::default());
        let (mut summary, series) = self.bed.finish(end);
        self.pairs.iter().for_each(|pair| pair.report(&mut summary));
        Ok(RunRecord { summary: summary.finish(), series: series.finish(), counts })
    }

    /// Samples the newest connections of the slots whose TCP is recorded, if a bin ends at `now`.
    fn sample_tcp(&mut self, now: Time) {
        let Some(sampled) = self.bed.meter.sampled(now) else { return };
        for &index in sampled.iter() {
            let Slot::Tcp(slot) = &mut self.slots[index] else { continue };
            for side in SIDES {
                let sample =
                    slot.newest().and_then(|connection| connection.end(side.into())).and_then(|end| end.sample());
                self.bed.meter.sample(index, side, sample);
            }
        }
    }

    /// Processes a packet that has arrived at its host, or at a gateway.
    #[inline]
    fn deliver(&mut self, now: Time, packet: &Packet<Body>) {
        match packet.body {
            Body::Segment { to, number, ref segment, .. } if packet.ecn == segment.ecn => {
                self.deliver_segment(now, packet, to, number, segment);
            }
            _ => self.deliver_other(now, packet),
        }
        self.process_pending(now);
    }

    /// Processes a marked segment, or a packet without a segment.
    #[inline(never)]
    fn deliver_other(&mut self, now: Time, packet: &Packet<Body>) {
        match packet.body {
            Body::Segment { to, number, segment, .. } => {
                self.deliver_segment(now, packet, to, number, &Segment { ecn: packet.ecn, ..segment });
            }
            Body::Datagram { mark, .. } => self.datagram_arrived(now, self.slot_of(packet), packet, mark),
            Body::Stack { mark, ref contents, .. } => {
                self.stack_arrived(now, self.slot_of(packet), packet, mark, contents);
            }
            Body::Transport { pair, packet: ref body } => self.deliver_to_gateway(now, pair as usize, packet.to, body),
        }
    }

    /// Returns the slot of a packet that is not one between gateways.
    #[inline]
    fn slot_of(&self, packet: &Packet<Body>) -> usize {
        match self.legs[packet.conversation as usize] {
            Leg::Slot { slot, .. } => slot as usize,
            Leg::Gateways { .. } => unreachable!("gateways speak their own transport"),
        }
    }

    /// Processes a segment, packet `number` of the run, that has arrived at `place`.
    fn deliver_segment(&mut self, now: Time, packet: &Packet<Body>, place: Place, number: u64, segment: &Segment) {
        let (index, serial) = (self.slot_of(packet), packet.flow);
        if place == Place::Responder {
            self.bed.meter.arrived(index, packet.octets, self.encapsulation);
        }
        if let Some(qlog) = self.qlog.as_mut().filter(|qlog| qlog.is_of(index, serial) && qlog.place() == place)
            && self.slots[index].tcp().connection(serial).is_some()
        {
            qlog.receives(now, segment, number);
        }
        match place.side() {
            // A segment for a connection that both ends have forgotten has no one to go to.
            Some(_) => self.tcp(now, index, serial, place, |tcp, out| tcp.receive(now, segment, out)),
            None => self.segment_at_gateway(now, index, serial, place, segment),
        }
    }

    /// Processes the timers that are due at `now`.
    #[inline(never)]
    fn fire_due(&mut self, now: Time) {
        while let Some(key) = self.timers.pop_due(now) {
            self.timers_fired += 1;
            self.fire(now, key);
        }
    }

    fn fire(&mut self, now: Time, TimerKey { slot, kind }: TimerKey) {
        let index = slot as usize;
        match kind {
            TimerKind::Begin if matches!(self.slots[index], Slot::Stack(_)) => self.begin_stack(now, index),
            TimerKind::Begin => self.begin(now, index),
            TimerKind::Stack { end } => self.wake_stack(now, index, end.into()),
            TimerKind::Datagram { side } => self.send_datagram(now, index, side),
            TimerKind::Tcp { serial, place } => {
                let Some(connection) = self.slots[index].tcp().connection(serial) else { return };
                let Some(end) = connection.end(place) else { return };
                if end.armed == now {
                    end.armed = Time::MAX;
                }
                self.tcp(now, index, serial, place, |tcp, out| {
                    if tcp.deadline().is_some_and(|(at, _)| at <= now) {
                        tcp.wake(now, out);
                    }
                });
            }
            TimerKind::App { conversation, id } => {
                self.app(index, conversation, |app, out| app.timer(now, id, out));
            }
            TimerKind::Gateway { which } => self.wake_gateway(now, index, which.into()),
            TimerKind::Change => self.bed.change(now, index),
        }
        self.process_pending(now);
    }

    /// Begins the next conversation of a slot.
    fn begin(&mut self, now: Time, index: usize) {
        let slot = self.slots[index].tcp();
        let GroupWorkload::Conversations(workload) = &self.workloads[slot.plan.group] else { return };
        slot.next_conversation(workload, &self.streams);
        let number = slot.current();
        self.app(index, number, |app, out| app.start(now, out));
    }
}
