//! The datagrams of a run: sent at their times, and recorded when they arrive.

use cellway_apps::{DatagramMark, Side};
use cellway_net::Packet;
use cellway_units::{Bytes, Ecn, Time};

use super::Run;
use crate::body::Body;
use crate::slot::Slot;
use crate::timers::{TimerKey, TimerKind};

impl Run<'_> {
    /// Sends the datagram of a slot that is due.
    pub(super) fn send_datagram(&mut self, now: Time, index: usize, side: Side) {
        let Slot::Udp(slot) = &mut self.slots[index] else { return };
        let [there, back] = &slot.sources;
        let both_ways = there.is_some() && back.is_some();
        let Some(source) = &mut slot.sources[side as usize] else { return };
        let (frame, octets) = (source.frame(), source.packet().0 as u32);
        // The originator's port is that of the conversation, and queues that separate flows do so by it.
        let flow = source.conversation() as u32;
        let mark = DatagramMark { sequence: source.send(), sent: now };
        let body = Body::Datagram { number: self.packets, mark };
        let [from, to] = [side, side.peer()].map(|side| slot.plan.hosts[side as usize]);
        let conversation = slot.plan.legs[side as usize];
        self.timers.add_if(source.next(), TimerKey { slot: index as u32, kind: TimerKind::Datagram { side } });
        if let Some(packets) = frame {
            self.bed.meter.frame_sent(index, now, packets);
        }
        if both_ways {
            self.bed.meter.datagram_sent_by(index, side, now);
        } else {
            self.bed.meter.datagram_sent(index, now);
        }
        let (ecn, dscp) = (slot.ecn, slot.plan.dscp);
        self.bed.fabric.send(now, Packet { conversation, from, to, flow, octets, ecn, dscp, body });
        self.packets += 1;
    }

    /// Records a datagram of a slot that has arrived at a host. The responder sends a ping back.
    pub(super) fn datagram_arrived(&mut self, now: Time, index: usize, packet: &Packet<Body>, mark: DatagramMark) {
        let Slot::Udp(slot) = &self.slots[index] else { return };
        let payload = Bytes(u64::from(packet.octets) - slot.plan.family().udp_headers());
        let reader = if packet.to == slot.plan.hosts[0] { Side::Originator } else { Side::Responder };
        if packet.ecn == Ecn::Ce {
            self.bed.meter.datagram_marked(index, reader, mark);
        }
        if reader == Side::Originator {
            self.bed.meter.datagram_received(index, now, Side::Originator, mark, payload);
            return;
        }
        let echo = slot.is_echoed.then(|| Packet {
            conversation: slot.plan.legs[1],
            from: packet.to,
            to: packet.from,
            ecn: slot.ecn,
            body: Body::Datagram { number: self.packets, mark },
            ..packet.clone()
        });
        self.bed.meter.arrived(index, packet.octets, self.encapsulation);
        self.bed.meter.datagram_received(index, now, Side::Responder, mark, payload);
        if let Some(echo) = echo {
            self.bed.fabric.send(now, echo);
            self.packets += 1;
        }
    }
}
