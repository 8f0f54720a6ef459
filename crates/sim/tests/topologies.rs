//! Networks of other shapes: routers back to back, many switches, hosts that the file names.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{BULK, NetworkPath, PS, delivered, figure, ps, run, scenario};

/// Returns [`BULK`] with its nodes and links replaced by a chain of `switches` between r1 and r2, each line 2 Mbit/s
/// and 5 ms.
fn chain(switches: usize) -> String {
    let names: Vec<String> = std::iter::once("r1".to_owned())
        .chain((1..=switches).map(|i| format!("s{i}")))
        .chain(["r2".to_owned()])
        .collect();
    let node = |name: &String| {
        let kind = if name.starts_with('r') { "router" } else { "switch" };
        format!("{{ name = \"{name}\", kind = \"{kind}\" }}")
    };
    let nodes: Vec<String> = names.iter().map(node).collect();
    let (_, after) = BULK.split_once("[run]").unwrap();
    let (before_links, rest) = after.split_once("[[link]]").unwrap();
    let traffic = &rest[rest.find("[[traffic]]").unwrap()..];
    let links: String = names
        .windows(2)
        .map(|pair| {
            format!(
                "[[link]]\nbetween = [\"{}\", \"{}\"]\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\nframing = \"atm\"\n\n",
                pair[0], pair[1]
            )
        })
        .collect();
    format!("version = 1\nname = \"chain\"\nnode = [{}]\n\n[run]{before_links}{links}{traffic}", nodes.join(", "))
}

#[test]
fn each_switch_adds_its_line_and_one_cell_time() {
    for switches in [0, 1, 4] {
        let path =
            NetworkPath { access: (1_500_000, 0), atm: vec![(2_000_000, 5_000_000_000); switches + 1], llc: false };
        let rtt = path.round_trip(552);
        let (warmup, duration) = (ps(PS), ps(PS + 300 * rtt));
        let s = scenario(
            &chain(switches),
            &[("tcp.window", "\"1024 B\""), ("run.warmup", &warmup), ("run.duration", &duration)],
        );
        let record = run(&s, 1);
        assert_eq!(delivered(&s, &record, "bulk-1"), 300 * 1024, "{switches} switches");
        // Every line there carries the same cells, every line back one for each acknowledgement.
        let ports = s.links.iter().map(|l| (&s.nodes[l.a.0].name, &s.nodes[l.b.0].name));
        for (a, b) in ports {
            assert_eq!(figure(&record, &format!("{a}>{b}"), "cells"), 12.0 * 600.0, "{a}>{b}");
            assert_eq!(figure(&record, &format!("{b}>{a}"), "cells"), 600.0, "{b}>{a}");
        }
    }
}

/// Returns [`BULK`] between named hosts: the same links, so the same transfer.
fn between_hosts() -> String {
    let hosts =
        r#"{ name = "r2", kind = "router" }, { name = "client", kind = "host" }, { name = "server", kind = "host" }]"#;
    let links = r#"[[link]]
between = ["client", "r1"]
rate = "1.5 Mbit/s"
delay = "0 s"
mtu = "9180 B"

[[link]]
between = ["r2", "server"]
rate = "1.5 Mbit/s"
delay = "0 s"
mtu = "9180 B"

[[traffic]]"#;
    BULK.replace(r#"{ name = "r2", kind = "router" }]"#, hosts).replace("[[traffic]]", links).replace(
        "from = \"r1\"\nto = \"r2\"\naccess = { rate = \"1.5 Mbit/s\", delay = \"0 s\", mtu = \"9180 B\" }",
        "from = \"client\"\nto = \"server\"",
    )
}

#[test]
fn a_named_host_is_like_an_implicit_one() {
    for window in ["\"8 KiB\"", "\"65535 B\""] {
        let [implicit, named] = [BULK, &between_hosts()].map(|text| run(&scenario(text, &[("tcp.window", window)]), 4));
        assert_eq!(implicit.counts, named.counts);
        assert_eq!(implicit.summary, named.summary);
        assert_eq!(implicit.series, named.series);
    }
}

/// Conversations of one host share its link: with an ATM line ten times as fast that link is the
/// bottleneck, and the payload gets 512 of 552 octets of it.
#[test]
fn conversations_of_one_host_share_its_link() {
    let set = [
        ("traffic.bulk.count", "4"),
        ("tcp.window", "\"16 KiB\""),
        ("link.r1-s1.rate", "\"15 Mbit/s\""),
        ("link.s1-r2.rate", "\"15 Mbit/s\""),
        // Many windows long: data are sent window by window.
        ("observe.fairness-window", "\"20 s\""),
    ];
    let shared = run(&scenario(&between_hosts(), &set), 1);
    let own = run(&scenario(BULK, &set), 1);
    let sum = |record| (1..=4).map(|i| figure(record, &format!("bulk-{i}"), "goodput")).sum::<f64>();
    let line = 1.5e6 * 512.0 / 552.0;
    assert!((sum(&shared) / line - 1.0).abs() < 1e-3, "{} of {line} bit/s", sum(&shared));
    assert!((sum(&own) / (4.0 * line) - 1.0).abs() < 1e-3, "{} with a link each", sum(&own));
    assert!(figure(&shared, "bulk", "jain") > 0.99);
}

#[test]
fn traffic_in_both_directions_is_counted_by_direction() {
    let back = "\n[[traffic]]\nname = \"back\"\napp = \"bulk\"\nfrom = \"r2\"\nto = \"r1\"\naccess = { rate = \"1.5 Mbit/s\", delay = \"0 s\" }\ntcp = { window = \"1024 B\" }\n";
    let s = scenario(&format!("{BULK}{back}"), &[("tcp.window", "\"4096 B\"")]);
    let record = run(&s, 1);
    let cells = |port: &str| figure(&record, port, "cells");
    let segments = |slot: &str| delivered(&s, &record, slot) as f64 / 512.0;
    // In one direction: 12 cells a segment of "bulk" and an acknowledgement of each of "back"; and the reverse in the
    // other.
    for (port, data, acknowledged) in [("r1>s1", "bulk-1", "back-1"), ("r2>s1", "back-1", "bulk-1")] {
        let expected = 12.0 * segments(data) + segments(acknowledged);
        assert!(
            (cells(port) - expected).abs() <= 8.0 * 12.0 + 8.0,
            "{port}: {} cells, {expected} expected",
            cells(port)
        );
    }
    assert!(segments("bulk-1") > 3.5 * segments("back-1") && segments("back-1") > 500.0);
}
