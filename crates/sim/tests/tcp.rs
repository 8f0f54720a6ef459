//! Present-day TCP over a long, fat path: CUBIC next to Reno, HyStart++, timestamps in captures, pacing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use common::{BULK, capture, figure, run, scenario, series};

/// 30 Mbit/s and 175 ms: 446 segments of 1448 B are in flight at the rate of the line.
const LONG_FAT: [(&str, &str); 11] = [
    ("link.r1-s1.rate", "\"30 Mbit/s\""),
    ("link.r1-s1.delay", "\"87.5 ms\""),
    ("link.s1-r2.rate", "\"30 Mbit/s\""),
    ("traffic.bulk.access", "{ rate = \"100 Mbit/s\", delay = \"0 s\" }"),
    ("run.warmup", "\"0 s\""),
    ("observe.trace", "[\"bulk-1\"]"),
    ("tcp.profile", "\"linux-6\""),
    ("tcp.variant", "\"cubic\""),
    ("tcp.mss", "\"1460 B\""),
    ("tcp.window", "\"4 MiB\""),
    ("buffer.size", "\"1 MiB\""),
];

fn long_fat(set: &[(&str, &str)]) -> RunRecord {
    let mut all: Vec<(&str, &str)> =
        LONG_FAT.into_iter().filter(|(key, _)| set.iter().all(|(other, _)| other != key)).collect();
    all.extend_from_slice(set);
    run(&scenario(BULK, &all), 1)
}

/// Returns the window before the first loss, in segments, and the time until the sender has reached 95 % of it again.
fn recovery(variant: &str) -> (f64, f64) {
    let record = long_fat(&[
        ("tcp.variant", variant),
        // Congestion avoidance from below the capacity: a few segments are lost when the buffer is full.
        ("tcp.initial-ssthresh", "\"450 kB\""),
        ("buffer.size", "\"256 KiB\""),
        ("tcp.hystart", "false"),
        ("tcp.delayed-ack", "\"off\""),
        ("run.duration", "\"130 s\""),
    ]);
    assert_eq!(figure(&record, "bulk-1", "timeouts"), 0.0, "{variant}");
    let windows = series(&record, "bulk-1", "window");
    let drop = windows.windows(2).position(|w| w[1].1 < 0.8 * w[0].1).unwrap();
    let (lost_at, before) = windows[drop];
    let after = windows[drop + 1].1 / before;
    let kept = if variant.contains("cubic") { 0.7 } else { 0.5 };
    assert!((after - kept).abs() < 0.02, "{variant}: {after} of the window");
    let back = windows[drop + 1..].iter().find(|&&(_, window)| window >= 0.95 * before).unwrap();
    (before / 1448.0, back.0 - lost_at)
}

/// Reno adds a segment a round trip. CUBIC is at its plateau after K = (0.3 W / 0.4)^(1/3) s, and at 95 % of it
/// (0.05 W / 0.4)^(1/3) s before.
#[test]
fn cubic_recovers_in_seconds_where_reno_takes_a_minute() {
    let (window, cubic) = recovery("\"cubic\"");
    let expected = (0.3 * window / 0.4).cbrt() - (0.05 * window / 0.4).cbrt();
    assert!((cubic - expected).abs() < 0.1 * expected + 0.2, "CUBIC takes {cubic} s for {window}; {expected} s");
    let (window, reno) = recovery("\"sack\"");
    let trips = 0.45 * window;
    assert!((0.175 * trips..0.26 * trips).contains(&reno), "Reno takes {reno} s for {window}");
    assert!(reno > 8.0 * cubic, "{reno} s, {cubic} s");
}

#[test]
fn hystart_ends_slow_start_before_the_buffer_is_full() {
    let lost = |hystart: &str| {
        // The delay rises when three times the path is in flight, and five rounds of a quarter follow.
        let record = long_fat(&[
            ("tcp.hystart", hystart),
            ("tcp.window", "\"16 MiB\""),
            ("tcp.send-buffer", "\"16 MiB\""),
            ("buffer.size", "\"8 MiB\""),
            ("run.duration", "\"10 s\""),
        ]);
        figure(&record, "bulk-1", "retransmissions")
    };
    assert_eq!(lost("true"), 0.0);
    assert!(lost("false") > 100.0, "{}", lost("false"));
}

/// Paced below the line's rate, no packet waits and none is lost; goodput is the share of payload in the rate.
#[test]
fn a_paced_sender_needs_no_buffer() {
    let paced = [
        ("tcp.pacing-rate", "\"20 Mbit/s\""),
        ("buffer.size", "\"70 cell\""),
        ("run.duration", "\"30 s\""),
        ("run.warmup", "\"10 s\""),
    ];
    let record = long_fat(&paced);
    assert_eq!(figure(&record, "bulk-1", "retransmissions"), 0.0);
    let goodput = figure(&record, "bulk-1", "goodput");
    assert!((goodput / (20e6 * 1448.0 / 1500.0) - 1.0).abs() < 1e-3, "{goodput} bit/s");
    // The counterpart: slow start alone overflows that buffer.
    assert!(figure(&long_fat(&paced[1..]), "bulk-1", "retransmissions") > 10.0);
}

/// Every packet of a capture carries the option; the data fill 1500 octets, and echoes are a round trip old.
#[test]
fn captures_carry_timestamps() {
    let set = [LONG_FAT.as_slice(), &[("run.duration", "\"3 s\"")]].concat();
    let set: Vec<_> = set.into_iter().filter(|(key, _)| *key != "observe.trace").collect();
    let pcap = capture(&scenario(BULK, &set), 1, "bulk-1");
    let be = |at: usize| u32::from_be_bytes(pcap[at..at + 4].try_into().unwrap());
    let (mut at, mut longest, mut packets, mut echoes) = (24, 0, 0, Vec::new());
    while at < pcap.len() {
        let length = u32::from_le_bytes(pcap[at + 8..at + 12].try_into().unwrap()) as usize;
        let ip = at + 16;
        let tcp = ip + 20;
        let syn = pcap[tcp + 13] & 2 != 0;
        // After the segment size a SYN has SACK-permitted and timestamps; other segments two NOPs and timestamps.
        let (option, lead) = if syn { (tcp + 24, [4, 2]) } else { (tcp + 20, [1, 1]) };
        assert_eq!(pcap[option..option + 4], [lead[0], lead[1], 8, 10], "packet {packets}");
        longest = longest.max(length);
        packets += 1;
        // From the sink: it echoes the time of sending.
        if packets > 3 && pcap[ip + 12..ip + 16] > pcap[ip + 16..ip + 20] {
            echoes.push(be(option + 8));
        }
        at = ip + length;
    }
    assert!(packets > 1000 && longest == 1500, "{packets} packets, the longest of {longest} B");
    let (first, last) = (echoes[0], *echoes.last().unwrap());
    // The clock counts milliseconds: from the second round trip to the last but one.
    assert!((2300..2800).contains(&last.wrapping_sub(first)), "{first} to {last}");
}
