//! The gateway's table of nftables, as scripts for `nft -f -`.

use std::fmt::Write as _;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::tool;
use crate::config::Intercept;
use crate::error::Error;

/// Matches a SYN, and no other segment.
const SYN: &str = "tcp flags & (fin | syn | rst | ack) == syn";

/// The time for which a released SYN is remembered: longer than a client takes to acknowledge the answer.
const RELEASED: &str = "5s";
/// Most of them at once, which allows 52,000 per second. A SYN beyond that is dropped, and its client retransmits it:
/// if it were answered with a SYN cookie, no rule would match the acknowledgement.
const MOST_RELEASED: u32 = 262_144;

/// The chain that marks SYNs for interception.
pub(super) const ARRIVING: &str = "arriving";

/// Returns the name of the table, one for each device, as two gateways on one machine need two.
pub(super) fn name(intercept: &Intercept) -> String {
    let mut name = String::from("inet cellway_gateway_");
    for c in intercept.device.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            name.push(c);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(name, ".{:x}", u32::from(c));
        }
    }
    name
}

/// Returns the script for `nft -f -` that makes the table, or replaces all of it except the intercepted networks and
/// the released SYNs. It uses only names of protocols that are built into nft: nft searches others in /etc/protocols,
/// which a small system does not have.
pub(super) fn whole(intercept: &Intercept, guarded: impl Iterator<Item = IpNet>) -> String {
    let Intercept { port, mark, device, .. } = intercept;
    let (table, hold) = (name(intercept), mark.saturating_add(1));
    let (sets, guarded) = (sets(), fill(&table, "guarded", guarded));
    let (mut syns, mut passing) = (String::new(), String::new());
    let any = [String::new()];
    let named: Vec<String> = intercept.interfaces.iter().map(|name| format!("iifname \"{name}\" ")).collect();
    for from in if named.is_empty() { &any[..] } else { &named } {
        for (ip, set) in [("ip", '4'), ("ip6", '6')] {
            // Writing to a String cannot fail.
            let _ = writeln!(
                syns,
                "        {from}{ip} daddr @taken{set} fib daddr type != local meta mark set {hold:#x} accept"
            );
            let _ = writeln!(
                passing,
                "        {from}oifname != \"{device}\" {ip} daddr @guarded{set} {SYN} reject with tcp reset"
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
         \x20       {SYN} goto opening\n\
         \x20       # To the transparent sockets of this machine, also ICMP errors about them.\n\
         \x20       meta l4proto {{ tcp, icmp, icmpv6 }} socket transparent 1 meta mark set {mark:#x} accept\n\
         \x20       # What acknowledges an answer of which the kernel keeps nothing (a SYN cookie): to the listeners.\n\
         \x20       ip daddr @taken4 ip saddr . tcp sport . ip daddr . tcp dport @released4 tproxy ip to 127.0.0.1:{port} meta mark set {mark:#x} accept\n\
         \x20       ip6 daddr @taken6 ip6 saddr . tcp sport . ip6 daddr . tcp dport @released6 tproxy ip6 to [::1]:{port} meta mark set {mark:#x} accept\n\
         \x20   }}\n\
         \x20   chain opening {{\n\
         \x20       # Released: to the listeners, and noted.\n\
         \x20       iifname \"{device}\" update @released4 {{ ip saddr . tcp sport . ip daddr . tcp dport }} tproxy ip to 127.0.0.1:{port} meta mark set {mark:#x} accept\n\
         \x20       iifname \"{device}\" update @released6 {{ ip6 saddr . tcp sport . ip6 daddr . tcp dport }} tproxy ip6 to [::1]:{port} meta mark set {mark:#x} accept\n\
         \x20       iifname \"{device}\" drop\n\
         \x20       # New: to the device, where they wait. Never those to this machine itself.\n\
         {syns}\
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

/// Returns the script that sets the intercepted networks and the guarded ones. It works whether or not the table
/// exists.
pub(super) fn networks(
    intercept: &Intercept,
    taken: impl Iterator<Item = IpNet>,
    guarded: impl Iterator<Item = IpNet>,
) -> String {
    let table = name(intercept);
    let mut script = format!("table {table} {{\n{}}}\n", sets());
    script += &fill(&table, "taken", taken);
    script += &fill(&table, "guarded", guarded);
    script
}

/// Returns the table as nft lists it, without the elements of sets.
pub(super) fn listing(intercept: &Intercept) -> Result<String, Error> {
    tool::nft_prints(&[&["--terse", "list", "table"], &words(&name(intercept))[..]].concat())
}

/// Returns the intercepted and the guarded networks, as nft lists them.
pub(super) fn networks_listing(intercept: &Intercept) -> Result<String, Error> {
    let (table, mut all) = (name(intercept), String::new());
    for set in ["taken4", "taken6", "guarded4", "guarded6"] {
        all += &tool::nft_prints(&[&["list", "set"], &words(&table)[..], &[set]].concat())?;
    }
    Ok(all)
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

/// Returns the script that deletes the table, whether or not it exists.
pub(super) fn removal(intercept: &Intercept) -> String {
    let table = name(intercept);
    // A table that the script makes first can always be deleted.
    format!("table {table} {{\n}}\ndelete table {table}\n")
}

/// Declares the sets; those that exist stay as they are.
fn sets() -> String {
    let one = |name: &str, version: &str, family: &str| {
        format!("    set {name}{version} {{\n        type {family}; flags interval;\n    }}\n")
    };
    let both = |name: &str| one(name, "4", "ipv4_addr") + &one(name, "6", "ipv6_addr");
    let released = |version: &str, family: &str| {
        format!(
            "    set released{version} {{\n        type {family} . inet_service . {family} . inet_service; \
             flags dynamic, timeout; timeout {RELEASED}; size {MOST_RELEASED};\n    }}\n"
        )
    };
    both("taken") + &both("guarded") + &released("4", "ipv4_addr") + &released("6", "ipv6_addr")
}

/// Sets the elements of the sets `name`4 and `name`6.
fn fill(table: &str, name: &str, networks: impl Iterator<Item = IpNet>) -> String {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for network in networks {
        match network {
            IpNet::V4(network) => v4.push(network),
            IpNet::V6(network) => v6.push(network),
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

#[cfg(test)]
mod tests {
    use super::super::tests::intercept;
    use super::*;
    use crate::config::Device;

    #[test]
    fn each_device_has_its_table() {
        let named = |device: &str| name(&Intercept { device: Device(device.into()), ..intercept() });
        assert_eq!(named("hold0"), "inet cellway_gateway_hold0");
        assert_eq!(named("a.b"), "inet cellway_gateway_a.2eb");
        assert_ne!(named("a+"), named("a."));
    }

    #[test]
    fn sets_get_networks_without_overlaps() {
        let all = ["10.1.0.0/16", "10.1.2.0/24", "10.0.0.0/16", "fd00::/64", "fd00:0:0:1::/64"];
        let all = all.iter().map(|network| network.parse().unwrap());
        assert_eq!(
            fill("t", "taken", all),
            "flush set t taken4\nadd element t taken4 { 10.0.0.0/15 }\n\
             flush set t taken6\nadd element t taken6 { fd00::/63 }\n"
        );
        assert_eq!(fill("t", "taken", [].into_iter()), "flush set t taken4\nflush set t taken6\n");
    }
}
