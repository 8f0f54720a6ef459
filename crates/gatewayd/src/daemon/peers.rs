//! What comes from the peers, and how they come and go.

use cellway_gateway::{Decoded, Frame, GatewayConfig, Reason, Transport};
use cellway_units::Span;

use super::Daemon;
use super::handle::Command;
use super::link::machine_config;
use crate::config::{Config, LineRate, PeerDown};
use crate::error::Error;
use crate::intercept::Follower;
use crate::peering::{self, PeerEvent};

impl Daemon {
    pub(crate) fn peer_tells(&mut self, event: PeerEvent) {
        match event {
            PeerEvent::Up { peer, dialer, transport, payload, address } => {
                let octets = self.peering.octets(peer);
                let rtt = self.peering.status(peer).rtt.map(|rtt| Span::from_ns(rtt.as_nanos() as u64));
                let link = &mut self.links[peer];
                link.came_up(dialer, octets, self.now);
                let v6 = address.is_ipv6() && address.ip().to_canonical().is_ipv6();
                let (carrier, reliable) = match transport {
                    peering::Transport::Quic => (Transport::Quic { v6 }, false),
                    peering::Transport::Tls => (Transport::Tls { v6 }, true),
                };
                link.machine.set_transport(carrier, reliable, rtt);
                tracing::info!(peer = %link.name, %address, transport = transport.name(), payload, "up");
                self.resize(peer, payload);
                self.tell_rules(peer, true);
            }
            PeerEvent::Payload { peer, payload } => self.resize(peer, payload),
            PeerEvent::Packet { peer, packet } => self.packet(peer, &packet),
            PeerEvent::Down { peer, why } => {
                if self.links[peer].up {
                    tracing::warn!(peer = %self.links[peer].name, %why, "down");
                    self.links[peer].downs += 1;
                    self.tell_rules(peer, false);
                    self.lose(peer, Reason::PeerLost);
                }
                self.links[peer].up = false;
                self.links[peer].why_down = why;
            }
        }
    }
    /// The transport takes packets of so many octets now.
    fn resize(&mut self, peer: usize, payload: usize) {
        self.links[peer].payload = payload;
        self.machine(peer, |machine, now, out| machine.set_payload(now, payload, out));
    }
    /// Has a peer's networks taken, or left alone.
    pub(crate) fn tell_rules(&mut self, peer: usize, up: bool) {
        if let Some(rules) = &mut self.rules {
            self.links[peer].change = rules.peer(peer, up);
        }
    }
    /// The kernel knows of a change of the rules, or has refused it.
    pub(crate) fn followed(&mut self, change: u64, result: Result<(), Error>) {
        if let Some(rules) = &mut self.rules {
            rules.heard(change);
        }
        if let Err(e) = result {
            tracing::error!("the rules cannot follow: {e}");
            self.tally.error("rules");
        }
    }
    /// Whether the kernel takes the networks of a peer that is up.
    pub(crate) fn is_taken(&self, peer: usize) -> bool {
        self.rules.as_ref().is_none_or(|rules| rules.has_told(self.links[peer].change))
    }
    /// Whether connections to a peer that is down will pass untouched, and still come here.
    pub(crate) fn will_pass(&self, peer: usize) -> bool {
        self.config.peers[peer].down == PeerDown::Direct && self.rules.as_ref().is_some_and(Follower::is_behind)
    }
    /// Waits until the kernel knows of all changes of the rules.
    pub(crate) fn leave_rules(&mut self) {
        if let Some(rules) = self.rules.take() {
            rules.end();
        }
        while let Some(command) = self.orders.next() {
            if let Command::Followed { change, result } = command {
                self.followed(change, result);
            }
        }
    }
    /// Every connection over a peer is refused or reset.
    pub(crate) fn lose(&mut self, peer: usize, reason: Reason) {
        // Without `follow`: a lost peer has no findings to report, and the caller changes the rules.
        self.call(peer, |machine, now, out| machine.down(now, reason, out), |_| {});
        self.links[peer].early.clear();
        self.settle();
    }

    fn packet(&mut self, peer: usize, octets: &[u8]) {
        let link = &mut self.links[peer];
        let mut decoded = std::mem::take(&mut link.decoded);
        if let Err(e) = decoded.read(octets, link.machine.expected()) {
            tracing::debug!(peer = %link.name, "not a packet: {e}");
            self.tally.error("malformed");
        } else {
            // A reset for an identifier that this side has not assigned yet would end the flow that gets it later.
            let ours = |frame: &Frame| match frame {
                Frame::Open { flow, .. } => link.is_ours(*flow),
                Frame::Reset { flow, .. } => link.is_ours(*flow) && !link.has_named(*flow),
                _ => false,
            };
            if decoded.packet.frames.iter().any(ours) {
                // Both gateways log this text, so it names both.
                let why = format!("{} used the number of a flow that {} has not opened", link.name, self.config.name);
                self.tally.error("malformed");
                self.links[peer].decoded = decoded;
                self.peering.abandon(peer, self.instant(), &why);
                return;
            }
            let kept = self.keep(peer, &decoded, octets);
            self.machine(peer, |machine, now, out| machine.receive(now, &decoded.packet, out));
            if !kept {
                // What an opening in the same packet has made wanted.
                self.keep(peer, &decoded, octets);
            }
        }
        self.links[peer].decoded = decoded;
    }
    /// Keeps the bytes of a packet that the machine wants and does not hold itself; whether it wants any.
    fn keep(&mut self, peer: usize, decoded: &Decoded, octets: &[u8]) -> bool {
        let Some(Frame::Data { flow: id, offset, .. }) = decoded.packet.frames.last() else { return true };
        let link = &mut self.links[peer];
        let Some(wanted) = link.machine.wanted(*id) else { return false };
        let bytes = &octets[decoded.payload.clone()];
        if bytes.is_empty() || *offset + bytes.len() as u64 > wanted.end {
            return !bytes.is_empty();
        }
        match link.flows.get(id).and_then(|token| self.table.get_mut(*token)) {
            Some(flow) => flow.place(*offset, bytes),
            None => link.early.entry(*id).or_default().place(*offset, bytes),
        }
        true
    }

    /// Takes over what may change while connections stay.
    pub(crate) fn reload(&mut self, config: Config) {
        let names = |config: &Config| config.peers.iter().map(|peer| peer.name.clone()).collect::<Vec<_>>();
        if names(&config) != names(&self.config) || config.name != self.config.name {
            tracing::error!("reload: other peers or another name need a restart; the old configuration stays");
            self.tally.error("reload");
            return;
        }
        if let Err(e) = self.peering.reload(&config, self.instant()) {
            tracing::error!("reload: {e}; the old configuration stays");
            self.tally.error("reload");
            return;
        }
        for name in unchanged(&self.config, &config) {
            tracing::warn!("reload: `{name}` needs a restart and stays as it was");
        }
        for (index, peer) in config.peers.iter().enumerate() {
            let GatewayConfig { rate, guard, bypass, .. } = machine_config(peer, &config);
            self.machine(index, |machine, now, out| {
                machine.set_guard(now, guard);
                machine.set_bypass(bypass);
                machine.set_rate(now, rate, out);
            });
        }
        let Config { intercept, forwards, socks, control, listen, .. } = self.config.clone();
        self.config = Config { intercept, forwards, socks, control, listen, ..config };
        self.routes = super::route::Routes::of(&self.config);
        if let Some(rules) = &mut self.rules {
            rules.reload(&self.config);
        }
        tracing::info!("reloaded");
    }
}

/// What a reload cannot change and was changed.
fn unchanged(old: &Config, new: &Config) -> Vec<&'static str> {
    let kinds = |config: &Config| -> Vec<(bool, bool)> {
        let of = |rate: &LineRate| {
            (matches!(rate, LineRate::Auto { .. }), matches!(rate, LineRate::Fixed { atm: true, .. }))
        };
        config.peers.iter().map(|peer| of(&peer.rate)).collect()
    };
    let same = [
        ("rate from or to \"auto\", and framing", kinds(old) == kinds(new)),
        ("intercept", old.intercept == new.intercept),
        ("forward", old.forwards == new.forwards),
        ("socks", old.socks == new.socks),
        ("control", old.control == new.control),
        ("listen", old.listen == new.listen),
        (
            "limits.memory and limits.window",
            old.limits.memory == new.limits.memory && old.limits.window == new.limits.window,
        ),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}
