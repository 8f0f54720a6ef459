//! Stacks of others: their flows, datagrams and timers.

use std::collections::BTreeSet;

use cellway_apps::random::Streams;
use cellway_apps::{DatagramMark, Side};
use cellway_net::Packet;
use cellway_scenario::Scenario;
use cellway_units::{Bytes, Ecn, Time};

use super::Run;
use crate::body::Body;
use crate::error::Error;
use crate::octets::ip_address;
use crate::slot::Slot;
use crate::stack::{Setup, Stacks};
use crate::stack_guard::StackFault;
use crate::stack_slot::{GroupStack, StackEnd};
use crate::timers::{TimerKey, TimerKind};

/// Returns the stack of each traffic group of `scenario` that has one.
pub(super) fn stacks_of(scenario: &Scenario, stacks: Option<&Stacks>) -> Result<Vec<Option<GroupStack>>, Error> {
    let Some(stacks) = stacks else { return Ok(vec![None; scenario.traffic.len()]) };
    if let Some(unknown) = stacks.names().find(|&name| scenario.traffic.iter().all(|group| group.name != name)) {
        let known = scenario.traffic.iter().map(|group| format!("{:?}", group.name)).collect::<Vec<_>>().join(", ");
        return Err(Error::NoSuchGroup { part: "stack", group: unknown.to_owned(), known });
    }
    let stack = |group: &cellway_scenario::Traffic| {
        let Some((payload, factory)) = stacks.get(&group.name) else { return Ok(None) };
        if group.gateways().is_some() {
            return Err(Error::SplitStack { group: group.name.clone() });
        }
        let max_datagram = group.mtu.0.saturating_sub(payload.headers(group.family())) as usize;
        Ok(Some(GroupStack { payload, factory, max_datagram }))
    };
    scenario.traffic.iter().map(stack).collect()
}

/// Returns the places of the groups that have a stack.
pub(super) fn driven(stacks: &[Option<GroupStack>]) -> BTreeSet<usize> {
    (0..stacks.len()).filter(|&group| stacks[group].is_some()).collect()
}

/// Returns the random octets of a flow.
fn seed(streams: &Streams, name: &str) -> [u8; 32] {
    let mut stream = streams.stream(&format!("{name}/stack"));
    let mut seed = [0; 32];
    seed.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&stream.bits().to_le_bytes()));
    seed
}

impl Run<'_> {
    /// Creates the two ends of a flow and starts them, the responder first.
    pub(super) fn begin_stack(&mut self, now: Time, index: usize) {
        let Slot::Stack(slot) = &mut self.slots[index] else { return };
        let (plan, stack) = (&slot.plan, &slot.stack);
        let family = plan.family();
        let setup = Setup {
            name: &plan.name,
            start: now,
            family,
            addresses: plan.hosts.map(|host| ip_address(host, family)),
            max_datagram: stack.max_datagram,
            seed: seed(&self.streams, &plan.name),
        };
        match (stack.factory)(&setup) {
            Ok(ends) => slot.ends = Some(ends.map(|end| StackEnd::new(end, stack.max_datagram))),
            Err(why) => {
                let group = self.bed.scenario().traffic[plan.group].name.clone();
                let error = Error::NoEnds { group, flow: plan.name.to_string(), why };
                self.fault.get_or_insert(Box::new(error));
                return;
            }
        }
        for end in [1, 0] {
            self.stack(now, index, end, |end| {
                end.stack.wake(now);
                end.guard.woken(now)
            });
        }
    }

    /// Processes a datagram of a flow that has arrived at a host.
    pub(super) fn stack_arrived(
        &mut self,
        now: Time,
        index: usize,
        packet: &Packet<Body>,
        mark: Option<DatagramMark>,
        contents: &[u8],
    ) {
        let Slot::Stack(slot) = &self.slots[index] else { return };
        let end = usize::from(packet.to != slot.plan.hosts[0]);
        if end == 1 {
            self.bed.meter.arrived(index, packet.octets, self.encapsulation);
        }
        if let Some(mark) = mark {
            // Goodput is that of the bytes that the stack delivers, whatever its datagrams carry.
            self.bed.meter.datagram_received(index, now, Side::Responder, mark, Bytes(0));
            if packet.ecn == Ecn::Ce {
                self.bed.meter.datagram_marked(index, Side::Responder, mark);
            }
        }
        let ecn = packet.ecn;
        self.stack(now, index, end, |end| {
            end.guard.received();
            end.stack.receive(now, contents, ecn);
            Ok(())
        });
    }

    /// Wakes an end whose timer has fired, if it still is due.
    pub(super) fn wake_stack(&mut self, now: Time, index: usize, end: usize) {
        self.stack(now, index, end, |end| {
            if end.armed == Some(now) {
                end.armed = None;
            }
            if end.stack.deadline().is_some_and(|at| at <= now) {
                end.guard.woken(now)?;
                end.stack.wake(now);
            }
            Ok(())
        });
    }

    /// Calls an end; sends its datagrams, records its progress and sets its timer.
    fn stack(
        &mut self,
        now: Time,
        index: usize,
        end: usize,
        act: impl FnOnce(&mut StackEnd) -> Result<(), StackFault>,
    ) {
        if let Err(fault) = self.call_stack(now, index, end, act) {
            let plan = self.slots[index].plan();
            let group = self.bed.scenario().traffic[plan.group].name.clone();
            let flow = plan.name.to_string();
            let end = ["originator", "responder"][end];
            self.fault.get_or_insert(Box::new(Error::Stack { group, flow, end, at: now, fault }));
        }
    }

    fn call_stack(
        &mut self,
        now: Time,
        index: usize,
        end: usize,
        act: impl FnOnce(&mut StackEnd) -> Result<(), StackFault>,
    ) -> Result<(), StackFault> {
        let Slot::Stack(slot) = &mut self.slots[index] else { return Ok(()) };
        let Some(ends) = &mut slot.ends else { return Ok(()) };
        let (plan, this) = (&slot.plan, &mut ends[end]);
        let headers = slot.stack.payload.headers(plan.family());
        let (conversation, from, to) = (plan.legs[end], plan.hosts[end], plan.hosts[1 - end]);
        act(this)?;
        loop {
            slot.buffer.clear();
            let Some(ecn) = this.stack.transmit(now, &mut slot.buffer) else { break };
            let inside = self.bed.fabric.conversation_counters(conversation).inside();
            this.guard.sent(now, slot.buffer.len(), inside)?;
            let mark = (end == 0).then(|| {
                slot.sequence += 1;
                DatagramMark { sequence: slot.sequence - 1, sent: now }
            });
            if mark.is_some() {
                self.bed.meter.datagram_sent(index, now);
            }
            let octets = headers as u32 + slot.buffer.len() as u32;
            let body = Body::Stack { number: self.packets, mark, contents: slot.buffer.as_slice().into() };
            self.bed.fabric.send(now, Packet { conversation, from, to, flow: 0, octets, ecn, dscp: plan.dscp, body });
            self.packets += 1;
        }
        let (delivered, again) = this.unreported()?;
        let reader = [Side::Originator, Side::Responder][end];
        self.bed.meter.delivered(index, reader, delivered);
        if let Some(again) = again {
            self.bed.meter.retransmitted(index, again);
        }
        if let Some(why) = this.stack.failure() {
            return Err(StackFault::Reported(why));
        }
        if let Some(at) = this.stack.deadline().map(|at| at.max(now))
            && this.armed.is_none_or(|armed| at < armed)
        {
            this.armed = Some(at);
            self.timers.add(at, TimerKey { slot: index as u32, kind: TimerKind::Stack { end: end as u8 } });
        }
        Ok(())
    }
}
