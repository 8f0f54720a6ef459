//! Files that are right: what they come to, and that the shipped ones stay right.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::*;
use cellway_units::{Bytes, Cells, Rate, Span};
use common::{GOOD, edited, repository, scenario, with};

fn shipped(path: &str) -> Plan {
    let text = std::fs::read_to_string(repository(path)).unwrap();
    Plan::parse(&text, path).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_network_of_the_paper_takes_under_fifty_lines() {
    let plan = shipped("papers/cellsim/cellsim.toml");
    assert!(plan.text().lines().count() < 50);
    let s = plan.base();
    // Section 2.4: a 45 ms round trip, 4000 of them; one round-trip window of 8437.5 B fills the 48 octets of data of
    // 175 whole cells.
    assert_eq!(s.run.rtt, Span::from_ms(45));
    assert_eq!(s.run.duration, Span::from_secs(180));
    assert_eq!(s.run.warmup, Span::from_secs(45));
    assert_eq!(s.run.seeds, 20);
    assert_eq!(s.buffer.size, BufferSize::Cells(Cells(175)));
    assert_eq!(s.bottleneck(), Some(Rate::from_bps(1_500_000)));
    assert_eq!(s.conversations(), 6);
    let ftp = &s.traffic[1];
    assert_eq!(ftp.tcp().unwrap().tcp.variant, Variant::Tahoe);
    assert_eq!(ftp.tcp().unwrap().tcp.window, Bytes(8192));
    assert_eq!(ftp.tcp().unwrap().tcp.timer_granularity, Span::from_ms(500));
    let App::Ftp { spike: Some(spike), .. } = &ftp.tcp().unwrap().app else { panic!("{:?}", ftp.tcp().unwrap().app) };
    assert_eq!(*spike, Spike { size: Bytes(74), weight: 0.33 });
}

#[test]
fn the_shipped_example_is_right_at_every_point() {
    let plan = shipped("scenarios/satellite-bulk.toml");
    let points = plan.points().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(points.len(), 6);
    let s = plan.base();
    assert_eq!(s.run.rtt, Span::from_ms(520));
    // 0.5 × 8 Mbit/s × 520 ms = 260 000 B = 4905.66 cells.
    assert_eq!(s.buffer.size, BufferSize::Cells(Cells(4905)));
    let archive = NodeIndex(3);
    assert_eq!(s.traffic[0].from, Attachment::Host(archive));
    assert_eq!(s.traffic[0].route, [LinkIndex(2), LinkIndex(0), LinkIndex(1)]);
    assert_eq!(s.links[2].name, "archive-head-office");
    assert_eq!(s.links[2].framing, Framing::Packet);
    assert_eq!(s.propagation_round_trip(&s.traffic[0]), Span::from_ms(2 * (125 + 125 + 1 + 1)));
    let traced: Vec<_> = s.observe.trace.iter().map(|slot| s.traffic[slot.traffic].slot(slot.number)).collect();
    assert_eq!(traced, ["backup-1", "fetch-1", "fetch-2", "fetch-3"]);
    assert_eq!(s.traffic[1].slot_start(3), Span::from_secs(20) + Span::from_ms(2 * 5200));
    // A group overrides single keys and keeps the rest.
    assert_eq!(s.traffic[1].tcp().unwrap().tcp.variant, Variant::NewReno);
    assert_eq!(s.traffic[1].tcp().unwrap().tcp.mss, Bytes(1460));
    assert_eq!(s.traffic[1].tcp().unwrap().tcp.delayed_ack.0, Some(Span::from_ms(200)));
    let deep = &points[1].scenario;
    assert_eq!(deep.buffer.size, BufferSize::Cells(Cells(19_622)));
    assert!(deep.traffic.iter().all(|t| t.tcp().unwrap().tcp.delayed_ack.0.is_none()));
}

/// The keys of the table that `path` leads to in the schema.
fn properties<'s>(schema: &'s serde_json::Value, path: &[&str]) -> &'s serde_json::Map<String, serde_json::Value> {
    let mut shape = schema;
    for key in path {
        shape = &shape["properties"][key];
        if shape["items"].is_object() {
            shape = &shape["items"];
        }
        if let Some(name) = shape["$ref"].as_str() {
            shape = &schema["$defs"][name.trim_start_matches("#/$defs/")];
        }
    }
    shape["properties"].as_object().unwrap_or_else(|| panic!("{path:?} is no table"))
}

#[test]
fn defaults_are_those_of_the_schema() {
    let s = scenario(GOOD);
    assert_eq!(s.description, "");
    assert_eq!((s.run.seed, s.run.seeds), (1, 1));
    assert_eq!(s.multiplexing.channel, Multiplexing::PerConversation);
    assert_eq!(s.multiplexing.encapsulation, Encapsulation::VcMux);
    assert_eq!(s.buffer.per, BufferPer::Conversation);
    assert_eq!(s.buffer.sharing, Sharing::Pool);
    assert_eq!(s.buffer.discard, Discard::Frame);
    assert_eq!(s.observe.interval, Span::from_ms(4500));
    assert!(s.observe.series && s.observe.trace.is_empty());
    // Writing every default of the schema into the file changes nothing.
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let mut overrides = Vec::new();
    for path in
        ["run", "multiplexing", "buffer", "tcp", "traffic", "traffic.workload", "abr", "observe", "run.emulate", "link"]
    {
        let keys: Vec<&str> = path.split('.').collect();
        for (key, property) in properties(&schema, &keys) {
            let key = format!("{path}.{key}").replace("traffic.", "traffic.ftp.").replace("link.", "link.*.");
            // The file gives these itself.
            if ["run.warmup", "traffic.ftp.count"].contains(&key.as_str()) {
                continue;
            }
            // These are options of other applications.
            let others = ["echo", "buffers", "response", "think", "write-cost", "connections", "arrivals", "fits"];
            let others = others.map(|o| format!("traffic.ftp.workload.{o}"));
            if others.contains(&key) {
                continue;
            }
            if let Some(default) = property.get("default") {
                overrides.push(Override::new(key, default.to_string()));
            }
        }
    }
    assert!(overrides.len() >= 20, "{overrides:?}");
    let plan = Plan::parse_with(GOOD, "t.toml", &overrides, None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(*plan.base(), s);
}

#[test]
fn the_buffer_is_resolved_into_what_fills_it() {
    let size = |edit: &str| scenario(&edited(&[("size = \"1 bdp\"", edit)])).buffer.size;
    assert_eq!(size("size = \"1 bdp\""), BufferSize::Cells(Cells(159)));
    assert_eq!(size("size = \"1.5 bdp\""), BufferSize::Cells(Cells(238)));
    assert_eq!(size("size = \"8 KiB\""), BufferSize::Cells(Cells(154)));
    assert_eq!(size("size = \"160 cells\""), BufferSize::Cells(Cells(160)));
    assert_eq!(size("size = \"1 bdp\"\ncount = \"packet\""), BufferSize::Bytes(Bytes(8437)));
    assert_eq!(size("size = \"160 cell\"\ncount = \"packet\""), BufferSize::Bytes(Bytes(160 * 53)));
    // A single cell is allowed where cells are dropped one by one.
    assert_eq!(size("size = \"1 cell\"\nper = \"port\"\ndiscard = \"cell\""), BufferSize::Cells(Cells(1)));
}

/// One size for all ports, set by the slowest ATM link of any path, whichever group uses it.
#[test]
fn bdp_takes_the_slowest_line_of_all_paths() {
    let more = r#"
[[node]]
name = "r3"
kind = "router"
[[link]]
between = ["s1", "r3"]
rate = "1 Mbit/s"
delay = "50 ms"
[[link]]
between = ["r3", "r2"]
rate = "64 kbit/s"
delay = "1 s"
[[traffic]]
name = "far"
app = "bulk"
count = 0
from = "r1"
to = "r3"
access = { rate = "10 Mbit/s", delay = "1 ms" }
"#;
    let s = scenario(&with(more));
    // 22.5 + 50 + 2 × 1 ms each way; the 64 kbit/s link is on no path.
    assert_eq!(s.run.rtt, Span::from_ms(149));
    assert_eq!(s.bottleneck(), Some(Rate::from_bps(1_000_000)));
    assert_eq!(s.buffer.size, BufferSize::Cells(Cells(149_000 / 8 / 53)));
    assert_eq!(s.traffic[0].bottleneck, Rate::from_bps(1_500_000));
    assert_eq!(s.propagation_round_trip(&s.traffic[0]), Span::from_ms(45));
}

#[test]
fn times_in_round_trips_are_exact() {
    let s = scenario(&edited(&[("\"60 s\"", "\"1000.5 rtt\""), ("\"10 s\"", "\"0.000_1 rtt\"")]));
    assert_eq!(s.run.duration, Span::from_us(45_022_500));
    assert_eq!(s.run.warmup, Span::from_ns(4_500));
    let s = scenario(&edited(&[("warmup = \"10 s\"", "rtt = \"1 ms\"\nwarmup = \"3 rtt\""), ("1 bdp", "9 bdp")]));
    assert_eq!(s.run.warmup, Span::from_ms(3));
}

#[test]
fn default_bins_are_never_longer_than_what_they_divide() {
    let s = scenario(&edited(&[("\"60 s\"", "\"3 s\""), ("\"10 s\"", "\"1 s\"")]));
    assert_eq!((s.observe.interval, s.observe.fairness_window), (Span::from_secs(3), Span::from_secs(2)));
    // However little is counted, the default fits it, also in the points of a sweep.
    let axes = "\n[sweep]\naxes = { \"run.warmup\" = [\"0 s\", \"59 s\", \"59.999999999999 s\"] }\n";
    let points = Plan::parse(&with(axes), "t.toml").and_then(|p| p.points()).unwrap_or_else(|e| panic!("{e}"));
    let windows: Vec<Span> = points.iter().map(|p| p.scenario.observe.fairness_window).collect();
    assert_eq!(windows, [Span::from_ms(4500), Span::from_secs(1), Span::from_ps(1)]);
}

#[test]
fn upper_limits_themselves_are_accepted() {
    let s = scenario(&edited(&[
        ("size = \"1 bdp\"", "size = \"1024 GiB\"\ncount = \"packet\""),
        ("window = \"8 KiB\"", "window = \"8 KiB\"\nsend-buffer = \"1024 GiB\""),
        ("app = \"ftp\"", "app = \"bulk\"\nworkload = { size = \"1048576 GiB\" }"),
        ("[[node]]", "[observe]\nfairness-window = \"50 s\"\n\n[[node]]"),
    ]));
    assert_eq!(s.buffer.size, BufferSize::Bytes(Bytes(1 << 40)));
    assert_eq!(s.traffic[0].tcp().unwrap().tcp.send_buffer, Bytes(1 << 40));
    assert_eq!(
        s.traffic[0].tcp().unwrap().app,
        App::Bulk { size: Some(Bytes(1 << 50)), write: None, write_cost: Span::ZERO }
    );
    assert_eq!(s.observe.fairness_window, Span::from_secs(50));
    let s = scenario(&edited(&[("\"1 bdp\"", "\"20745502410 cell\"")]));
    assert_eq!(s.buffer.size, BufferSize::Cells(Cells(20_745_502_410)));
    let spike = with("workload = { spike = { size = \"1048576 GiB\", weight = 0.5 } }\n");
    assert!(
        matches!(scenario(&spike).traffic[0].tcp().unwrap().app, App::Ftp { spike: Some(s), .. } if s.size == Bytes(1 << 50))
    );
}

#[test]
fn a_slot_of_a_swept_count_may_be_traced() {
    let text = with("\n[observe]\ntrace = [\"ftp-5\"]\n[sweep]\naxes = { \"traffic.ftp.count\" = [0, 5] }\n");
    let points = Plan::parse(&text, "t.toml").and_then(|p| p.points()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(points[0].scenario.observe.trace, []);
    assert_eq!(points[1].scenario.observe.trace, [Slot { traffic: 0, number: 5 }]);
}

#[test]
fn what_is_written_reads_as_the_same_scenario() {
    for path in [
        "papers/cellsim/cellsim.toml",
        "scenarios/satellite-bulk.toml",
        "scenarios/shaped-and-split.toml",
        "scenarios/lossy-link.toml",
        "scenarios/voice-and-bulk.toml",
        "scenarios/red-and-ecn.toml",
        "scenarios/l4s.toml",
        "scenarios/bufferbloat.toml",
        "scenarios/lte.toml",
        "scenarios/leo.toml",
        "scenarios/incast.toml",
        "scenarios/video.toml",
        "scenarios/rrul.toml",
        "scenarios/page.toml",
        "scenarios/bbr-beside-cubic.toml",
    ] {
        for point in shipped(path).points().unwrap() {
            let text = point.scenario.to_toml();
            assert_eq!(scenario(&text), point.scenario, "{text}");
        }
    }
    let odd = edited(&[
        ("name = \"small\"", "name = \"a \\\"b\\\" \\\\ c d\"\ndescription = '''x'''"),
        ("count = 2", "count = 0\nworkload = { tables = \"C:\\\\tables\", draw = \"continuous\", handshake = 0 }"),
        ("\"22.5 ms\"", "\"1234567890123 ps\""),
        ("\"60 s\"", "\"1 h\""),
    ]);
    assert_eq!(scenario(&scenario(&odd).to_toml()), scenario(&odd));
}

/// Slots, groups and "all", each slot once and in order; the file that is written back says the same.
#[test]
fn flows_and_sets_are_slots() {
    let lists = "flows = [\"ftp-2\", \"all\"]\nset = [{ name = \"s\", flows = [\"ftp-2\"] }, { name = \"g\", flows = [\"ftp\"] }]";
    let s = scenario(&with(&format!("\n[observe]\n{lists}\n")));
    let [first, second] = [1, 2].map(|number| Slot { traffic: 0, number });
    assert_eq!(s.observe.flows, [first, second]);
    let sets: Vec<_> = s.observe.sets.iter().map(|set| (&set.name[..], &set.slots[..])).collect();
    assert_eq!(sets, [("s", &[second][..]), ("g", &[first, second])]);
    assert_eq!(scenario(&s.to_toml()), s);
}
