//! The rules of the kernel: nftables, policy routing, and the intercepted networks.
//!
//! ```text
//!                 SYN to a peer's network                         the TUN device
//!   prerouting ── SYN, mark + 1 ────────────── table + 1 ───────> Hold
//!                                                                   │ release
//!   prerouting ── SYN from the TUN device, tproxy, mark ─ table ──> Listeners
//!   prerouting ── of a transparent socket, mark ───────── table ──> that socket
//!   output ────── "host unreachable" to a peer's network ─────────> Hold, which releases it like a SYN
//!   forward ───── SYN to a guarded network ─────────────────────────> reset
//! ```
//!
//! The daemon has a table of nftables, rules of routing with its own priorities, and two routing tables. It reads and
//! changes nothing else.

mod routing;
mod table;

use ipnet::IpNet;

use super::tool;
use crate::config::{Config, Intercept, PeerDown};
use crate::error::Error;
use crate::peer_id::PeerId;

/// A peer's networks.
#[derive(Clone, Debug, PartialEq)]
struct Networks {
    peer: String,
    prefixes: Vec<IpNet>,
    /// True if connections there are refused while the peer is down.
    guarded: bool,
    up: bool,
}

/// The rules of a configuration, and the peers that can be reached.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rules {
    /// None: there are no rules.
    intercept: Option<Intercept>,
    networks: Vec<Networks>,
}

/// A gateway's rules as the kernel lists them, for comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Its rules and routes.
    pub(super) rules: String,
    /// The networks that are intercepted and guarded.
    networks: String,
}

impl Rules {
    /// Creates the rules of `config`; no peer is up yet.
    pub(crate) fn of(config: &Config) -> Rules {
        let networks = config.peers.iter().map(|peer| Networks {
            peer: peer.name.clone(),
            prefixes: peer.prefixes.clone(),
            guarded: peer.down == PeerDown::Refuse,
            up: false,
        });
        Rules { intercept: config.intercept.clone(), networks: networks.collect() }
    }

    /// Returns a script for a shell with the effect of [`Rules::apply`].
    pub(crate) fn text(&self) -> String {
        let Some(intercept) = &self.intercept else {
            return "# The configuration has no [intercept]: no rules are needed.\n".into();
        };
        format!(
            "#!/bin/sh\n\
             # What the gateway needs of the kernel. It also needs, and this does not set:\n\
             #   sysctl net.ipv4.ip_forward=1 net.ipv4.tcp_early_demux=0{}\n\
             # A firewall on this machine must let pass: connections forwarded to the device `{device}`, input of TCP\n\
             # with the mark {mark:#x}, output of TCP, and ICMP errors. Address translation must leave `{device}` out.\n\
             # The device itself is the daemon's, and so is the route to it (table {hold}): without the daemon\n\
             # nothing is intercepted, and connections to peers with down = \"refuse\" are reset.\n\
             nft -f - <<'END'\n{nft}END\n{routing}",
            if tool::has_ipv6() { " net.ipv6.conf.all.forwarding=1" } else { "" },
            device = intercept.device,
            mark = intercept.mark,
            hold = intercept.table.saturating_add(1),
            nft = table::whole(intercept, self.guarded()),
            routing = routing::text(intercept),
        )
    }

    /// Sets the rules, in the network namespace of the calling thread. The table is
    /// replaced, except for the networks that a running daemon intercepts; routing rules that exist stay.
    pub(crate) fn apply(&self) -> Result<(), Error> {
        let Some(intercept) = &self.intercept else { return Ok(()) };
        tool::nft(&table::whole(intercept, self.guarded()))?;
        routing::apply(intercept)
    }

    /// Removes the rules that [`Rules::apply`] has set for the same `[intercept]`, and nothing else. Missing rules are
    /// no error.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let Some(intercept) = &self.intercept else { return Ok(()) };
        tool::nft(&table::removal(intercept))?;
        routing::remove(intercept)
    }

    /// Sets the state of a peer: its networks are intercepted while it is up. [`Rules::set_networks`] passes that to
    /// the kernel.
    pub(crate) fn peer(&mut self, peer: PeerId, up: bool) {
        if let Some(networks) = self.networks.get_mut(peer.index()) {
            networks.up = up;
        }
    }

    /// Applies another configuration with the same `[intercept]`: a peer of the same name keeps its state.
    /// [`Rules::set_networks`] passes that to the kernel.
    pub(crate) fn reload(&mut self, config: &Config) {
        let mut new = Rules::of(config);
        for networks in &mut new.networks {
            networks.up = self.networks.iter().any(|old| old.up && old.peer == networks.peer);
        }
        *self = new;
    }

    /// Passes the intercepted networks to the kernel, in place of those that it has. A daemon also does so when it
    /// starts, because an earlier daemon may have left some, and when it ends. Missing rules are an error only if
    /// networks are to be intercepted.
    pub(crate) fn set_networks(&self) -> Result<(), Error> {
        let Some(intercept) = &self.intercept else { return Ok(()) };
        let taken = self.networks.iter().filter(|networks| networks.up).flat_map(|networks| &networks.prefixes);
        tool::nft(&table::networks(intercept, taken.copied(), self.guarded()))?;
        let takes = self.networks.iter().any(|networks| networks.up && !networks.prefixes.is_empty());
        if takes && !tool::nft_has_chain(&table::name(intercept), table::ARRIVING) {
            return Err(Error::NoRules);
        }
        Ok(())
    }

    /// Returns these rules as the kernel lists them. Fails if the table or one of its sets does not exist.
    pub(super) fn found(&self) -> Result<Found, Error> {
        let Some(intercept) = &self.intercept else { return Ok(Found::default()) };
        let rules = table::listing(intercept)? + &routing::listing(intercept)?;
        Ok(Found { rules, networks: table::networks_listing(intercept)? })
    }

    /// Sets the rules again, with the intercepted networks and the route to the device, which must exist.
    pub(super) fn restore(&self) -> Result<(), Error> {
        let Some(intercept) = &self.intercept else { return Ok(()) };
        self.apply()?;
        routing::lead_to_device(intercept)?;
        self.set_networks()
    }

    /// Returns the networks whose connections are refused while they are not relayed.
    fn guarded(&self) -> impl Iterator<Item = IpNet> {
        let guarded = self.networks.iter().filter(|networks| networks.guarded);
        guarded.flat_map(|networks| networks.prefixes.iter().copied())
    }
}

/// Returns the name of the table of nftables, without its family.
pub(super) fn table(intercept: &Intercept) -> String {
    table::name(intercept).split(' ').next_back().unwrap_or_default().to_owned()
}
/// Sets the route of SYNs to the device, which must exist.
pub(super) fn lead_to_device(intercept: &Intercept) -> Result<(), Error> {
    routing::lead_to_device(intercept)
}

/// Checks that the kernel would accept the rules of `intercept`, without changing any.
pub(super) fn would(intercept: &Intercept) -> Result<(), Error> {
    tool::nft_would(&table::whole(intercept, [].into_iter()))
}

#[cfg(test)]
mod tests {
    use super::super::testbed::config;
    use super::*;

    pub(super) fn intercept() -> Intercept {
        config(&[], PeerDown::Direct, &[]).intercept.unwrap()
    }

    #[test]
    fn without_interception_there_are_no_rules() {
        let mut rules = Rules::of(&Config { intercept: None, ..config(&["10.0.0.0/8"], PeerDown::Refuse, &[]) });
        assert!(rules.text().lines().all(|line| line.starts_with('#')));
        rules.apply().unwrap();
        rules.peer(PeerId::at(0), true);
        rules.set_networks().unwrap();
        rules.remove().unwrap();
    }

    #[test]
    fn a_peer_of_the_same_name_stays_up() {
        let old = config(&["10.0.0.0/8"], PeerDown::Direct, &[]);
        let mut new = Config { intercept: None, ..old.clone() };
        let mut other = new.peers[0].clone();
        other.name = "other".into();
        new.peers.insert(0, other);
        let mut rules = Rules::of(&old);
        rules.peer(PeerId::at(0), true);
        rules.reload(&new);
        let up: Vec<(&str, bool)> = rules.networks.iter().map(|of| (of.peer.as_str(), of.up)).collect();
        assert_eq!(up, [("other", false), ("far", true)]);
    }
}
