//! Controls that count marks, in whole runs: TCP Prague beside CUBIC over DualPI2, and DCTCP over a queue with a step.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_units::Ecn;
use cellway_wire::{AccEcn, Ipv4Tcp};
use common::{capture, count, figure, run, scenario};

/// A line of 40 Mbit/s with DualPI2 and a round trip of 20 ms.
const L4S: &str = include_str!("../../../scenarios/l4s.toml");
/// Datagrams in the low-latency queue, which measure the delay of a packet of 100 B through it.
const PROBE: &str = r#"
[[traffic]]
name = "probe"
from = "provider"
to = "home"
access = { rate = "1 Gbit/s", delay = "0 s" }
udp = { packet = "100 B", rate = "50 kbit/s", ecn = "ect1" }
"#;
/// The delay of the line, and the transmission of 100 B at 1 Gbit/s twice and at 40 Mbit/s (s).
const UNLOADED: f64 = 0.010 + 100.0 * 8.0 / 40e6 + 2.0 * 100.0 * 8.0 / 1e9;

/// Packets of the low-latency queue wait for less than 1 ms, whatever CUBIC does in the other; the line is full, and neither
/// starves. The ratio of the rates is measured as 1.8 over 20 ms: CUBIC has a round trip of 35 ms behind its queue of 15 ms,
/// Prague one of 25 ms at least. Over 10 ms, where the round trips are alike, it is 1.2.
#[test]
fn prague_beside_cubic_waits_for_less_than_a_millisecond() {
    let text = format!("{L4S}{PROBE}");
    for (delay, bounds) in [("10 ms", 1.5..2.2), ("5 ms", 1.0..1.7)] {
        for ecn in ["true", "false"] {
            let scenario = scenario(&text, &[("traffic.cubic.tcp.ecn", ecn), ("link.access.delay", delay)]);
            let record = run(&scenario, 1);
            let line: f64 = delay.trim_end_matches(" ms").parse::<f64>().unwrap() / 1e3;
            let wait = figure(&record, "probe-1", "delay_p99") - UNLOADED - line + 0.010;
            let ratio = figure(&record, "prague-1", "goodput") / figure(&record, "cubic-1", "goodput");
            let busy = figure(&record, "provider>home", "utilisation");
            println!("{delay}, ecn = {ecn}: p99 of the wait {wait} s, ratio {ratio}, utilisation {busy}");
            assert!((0.0001..0.001).contains(&wait), "{wait}");
            assert!(busy > 0.99 && bounds.contains(&ratio), "{busy} {ratio}");
        }
    }
}

/// Alone it fills the line as well, and there is no classic queue that would hold it back.
#[test]
fn prague_alone_fills_the_line() {
    let set = [("traffic.cubic.count", "0"), ("traffic.prague.count", "2"), ("observe.flows", "[\"prague\"]")];
    let scenario = scenario(&format!("{L4S}{PROBE}"), &set);
    let record = run(&scenario, 1);
    let wait = figure(&record, "probe-1", "delay_p99") - UNLOADED;
    let busy = figure(&record, "provider>home", "utilisation");
    let [a, b] = ["prague-1", "prague-2"].map(|slot| figure(&record, slot, "goodput"));
    println!("p99 of the wait {wait} s, utilisation {busy}, rates {a} {b}");
    assert!(wait < 0.0025 && busy > 0.97, "{wait} {busy}");
    assert!((0.8..1.25).contains(&(a / b)), "{a} {b}");
}

/// Two transfers by DCTCP over 100 Mbit/s and 10 ms, where packets are marked while 20 wait: the line is full, the queue
/// stays at the step, and nothing is lost. By Reno, which halves the window at each mark, the line
/// is used to 87 %.
#[test]
fn dctcp_keeps_a_queue_at_its_step() {
    let text = r#"version = 1
name = "step"
node = [{ name = "r1", kind = "router" }, { name = "r2", kind = "router" }]
run = { duration = "20 s", warmup = "5 s" }
link = [{ between = ["r1", "r2"], rate = "100 Mbit/s", delay = "5 ms" }]
observe = { interval = "1 s", fairness-window = "1 s" }

[buffer]
size = "450 kB"
per = "port"
count = "packet"
queue = "red"
red = { min = "20 packet", max = "21 packet", max-p = "99.9 %", weight = "99.9 %", ecn = true }

[[traffic]]
name = "t"
app = "bulk"
from = "r1"
to = "r2"
count = 2
access = { rate = "1 Gbit/s", delay = "0 s" }
tcp = { variant = "dctcp", ecn = true, initial-ssthresh = "40 kB" }
"#;
    let outcome = |set: &[(&str, &str)]| {
        let record = run(&scenario(text, set), 1);
        let [busy, mean, most] = ["utilisation", "queue_mean", "queue_max"].map(|m| figure(&record, "r1>r2", m));
        println!("{set:?}: utilisation {busy}, queue {mean} to {most}, dropped {}", count(&record, "early_drops"));
        [busy, mean, most, count(&record, "early_drops")]
    };
    for ecn in ["true", "\"accurate\""] {
        let [busy, mean, most, dropped] = outcome(&[("traffic.t.tcp.ecn", ecn)]);
        assert!(busy > 0.999 && (16.0..21.0).contains(&mean) && most <= 25.0 && dropped == 0.0);
    }
    let [busy, mean, ..] = outcome(&[("traffic.t.tcp.variant", "\"sack\"")]);
    assert!(busy < 0.92 && mean < 8.0, "{busy} {mean}");
}

/// The packets in a capture.
fn packets(mut pcap: &[u8]) -> Vec<Ipv4Tcp> {
    let mut packets = Vec::new();
    pcap = &pcap[24..];
    while let [record @ .., _] = pcap {
        let length = u32::from_le_bytes(record[8..12].try_into().unwrap()) as usize;
        packets.push(Ipv4Tcp::parse(&pcap[16..16 + length]).unwrap().0);
        pcap = &pcap[16 + length..];
    }
    packets
}
fn ace(packet: &Ipv4Tcp) -> u32 {
    u32::from(packet.flags.ae) << 2 | u32::from(packet.flags.cwr) << 1 | u32::from(packet.flags.ece)
}

/// A capture at the receiver has the negotiation, the marks and both forms of their feedback, which agree.
#[test]
fn captures_show_accurate_feedback() {
    let file = capture(&scenario(L4S, &[("run.duration", "5 s"), ("run.warmup", "1 s")]), 1, "prague-1-sink");
    let packets = packets(&file);
    let syns: Vec<_> =
        packets.iter().filter(|packet| packet.flags.syn).map(|packet| (ace(packet), packet.ecn)).collect();
    assert_eq!(syns, [(0b111, Ecn::NotEct), (0b010, Ecn::NotEct)]);
    let (mut marked, mut octets) = (0, 0);
    let (mut options, mut acks) = (0, 0);
    for packet in packets.iter().filter(|packet| !packet.flags.syn).skip(1) {
        if packet.payload_len > 0 {
            assert!(matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce));
            marked += u32::from(packet.ecn == Ecn::Ce);
            octets += if packet.ecn == Ecn::Ce { packet.payload_len } else { 0 };
            continue;
        }
        assert_eq!((packet.ecn, ace(packet)), (Ecn::NotEct, (5 + marked) % 8));
        acks += 1;
        if let Some(AccEcn { ect1_first, fields }) = &packet.options.acc_ecn {
            options += 1;
            assert!(*ect1_first && fields.get(1).is_none_or(|ce| *ce == octets % (1 << 24)));
        }
    }
    assert!(marked > 100 && options == acks && acks > 1000, "{marked} {options} {acks}");
}
