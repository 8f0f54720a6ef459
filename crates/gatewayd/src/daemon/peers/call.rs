//! Calls into the state machine of a peer.

use cellway_gateway::{Action, Excess, Gateway, Output, Reason};
use cellway_units::Time;

use super::Peers;
use crate::config::PeerDown;
use crate::daemon::attempts::Attempt;
use crate::daemon::context::Context;
use crate::daemon::hosts::Hosts;
use crate::daemon::outbox::Event;
use crate::peer_id::PeerId;

/// The size of the memory into which packets are encoded one after the other (octets).
const GATHERED: usize = 64 * 1024;

impl Peers {
    /// Calls the state machine of `peer`, executes its actions on the hosts, and sends its packets.
    pub(crate) fn call(
        &mut self,
        peer: PeerId,
        hosts: &mut Hosts,
        cx: &mut Context,
        act: impl FnOnce(&mut Gateway, Time, &mut Output),
    ) {
        let before = self.links[peer].findings();
        let output = self.run(peer, cx, act);
        self.links[peer].report(before);
        self.execute(peer, output, hosts, cx);
    }
    /// Refuses or resets all connections over a peer.
    pub(crate) fn lose(&mut self, peer: PeerId, reason: Reason, hosts: &mut Hosts, cx: &mut Context) {
        // Findings are not reported: there are none about a lost peer.
        let output = self.run(peer, cx, |gateway, now, out| gateway.down(now, reason, out));
        self.execute(peer, output, hosts, cx);
        hosts.drop_early(peer);
    }
    fn run(&mut self, peer: PeerId, cx: &Context, act: impl FnOnce(&mut Gateway, Time, &mut Output)) -> Output {
        let link = &mut self.links[peer];
        let mut output = std::mem::take(&mut link.output);
        let now = link.time(cx.now);
        act(&mut link.gateway, now, &mut output);
        output
    }
    fn execute(&mut self, peer: PeerId, mut output: Output, hosts: &mut Hosts, cx: &mut Context) {
        // Bytes are read from hosts before the packets that carry them are encoded.
        for action in output.actions.drain(..) {
            match action {
                Action::Connect { flow, request } => {
                    cx.push(Event::Attempt(Attempt { peer, id: flow, request, since: cx.now }));
                }
                Action::Refuse { flow, reason } => {
                    hosts.refuse(peer, flow, reason, self.bypasses_refused(peer, reason, cx), cx);
                }
                action => hosts.execute(peer, &action, cx),
            }
        }
        self.send(peer, &mut output, hosts, cx);
        if let Some(excess) = self.links[peer].gateway.excess() {
            cx.push(Event::Excess(peer, excess));
        }
        self.links[peer].output = output;
    }
    /// Encodes packets, and hands them to the transport.
    fn send(&mut self, peer: PeerId, output: &mut Output, hosts: &Hosts, cx: &mut Context) {
        let Peers { transport, links, packet: buffer, .. } = self;
        let link = &mut links[peer];
        let mut lost = false;
        for packet in output.packets.drain(..) {
            let octets = packet.octets() as usize;
            if buffer.capacity() < octets {
                // The memory of packets that were sent is reused.
                buffer.reserve(octets.max(GATHERED));
            }
            packet.encode(buffer, |flow, offset, len, out| {
                lost |= !hosts.copy(peer, flow, offset, len as usize, out);
            });
            if !lost {
                if link.gateway.config().reliable && octets > link.payload {
                    cx.tally.error("packet-too-long");
                }
                link.uncounted -= octets as i64 + i64::from(link.gateway.config().transport.overhead());
                transport.send(peer, buffer.split().freeze());
            }
            buffer.clear();
        }
        if lost {
            cx.push(Event::LostBytes(peer));
        }
    }

    /// Returns true if a SYN that is refused for this reason bypasses the gateways, because the peer is lost. Not over
    /// TLS: TCP delivers the request before its reset, so the far gateway would connect from a port that the client's
    /// direct connection uses. The client is refused instead, and its next SYN bypasses the gateways, from another
    /// port.
    fn bypasses_refused(&self, peer: PeerId, reason: Reason, cx: &Context) -> bool {
        let lost = matches!(reason, Reason::PeerLost | Reason::Stopping);
        let direct = cx.config.peers[peer.index()].down == PeerDown::Direct;
        lost && direct && !self.links[peer].gateway.config().reliable
    }

    /// Ends the connection to a peer because bytes of a host that packets should carry are no longer held.
    pub(crate) fn end_for_lost_bytes(&mut self, peer: PeerId, hosts: &mut Hosts, cx: &mut Context) {
        cx.tally.error("lost-bytes");
        self.lose(peer, Reason::Violation, hosts, cx);
        self.transport.abandon(peer, self.instant(cx.now), "bytes of a host were lost");
    }
    /// Ends the connection to a peer that is over a cap. Every call reports that until the state machine was reset.
    pub(crate) fn end_for_excess(&mut self, peer: PeerId, excess: Excess, hosts: &mut Hosts, cx: &mut Context) {
        let link = &self.links[peer];
        if link.gateway.excess().is_none() {
            return;
        }
        let why = format!("{} is cut: {excess}", link.name);
        tracing::warn!(peer = %link.name, cap = excess.name(), "{why}");
        cx.tally.error(excess.name());
        self.lose(peer, Reason::Violation, hosts, cx);
        self.transport.abandon(peer, self.instant(cx.now), &why);
    }
}
