//! What the kernel must do with packets: nftables, policy routing, and which networks are taken.
//!
//! ```text
//!                 opening to a peer's network                     the TUN device
//!   prerouting ── SYN, mark + 1 ────────────── table + 1 ───────> Hold
//!                                                                   │ release
//!   prerouting ── SYN from the TUN device, tproxy, mark ─ table ──> Listeners
//!   prerouting ── of a transparent socket, mark ───────── table ──> that socket
//!   output ────── "host unreachable" to a peer's network ─────────> Hold, and back as the one above
//!   forward ───── opening to a network that is not left to itself ─> reset
//! ```
//!
//! Everything is in a table of nftables of its own, rules of routing with priorities of their own, and two routing
//! tables. Nothing else is read or changed.

use std::fmt::Write as _;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::tool::{self, Family};
use crate::config::{Config, Intercept, PeerDown};
use crate::error::Error;

/// The first segment of a connection, and no other.
const OPENING: &str = "tcp flags & (fin | syn | rst | ack) == syn";
/// Priorities of the rules of routing: [`STEP`] for each table number, from here on, before `main` (32766).
const FIRST: u32 = 10_000;
const STEP: u32 = 10;
const SLOTS: u32 = 2_000;

/// A peer's networks.
#[derive(Clone, Debug, PartialEq)]
struct Networks {
    peer: String,
    prefixes: Vec<IpNet>,
    /// Whether connections there are refused where they cannot be carried.
    guarded: bool,
    up: bool,
}

/// The rules of a configuration, and which of its peers can be reached.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// None: there are no rules.
    intercept: Option<Intercept>,
    networks: Vec<Networks>,
}

impl Rules {
    /// The rules of `config`; no peer is up yet.
    pub(crate) fn of(config: &Config) -> Rules {
        let networks = config.peers.iter().map(|peer| Networks {
            peer: peer.name.clone(),
            prefixes: peer.prefixes.clone(),
            guarded: peer.down == PeerDown::Refuse,
            up: false,
        });
        Rules { intercept: config.intercept.clone(), networks: networks.collect() }
    }

    /// As a script for a shell that does what [`Rules::apply`] does.
    pub(crate) fn text(&self) -> String {
        let Some(intercept) = &self.intercept else {
            return "# The configuration has no [intercept]: no rules are needed.\n".into();
        };
        let mut text = format!(
            "#!/bin/sh\n\
             # What the gateway needs of the kernel. It also needs, and this does not set:\n\
             #   sysctl net.ipv4.ip_forward=1 net.ipv4.tcp_early_demux=0{}\n\
             # A firewall on this machine must let pass: connections forwarded to the device `{device}`, input of TCP\n\
             # with the mark {mark:#x}, output of TCP, and ICMP errors. Address translation must leave `{device}` out.\n\
             # The device itself is the daemon's, and so is the route to it (table {hold}): without the daemon\n\
             # connections pass this machine as if there were no rules.\n\
             nft -f - <<'END'\n{nft}END\n",
            if tool::has_ipv6() { " net.ipv6.conf.all.forwarding=1" } else { "" },
            device = intercept.device,
            mark = intercept.mark,
            hold = intercept.table.saturating_add(1),
            nft = self.script(intercept),
        );
        for family in tool::families() {
            for words in routing(intercept) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "ip {} rule add {}", family.option(), words.join(" "));
            }
            let _ = writeln!(text, "ip {} route replace {}", family.option(), delivery(intercept).join(" "));
        }
        text
    }

    /// Sets the rules, in the network namespace of the present thread. What is there already stays; which networks
    /// a running daemon takes is not changed.
    pub(crate) fn apply(&self) -> Result<(), Error> {
        let Some(intercept) = &self.intercept else { return Ok(()) };
        tool::nft(&self.script(intercept))?;
        for family in tool::families() {
            for words in routing(intercept) {
                add_rule(*family, &words)?;
            }
            let route = delivery(intercept);
            let words: Vec<&str> = ["route", "replace"].into_iter().chain(route.iter().map(String::as_str)).collect();
            tool::ip(*family, &words)?;
        }
        Ok(())
    }

    /// Removes what [`Rules::apply`] set for the same `[intercept]`, and nothing else. What is not there is well.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let Some(intercept) = &self.intercept else { return Ok(()) };
        let table = table(intercept);
        // One that is made first can be deleted in any case.
        tool::nft(&format!("table {table} {{\n}}\ndelete table {table}\n"))?;
        for family in tool::families() {
            for words in routing(intercept) {
                remove_all(*family, "rule", &words)?;
            }
            remove_all(*family, "route", &delivery(intercept))?;
        }
        Ok(())
    }

    /// A peer (its place in the configuration) can be reached, or no longer: its networks are taken, or not.
    pub(crate) fn peer(&mut self, peer: usize, up: bool) -> Result<(), Error> {
        if let Some(networks) = self.networks.get_mut(peer) {
            networks.up = up;
        }
        self.settle()
    }

    /// Another configuration with the same `[intercept]`: a peer of the same name is as it was.
    pub(crate) fn reload(&mut self, config: &Config) -> Result<(), Error> {
        let mut new = Rules::of(config);
        for networks in &mut new.networks {
            networks.up = self.networks.iter().any(|old| old.up && old.peer == networks.peer);
        }
        *self = new;
        self.settle()
    }

    /// Tells the kernel which networks are taken now. A daemon does so when it starts and when it ends: what one
    /// before it left there is not to stay. It does not matter whether the rules exist yet.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        let Some(intercept) = &self.intercept else { return Ok(()) };
        let table = table(intercept);
        let mut script = format!("table {table} {{\n{}}}\n", sets(&["taken4", "taken6", "guarded4", "guarded6"]));
        script += &fill(&table, "taken", self.networks.iter().filter(|networks| networks.up));
        script += &fill(&table, "guarded", self.networks.iter().filter(|networks| networks.guarded));
        tool::nft(&script)
    }

    /// For `nft -f -`: a table like this, whatever it was before, but for what is taken.
    fn script(&self, intercept: &Intercept) -> String {
        let Intercept { port, mark, device, .. } = intercept;
        let (table, hold) = (table(intercept), mark.saturating_add(1));
        let sets = sets(&["taken4", "taken6", "guarded4", "guarded6"]);
        let guarded = fill(&table, "guarded", self.networks.iter().filter(|networks| networks.guarded));
        let (mut openings, mut passing) = (String::new(), String::new());
        let any = [String::new()];
        let named: Vec<String> = intercept.interfaces.iter().map(|name| format!("iifname \"{name}\" ")).collect();
        for from in if named.is_empty() { &any[..] } else { &named } {
            for (ip, set) in [("ip", '4'), ("ip6", '6')] {
                // Writing to a String cannot fail.
                let _ = writeln!(
                    openings,
                    "        {from}{ip} daddr @taken{set} fib daddr type != local meta mark set {hold:#x} accept"
                );
                let _ = writeln!(
                    passing,
                    "        {from}oifname != \"{device}\" {ip} daddr @guarded{set} {OPENING} reject with tcp reset"
                );
            }
        }
        format!(
            "table {table} {{\n\
             \x20   # taken: networks behind the peers that can be reached now (the daemon fills it).\n\
             \x20   # guarded: networks whose connections are refused where they are not carried.\n\
             {sets}\
             \x20   chain arriving {{\n        type filter hook prerouting priority mangle; policy accept;\n    }}\n\
             \x20   chain opening {{\n    }}\n\
             \x20   chain passing {{\n        type filter hook forward priority filter; policy accept;\n    }}\n\
             \x20   chain failing {{\n        type route hook output priority mangle; policy accept;\n    }}\n\
             }}\n\
             flush chain {table} arriving\n\
             flush chain {table} opening\n\
             flush chain {table} passing\n\
             flush chain {table} failing\n\
             {guarded}\
             table {table} {{\n\
             \x20   chain arriving {{\n\
             \x20       {OPENING} goto opening\n\
             \x20       # To the transparent sockets of this machine, also ICMP errors about them.\n\
             \x20       meta l4proto {{ tcp, icmp, ipv6-icmp }} socket transparent 1 meta mark set {mark:#x} accept\n\
             \x20   }}\n\
             \x20   chain opening {{\n\
             \x20       # Released: to the listeners.\n\
             \x20       iifname \"{device}\" meta nfproto ipv4 meta l4proto tcp tproxy ip to 127.0.0.1:{port} meta mark set {mark:#x} accept\n\
             \x20       iifname \"{device}\" meta nfproto ipv6 meta l4proto tcp tproxy ip6 to [::1]:{port} meta mark set {mark:#x} accept\n\
             \x20       iifname \"{device}\" accept\n\
             \x20       # New: to the device, where they wait. Never those to this machine itself.\n\
             {openings}\
             \x20   }}\n\
             \x20   chain passing {{\n{passing}    }}\n\
             \x20   chain failing {{\n\
             \x20       # A neighbour that does not answer a connection from a client's address is reported to that\n\
             \x20       # address: the device sends the report back in, to the socket it is about.\n\
             \x20       icmp type destination-unreachable icmp code 1 ip daddr @taken4 meta mark set {hold:#x}\n\
             \x20       icmpv6 type destination-unreachable icmpv6 code 3 ip6 daddr @taken6 meta mark set {hold:#x}\n\
             \x20   }}\n\
             }}\n"
        )
    }
}

/// The table of nftables, one for each device, as two gateways on one machine must have two.
fn table(intercept: &Intercept) -> String {
    let mut table = String::from("inet cellway_gateway_");
    for c in intercept.device.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            table.push(c);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(table, ".{:x}", u32::from(c));
        }
    }
    table
}

/// Declares sets; those that exist stay as they are.
fn sets(names: &[&str]) -> String {
    let one = |name: &&str| {
        let version = if name.ends_with('4') { "ipv4_addr" } else { "ipv6_addr" };
        format!("    set {name} {{\n        type {version}; flags interval;\n    }}\n")
    };
    names.iter().map(one).collect()
}

/// Gives the sets `name`4 and `name`6 these networks and no others.
fn fill<'a>(table: &str, name: &str, networks: impl Iterator<Item = &'a Networks>) -> String {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for prefix in networks.flat_map(|networks| &networks.prefixes) {
        match prefix {
            IpNet::V4(prefix) => v4.push(*prefix),
            IpNet::V6(prefix) => v6.push(*prefix),
        }
    }
    // Without overlaps, which the sets refuse.
    let v4: Vec<String> = Ipv4Net::aggregate(&v4).iter().map(ToString::to_string).collect();
    let v6: Vec<String> = Ipv6Net::aggregate(&v6).iter().map(ToString::to_string).collect();
    let mut script = String::new();
    for (version, list) in [('4', v4), ('6', v6)] {
        // Writing to a String cannot fail.
        let _ = writeln!(script, "flush set {table} {name}{version}");
        if !list.is_empty() {
            let _ = writeln!(script, "add element {table} {name}{version} {{ {} }}", list.join(", "));
        }
    }
    script
}

/// The rules of routing, as words for `ip rule add`.
///
/// Two lookups must not see a mark that is ours. One for what this machine sends: with `tcp_fwmark_accept` a
/// connection that was accepted sends with the mark. And one for the way back to the source of a packet, which
/// with `src_valid_mark` is done with the mark; its input device is `lo`, or the one that the packet goes out by.
fn routing(intercept: &Intercept) -> [Vec<String>; 5] {
    let Intercept { mark, table, device, .. } = intercept;
    let (hold, hold_table) = (mark.saturating_add(1), table.saturating_add(1));
    let first = FIRST + table % SLOTS * STEP;
    let last = first + 4;
    let words = |text: String| text.split(' ').map(str::to_owned).collect();
    [
        words(format!("pref {first} iif {device} fwmark {hold:#x} goto {last}")),
        words(format!("pref {} fwmark {hold:#x} lookup {hold_table}", first + 1)),
        words(format!("pref {} iif lo goto {last}", first + 2)),
        words(format!("pref {} fwmark {mark:#x} lookup {table}", first + 3)),
        words(format!("pref {last} nop")),
    ]
}

/// The route by which packets with the mark come into this machine, as words for `ip route`.
fn delivery(intercept: &Intercept) -> Vec<String> {
    let table = intercept.table.to_string();
    ["local", "default", "dev", "lo", "table", &table].map(str::to_owned).to_vec()
}

fn add_rule(family: Family, words: &[String]) -> Result<(), Error> {
    let all: Vec<&str> = ["rule", "add"].into_iter().chain(words.iter().map(String::as_str)).collect();
    match tool::ip(family, &all) {
        Err(e) if e.to_string().contains("File exists") => Ok(()),
        other => other,
    }
}

/// Deletes a rule or a route until there is none.
fn remove_all(family: Family, what: &str, words: &[String]) -> Result<(), Error> {
    let all: Vec<&str> = [what, "del"].into_iter().chain(words.iter().map(String::as_str)).collect();
    loop {
        match tool::ip(family, &all) {
            Ok(()) => {}
            Err(e) => {
                let said = e.to_string();
                let gone = ["No such file", "No such process", "does not exist"];
                return if gone.iter().any(|words| said.contains(words)) { Ok(()) } else { Err(e) };
            }
        }
    }
}

/// Whether the kernel would take the rules of `intercept`; nothing is changed.
pub(super) fn would(intercept: &Intercept) -> Result<(), Error> {
    let rules = Rules { intercept: None, networks: Vec::new() };
    tool::nft_would(&rules.script(intercept))
}

#[cfg(test)]
mod tests {
    use super::super::testbed::config;
    use super::*;

    fn intercept() -> Intercept {
        config(&[], PeerDown::Direct, &[]).intercept.unwrap()
    }

    #[test]
    fn each_device_has_its_table() {
        let named = |device: &str| table(&Intercept { device: device.into(), ..intercept() });
        assert_eq!(named("hold0"), "inet cellway_gateway_hold0");
        assert_eq!(named("a.b"), "inet cellway_gateway_a.2eb");
        assert_ne!(named("a+"), named("a."));
    }

    #[test]
    fn gateways_with_other_tables_share_no_priority() {
        let priorities = |table: u32| {
            let words = routing(&Intercept { table, ..intercept() });
            words.map(|words| words[1].parse::<u32>().unwrap())
        };
        let (one, two) = (priorities(160), priorities(162));
        assert!(one.is_sorted() && one.iter().all(|priority| !two.contains(priority)));
        assert!(priorities(u32::MAX).iter().all(|&priority| (FIRST..32_766).contains(&priority)));
    }

    #[test]
    fn sets_get_networks_without_overlaps() {
        let rules = Rules::of(&config(
            &["10.1.0.0/16", "10.1.2.0/24", "10.0.0.0/16", "fd00::/64", "fd00:0:0:1::/64"],
            PeerDown::Refuse,
            &[],
        ));
        assert_eq!(
            fill("t", "taken", rules.networks.iter()),
            "flush set t taken4\nadd element t taken4 { 10.0.0.0/15 }\n\
             flush set t taken6\nadd element t taken6 { fd00::/63 }\n"
        );
        assert_eq!(fill("t", "taken", [].into_iter()), "flush set t taken4\nflush set t taken6\n");
    }

    #[test]
    fn without_interception_there_are_no_rules() {
        let mut rules = Rules::of(&Config { intercept: None, ..config(&["10.0.0.0/8"], PeerDown::Refuse, &[]) });
        assert!(rules.text().lines().all(|line| line.starts_with('#')));
        rules.apply().unwrap();
        rules.peer(0, true).unwrap();
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
        rules.networks[0].up = true;
        rules.reload(&new).unwrap();
        let up: Vec<(&str, bool)> = rules.networks.iter().map(|of| (of.peer.as_str(), of.up)).collect();
        assert_eq!(up, [("other", false), ("far", true)]);
    }
}
