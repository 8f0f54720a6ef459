//! Events of the transport: peers that are up or down, and their packets.

use cellway_gateway::{Decoded, Frame, Reason, Transport};
use cellway_units::Span;

use super::Peers;
use crate::daemon::context::Context;
use crate::daemon::hosts::Hosts;
use crate::daemon::outbox::Event;
use crate::peer_id::PeerId;
use crate::peering::{self, PeerEvent};

impl Peers {
    /// Processes an event of the transport.
    pub(crate) fn receive(&mut self, event: PeerEvent, hosts: &mut Hosts, cx: &mut Context) {
        match event {
            PeerEvent::Up { peer, dialer, transport, payload, address, resumed } => {
                let octets = self.transport.octets(peer);
                let rtt = self.transport.status(peer).rtt.map(|rtt| Span::from_ns(rtt.as_nanos() as u64));
                let v6 = address.is_ipv6() && address.ip().to_canonical().is_ipv6();
                let (carrier, reliable) = match transport {
                    peering::Transport::Quic => (Transport::Quic { v6 }, false),
                    peering::Transport::Tls => (Transport::Tls { v6 }, true),
                };
                let link = &mut self.links[peer];
                tracing::info!(peer = %link.name, %address, transport = transport.name(), payload, resumed, "up");
                if resumed {
                    link.detached = false;
                    self.call(peer, hosts, cx, |gateway, now, out| {
                        gateway.transport_replaced(now, carrier, reliable, out);
                    });
                } else {
                    link.mark_up(dialer, octets, cx.now);
                    link.gateway.set_transport(carrier, reliable, rtt);
                }
                self.resize(peer, payload, hosts, cx);
                cx.push(Event::Reachable(peer, true));
            }
            PeerEvent::Detached { peer, why } => {
                let link = &mut self.links[peer];
                tracing::warn!(peer = %link.name, %why, "detached: connections wait until it is up again");
                link.detached = true;
                link.why_down = why;
            }
            PeerEvent::Payload { peer, payload } => self.resize(peer, payload, hosts, cx),
            PeerEvent::Packet { peer, packet } => self.packet(peer, &packet, hosts, cx),
            PeerEvent::Down { peer, why } => {
                if self.links[peer].up {
                    let link = &mut self.links[peer];
                    tracing::warn!(peer = %link.name, %why, "down");
                    link.downs += 1;
                    link.why_last_down.clone_from(&why);
                    cx.push(Event::Reachable(peer, false));
                    self.lose(peer, Reason::PeerLost, hosts, cx);
                }
                (self.links[peer].up, self.links[peer].detached) = (false, false);
                self.links[peer].why_down = why;
            }
        }
    }
    /// Sets the size of packets (octets).
    fn resize(&mut self, peer: PeerId, payload: usize, hosts: &mut Hosts, cx: &mut Context) {
        self.links[peer].payload = payload;
        self.call(peer, hosts, cx, |gateway, now, out| gateway.set_payload(now, payload, out));
    }
    fn packet(&mut self, peer: PeerId, octets: &[u8], hosts: &mut Hosts, cx: &mut Context) {
        let link = &mut self.links[peer];
        let mut decoded = std::mem::take(&mut link.decoded);
        if let Err(e) = decoded.read(octets, link.gateway.expected()) {
            tracing::debug!(peer = %link.name, "not a packet: {e}");
            cx.tally.error("malformed");
        } else if self.misuses_identifiers(peer, &decoded) {
            // Both gateways log this text, so it has both names.
            let name = &self.links[peer].name;
            let why = format!("{name} used the number of a flow that {} has not opened", cx.config.name);
            cx.tally.error("malformed");
            self.transport.abandon(peer, self.instant(cx.now), &why);
        } else {
            let kept = self.keep(peer, &decoded, octets, hosts);
            self.call(peer, hosts, cx, |gateway, now, out| gateway.receive(now, &decoded.packet, out));
            if !kept {
                // Bytes of a flow that the same packet has opened.
                self.keep(peer, &decoded, octets, hosts);
            }
        }
        self.links[peer].decoded = decoded;
    }
    /// Returns true if a peer opens a flow with an identifier of this side, or resets one that this side has not
    /// assigned: the reset would end the flow that gets it later.
    fn misuses_identifiers(&self, peer: PeerId, decoded: &Decoded) -> bool {
        let link = &self.links[peer];
        decoded.packet.frames.iter().any(|frame| match frame {
            Frame::Open { flow, .. } => link.is_ours(*flow),
            Frame::Reset { flow, .. } => link.is_ours(*flow) && !link.has_assigned(*flow),
            _ => false,
        })
    }
    /// Holds the bytes of a packet that the state machine accepts; returns false if it accepts none.
    fn keep(&self, peer: PeerId, decoded: &Decoded, octets: &[u8], hosts: &mut Hosts) -> bool {
        let Some(Frame::Data { flow: id, offset, .. }) = decoded.packet.frames.last() else { return true };
        let Some(wanted) = self.links[peer].gateway.wanted(*id) else { return false };
        let bytes = &octets[decoded.payload.clone()];
        if bytes.is_empty() || *offset + bytes.len() as u64 > wanted.end {
            return !bytes.is_empty();
        }
        hosts.place(peer, *id, *offset, bytes);
        true
    }
}
