//! Routes: fewest links, then least delay, then first in the file.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::{LinkIndex, NodeIndex, Scenario};
use common::scenario;

/// Routers by letter and links as (name, ends, delay in ms); traffic from a to z.
fn network(nodes: &str, links: &[(&str, &str, u32)]) -> Scenario {
    let mut text = String::from("version = 1\nname = \"n\"\n[run]\nduration = \"1 h\"\nrtt = \"1 ms\"\n");
    text.push_str("[buffer]\nsize = \"100 cell\"\n[tcp]\nprofile = \"classic\"\nvariant = \"sack\"\nmss = \"512 B\"\nwindow = \"8 KiB\"\n");
    for node in nodes.chars() {
        text.push_str(&format!("[[node]]\nname = \"{node}\"\nkind = \"router\"\n"));
    }
    for (name, ends, delay) in links {
        let (a, b) = ends.split_at(1);
        text.push_str(&format!("[[link]]\nname = \"{name}\"\nbetween = [\"{a}\", \"{b}\"]\n"));
        text.push_str(&format!("rate = \"1 Mbit/s\"\ndelay = \"{delay} ms\"\n"));
    }
    text.push_str("[[traffic]]\nname = \"t\"\napp = \"bulk\"\nfrom = \"a\"\nto = \"z\"\n");
    text.push_str("access = { rate = \"1 Mbit/s\", delay = \"0 s\" }\n");
    scenario(&text)
}

fn names(s: &Scenario) -> Vec<&str> {
    s.traffic[0].route.iter().map(|l| s.links[l.0].name.as_str()).collect()
}

#[test]
fn fewer_links_beat_less_delay() {
    let s = network("abz", &[("1", "ab", 1), ("2", "bz", 1), ("3", "az", 900)]);
    assert_eq!(names(&s), ["3"]);
}

#[test]
fn less_delay_beats_file_order() {
    let s = network("abcz", &[("1", "ab", 5), ("2", "bz", 5), ("3", "ac", 8), ("4", "cz", 1)]);
    assert_eq!(names(&s), ["3", "4"]);
}

#[test]
fn file_order_decides_between_equals() {
    let s = network("abcz", &[("1", "cz", 1), ("2", "ac", 2), ("3", "ab", 1), ("4", "bz", 2)]);
    assert_eq!(names(&s), ["2", "1"], "by the first link of the path, then the next");
    let s = network("az", &[("1", "za", 2), ("2", "az", 2), ("3", "az", 3)]);
    assert_eq!(names(&s), ["1"]);
}

#[test]
fn routes_join_end_to_end_both_ways() {
    let s = network("abcz", &[("1", "ab", 1), ("2", "bc", 1), ("3", "cz", 1)]);
    let (a, z) = (NodeIndex(0), NodeIndex(3));
    let there = s.route(a, z).unwrap();
    assert_eq!(there, [LinkIndex(0), LinkIndex(1), LinkIndex(2)]);
    assert_eq!(s.visited(a, &there), [0, 1, 2, 3].map(NodeIndex));
    let back = s.route(z, a).unwrap();
    assert!(there.iter().rev().eq(back.iter()));
    assert_eq!(s.route(a, a), Some(vec![]));
    assert_eq!(s.route(a, NodeIndex(9)), None);
    assert_eq!(s.route(NodeIndex(9), a), None);
}
