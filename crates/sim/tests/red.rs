//! Random early detection in whole runs: the queue against arithmetic, and TCP with and without ECN.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::HashSet;

use cellway_record::RunRecord;
use cellway_units::Ecn;
use cellway_wire::Ipv4Tcp;
use common::{capture, count, figure, queue_before_a_line, run, scenario};

fn with(text: &str) -> String {
    format!("{}\n{text}", queue_before_a_line("red"))
}

/// A source that no drop slows down sends packets of 1000 B at 10 / (1 - 0.05) Mbit/s, so that 5 % of them must be dropped.
/// Gaps between drops are uniform from 1 to 1 / p_b - 1 packets, with mean 1 / (2 p_b): the share of drops is 2 p_b, so
/// p_b = 0.025. With min = 20, max = 120 and max-p = 0.1 the control law has it at an average of 20 + 100 × 0.025 / 0.1 =
/// 45 packets before an arrival; the mean over time is between that and one packet more. The loop
/// s² + w λ s + 2 w λ² max-p / (max - min) is overdamped for w > 8 max-p / (max - min) = 0.008.
#[test]
fn the_queue_settles_where_the_drops_balance_the_overload() {
    let text = with(
        r#"
[buffer.red]
min = "20 packet"
max = "120 packet"
max-p = "10%"
weight = "2%"

[[traffic]]
name = "flood"
from = "r1"
to = "r2"
access = { rate = "1 Gbit/s", delay = "0 s" }
udp = { packet = "1000 B", rate = "10526315 bit/s" }
"#,
    );
    let scenario = scenario(&text, &[]);
    for seed in 1..=5 {
        let record = run(&scenario, seed);
        let of = |metric| figure(&record, "r1>r2", metric);
        assert_eq!(of("early_drops"), of("dropped_packets"), "the memory never fills");
        assert_eq!(count(&record, "marked"), 0.0);
        // The queue at both ends of the measured 50 s differs by few of 65,789 packets.
        assert!((of("loss_ratio") - 0.05).abs() < 0.001, "{}", of("loss_ratio"));
        assert!((44.0..47.0).contains(&of("queue_mean")), "seed {seed}: {}", of("queue_mean"));
        assert!(of("utilisation") > 0.9999);
    }
}

/// Two transfers over TCP.
const TCP: &str = r#"
[buffer.red]
min = "10 packet"
max = "30 packet"
max-p = "10%"

[tcp]
profile = "classic"
variant = "sack"
mss = "1448 B"
window = "1 MiB"
window-scaling = true
initial-ssthresh = "32 KiB"

[[traffic]]
name = "bulk"
app = "bulk"
from = "r1"
to = "r2"
count = 2
access = { rate = "1 Gbit/s", delay = "1 ms" }
"#;

#[test]
fn flows_with_ecn_are_marked_and_lose_nothing_and_those_without_lose() {
    for control in ["reno", "cubic"] {
        let control = format!("\"{control}\"");
        let of = |ecn: &str| {
            let set = [("tcp.control", &control[..]), ("buffer.red.ecn", ecn), ("tcp.ecn", ecn)];
            run(&scenario(&with(TCP), &set), 1)
        };
        let (without, with) = (of("false"), of("true"));
        let port = |record: &RunRecord, metric| figure(record, "r1>r2", metric);
        assert_eq!(count(&without, "marked"), 0.0, "{control}");
        assert!(count(&without, "early_drops") >= 10.0, "{control}: {}", count(&without, "early_drops"));

        assert!(count(&with, "marked") >= 10.0, "{control}: {}", count(&with, "marked"));
        assert_eq!((count(&with, "early_drops"), port(&with, "dropped_packets")), (0.0, 0.0), "{control}");
        // A flow that did not back off would fill the 10 MB of memory, 6,666 packets; these hold the line with few.
        for record in [&without, &with] {
            assert!(port(record, "queue_max") < 90.0, "{control}: {}", port(record, "queue_max"));
            assert!(port(record, "utilisation") > 0.9, "{control}: {}", port(record, "utilisation"));
        }
    }
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

/// A capture at the receiver has the marks, their echoes and CWR, and no data twice.
#[test]
fn captures_show_marks_and_their_echoes() {
    let set = [("buffer.red.ecn", "true"), ("tcp.ecn", "true"), ("run.duration", "20 s")];
    let file = capture(&scenario(&with(TCP), &set), 1, "bulk-1-sink");
    let packets: Vec<Ipv4Tcp> = packets(&file);
    assert!(packets.len() > 10_000);
    let data = packets.iter().filter(|packet| packet.payload_len > 0);
    assert!(data.clone().all(|packet| matches!(packet.ecn, Ecn::Ect0 | Ecn::Ce)));
    let starts: Vec<_> = data.clone().map(|packet| (packet.source_port, packet.seq)).collect();
    assert_eq!(starts.iter().collect::<HashSet<_>>().len(), starts.len(), "nothing was sent again");
    assert!(data.clone().any(|packet| packet.ecn == Ecn::Ce) && data.clone().any(|packet| packet.flags.cwr));
    let acks = packets.iter().filter(|packet| packet.payload_len == 0 && !packet.flags.syn);
    assert!(acks.clone().all(|packet| packet.ecn == Ecn::NotEct) && acks.clone().any(|packet| packet.flags.ece));
}
