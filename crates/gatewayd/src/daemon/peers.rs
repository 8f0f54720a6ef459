//! What comes from the peers, and how they come and go.

use cellway_gateway::{Reason, TpPacket};

use super::Daemon;
use super::link::machine_config;
use crate::config::Config;
use crate::peering::PeerEvent;

impl Daemon {
    pub(crate) fn from_peer(&mut self, event: PeerEvent) {
        match event {
            PeerEvent::Up { peer, dialer, transport, payload, address } => {
                let (now, link) = (self.time(), &mut self.links[peer]);
                link.came_up(dialer);
                link.payload = payload;
                link.machine.set_payload(now, payload as u32);
                link.machine.set_reliable(transport.is_reliable());
                tracing::info!(peer = %link.name, %address, transport = transport.name(), payload, "up");
                self.tell_rules(peer, true);
            }
            PeerEvent::Payload { peer, payload } => {
                let now = self.time();
                self.links[peer].payload = payload;
                self.links[peer].machine.set_payload(now, payload as u32);
            }
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
    fn tell_rules(&mut self, peer: usize, up: bool) {
        if let Some(rules) = &self.rules
            && let Err(e) = rules.peer(peer, up)
        {
            tracing::error!(peer = %self.links[peer].name, "the rules cannot follow: {e}");
            self.tally.error("rules");
        }
    }
    /// Every connection over a peer is refused or reset.
    pub(crate) fn lose(&mut self, peer: usize, reason: Reason) {
        self.machine(peer, |machine, now, out| machine.down(now, reason, out));
        self.links[peer].early.clear();
        self.settle();
    }

    fn packet(&mut self, peer: usize, octets: &[u8]) {
        let Ok(decoded) = TpPacket::decode(octets) else {
            self.tally.error("malformed");
            return;
        };
        self.machine(peer, |machine, now, out| machine.receive(now, &decoded.packet, out));
        // The machine has made the connections of openings that came in the same packet.
        for (id, offset, bytes) in decoded.data(octets) {
            let link = &mut self.links[peer];
            let most = offset + bytes.len() as u64;
            if let Some(flow) = link.flows.get(&id).and_then(|token| self.table.get_mut(*token)) {
                flow.place(offset, bytes);
            } else if link.machine.flow_stats(id).is_some() && most <= link.machine.config().early.0 {
                link.early.entry(id).or_default().place(offset, bytes);
            }
        }
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
        let now = self.time();
        for (link, peer) in self.links.iter_mut().zip(&config.peers) {
            link.machine.set_rate(now, machine_config(peer, &config).rate);
        }
        let Config { intercept, forwards, socks, control, listen, .. } = self.config.clone();
        self.config = Config { intercept, forwards, socks, control, listen, ..config };
        self.routes = super::route::Routes::of(&self.config);
        if let Some(rules) = &mut self.rules {
            *rules = crate::intercept::Rules::of(&self.config);
        }
        for peer in 0..self.links.len() {
            self.tell_rules(peer, self.links[peer].up);
        }
        tracing::info!("reloaded");
    }
}

/// What a reload cannot change and was changed.
fn unchanged(old: &Config, new: &Config) -> Vec<&'static str> {
    let same = [
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
