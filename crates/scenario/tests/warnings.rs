//! Keys and axes without effect cause a warning with their location; all others cause none.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::Plan;
use common::{GOOD, RICH, edited, repository, with};

/// Returns the warnings about a file: line, key, message.
fn warnings(text: &str) -> Vec<(usize, String, String)> {
    let plan = Plan::parse(text, "t.toml").unwrap_or_else(|e| panic!("{e}"));
    let points = plan.points().unwrap_or_else(|e| panic!("{e}"));
    let told = plan.warnings(&points);
    told.into_iter().map(|p| (p.line.unwrap(), p.key, p.message)).collect()
}

/// The small file with routers only, so that no link carries cells.
fn packets(more: &str) -> String {
    edited(&[("kind = \"switch\"", "kind = \"router\"")]) + more
}

#[test]
fn right_files_have_none() {
    for text in [GOOD, RICH] {
        assert_eq!(warnings(text), []);
    }
    for name in [
        "satellite-bulk",
        "gateway",
        "policed",
        "lossy-link",
        "abr-parking-lot",
        "compare-satellite",
        "many-customers",
        "voice-and-bulk",
        "bufferbloat",
        "lte",
        "leo",
        "incast",
        "video",
        "page",
        "red-and-ecn",
        "l4s",
    ] {
        let path = repository(&format!("scenarios/{name}.toml"));
        assert_eq!(warnings(&std::fs::read_to_string(path).unwrap()), [], "{name}");
    }
}

#[test]
fn multiplexing_is_nothing_to_packets() {
    let more = "\n[multiplexing]\nchannel = \"per-type\"\nserver = \"fifo\"\nencapsulation = \"llc-snap\"\n";
    let told = warnings(&packets(more));
    let keys: Vec<&str> = told.iter().map(|(_, key, _)| key.as_str()).collect();
    assert_eq!(keys, ["multiplexing.channel", "multiplexing.server", "multiplexing.encapsulation"]);
    assert!(told[0].2.starts_with("has no effect: no link carries cells"), "{told:?}");
    let line = packets(more).lines().position(|line| line.starts_with("channel")).unwrap() + 1;
    assert_eq!(told[0].0, line);
    assert_eq!(warnings(&with(more)), [], "cells have channels");
}

#[test]
fn an_axis_that_runs_everything_again_is_told() {
    let more = "\n[sweep]\naxes = { \"multiplexing.channel\" = [\"per-type\", \"per-conversation\"], \"traffic.ftp.count\" = [1, 2, 3] }\n";
    let told = warnings(&packets(more));
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].1, "multiplexing.channel");
    assert!(told[0].2.starts_with("has no effect: its 2 values give the same runs; no link"), "{told:?}");
    assert_eq!(warnings(&with(more)), []);
}

/// An axis over a key that another key replaces, for any key.
#[test]
fn an_axis_over_what_each_group_has_itself_is_told() {
    let own = edited(&[("access = {", "tcp = { window = \"16 KiB\" }\naccess = {")]);
    let told = warnings(&own);
    assert_eq!(
        told.iter().map(|t| (t.1.as_str(), t.2.as_str())).collect::<Vec<_>>(),
        [("tcp.window", "has no effect: every [[traffic]] has its own")]
    );
    let swept = format!("{own}\n[sweep]\naxes = {{ \"tcp.window\" = [\"8 KiB\", \"12 KiB\"] }}\n");
    assert_eq!(warnings(&swept).len(), 1);
    let swept = with("\n[sweep]\naxes = { \"tcp.window\" = [\"8 KiB\", \"8192 B\"] }\n");
    let told = warnings(&swept);
    assert_eq!(
        (told[0].1.as_str(), told[0].2.as_str()),
        ("tcp.window", "has no effect: its 2 values give the same runs")
    );
    assert_eq!(told.len(), 1, "{told:?}");
}

/// A queue that marks and TCP with ECN have an effect only together.
#[test]
fn ecn_at_one_of_queues_and_ends_is_told() {
    let red = "size = \"1 bdp\"\nqueue = \"red\"\nred = { ecn = true }";
    let text = |queue: &str, tcp: &str| {
        edited(&[
            ("kind = \"switch\"", "kind = \"router\""),
            ("size = \"1 bdp\"", queue),
            ("mss =", &format!("{tcp}mss =")),
        ])
    };
    let told = |queue: &str, tcp: &str| -> Vec<String> {
        warnings(&text(queue, tcp)).into_iter().map(|(_, key, message)| format!("{key}: {message}")).collect()
    };
    assert_eq!(
        told(red, ""),
        ["buffer.red.ecn: has no effect: no group has tcp.ecn = true, and only packets of flows with ECN are marked"]
    );
    assert_eq!(
        told("size = \"1 bdp\"", "ecn = true\n"),
        [
            "tcp.ecn: has no effect: no queue marks packets: one with queue = \"fq-codel\" does, or with another and its ecn = true"
        ]
    );
    assert_eq!(told(&red.replace("true", "false"), "ecn = true\n").len(), 1);
    assert_eq!(told(red, "ecn = true\n"), [""; 0]);
    assert_eq!(told("size = \"1 bdp\"", "ecn = false\n"), [""; 0]);
}

#[test]
fn options_of_other_variants_are_told_where_they_matter_nowhere() {
    let keys = |text: &str| warnings(text).into_iter().map(|(_, key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys(&edited(&[("mss =", "hystart = false\nmss =")])), ["tcp.hystart"]);
    let cubic = ("variant = \"reno\"", "variant = \"cubic\"\ntimestamps = true\nhystart = false");
    assert_eq!(keys(&edited(&[cubic])), [""; 0]);
    let tahoe = ("variant = \"reno\"", "variant = \"tahoe\"\nlimited-transmit = true");
    assert_eq!(keys(&edited(&[tahoe])), ["tcp.limited-transmit"]);
    assert_eq!(
        keys(&edited(&[("count = 2", "count = 1\nstagger = \"1 s\"\ngateway = false")])),
        ["traffic.ftp.stagger", "traffic.ftp.gateway"]
    );
    assert_eq!(keys(&with("\n[abr]\nthreshold = \"9 cell\"\n")), ["abr"]);
}
