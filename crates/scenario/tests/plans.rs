//! Overrides and sweeps.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::*;
use cellway_units::{Bytes, Rate, Span};
use common::{GOOD, with};

fn overridden(overrides: &[&str]) -> Result<Plan, Error> {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Plan::parse_with(GOOD, "t.toml", &overrides, None)
}

fn base(overrides: &[&str]) -> Scenario {
    overridden(overrides).unwrap_or_else(|e| panic!("{e}")).base().clone()
}

fn told(overrides: &[&str]) -> String {
    overridden(overrides).expect_err("refused").to_string()
}

#[test]
fn an_override_sets_a_key_with_or_without_quotes() {
    assert_eq!(base(&["tcp.mss=1460B"]).traffic[0].tcp().unwrap().tcp.mss, Bytes(1460));
    assert_eq!(base(&["tcp.mss = \"1460 B\""]).traffic[0].tcp().unwrap().tcp.mss, Bytes(1460));
    assert_eq!(base(&["tcp.mss=1460 B"]).traffic[0].tcp().unwrap().tcp.mss, Bytes(1460));
    assert_eq!(base(&["multiplexing.channel=per-type"]).multiplexing.channel, Multiplexing::PerType);
    assert_eq!(base(&["traffic.ftp.count=7"]).traffic[0].count, 7);
    assert_eq!(base(&["run.seeds=3"]).run.seeds, 3);
    assert_eq!(base(&["name=a = b"]).name, "a = b");
    let smuggled = base(&["description=x\nversion = 2"]).description;
    assert_eq!(smuggled, "x\nversion = 2", "a value cannot smuggle keys in");
    assert_eq!(base(&["observe.trace=[\"ftp-1\"]"]).observe.trace, [Slot { traffic: 0, number: 1 }]);
}

#[test]
fn an_override_may_add_an_optional_key_or_table() {
    assert!(base(&["tcp.nagle=true"]).traffic[0].tcp().unwrap().tcp.nagle);
    assert!(base(&["traffic.ftp.tcp.nagle=true"]).traffic[0].tcp().unwrap().tcp.nagle);
    assert_eq!(base(&["run.rtt=90ms"]).run.rtt, Span::from_ms(90));
    let spike = "traffic.ftp.workload.spike={ size = \"74 B\", weight = 0.33 }";
    let App::Ftp { spike, .. } = base(&[spike]).traffic[0].tcp().unwrap().app.clone() else { panic!() };
    assert_eq!(spike.map(|s| s.size), Some(Bytes(74)));
    // Later ones see what earlier ones made.
    let both = ["traffic.ftp.workload.spike={ size = \"74 B\", weight = 0 }", "traffic.ftp.workload.spike.weight=0.5"];
    let App::Ftp { spike, .. } = base(&both).traffic[0].tcp().unwrap().app.clone() else { panic!() };
    assert_eq!(spike.map(|s| s.weight), Some(0.5));
}

#[test]
fn a_star_means_all_that_can_have_the_key() {
    let s = base(&["link.*.rate=2Mbit/s", "traffic.*.access.rate=5Mbit/s"]);
    assert!(s.links.iter().all(|l| l.rate == Rate::from_bps(2_000_000)));
    assert_eq!(s.traffic[0].access.map(|a| a.rate), Some(Rate::from_bps(5_000_000)));
    // Two groups, one between hosts: only the other one has an access link to set.
    let text = with(
        r#"
[[node]]
name = "h"
kind = "host"
[[node]]
name = "g"
kind = "host"
[[link]]
between = ["h", "r1"]
rate = "1 Gbit/s"
delay = "0 s"
[[link]]
between = ["r2", "g"]
rate = "1 Gbit/s"
delay = "0 s"
[[traffic]]
name = "bulk"
app = "bulk"
from = "h"
to = "g"
"#,
    );
    let overrides = [Override::new("traffic.*.access.rate", "5Mbit/s"), Override::new("traffic.*.tcp.nagle", "true")];
    let plan = Plan::parse_with(&text, "t.toml", &overrides, None).unwrap_or_else(|e| panic!("{e}"));
    let [ftp, bulk] = plan.base().traffic.as_slice() else { panic!() };
    assert_eq!((ftp.access.map(|a| a.rate.as_bps()), bulk.access), (Some(5_000_000), None));
    assert!(ftp.tcp().unwrap().tcp.nagle && bulk.tcp().unwrap().tcp.nagle);
}

#[test]
fn an_override_that_is_wrong_says_which() {
    assert_eq!(
        told(&["tcp.mss=1460"]),
        "t.toml: override tcp.mss = 1460: tcp.mss: 1460 has no unit; accepted: a string with a number and one of \
         B, kB, KiB, MB, MiB, GB, GiB, like \"8 KiB\"; from \"1 B\" to \"65495 B\""
    );
    assert_eq!(
        told(&["traffic.fpt.count=1"]),
        "t.toml: override traffic.fpt.count = 1: traffic.fpt.count: there is no traffic called \"fpt\"; \
         did you mean ftp?; accepted: \"ftp\" or *"
    );
    assert_eq!(
        told(&["link.s1-r2.speed=1Mbit/s"]),
        "t.toml: override link.s1-r2.speed = 1Mbit/s: link.s1-r2.speed: there is no key \"speed\" in link.s1-r2; \
         accepted: back, between, both, buffer, delay, forward, framing, loss, lost, mtu, name, rate"
    );
    assert_eq!(
        told(&["traffic.ftp.workload.spike.weight=0.5"]),
        "t.toml: override traffic.ftp.workload.spike.weight = 0.5: traffic.ftp.workload.spike.weight: there is no \
         traffic.ftp.workload.spike, and weight alone would not make one; accepted: traffic.ftp.workload.spike as a whole"
    );
    // The override is at fault even where another key's value is the one that no longer fits.
    assert!(told(&["tcp.window=100B"]).contains("override tcp.window = 100B: tcp.window: 100 B is smaller"));
    assert_eq!(
        "tcp.mss".parse::<Override>().unwrap_err().to_string(),
        "\"tcp.mss\" is not of the form key=value, like traffic.ftp.count=3"
    );
}

const SWEEP: &str = r#"
[sweep]
axes = { "multiplexing.channel" = ["per-type", "per-conversation"], "traffic.ftp.count" = [3, 1] }
[[sweep.variant]]
name = "small"
set = { }
[[sweep.variant]]
name = "large"
set = { tcp.mss = "1460 B", "traffic.*.start" = "1 rtt" }
"#;

#[test]
fn points_are_crossed_in_file_order_the_first_axis_slowest() {
    let plan = Plan::parse(&with(SWEEP), "t.toml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.point_count(), 8);
    let points = plan.points().unwrap_or_else(|e| panic!("{e}"));
    let labels: Vec<String> = points
        .iter()
        .map(|p| p.axes.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        .collect();
    let mut expected = Vec::new();
    for channel in ["per-type", "per-conversation"] {
        for count in [3, 1] {
            for variant in ["small", "large"] {
                expected.push(format!("multiplexing.channel={channel} traffic.ftp.count={count} variant={variant}"));
            }
        }
    }
    assert_eq!(labels, expected);
    assert!(points.iter().enumerate().all(|(i, p)| p.index == i));
    assert_eq!(points[0].axes[1].1, AxisValue::Number(3.0));
    // The values are in force, not only in the labels; what a variant sets is gone in the next.
    assert_eq!(points[0].scenario.multiplexing.channel, Multiplexing::PerType);
    assert_eq!(points[4].scenario.multiplexing.channel, Multiplexing::PerConversation);
    assert_eq!(points.iter().map(|p| p.scenario.traffic[0].count).collect::<Vec<_>>(), [3, 3, 1, 1, 3, 3, 1, 1]);
    for point in &points {
        let large = point.axes[2].1 == AxisValue::Text("large".to_owned());
        let traffic = &point.scenario.traffic[0];
        assert_eq!(traffic.tcp().unwrap().tcp.mss, Bytes(if large { 1460 } else { 512 }));
        assert_eq!(traffic.start, if large { Span::from_ms(45) } else { Span::ZERO });
    }
}

#[test]
fn axes_may_be_written_as_a_table_of_dotted_keys() {
    let text = with("\n[sweep.axes]\ntraffic.ftp.count = [1, 2]\ntcp.mss = [\"512 B\", \"1 kB\"]\n");
    let plan = Plan::parse(&text, "t.toml").unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = plan.axes().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["traffic.ftp.count", "tcp.mss"]);
}

#[test]
fn without_a_sweep_there_is_one_point() {
    let plan = Plan::parse(GOOD, "t.toml").unwrap();
    let points = plan.points().unwrap();
    assert_eq!(points, [Point { index: 0, axes: vec![], scenario: plan.base().clone() }]);
}

#[test]
fn a_program_may_replace_or_remove_the_sweep() {
    let none = Plan::parse_with(&with(SWEEP), "t.toml", &[], Some(SweepSpec::default())).unwrap();
    assert_eq!(none.point_count(), 1);
    let spec = SweepSpec {
        axes: vec![("link.*.rate".to_owned(), vec!["\"1.5 Mbit/s\"".to_owned(), "3 Mbit/s".to_owned()])],
        variants: vec![
            VariantSpec { name: "a".to_owned(), set: vec![] },
            VariantSpec { name: "b".to_owned(), set: vec![Override::new("tcp.variant", "tahoe")] },
        ],
    };
    let plan = Plan::parse_with(&with(SWEEP), "t.toml", &[Override::new("run.seeds", "5")], Some(spec)).unwrap();
    let points = plan.points().unwrap();
    assert_eq!(points.len(), 4);
    assert_eq!(points[3].axes[0], ("link.*.rate".to_owned(), AxisValue::Text("3 Mbit/s".to_owned())));
    assert_eq!(points[3].axes[1], ("variant".to_owned(), AxisValue::Text("b".to_owned())));
    assert_eq!(points[3].scenario.bottleneck(), Some(Rate::from_bps(3_000_000)));
    assert_eq!(points[3].scenario.traffic[0].tcp().unwrap().tcp.variant, Variant::Tahoe);
    assert_eq!(points[2].scenario.traffic[0].tcp().unwrap().tcp.variant, Variant::Reno);
    assert!(points.iter().all(|p| p.scenario.run.seeds == 5));
}

#[test]
fn a_program_s_sweep_is_refused_with_its_own_words() {
    let axis = |path: &str, values: &[&str]| {
        let axes = vec![(path.to_owned(), values.iter().map(|v| v.to_string()).collect())];
        let spec = SweepSpec { axes, variants: vec![] };
        Plan::parse_with(GOOD, "t.toml", &[], Some(spec)).and_then(|p| p.points()).expect_err("refused").to_string()
    };
    assert_eq!(
        axis("tcp.mss", &[]),
        "t.toml: axis tcp.mss = []: tcp.mss: has no values: a sweep over nothing; accepted: at least one value"
    );
    assert!(
        axis("tcp.mms", &["1"])
            .starts_with("t.toml: axis tcp.mms = [1]: tcp.mms: there is no key \"mms\" in tcp; did you mean mss?")
    );
    assert!(
        axis("tcp.mss", &["512 B", "1460"])
            .starts_with("t.toml: axis tcp.mss = 1460: tcp.mss: 1460 has no unit; accepted:")
    );
}

#[test]
fn an_override_of_a_swept_key_is_refused() {
    let overrides = [Override::new("traffic.ftp.count", "9")];
    let error = Plan::parse_with(&with(SWEEP), "t.toml", &overrides, None).expect_err("refused");
    assert_eq!(error.problems.len(), 1);
    assert_eq!(error.problems[0].message, "traffic.ftp.count is set by an override already");
    assert_eq!(error.problems[0].line, Some(48));
}

#[test]
fn a_problem_can_be_read_by_programs() {
    let error = overridden(&["tcp.mss=1460"]).expect_err("refused");
    let json = serde_json::to_value(&error).unwrap();
    let problem = &json["problems"][0];
    assert_eq!(problem["file"], "t.toml");
    assert_eq!(problem["line"], serde_json::Value::Null);
    assert_eq!(problem["setting"], "override tcp.mss = 1460");
    assert_eq!(problem["key"], "tcp.mss");
    assert_eq!(problem["message"], "1460 has no unit");
    assert!(problem["accepted"].as_str().unwrap().contains("KiB"));
}
