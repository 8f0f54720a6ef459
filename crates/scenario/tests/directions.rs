//! The directions of links: what is refused, and what is taken from which table.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_scenario::{Override, Plan, Scenario};
use cellway_units::{Rate, Span};

const TWO: &str = r#"version = 1
name = "two"
run = { duration = "10 s" }
buffer = { size = "100 kB", per = "port" }
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]

[[link]]
name = "line"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"

[[traffic]]
name = "t"
app = "bulk"
from = "a"
to = "b"
access = { rate = "1 Gbit/s", delay = "0 s" }
"#;

fn plan(set: &[(&str, &str)]) -> Result<Plan, String> {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    Plan::parse_with(TWO, "t.toml", &set, None).map_err(|error| error.to_string())
}

fn scenario(set: &[(&str, &str)]) -> Scenario {
    plan(set).unwrap_or_else(|e| panic!("{e}")).base().clone()
}

#[test]
fn a_direction_has_its_own_keys_before_those_of_both() {
    let scenario = scenario(&[
        ("link.line.both", r#"{ rate = "5 Mbit/s", jitter = { deviation = "1 ms", correlation = "50 %" } }"#),
        ("link.line.back", r#"{ rate = "1 Mbit/s", delay = "50 ms", jitter = { deviation = "2 ms" } }"#),
    ]);
    let link = &scenario.links[0];
    assert_eq!([0, 1].map(|end| link.rate_of(end)), [5_000_000, 1_000_000].map(Rate::from_bps));
    assert_eq!([0, 1].map(|end| link.delay_of(end)), [20, 50].map(Span::from_ms));
    assert_eq!(link.mean_delay(), Span::from_ms(35));
    let jitter = link.directions.clone().map(|direction| (direction.jitter.deviation, direction.jitter.correlation));
    let half = "50 %".parse().unwrap();
    assert_eq!(jitter, [(Span::from_ms(1), half), (Span::from_ms(2), half)]);
    assert_eq!(scenario.run.rtt, Span::from_ms(70), "20 ms there and 50 ms back");
}

#[test]
fn what_a_direction_cannot_have_is_refused() {
    let cells = ("link.line.framing", "atm");
    let loads = ("link.line.both.trace", r#"{ light = "x", heavy = "y" }"#);
    for (set, told) in [
        (vec![("link.line.both.burst", "4")], "link.line.both.burst: is given without losses"),
        (vec![("link.line.both", r#"{ loss = "80 %", burst = 2 }"#)], "2 in a row are too few for a loss of 80 %"),
        (vec![("link.line.back.jitter.correlation", "20 %")], "is given without a deviation"),
        (vec![("link.line.back.outage.every", "20 s")], "is given without a length"),
        (
            vec![("link.line.both.outage", r#"{ length = "2 s", every = "2 s" }"#)],
            "2 s is not longer than an outage, 2 s, by 1 us or more",
        ),
        (vec![("link.line.both.outage.length", "999 ns")], "999 ns is less than 1 us"),
        (vec![("link.line.both.jitter.correlation", "20 %")], "is given without a deviation"),
        (vec![cells, ("link.line.forward.rate", "1 Mbit/s")], "link.line.forward.rate: is for links of packets"),
        (vec![cells, ("link.line.both.trace.rate", "x")], "link.line.both.trace: is for links of packets"),
        (vec![("link.line.both.outage.buffer", "flushed")], "is given without a length"),
        (vec![("link.line.forward.reorder", "true")], "is given without a delay that varies"),
        (vec![("link.line.back.trace.jitter", "x")], "link.line.back.trace.jitter: is given without a deviation"),
        (
            vec![
                ("link.line.both.jitter", r#"{ deviation = "1 ms", distribution = "pareto" }"#),
                ("link.line.both.trace.jitter", "x"),
            ],
            "is given beside trace.jitter",
        ),
        (vec![("link.line.both.trace.end", "stop")], "is given without a recording"),
        (vec![("link.line.both.trace.light", "x")], "link.line.both.trace.light: is given without trace.heavy"),
        (vec![("link.line.back.trace.heavy", "x")], "link.line.back.trace.heavy: is given without trace.light"),
        (vec![loads, ("link.line.both.trace.rate", "x")], "link.line.both.trace.rate: is given beside trace.light and"),
        (vec![loads, ("link.line.both.trace.delay", "x")], "link.line.both.trace.delay: is given beside trace.light"),
        (vec![loads, ("link.line.back.trace.csv", "x")], "link.line.back.trace.csv: is given beside trace.light"),
        (
            vec![loads, ("link.line.both.jitter.deviation", "1 ms")],
            "link.line.both.jitter: is given beside trace.light",
        ),
        (vec![cells, loads], "link.line.both.trace: is for links of packets"),
        (vec![cells, ("link.line.both.duplicate", "1 %")], "link.line.both.duplicate: is for links of packets"),
        (vec![cells, ("link.line.back.corrupt", "1 %")], "link.line.back.corrupt: is for links of packets"),
        (
            vec![cells, ("link.line.both.outage", r#"{ length = "1 s", packets = "lost", buffer = "flushed" }"#)],
            "link.line.both.outage.buffer: is for links of packets",
        ),
        (vec![cells, ("link.line.both.outage.length", "1 s")], "accepted: packets = \"lost\" in the same table"),
    ] {
        let error = plan(&set).map(|_| ()).unwrap_err();
        assert!(error.contains(told), "{told}: {error}");
        // A fault of both directions is reported once.
        assert_eq!(error.matches("accepted:").count(), 1, "{error}");
    }
}

#[test]
fn cells_may_be_lost_in_bursts_and_outages() {
    let set = [
        ("link.line.framing", "atm"),
        ("link.line.both", r#"{ loss = "1 %", burst = 8, outage = { length = "1 s", packets = "lost" } }"#),
    ];
    assert!(scenario(&set).links[0].is_lossy());
}

/// A key of `both` may be of use in one direction only.
#[test]
fn keys_of_both_may_serve_one_direction() {
    let set = [("link.line.both.reorder", "true"), ("link.line.forward.jitter.deviation", "1 ms")];
    assert!(scenario(&set).links[0].directions[1].reorder);
    let set = [("link.line.both.trace.end", "stop"), ("link.line.back.trace.rate", "x")];
    assert!(scenario(&set).links[0].directions[1].is_recorded());
    assert!(scenario(&[("link.line.back.corrupt", "1 %")]).links[0].is_lossy(), "hosts lose what is corrupted");
    assert!(!scenario(&[("link.line.back.duplicate", "1 %")]).links[0].is_lossy());
}

/// A swept key may be without use at a point.
#[test]
fn a_sweep_may_begin_without_losses() {
    let text = format!("{TWO}\n[sweep]\naxes = {{ \"link.line.forward.loss\" = [\"0 %\", \"1 %\"] }}\n");
    let set = [Override::new("link.line.forward.burst", "4")];
    let plan = Plan::parse_with(&text, "t.toml", &set, None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.points().unwrap().len(), 2);
}

#[test]
fn the_rate_of_a_recording_does_not_change() {
    let text = format!("{TWO}\n[[change]]\nat = \"1 s\"\nlink = \"line\"\nrate = \"1 Mbit/s\"\n");
    for trace in [r#"{ rate = "x" }"#, r#"{ light = "x", heavy = "x" }"#] {
        let set = [Override::new("link.line.both.trace", trace)];
        let error = Plan::parse_with(&text, "t.toml", &set, None).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("change.1.link: the rate of link \"line\" is that of its recording"), "{error}");
    }
}

/// A direction may turn off what both have, and have what is only useful beside a key of the other.
#[test]
fn a_direction_turns_off_what_both_have() {
    for (both, forward) in [
        (r#"{ outage = { length = "1 s", every = "2 s" } }"#, r#"{ outage = { length = "0 s" } }"#),
        (r#"{ jitter = { deviation = "1 ms", correlation = "10 %" } }"#, r#"{ jitter = { deviation = "0 s" } }"#),
        (r#"{ loss = "1 %", burst = 3 }"#, r#"{ loss = "0 %" }"#),
        (r#"{ outage = { every = "2 s" } }"#, r#"{ outage = { length = "1 s" } }"#),
        (r#"{ burst = 4, trace = { csv = "x" } }"#, "{ }"),
    ] {
        scenario(&[("link.line.both", both), ("link.line.forward", forward)]);
    }
}
