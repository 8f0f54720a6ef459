//! The network with the packets of real hosts in it, without I/O: packets that hosts send enter, packets that are due
//! for them leave, time is an argument.
//!
//! To the hosts the network is one router: it decrements the time to live of a packet, fragments or refuses a packet
//! that is too large for its path, and answers with ICMP errors as such a router does. If gateways are on the path, the
//! network delivers a packet to the first, receives it again when the gateway forwards it, and so on to the host.

mod hosts;
mod observe;
mod refusals;
mod routes;
#[cfg(test)]
pub(crate) mod tests;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_net::{Delivery, Packet as Carried, PortCounters};
use cellway_scenario::{Engine as InWhich, LinkDirection, LinkIndex};
use cellway_testbed::{Capture, LinkChange, Testbed};
use cellway_units::{Ecn, Span, Time};
use cellway_wire::ip::{self, Fit, Flow, Gso, Hop, Packet, Trouble, VirtioNetHeader};

use crate::conversations::{Conversations, Id, Kind, Limits};
use crate::error::Error;

pub(crate) use hosts::{Behind, EmulatedHost, HostIndex};
pub(crate) use refusals::Refusals;
use routes::{Routes, Step};

/// The octets that may wait at the line of a host before the engine stops reading from the host: one coalesced segment
/// of the largest size, so that one round of reading from all hosts stays short. Unread packets wait in the kernel, as
/// before a network card.
const CARD: u64 = 64 * 1024;
/// The interval of checks for idle conversations.
const SWEEP: Span = Span::from_ms(500);

/// A packet of a host while it is inside the network.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    /// Shared with a capture, which copies it cell by cell.
    pub(crate) octets: Arc<Vec<u8>>,
    /// The time at which it entered.
    entered: Time,
    /// Its conversation in the table.
    id: Id,
    /// True if it has the direction of the conversation's first packet.
    forward: bool,
    /// True if its checksums are known to be correct.
    sound: bool,
    /// True unless it is a TCP segment without payload.
    has_data: bool,
}

/// A packet that its host is to be given.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) host: HostIndex,
    /// The arrival of its last bit.
    pub(crate) at: Time,
    pub(crate) octets: Vec<u8>,
    /// True if its checksums are known to be correct: the engine computed them.
    pub(crate) sound: bool,
}

/// A conversation that has a channel.
#[derive(Debug)]
struct Open {
    id: Id,
    /// Its number in the network.
    number: u32,
    /// The octets delivered in the two directions: since the start, and at the last snapshot.
    delivered: [u64; 2],
    shown: [u64; 2],
}

pub(crate) struct Engine {
    pub(crate) testbed: Testbed<Datagram>,
    hosts: hosts::Hosts,
    table: Conversations,
    /// By the place of the conversation in the table.
    open: Vec<Option<Open>>,
    /// Conversations that have left the table while packets of theirs were inside the network.
    leaving: Vec<u32>,
    routes: Routes,
    refusals: Refusals,
    /// The reasons for which conversations of played applications failed, with their counts.
    failures: BTreeMap<String, u64>,
    delivered: Vec<Delivery<Datagram>>,
    /// The contents of packets that have been delivered.
    no_octets: Arc<Vec<u8>>,
    due: Vec<Due>,
    next_sweep: Time,
    /// The instants of the scenario's pending changes, the next one last.
    changes: Vec<(Time, usize)>,
    now: Time,
    /// True if the network is to run in windows from the next instant on.
    may_enter: bool,
    shown: Time,
    ports_shown: Vec<PortCounters>,
    pub(crate) delays: crate::delays::Delays,
}

impl Engine {
    /// Creates a network whose hosts are `hosts`: those of the testbed in its order, then its gateways.
    pub(crate) fn new(testbed: Testbed<Datagram>, hosts: Vec<EmulatedHost>, limits: Limits) -> Engine {
        let mut changes: Vec<(Time, usize)> = testbed.changes().enumerate().map(|(i, at)| (at, i)).collect();
        changes.sort_by_key(|&(at, index)| (std::cmp::Reverse(at), std::cmp::Reverse(index)));
        let may_enter = testbed.scenario().run.engine == InWhich::Windows;
        Engine {
            testbed,
            hosts: hosts::Hosts::new(hosts),
            table: Conversations::new(limits),
            open: Vec::new(),
            leaving: Vec::new(),
            routes: Routes::default(),
            refusals: Refusals::default(),
            failures: BTreeMap::new(),
            delivered: Vec::new(),
            no_octets: Arc::default(),
            due: Vec::new(),
            next_sweep: Time::ZERO + SWEEP,
            changes,
            now: Time::ZERO,
            may_enter,
            shown: Time::ZERO,
            ports_shown: Vec::new(),
            delays: crate::delays::Delays::default(),
        }
    }

    /// Returns the name of a host.
    pub(crate) fn name(&self, host: HostIndex) -> &str {
        &self.hosts[host].name
    }

    /// Returns the hosts and gateways, in their order.
    pub(crate) fn hosts(&self) -> &[EmulatedHost] {
        self.hosts.all()
    }

    /// Returns the packets that are due for the hosts, in the order of their arrival.
    pub(crate) fn due(&mut self) -> &mut Vec<Due> {
        &mut self.due
    }

    /// Packets that did not enter the network, by reason.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Returns the reasons for which conversations of played applications failed, with their counts.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        self.failures.iter().map(|(reason, &count)| (reason.as_str(), count))
    }

    /// Returns the instant up to which the network has been advanced. Received packets enter at this instant.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Returns an instant before which no packet is due and nothing else is to be done: mostly that of the next packet.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let fabric = &self.testbed.fabric;
        let own = [Some(self.testbed.meter.next()), self.changes.last().map(|&(at, _)| at), Some(self.next_sweep)];
        let full = (0..self.hosts.all().len()).map(HostIndex).filter(|&host| !self.has_room(host));
        let rooms = full.map(|host| fabric.next_service(self.hosts[host].line, self.now));
        own.into_iter().chain(rooms).chain([fabric.quiet_until()]).flatten().min()
    }

    /// Processes all events of the network up to `now`, each at its own instant; then ends idle conversations, if a check
    /// is due.
    pub(crate) fn advance(&mut self, now: Time) -> Result<(), Error> {
        debug_assert!(now >= self.now, "the clock went back from {:?} to {now:?}", self.now);
        self.enter_windows();
        let end = now + Span::from_ps(1);
        loop {
            let change = self.changes.last().map_or(Time::MAX, |&(at, _)| at);
            let tick = self.testbed.meter.next();
            let limit = end.min(change).min(tick);
            while let Some(at) = self.testbed.fabric.run_quietly(limit, &mut self.delivered) {
                self.deliver(at);
                self.testbed.fabric.serve(at);
            }
            if limit == end {
                break;
            } else if tick == limit {
                let Testbed { meter, fabric, .. } = &mut self.testbed;
                meter.tick(tick, fabric);
            } else {
                self.change(change);
            }
        }
        let Testbed { meter, fabric, .. } = &mut self.testbed;
        meter.queues(fabric);
        self.now = now;
        if now >= self.next_sweep {
            self.sweep(now);
            self.next_sweep = now + SWEEP;
        }
        Ok(())
    }

    /// Makes a change of the scenario. It is made event by event.
    fn change(&mut self, at: Time) {
        let Some((_, index)) = self.changes.pop() else { return };
        self.testbed.fabric.stop_windows();
        self.testbed.fabric.advance(at, &mut self.delivered);
        self.deliver(at);
        self.testbed.change(at, index);
        self.testbed.fabric.serve(at);
        self.left_windows();
    }

    /// Makes a change of a link that a caller requests.
    pub(crate) fn change_link(&mut self, link: LinkIndex, direction: LinkDirection, change: LinkChange) {
        self.testbed.change_link(self.now, link, direction, change);
        self.left_windows();
    }

    /// Has the network run in windows, if the scenario asks for it and no part of it is decided event by event.
    fn enter_windows(&mut self) {
        let fabric = &mut self.testbed.fabric;
        if self.may_enter && !fabric.has_windows() {
            // Another attempt has another outcome only after a change.
            self.may_enter = !fabric.prefer_windows(self.now);
        }
    }

    /// The network may have left windows for a change.
    fn left_windows(&mut self) {
        self.may_enter = self.testbed.scenario().run.engine == InWhich::Windows;
    }

    /// Starts transmission of received packets on idle lines.
    pub(crate) fn serve(&mut self) {
        let Testbed { meter, fabric, .. } = &mut self.testbed;
        fabric.serve(self.now);
        fabric.settle();
        meter.queues(fabric);
    }

    fn deliver(&mut self, at: Time) {
        for Delivery { packet, corrupted, transit } in &mut self.delivered {
            let (corrupted, transit) = (*corrupted, *transit);
            if let Some(transit) = transit
                && packet.body.has_data
                && !corrupted
            {
                self.testbed.transit(at, packet.conversation, transit);
            }
            let Some(host) = self.hosts.of_node(packet.to) else { continue };
            let Datagram { entered, id, forward, sound, .. } = packet.body;
            let octets = std::mem::replace(&mut packet.body.octets, self.no_octets.clone());
            self.delays.record(at - entered);
            if let Some(open) = self.open.get_mut(id.slot()).and_then(Option::as_mut).filter(|open| open.id == id) {
                open.delivered[usize::from(!forward)] += octets.len() as u64;
            }
            let mut octets = Arc::try_unwrap(octets).unwrap_or_else(|shared| shared.to_vec());
            mark(&mut octets, packet.ecn);
            // The kernel of the host must verify the checksum.
            let is_wrong = corrupted && ip::corrupt(&mut octets);
            let sound = sound && !is_wrong;
            self.due.push(Due { host, at, octets, sound });
        }
        self.testbed.fabric.recycle(&mut self.delivered);
    }

    /// Writes the packets that have passed the node of a capture since the last call.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write_capture(&mut self, capture: &mut Capture<'_>) -> Result<(), cellway_testbed::Error> {
        capture.write(&mut self.testbed, |packet| {
            let mut octets = packet.body.octets.to_vec();
            mark(&mut octets, packet.ecn);
            octets
        })
    }

    /// Returns true if the host's own line has room, so that packets may be read from the host.
    pub(crate) fn has_room(&self, host: HostIndex) -> bool {
        let host = &self.hosts[host];
        u64::from(self.testbed.fabric.waiting(host.line)) * host.unit_octets < CARD
    }

    /// Accepts a packet from the device of a host, with its virtio-net header, and splits it if the host left that to
    /// the device.
    pub(crate) fn receive(&mut self, from: HostIndex, read: &[u8]) -> Result<(), Error> {
        let parsed = VirtioNetHeader::parse(read);
        let cut = |(offload, packet): (VirtioNetHeader, _)| {
            Ok((ip::cut(&offload, packet)?, offload.needs_checksum || offload.gso != Gso::None))
        };
        match parsed.and_then(cut) {
            Ok((pieces, sound)) => {
                for piece in pieces {
                    self.packet(from, piece, sound)?;
                }
            }
            Err(malformed) => self.refusals.count(malformed.name()),
        }
        Ok(())
    }

    /// Processes a packet of a host.
    fn packet(&mut self, from: HostIndex, mut octets: Vec<u8>, sound: bool) -> Result<(), Error> {
        let recognised = match ip::recognise(&octets) {
            Ok(recognised) => recognised,
            Err(malformed) => {
                self.refusals.count(malformed.name());
                return Ok(());
            }
        };
        let packet = recognised.packet;
        if packet.destination().is_multicast() {
            // A machine at the far end sends its multicast to each of its devices, and no program of the run did.
            if self.hosts[from].behind != Behind::Everything {
                self.refusals.count("multicast");
            }
            return Ok(());
        }
        let Some(destination) = self.hosts.at(from, packet.destination()) else {
            self.refusals.count("no-route");
            self.answer(from, Trouble::NetUnreachable, &packet);
            return Ok(());
        };
        // A gateway forwards packets of hosts, and sends in place of the hosts whose connections it terminates.
        let speaks_for_others = self.hosts[from].is_gateway;
        let origin = self.hosts.at(from, packet.source()).filter(|_| speaks_for_others).unwrap_or(from);
        let kind = Kind::of(&recognised);
        let Engine { routes, testbed, hosts, .. } = self;
        let Some((step, segment)) = routes.step(testbed, hosts, (origin, from, destination), kind) else {
            self.refusals.count("no-route");
            self.answer(from, Trouble::HostUnreachable, &packet);
            return Ok(());
        };
        let mtu = segment.mtu.0 as usize;
        // A gateway decrements the time to live itself. On a segment that ends at a gateway, the network does so only
        // if there is a router on that segment.
        let is_router = segment.routers > 0 || [from, step.to].iter().all(|&host| !hosts[host].is_gateway);
        let length = packet.octets().len();
        octets.truncate(length);
        // The time to live is checked first: RFC 1812, section 5.2.1.2. Each fragment then has that of the whole.
        let hop = if is_router { ip::hop(&mut octets) } else { Ok(Hop::Onward) };
        match hop {
            Ok(Hop::Onward) if length <= mtu => self.enter(step, octets, sound),
            Ok(Hop::Onward) => self.too_large(step, &octets, mtu),
            Ok(Hop::Expired) => {
                self.refusals.count("time-exceeded");
                if let Ok(expired) = Packet::parse(&octets) {
                    self.answer(from, Trouble::TimeExceeded, &expired);
                }
                Ok(())
            }
            Err(malformed) => {
                self.refusals.count(malformed.name());
                Ok(())
            }
        }
    }

    /// Processes a packet that is larger than the MTU of the path: forwards it in fragments, or sends an ICMP error to
    /// its sender.
    fn too_large(&mut self, step: Step, octets: &[u8], mtu: usize) -> Result<(), Error> {
        let Ok(packet) = Packet::parse(octets) else { return Ok(()) };
        match ip::fit(&packet, mtu) {
            Fit::Whole => self.enter(step, octets.to_vec(), false),
            Fit::Fragments(mut fragments) => fragments.try_for_each(|piece| self.enter(step, piece, false)),
            Fit::TooBig => {
                self.refusals.count("too-big");
                self.answer(step.from, Trouble::TooBig { mtu: mtu as u32 }, &packet);
                Ok(())
            }
        }
    }

    /// Sends a packet into the network, on the channel of its conversation on this segment of the path.
    fn enter(&mut self, step: Step, octets: Vec<u8>, sound: bool) -> Result<(), Error> {
        let Ok(recognised) = ip::recognise(&octets) else { return Ok(()) };
        let Step { from, to, .. } = step;
        let now = self.now;
        let sighting = {
            let Engine { table, open, testbed, .. } = self;
            table.see(now, (from.0 as u16, to.0 as u16), &recognised, |id| {
                let number = open.get(id.slot()).and_then(Option::as_ref).map(|open| open.number);
                number.is_some_and(|number| testbed.fabric.conversation_counters(number).inside() > 0)
            })
        };
        if let Some(ended) = sighting.closed {
            self.leave(ended);
        }
        if sighting.new {
            // An overflow conversation is of no type, whatever its first packet was.
            let kind = self.table.get(sighting.id).map_or(Kind::Other, |known| known.kind);
            let Engine { routes, testbed, hosts, .. } = self;
            let Some(segment) = routes.segment(testbed, hosts, step, kind) else { return Ok(()) };
            let had_windows = testbed.fabric.has_windows();
            let number = testbed.open(now, segment, kind.number())?;
            if had_windows && !testbed.fabric.has_windows() {
                self.left_windows();
            }
            let place = sighting.id.slot();
            if self.open.len() <= place {
                self.open.resize_with(place + 1, || None);
            }
            self.open[place] = Some(Open { id: sighting.id, number, delivered: [0; 2], shown: [0; 2] });
        }
        let is_overflow = self.table.get(sighting.id).is_some_and(|known| known.flow.is_none());
        // All flows of two hosts share their overflow conversation; any other conversation is one flow.
        let flow = if is_overflow { ports(recognised.flow) } else { 0 };
        let Some(Some(open)) = self.open.get(sighting.id.slot()) else { return Ok(()) };
        let (length, ecn, dscp) = (octets.len() as u32, ip::ecn(&octets), ip::dscp(&octets));
        let has_data = recognised.segment.is_none_or(|segment| segment.payload > 0);
        let (id, forward) = (sighting.id, sighting.forward);
        let body = Datagram { octets: Arc::new(octets), entered: now, id, forward, sound, has_data };
        let [from, to] = [from, to].map(|host| self.hosts[host].node);
        let packet = Carried { conversation: open.number, from, to, flow, octets: length, ecn, dscp, body };
        self.testbed.fabric.send(now, packet);
        Ok(())
    }

    /// Sends a host an ICMP error from the address of the network itself.
    fn answer(&mut self, host: HostIndex, trouble: Trouble, about: &Packet<'_>) {
        let router = self.hosts.router(about.is_v4());
        if let Some(octets) = ip::icmp_error(trouble, router, about) {
            self.due.push(Due { host, at: self.now, octets, sound: false });
        }
    }

    /// Conversations that have been idle for long lose their channels.
    fn sweep(&mut self, now: Time) {
        let Engine { table, open, testbed, .. } = self;
        table.expired(now, |id, _| {
            let Some(place) = open.get_mut(id.slot()).filter(|place| place.as_ref().is_some_and(|o| o.id == id)) else {
                return true;
            };
            let closed = place.as_ref().is_none_or(|open| testbed.close(open.number));
            if closed {
                *place = None;
            }
            closed
        });
        let testbed = &mut self.testbed;
        self.leaving.retain(|&number| !testbed.close(number));
    }

    /// Closes a conversation that has left the table.
    fn leave(&mut self, id: Id) {
        let Some(place) = self.open.get_mut(id.slot()) else { return };
        let Some(open) = place.take_if(|open| open.id == id) else { return };
        if !self.testbed.close(open.number) {
            self.leaving.push(open.number);
        }
    }
}

/// Returns the ports of a flow as a number; 0 for a packet without ports, such as a later fragment.
fn ports(flow: Flow) -> u32 {
    match flow {
        Flow::Packet(key) | Flow::FirstFragment(key, _) => {
            u32::from(key.source_port) << 16 | u32::from(key.destination_port)
        }
        Flow::LaterFragment(_) | Flow::IcmpError(..) => 0,
    }
}

/// Sets the ECN field of a packet that a queue on its path has marked.
fn mark(octets: &mut [u8], ecn: Ecn) {
    if ecn != ip::ecn(octets) {
        ip::set_ecn(octets, ecn);
    }
}
