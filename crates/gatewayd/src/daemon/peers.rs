//! What comes from the peers, and how they come and go.

use cellway_gateway::{Decoded, Frame, GatewayConfig, Reason, Transport};
use cellway_units::Span;

use super::Daemon;
use super::handle::Command;
use super::link::machine_config;
use super::timers::Due;
use crate::config::{Config, LineRate, PeerDown};
use crate::intercept::{Follower, News};
use crate::peer_id::PeerId;
use crate::peering::{self, PeerEvent};

/// When rules that could not be set are set again.
const RULES_AGAIN: Span = Span::from_secs(5);

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
                    self.links[peer].why_last_down.clone_from(&why);
                    self.tell_rules(peer, false);
                    self.lose(peer, Reason::PeerLost);
                }
                self.links[peer].up = false;
                self.links[peer].why_down = why;
            }
        }
    }
    /// The transport takes packets of so many octets now.
    fn resize(&mut self, peer: PeerId, payload: usize) {
        self.links[peer].payload = payload;
        self.machine(peer, |machine, now, out| machine.set_payload(now, payload, out));
    }
    /// Has a peer's networks taken, or left alone.
    pub(crate) fn tell_rules(&mut self, peer: PeerId, up: bool) {
        if let Some(rules) = &mut self.rules {
            self.links[peer].change = rules.peer(peer, up && self.drain.is_none());
        }
    }
    /// The kernel knows of a change of the rules, or has refused it, or lacks them.
    pub(crate) fn rules_news(&mut self, news: News) {
        let before = self.rules.as_ref().and_then(|rules| rules.lacking().map(str::to_owned));
        if let Some(rules) = &mut self.rules {
            rules.heard(&news);
        }
        match news {
            News::Followed { result: Ok(()), .. } | News::Looked(Ok(false)) => {}
            News::Followed { result: Err(e), .. } => {
                tracing::error!("the rules cannot follow: {e}");
                self.tally.error("rules");
            }
            News::Looked(Ok(true)) => {
                tracing::warn!(
                    "rules of the kernel were deleted by somebody else, and are set again; connections that began \
                     meanwhile went direct, carried ones may have been reset"
                );
                self.tally.restored += 1;
            }
            News::Looked(Err(e)) => {
                let why = e.to_string();
                if before.as_ref() != Some(&why) {
                    tracing::error!("rules of the kernel are lacking and cannot be set again: {why}");
                }
                self.tally.error("rules");
                // What the attempt itself has deleted is heard of, too.
                self.timers.add(self.now + RULES_AGAIN, Due::Rules);
            }
        }
    }
    /// Something was deleted from the rules of this machine. Rules that could not be set have their own time.
    pub(crate) fn rules_deleted(&mut self) {
        if let Some(rules) = self.rules.as_mut().filter(|rules| rules.lacking().is_none()) {
            rules.look();
        }
    }
    /// It is time to set rules again that could not be set.
    pub(crate) fn set_rules_again(&mut self) {
        if let Some(rules) = &mut self.rules {
            rules.look();
        }
    }
    /// Why the kernel does not take the networks of a peer that is up, if it does not.
    pub(crate) fn not_taken(&self, peer: PeerId) -> Option<String> {
        let rules = self.rules.as_ref()?;
        if let Some(why) = rules.lacking() {
            return Some(format!("the rules of the kernel are lacking: {why}"));
        }
        (!rules.has_told(self.links[peer].change)).then(|| "the rules of the kernel have not followed yet".to_owned())
    }
    /// Whether connections to a peer that is down will pass untouched, and still come here.
    pub(crate) fn will_pass(&self, peer: PeerId) -> bool {
        self.config.peers[peer.place()].down == PeerDown::Direct && self.rules.as_ref().is_some_and(Follower::is_behind)
    }
    /// Waits until the kernel knows of all changes of the rules.
    pub(crate) fn leave_rules(&mut self) {
        if let Some(rules) = self.rules.take() {
            rules.end();
        }
        while let Some(command) = self.orders.next() {
            if let Command::Rules(news) = command {
                self.rules_news(news);
            }
        }
    }
    /// Every connection over a peer is refused or reset.
    pub(crate) fn lose(&mut self, peer: PeerId, reason: Reason) {
        // Without `follow`: a lost peer has no findings to report, and the caller changes the rules.
        self.call(peer, |machine, now, out| machine.down(now, reason, out), |_| {});
        self.links[peer].early.clear();
        self.settle();
    }

    fn packet(&mut self, peer: PeerId, octets: &[u8]) {
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
    fn keep(&mut self, peer: PeerId, decoded: &Decoded, octets: &[u8]) -> bool {
        let Some(Frame::Data { flow: id, offset, .. }) = decoded.packet.frames.last() else { return true };
        let link = &mut self.links[peer];
        let Some(wanted) = link.machine.wanted(*id) else { return false };
        let bytes = &octets[decoded.payload.clone()];
        if bytes.is_empty() || *offset + bytes.len() as u64 > wanted.end {
            return !bytes.is_empty();
        }
        match link.flows.get(id).and_then(|token| self.table.get_mut(*token)) {
            Some(connection) => connection.to_host.place(*offset, bytes),
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
        for (place, peer) in config.peers.iter().enumerate() {
            let GatewayConfig { rate, guard, bypass, .. } = machine_config(peer, &config);
            self.machine(PeerId::at(place), |machine, now, out| {
                machine.set_guard(now, guard);
                machine.set_bypass(bypass);
                // What is the same keeps its deficits and its pacers.
                if !machine.classes().map(|(class, _)| class).eq(peer.classes.as_slice()) {
                    machine.set_classes(peer.classes.clone());
                }
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
