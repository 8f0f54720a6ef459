//! Records of qlog against captures of the same run, and against the types of the drafts.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{names, plan};
use serde_json::{Map, Value};

/// A transfer over a line with a buffer that overflows, and a source of datagrams.
const SCENARIO: &str = r#"version = 1
name = "qlog"
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]

[run]
duration = "4 s"
warmup = "1 s"
seed = 7

[buffer]
size = "30 kB"
per = "port"

[[link]]
name = "line"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"

[[traffic]]
name = "bulk"
app = "bulk"
from = "a"
to = "b"
access = { rate = "1 Gbit/s", delay = "0 s" }

[[traffic]]
name = "call"
from = "a"
to = "b"
access = { rate = "1 Gbit/s", delay = "0 s" }
udp = { packet = "200 B", rate = "80 kbit/s" }
"#;

/// Records `end`; returns the file.
fn file_of(end: &str, set: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("end.sqlog");
    let events = cellway_lab::qlog(&plan(SCENARIO, set), Path::new("."), end, &path, false, &mut || false).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count() as u64, events + 1);
    text
}

/// Records the sender of the bulk connection at `path` and returns the error.
fn refused(path: &Path) -> String {
    cellway_lab::qlog(&plan(SCENARIO, &[]), Path::new("."), "bulk-1", path, false, &mut || false)
        .unwrap_err()
        .to_string()
}

#[test]
fn a_file_that_cannot_be_created_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing/end.sqlog");
    let error = refused(&missing);
    assert!(error.starts_with(&format!("cannot write {}: ", missing.display())), "{error}");
    let taken = folder.path().join("taken.sqlog");
    std::fs::write(&taken, "kept").unwrap();
    assert_eq!(refused(&taken), format!("{} exists; --force replaces it", taken.display()));
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "kept");
}

/// Records `end`; returns the file's records, the header first.
fn recorded(end: &str, set: &[(&str, &str)]) -> Vec<Value> {
    records(&file_of(end, set))
}

/// Reads a JSON text sequence: RFC 7464.
fn records(text: &str) -> Vec<Value> {
    let records = text.strip_prefix('\u{1e}').unwrap().split('\u{1e}');
    records.map(|record| serde_json::from_str(record.strip_suffix('\n').unwrap()).unwrap()).collect()
}

fn is(event: &Value, name: &str) -> bool {
    event["name"] == name
}

/// A segment of a capture or of a record: when (ns), sent or not, octets of header and payload, payload.
type Passed = (u64, bool, u64, u64);

/// Reads the segments with `port` of a classic pcap file of raw IPv4 packets. `from` is the address of the host.
fn captured(file: &[u8], from: [u8; 4]) -> Vec<Passed> {
    let word = |at: usize| u64::from(u32::from_le_bytes(file[at..at + 4].try_into().unwrap()));
    let mut passed = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let (time, length) = (word(at) * 1_000_000_000 + word(at + 4), word(at + 8) as usize);
        let ip = &file[at + 16..at + 16 + length];
        let (header, total) = (usize::from(ip[0] & 15) * 4, u64::from(u16::from_be_bytes([ip[2], ip[3]])));
        let offset = u64::from(ip[header + 12] >> 4) * 4;
        let segment = total - header as u64;
        passed.push((time, ip[12..16] == from, segment, segment - offset));
        at += 16 + length;
    }
    passed
}

fn passed(event: &Value) -> Passed {
    let raw = &event["data"]["raw"];
    let of = |name: &str| raw[name].as_u64().unwrap();
    (nanoseconds(&event["time"]), is(event, "transport:packet_sent"), of("length"), of("payload_length"))
}

/// Returns milliseconds as nanoseconds, cut as in a capture.
fn nanoseconds(ms: &Value) -> u64 {
    (ms.as_f64().unwrap() * 1e6 + 1e-3).floor() as u64
}

fn is_packet(event: &Value) -> bool {
    is(event, "transport:packet_sent") || is(event, "transport:packet_received")
}

/// Returns the packet numbers that an event acknowledges.
fn acknowledged(event: &Value) -> Vec<u64> {
    let frames = event["data"]["frames"].as_array().into_iter().flatten();
    let ranges = frames.filter_map(|frame| frame["acked_ranges"].as_array()).flatten();
    ranges.flat_map(|range| range[0].as_u64().unwrap()..=range[1].as_u64().unwrap()).collect()
}

fn number(event: &Value) -> u64 {
    event["data"]["header"]["packet_number"].as_u64().unwrap()
}

#[test]
fn segments_and_round_trips_are_those_of_the_capture() {
    for (variant, exact) in [("\"cubic\"", false), ("\"bbr\"", true), ("\"newreno\"", false)] {
        let set = [("tcp.variant", variant)];
        let records = recorded("bulk-1", &set);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.pcap");
        let packets =
            cellway_lab::capture(&plan(SCENARIO, &set), Path::new("."), "bulk-1", &path, false, &mut || false).unwrap();
        let started = records.iter().find(|event| is(event, "connectivity:connection_started")).unwrap();
        let address: std::net::Ipv4Addr = started["data"]["src_ip"].as_str().unwrap().parse().unwrap();
        let expected = captured(&std::fs::read(path).unwrap(), address.octets());
        let found: Vec<Passed> = records.iter().filter(|event| is_packet(event)).map(passed).collect();
        assert!(packets > 2000 && expected.len() as u64 == packets, "{variant}: {packets}");
        // A capture has what the host's line begins to send; the record what TCP hands to it.
        for sent in [false, true] {
            let only = |all: &[Passed]| -> Vec<Passed> { all.iter().filter(|p| p.1 == sent).copied().collect() };
            let (expected, found) = (only(&expected), only(&found));
            let sizes = |all: &[Passed]| -> Vec<(u64, u64)> { all.iter().map(|p| (p.2, p.3)).collect() };
            let ahead = found.len() - expected.len();
            assert!(ahead <= 40, "{variant}: {ahead} wait for the line at the end");
            assert_eq!(sizes(&found[..expected.len()]), sizes(&expected), "{variant}, sent {sent}");
            for (one, other) in found.iter().zip(&expected) {
                let late = other.0 as i64 - one.0 as i64;
                // A burst of 30 segments takes 0.37 ms on the line of the host.
                assert!(if sent { (0..1_000_000).contains(&late) } else { late == 0 }, "{variant}: {one:?}, {other:?}");
            }
        }
        round_trips(variant, &records, exact);
    }
}

/// The least round trip is that of some segment from its event to that of its acknowledgement, and none is shorter:
/// `exact` for a sender that keeps the times of segments, else to a tick of the clock. Each latest one is of the
/// acknowledgement at its time, to a tick.
fn round_trips(variant: &str, records: &[Value], exact: bool) {
    // The acknowledgement of a segment that was sent again may be that of the first (Karn).
    let sent: BTreeMap<u64, u64> = records
        .iter()
        .filter(|event| is(event, "transport:packet_sent") && event["data"].get("trigger").is_none())
        .map(|event| (number(event), nanoseconds(&event["time"])))
        .collect();
    let mut newest: BTreeMap<u64, u64> = BTreeMap::new();
    for event in records.iter().filter(|event| is(event, "transport:packet_received")) {
        if let Some(sent) = acknowledged(event).last().and_then(|last| sent.get(last)) {
            newest.insert(nanoseconds(&event["time"]), nanoseconds(&event["time"]) - sent);
        }
    }
    let metrics: Vec<&Value> = records.iter().filter(|event| is(event, "recovery:metrics_updated")).collect();
    let least = metrics.iter().rev().find_map(|event| event["data"].get("min_rtt")).unwrap();
    // The exact times are those of data; the clock measures the SYN as well.
    let expected = *newest.values().skip(usize::from(exact)).min().unwrap();
    if exact {
        assert_eq!(nanoseconds(least), expected, "{variant}");
    } else {
        assert!(
            nanoseconds(least).abs_diff(expected) <= 1_000_000,
            "{variant}: {least} against {expected} ns, a tick is 1 ms"
        );
    }
    let mut checked = 0;
    for event in metrics {
        let Some(latest) = event["data"].get("latest_rtt") else { continue };
        let Some(&rtt) = newest.get(&nanoseconds(&event["time"])) else { continue };
        // With delayed acknowledgements the round trip is that of the older of two segments.
        assert!(nanoseconds(latest) + 1_000_000 >= rtt, "{variant}: {latest} after {rtt} ns");
        checked += 1;
    }
    assert!(checked > 20, "{variant}: {checked}");
}

#[test]
fn each_segment_is_acknowledged_or_lost_and_all_bytes_once() {
    let rough = [
        ("link.line.loss", "\"1%\""),
        ("link.line.both.duplicate", "\"2%\""),
        ("link.line.both.jitter", "{ deviation = \"5 ms\" }"),
    ];
    for (variant, line) in
        [("\"cubic\"", &[][..]), ("\"newreno\"", &[]), ("\"bbr\"", &[]), ("\"cubic\"", &rough), ("\"bbr\"", &rough)]
    {
        let records = recorded("bulk-1", &[&[("tcp.variant", variant)], line].concat());
        let (mut acked, mut lost, mut again) = (BTreeSet::new(), BTreeSet::new(), 0);
        let (mut payload, mut carried) = (BTreeMap::new(), 0);
        for event in &records {
            if is(event, "transport:packet_sent") {
                assert_eq!(number(event), carried, "numbers are in the order of transmission");
                carried += 1;
                payload.insert(number(event), passed(event).3);
                again += u64::from(event["data"].get("trigger").is_some());
            } else if is(event, "recovery:packet_lost") {
                assert!(lost.insert(number(event)) && !acked.contains(&number(event)), "{event}");
            } else if is(event, "transport:packet_received") {
                for number in acknowledged(event) {
                    assert!(acked.insert(number) && !lost.contains(&number), "{event}");
                }
            }
        }
        let stream: u64 = acked.iter().map(|number| payload[number]).sum();
        let last = records.iter().rev().find(|event| is(event, "transport:packet_sent")).unwrap();
        let flight: u64 = payload.iter().filter(|(n, _)| !acked.contains(n) && !lost.contains(n)).map(|(_, b)| b).sum();
        let sent = records.iter().filter_map(|event| {
            let frame = event["data"]["frames"].as_array()?.iter().find(|frame| frame["frame_type"] == "stream")?;
            is(event, "transport:packet_sent")
                .then(|| frame["offset"].as_u64().unwrap() + frame["length"].as_u64().unwrap())
        });
        assert_eq!(stream + flight, sent.max().unwrap(), "{variant}: each byte is acknowledged or in flight, once");
        assert_eq!(lost.len() as u64, again, "{variant}: a segment is lost when it is sent again");
        assert!(last["data"]["header"]["packet_type"] == "1RTT");
        assert!(variant == "\"bbr\"" || again > 10, "{variant}: {again} sent again");
    }
}

#[test]
fn the_states_are_those_of_the_controller() {
    for (variant, expected) in [
        ("\"cubic\"", &["slow_start", "recovery", "congestion_avoidance"][..]),
        ("\"bbr\"", &["Startup", "Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP"]),
    ] {
        let records = recorded("bulk-1", &[("tcp.variant", variant)]);
        let states: Vec<&Value> = records.iter().filter(|e| is(e, "recovery:congestion_state_updated")).collect();
        let found: BTreeSet<&str> = states.iter().map(|event| event["data"]["new"].as_str().unwrap()).collect();
        assert_eq!(found, expected.iter().copied().collect(), "{variant}");
        assert_eq!(states[0]["data"]["new"], expected[0]);
        assert!(states.windows(2).all(|two| two[0]["data"]["new"] == two[1]["data"]["old"]));
        let paced = records.iter().any(|event| event["data"].get("pacing_rate").is_some());
        assert_eq!(paced, variant == "\"bbr\"", "{variant}");
    }
}

/// The types of the members that are written, by event. draft-ietf-quic-qlog-quic-events-03.
const EVENTS: &[(&str, &[(&str, &str)])] = &[
    (
        "connectivity:connection_started",
        &[
            ("ip_version", "text"),
            ("src_ip", "text!"),
            ("dst_ip", "text!"),
            ("protocol", "text"),
            ("src_port", "uint"),
            ("dst_port", "uint"),
        ],
    ),
    ("connectivity:connection_state_updated", &[("old", "text"), ("new", "text!")]),
    ("transport:packet_sent", &[("header", "header!"), ("frames", "frames"), ("raw", "raw"), ("trigger", "text")]),
    ("transport:packet_received", &[("header", "header!"), ("frames", "frames"), ("raw", "raw")]),
    (
        "recovery:parameters_set",
        &[("timer_granularity", "uint!"), ("max_datagram_size", "uint"), ("initial_congestion_window", "uint")],
    ),
    (
        "recovery:metrics_updated",
        &[
            ("min_rtt", "float"),
            ("smoothed_rtt", "float"),
            ("latest_rtt", "float"),
            ("congestion_window", "uint"),
            ("bytes_in_flight", "uint"),
            ("ssthresh", "uint"),
            ("pacing_rate", "uint"),
        ],
    ),
    ("recovery:congestion_state_updated", &[("old", "text"), ("new", "text!")]),
    ("recovery:packet_lost", &[("header", "header"), ("trigger", "text")]),
    // Types that are no events.
    ("header", &[("packet_type", "text!"), ("packet_number", "uint")]),
    ("raw", &[("length", "uint"), ("payload_length", "uint")]),
    (
        "stream",
        &[("frame_type", "text!"), ("stream_id", "uint!"), ("offset", "uint!"), ("length", "uint!"), ("fin", "bool")],
    ),
    ("ack", &[("frame_type", "text!"), ("acked_ranges", "ranges")]),
];

/// Checks that an object is of a type in [`EVENTS`].
fn check(object: &Value, of: &str) {
    let types = EVENTS.iter().find(|(name, _)| *name == of).unwrap_or_else(|| panic!("{of}: {object}")).1;
    let members: &Map<String, Value> = object.as_object().unwrap();
    for (name, kind) in types {
        assert!(!kind.ends_with('!') || members.contains_key(*name), "{of} without {name}: {object}");
    }
    for (name, value) in members {
        let kind = types.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{of}: {name}")).1;
        let right = match kind.trim_end_matches('!') {
            "text" => value.is_string(),
            "uint" => value.is_u64(),
            "float" => value.is_number(),
            "bool" => value.is_boolean(),
            "ranges" => {
                let ranges = value.as_array().unwrap();
                !ranges.is_empty() && ranges.iter().all(|range| range.as_array().unwrap().len() == 2)
            }
            "frames" => {
                let frames = value.as_array().unwrap();
                frames.iter().for_each(|frame| check(frame, frame["frame_type"].as_str().unwrap()));
                true
            }
            other => {
                check(value, other);
                true
            }
        };
        assert!(right, "{of}: {name} is {value}");
    }
}

#[test]
fn events_have_the_names_and_types_of_the_drafts() {
    for (end, client) in [("bulk-1", true), ("bulk-1-sink", false)] {
        let records = recorded(end, &[]);
        let header = &records[0];
        assert_eq!((&header["qlog_version"], &header["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
        let kind = if client { "client" } else { "server" };
        assert_eq!(header["trace"]["vantage_point"], serde_json::json!({ "name": end, "type": kind }));
        let mut before = 0.0;
        for event in &records[1..] {
            assert_eq!(event.as_object().unwrap().len(), 3, "{event}");
            check(&event["data"], event["name"].as_str().unwrap());
            let time = event["time"].as_f64().unwrap();
            assert!(time >= before, "{event}");
            before = time;
        }
    }
}

/// The two ends of a connection number its segments alike.
#[test]
fn the_ends_agree_on_the_numbers() {
    let [here, there] = ["bulk-1", "bulk-1-sink"].map(|end| recorded(end, &[]));
    for (from, to) in [(&here, &there), (&there, &here)] {
        let frames = |event: &Value| {
            event["data"]["frames"].as_array().unwrap().iter().find(|f| f["frame_type"] == "stream").cloned()
        };
        let sent: BTreeMap<u64, Option<Value>> =
            from.iter().filter(|e| is(e, "transport:packet_sent")).map(|e| (number(e), frames(e))).collect();
        let received: Vec<&Value> = to.iter().filter(|e| is(e, "transport:packet_received")).collect();
        assert!(received.len() > 1000);
        received.iter().for_each(|event| assert_eq!(sent[&number(event)], frames(event), "{event}"));
    }
}

/// The header, the handshake, and the first segments: 20 ms of delay and the time of a SYN on three lines, then ten segments.
#[test]
fn the_first_events_of_a_connection() {
    let file = file_of("bulk-1", &[]);
    let found: String = file.split_inclusive('\n').take(24).map(|record| record.trim_start_matches('\u{1e}')).collect();
    assert_eq!(found, include_str!("golden/qlog.jsonl"));
}

#[test]
fn what_cannot_be_recorded_is_refused_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("end.sqlog");
    let run = |end: &str, force| {
        cellway_lab::qlog(
            &plan(SCENARIO, &[("run.duration", "\"2 s\"")]),
            Path::new("."),
            end,
            &path,
            force,
            &mut || false,
        )
    };
    for (end, words) in [
        ("bulk-2", "there is no such slot; accepted: bulk-1"),
        ("bulk", "accepted: bulk-1"),
        ("call-1", "call-1 sends UDP, which has no connections; accepted: bulk-1"),
        ("bulk-1:0", "a connection is a number from 1, like bulk-1:3"),
        ("bulk-1:x", "a number from 1"),
        ("bulk-1:2", "the run does not open connection 2; accepted: connections 1 to 1"),
    ] {
        let error = run(end, false).unwrap_err();
        assert!(error.to_string().contains(words) && error.is_input(), "{end}: {error}");
        assert!(names(folder.path()).is_empty(), "{end}");
    }
    run("bulk-1", false).unwrap();
    let error = run("bulk-1", false).unwrap_err();
    assert!(error.to_string().contains("--force"), "{error}");
    run("bulk-1", true).unwrap();
}

/// A connection that gateways split ends at the near one, which answers before the far host can.
#[test]
fn a_split_connection_ends_at_the_gateway() {
    let text = SCENARIO
        .replace(
            "{ name = \"a\", kind = \"router\" }",
            "{ name = \"a\", kind = \"gateway\", peer = \"b\", gateway = { rate = \"10 Mbit/s\", packet = \"1400 B\" } }",
        )
        .replace(
            "{ name = \"b\", kind = \"router\" }",
            "{ name = \"b\", kind = \"gateway\", peer = \"a\", gateway = { rate = \"10 Mbit/s\", packet = \"1400 B\" } }",
        );
    let least = |end: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("end.sqlog");
        cellway_lab::qlog(&plan(&text, &[]), Path::new("."), end, &path, false, &mut || false).unwrap();
        let records = records(&std::fs::read_to_string(&path).unwrap());
        let received: Vec<&Value> = records.iter().filter(|e| is(e, "transport:packet_received")).collect();
        assert!(received.len() > 100 && received.iter().all(|event| event["data"]["header"]["packet_number"].is_u64()));
        records.iter().find(|e| is(e, "recovery:metrics_updated")).unwrap()["data"]["latest_rtt"].as_f64()
    };
    // The path has 20 ms; the host and its gateway less than a tick. The SYN waits for the far host.
    let [originator, responder] = ["bulk-1", "bulk-1-sink"].map(least);
    assert!(originator.unwrap() >= 20.0, "{originator:?}");
    assert!(responder.unwrap() <= 1.0, "{responder:?}");
}
