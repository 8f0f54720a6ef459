//! Changes of the machine, and its requirements.

use super::super::testbed::{Three, config, possible};
use super::super::{Rules, absent, hindrances, obstacles};
use super::SERVER;
use crate::config::{DeviceNames, Intercept, PeerDown};
use crate::peer_id::PeerId;

/// Marks the peer as up.
fn up(rules: &mut Rules) {
    rules.peer(PeerId::at(0), true);
    rules.set_networks().unwrap();
}

/// Returns all rules, routes and settings.
fn everything(three: &Three) -> String {
    Three::output(
        &three.gateway,
        "nft list ruleset; ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; \
         cat /proc/sys/net/ipv4/conf/*/rp_filter /proc/sys/net/ipv4/ip_forward",
    )
}

#[test]
fn rules_are_applied_twice_and_removed_without_a_trace() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // Rules and routes of other programs, one of them in conflict.
    Three::output(
        &three.gateway,
        "nft add table inet others; ip rule add pref 11603 fwmark 0x6a0 lookup 99; ip -6 rule add pref 500 lookup 98",
    );
    let before = everything(&three);
    // The prefixes overlap, which those of the sets must not.
    let config = config(&["10.0.1.0/24", "10.0.1.0/25", "fd01::/64"], PeerDown::Refuse, &["lan0"]);
    let [first, second, moved, again, removed] = {
        let config = config.clone();
        let (g, three) = (three.gateway.handle(), &three);
        let step = |work: fn(&mut Rules)| {
            let config = config.clone();
            g.run(move || work(&mut Rules::of(&config)));
            everything(three)
        };
        [
            step(|rules| rules.apply().unwrap()),
            step(|rules| rules.apply().unwrap()),
            step(up),
            step(|rules| rules.apply().unwrap()),
            step(|rules| (rules.remove().unwrap(), rules.remove().unwrap()).0),
        ]
    };
    assert_ne!(first, before);
    assert_eq!(first, second);
    assert_ne!(moved, second, "10.0.1.0/24 is taken");
    assert_eq!(again, moved, "what is taken stays when the rules are applied again");
    assert_eq!(removed, before);
    // The printed script has the same effect.
    let text = Rules::of(&config).text();
    Three::output(&three.gateway, &text);
    assert_eq!(everything(&three), first);
    // A daemon that starts before the rules are set, and continues after that.
    let said = three.gateway.run(move || {
        let mut rules = Rules::of(&config);
        rules.remove().unwrap();
        rules.set_networks().unwrap();
        rules.peer(PeerId::at(0), true);
        let before = rules.set_networks().unwrap_err().to_string();
        rules.apply().unwrap();
        rules.set_networks().unwrap();
        before
    });
    assert!(said.contains("rules apply"), "{said}");
    assert_eq!(everything(&three), moved);
}

#[test]
fn obstacles_are_named() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let intercept = config(&SERVER, PeerDown::Direct, &["lan0", "eth*"]).intercept.unwrap();
    let ask = |intercept: &Intercept, v6: bool| {
        let intercept = intercept.clone();
        three
            .gateway
            .run(move || [obstacles(&intercept, true, v6), hindrances(), absent(&intercept.interfaces)].concat())
    };
    let said = ask(&intercept, true);
    assert!(said.len() == 1 && said[0].contains("net.ipv4.tcp_early_demux=0"), "{said:?}");
    three.gateway.set("net/ipv4/tcp_early_demux", "0").unwrap();
    assert_eq!(ask(&intercept, true), Vec::<String>::new());
    assert!(!everything(&three).contains("cellway"), "asking changes nothing");
    three.gateway.set("net/ipv4/ip_forward", "0").unwrap();
    three.gateway.set("net/ipv6/conf/all/forwarding", "0").unwrap();
    let mut wrong = intercept;
    wrong.interfaces = ["lan7", "lan*"].map(|name| DeviceNames(name.into())).to_vec();
    let said = ask(&wrong, true);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("net.ipv4.ip_forward=1") && said[1].contains("net.ipv6.conf.all.forwarding=1"));
    assert_eq!(said[2], "lan7");
    assert_eq!(ask(&wrong, false).len(), 2, "without networks of IPv6 nothing of it is forwarded");
}
