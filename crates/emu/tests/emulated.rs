//! Whole scenarios in real time, through the library. No test here depends on the speed of this computer: delays are
//! never shorter than nominal, and rates are those of the network over seconds.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::{Duration, Instant};

use cellway_emu::{Capture, Control, Emulated, Error, Snapshot};
use cellway_units::Span;
use common::{figure, one_at_a_time, possible, run};

/// Two hosts at a line of 10 Mbit/s of cells and 20 ms of delay each way; one bulk transfer, one dialogue.
const NET: &str = r#"version = 1
name = "net"
buffer = { size = "400 cell", per = "port" }
multiplexing = { channel = "per-conversation" }
tcp = { profile = "classic", variant = "newreno", mss = "1000 B", window = "8 KiB", send-buffer = "64 KiB" }
node = [
  { name = "client", kind = "host" },
  { name = "near", kind = "router" },
  { name = "far", kind = "router" },
  { name = "server", kind = "host" },
]
link = [
  { between = ["client", "near"], rate = "fast-ethernet", delay = "0 s" },
  { name = "line", between = ["near", "far"], rate = "10 Mbit/s", delay = "20 ms", framing = "atm" },
  { between = ["far", "server"], rate = "fast-ethernet", delay = "0 s" },
]

[run]
duration = "6 s"
warmup = "2 s"
emulate = { lateness-limit = "10 s", idle = "1 s" }

[[traffic]]
name = "bulk"
app = "bulk"
from = "client"
to = "server"

[[traffic]]
name = "talk"
app = "telnet"
from = "client"
to = "server"

[observe]
interval = "500 ms"
fairness-window = "1 s"
"#;

/// Returns the same figure of each bin.
fn series(emulated: &Emulated, subject: &str, metric: &str) -> Vec<(f64, f64)> {
    let rows = emulated.record.series.iter().filter(|row| &*row.subject == subject && row.metric == metric);
    rows.map(|row| (row.t.unwrap(), row.value)).collect()
}

#[test]
fn played_applications_get_what_window_and_delay_give() {
    if !possible("played_applications_get_what_window_and_delay_give") {
        return;
    }
    let _one = one_at_a_time();
    let emulated = run(NET, &[], Control::default()).unwrap();
    // 8 KiB in a round trip of 40 ms plus the time to send a packet: 1052 octets in 23 cells, 0.98 ms.
    let most = 8192.0 * 8.0 / 0.04;
    let goodput = figure(&emulated, "bulk-1", "goodput");
    assert!((0.85 * most..most).contains(&goodput), "{goodput} bit/s of {most}");
    // A keystroke and its echo cross the network; some wait behind the packets of the transfer.
    let delay = figure(&emulated, "talk-1", "delay_mean");
    assert!((0.04..0.2).contains(&delay), "{delay} s");
    assert_eq!(figure(&emulated, "near>far", "dropped_frames"), 0.0);
    assert_eq!(figure(&emulated, "bulk-1", "retransmissions"), 0.0);
    assert!(figure(&emulated, "emulation", "delay_p50") >= 0.02, "no packet is faster than the line");
    assert_eq!(figure(&emulated, "emulation", "valid"), 1.0);
    assert_eq!(emulated.delays.count(), figure(&emulated, "emulation", "packets") as u64);
    assert!(emulated.notes.is_empty(), "{:?}", emulated.notes);
    let utilisation = figure(&emulated, "near>far", "utilisation");
    // 976 octets of payload or less have 24 cells of 424 bits, acknowledgements of the dialogue come on top.
    assert!((goodput * 1.1 / 1e7..0.4).contains(&utilisation), "{utilisation}");
}

const SPACER: &str = r#"
[[shaper]]
name = "spacer"
at = "near"
link = "line"
traffic = ["bulk"]
rate = "8 Mbit/s"

[[change]]
at = "4 s"
shaper = "spacer"
rate = "2 Mbit/s"

[[change]]
at = "8 s"
shaper = "spacer"
rate = "5 Mbit/s"
"#;

/// `spacing`, section 4: the sender follows the rate of a spacer, and nothing is lost.
#[test]
fn a_spacer_changes_its_rate_while_it_runs_and_nothing_is_lost() {
    if !possible("a_spacer_changes_its_rate_while_it_runs_and_nothing_is_lost") {
        return;
    }
    let _one = one_at_a_time();
    let text = NET.to_owned() + SPACER;
    let set = [
        ("run.duration", "\"12 s\""),
        ("run.warmup", "\"0 s\""),
        ("buffer.size", "\"4000 cell\""),
        ("tcp.window", "\"60 KiB\""),
    ];
    let emulated = run(&text, &set, Control::default()).unwrap();
    let goodput = series(&emulated, "bulk-1", "throughput");
    let mean = |from: f64, to: f64| {
        let bins: Vec<f64> = goodput.iter().filter(|(t, _)| *t > from && *t <= to).map(|(_, value)| *value).collect();
        assert!(bins.len() > 2, "{goodput:?}");
        bins.iter().sum::<f64>() / bins.len() as f64 * 10.0
    };
    // Cells of 48 octets in 53, a packet of 1052 or 1040 octets in 22 of them: 1000 octets of 1166 are TCP payload.
    for (from, to, rate) in [(2.0, 4.0, 8.0), (5.0, 8.0, 2.0), (9.0, 12.0, 5.0)] {
        let (found, most) = (mean(from, to), rate * 1000.0 / 1166.0);
        assert!((0.93 * most..1.02 * most).contains(&found), "{found} of {most} Mbit/s from {from} s to {to} s");
    }
    for port in ["near>far", "far>near"] {
        assert_eq!((figure(&emulated, port, "dropped_frames"), figure(&emulated, port, "dropped_cells")), (0.0, 0.0));
    }
    assert_eq!(figure(&emulated, "bulk-1", "retransmissions"), 0.0);
}

const PROGRAMS: &str = r#"
[[run.command]]
name = "good"
host = "client"
run = ["sh", "-c", "echo speed 12.5 km/s; echo at $CELLWAY_HOST_server >&2; test $CELLWAY_HOST_server = $1", "sh", "$CELLWAY_HOST_server"]
figure = [{ metric = "speed", unit = "m/s", pattern = 'speed (\S+) km', times = 1000 }]

[[run.command]]
name = "json"
host = "server"
run = ["echo", '{"end": [{"rate": 7}]}']
figure = [{ metric = "rate", unit = "bit/s", json = "end.0.rate" }, { metric = "none", unit = "s", json = "end.1" }]

[[run.command]]
name = "bad"
host = "client"
run = ["sh", "-c", "echo it is broken >&2; exit 7"]
start = "200 ms"

[[run.command]]
name = "expected"
host = "client"
run = ["sh", "-c", "exit 3"]
expect = 3

[[run.command]]
name = "killed"
host = "client"
run = ["sh", "-c", "kill -KILL $$"]

[[run.command]]
name = "long"
host = "server"
run = ["sleep", "1010"]

[[run.command]]
name = "stopped"
host = "server"
run = ["sleep", "1011"]
stop = "500 ms"

[[run.command]]
name = "late"
host = "server"
run = ["true"]
start = "900 ms"
"#;

#[test]
fn the_result_has_the_exit_status_of_programs() {
    if !possible("the_result_has_the_exit_status_of_programs") {
        return;
    }
    let _one = one_at_a_time();
    let text = NET.replace("emulate = {", "emulate = { play = false,") + PROGRAMS;
    let set = [("run.duration", "\"2 s\""), ("run.warmup", "\"0 s\"")];
    let emulated = run(&text, &set, Control::default()).unwrap();
    let found: Vec<(&str, Option<i32>, bool)> =
        emulated.programs.iter().map(|end| (&end.name[..], end.status, end.failed)).collect();
    let expected = [
        ("good", Some(0), false),
        ("json", Some(0), false),
        ("bad", Some(7), true),
        ("expected", Some(3), false),
        ("killed", Some(137), true),
        ("long", None, false),
        ("stopped", None, false),
        ("late", Some(0), false),
    ];
    assert_eq!(found, expected);
    assert_eq!(figure(&emulated, "good", "speed"), 12_500.0);
    assert_eq!(figure(&emulated, "json", "rate"), 7.0);
    assert_eq!((figure(&emulated, "bad", "failed"), figure(&emulated, "bad", "exit_status")), (1.0, 7.0));
    assert_eq!((figure(&emulated, "long", "failed"), figure(&emulated, "good", "failed")), (0.0, 0.0));
    let notes = emulated.notes.join("\n");
    assert!(notes.contains("bad: exit status 7: it is broken"), "{notes}");
    assert!(notes.contains("killed: exit status 137: it printed nothing"), "{notes}");
    assert!(notes.contains("json: no none: its JSON has no \"1\" of end.1"), "{notes}");
    assert_eq!(emulated.notes.len(), 3, "{notes}");
}

#[test]
fn a_program_that_cannot_be_started_ends_the_run_with_a_message() {
    if !possible("a_program_that_cannot_be_started_ends_the_run_with_a_message") {
        return;
    }
    let _one = one_at_a_time();
    let text = NET.to_owned() + "[[run.command]]\nhost = \"client\"\nrun = [\"/no/such/program\"]\nstart = \"1 s\"\n";
    // It does not wait for the end of the hour.
    let error = run(&text, &[("run.duration", "\"1 h\"")], Control::default()).unwrap_err().to_string();
    assert!(error.contains("/no/such/program") && error.contains("client"), "{error}");
}

#[test]
fn it_stops_on_request() {
    if !possible("it_stops_on_request") {
        return;
    }
    let _one = one_at_a_time();
    let start = Instant::now();
    let mut told = || start.elapsed() > Duration::from_secs(1);
    let control = Control { stop: Some(&mut told), ..Control::default() };
    let error = run(NET, &[("run.duration", "\"1 h\"")], control).unwrap_err();
    assert!(matches!(error, Error::Stopped { at } if at.as_secs_f64() < 3600.0), "{error}");
}

/// Snapshots add up to the recorded values, and idle conversations are not shown any more.
#[test]
fn views_add_up() {
    if !possible("views_add_up") {
        return;
    }
    let _one = one_at_a_time();
    let mut views: Vec<Snapshot> = Vec::new();
    let mut look = |view: &Snapshot| views.push(view.clone());
    // 1 MB: over in 5 s.
    let set = [
        ("run.duration", "\"9 s\""),
        ("run.warmup", "\"0 s\""),
        ("traffic.bulk.workload.size", "\"1 MB\""),
        ("traffic.bulk.repeat", "false"),
    ];
    let text = NET.split("[[traffic]]\nname = \"talk\"").next().unwrap().to_owned();
    let control = Control { view: Some((Span::from_ms(500), &mut look)), ..Control::default() };
    let emulated = run(&text, &set, control).unwrap();
    assert!(views.len() > 5, "{}", views.len());
    let of = |view: &Snapshot| view.conversations.iter().map(|c| c.rate[0]).sum::<f64>() * view.interval / 8.0;
    let shown: f64 = views.iter().map(of).sum();
    // The payload, headers of 40 to 52 octets of each 1000, and the packets of connection setup and teardown.
    assert!((1.03e6..1.08e6).contains(&shown), "{shown} octets were shown");
    let busiest = views.iter().max_by(|a, b| of(a).total_cmp(&of(b))).unwrap();
    let c = &busiest.conversations[0];
    assert!(c.from.starts_with("client") && c.to.starts_with("server") && c.protocol == "tcp", "{c:?}");
    let line = busiest.ports.iter().find(|port| port.name == "near>far").unwrap();
    // 1.6 Mbit/s and a little of 10.
    assert!((0.1..0.35).contains(&line.utilisation), "{line:?}");
    let last = views.last().unwrap();
    assert!(last.conversations.is_empty(), "idle for a second and more: {last:?}");
    assert!(emulated.notes.is_empty(), "{:?}", emulated.notes);
}

/// A host's capture: whole IP packets with good checksums, read back here.
#[test]
fn packets_of_a_host_are_captured() {
    if !possible("packets_of_a_host_are_captured") {
        return;
    }
    let _one = one_at_a_time();
    let (mut file, mut records) = (Vec::new(), 0);
    let control = Control { capture: Some(Capture::new("server", &mut file, &mut records)), ..Control::default() };
    run(NET, &[("run.duration", "\"3 s\""), ("run.warmup", "\"0 s\"")], control).unwrap();
    assert!(records > 100, "{records}");
    let packets = packets_of(&file);
    assert_eq!(packets.len() as u64, records);
    let mut payload = 0;
    for packet in packets {
        let sliced = etherparse::SlicedPacket::from_ip(packet).unwrap();
        let Some(etherparse::TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("{packet:x?}") };
        let Some(etherparse::NetSlice::Ipv4(ip)) = sliced.net else { panic!("{packet:x?}") };
        let found = tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()).unwrap();
        // A checksum that is completed for the host has all ones for 0, as the kernel's has: both verify.
        let read = if tcp.checksum() == 0xffff { 0 } else { tcp.checksum() };
        assert_eq!(read, found);
        payload += tcp.payload().len();
    }
    assert!(payload > 100_000, "{payload} octets");
}

/// Returns the IP packets of a capture of a node without cells.
fn packets_of(file: &[u8]) -> Vec<&[u8]> {
    let word = |at: usize| u32::from_ne_bytes(file[at..at + 4].try_into().unwrap());
    let little = [0xa1b2_3c4d, 0xa1b2_c3d4].contains(&word(0));
    assert!(little, "{:x}", word(0));
    let (mut at, mut packets) = (24, Vec::new());
    while at < file.len() {
        let len = word(at + 8) as usize;
        packets.push(&file[at + 16..at + 16 + len]);
        at += 16 + len;
    }
    packets
}
