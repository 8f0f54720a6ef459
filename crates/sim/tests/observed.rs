//! The flows and sets of `[observe]` against arithmetic: series of TCP and packets, percentiles, loss and fairness.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use common::{figure, hosts_at_a_line, run, scenario, series};

/// One segment of 1000 B in each round trip, acknowledged at once.
const BULK: &str = r#"
[[traffic]]
name = "bulk"
app = "bulk"
from = "a"
to = "b"
tcp = { profile = "classic", mss = "960 B", window = "960 B", initial-window = 1, delayed-ack = "off", timer-granularity = "1 ns", rto-min = "1 s" }
"#;

/// Datagrams of 200 B, each 20 ms.
const VOICE: &str = r#"
[[traffic]]
name = "voice"
from = "a"
to = "b"
udp = { packet = "200 B", rate = "80 kbit/s" }
"#;

fn observing(tables: &str, observe: &str) -> String {
    hosts_at_a_line(tables).replace("fairness-window = \"1 s\"", &format!("fairness-window = \"1 s\", {observe}"))
}

fn values(record: &RunRecord, subject: &str, metric: &str) -> Vec<f64> {
    series(record, subject, metric).into_iter().map(|(_, value)| value).collect()
}

fn near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value} in place of {expected}");
}

/// 1000 B over 10, 1 and 10 Mbit/s, 22 ms of propagation, 40 B back over the same, 22 ms.
const ROUND_TRIP: f64 = 0.0008 + 0.008 + 0.0008 + 0.022 + 0.000_032 + 0.000_32 + 0.000_032 + 0.022;

#[test]
fn a_window_of_one_segment_is_in_flight_for_exactly_a_round_trip() {
    let set = r#"set = [{ name = "one", flows = ["bulk-1"] }]"#;
    let text = observing(BULK, &format!("flows = [\"bulk\"], {set}"));
    let record = run(&scenario(&text, &[]), 1);
    let in_flight = values(&record, "bulk-1", "in_flight");
    assert_eq!(in_flight, [960.0; 20], "the next segment is sent in the instant of an acknowledgement");
    // The first measurement is that of the SYN, whose packets are shorter; after 8 s nothing of it is left. A step of the
    // estimator rounds down by less than 16 ps, of which at most eight remain.
    let rtts = values(&record, "bulk-1", "srtt");
    assert_eq!(rtts.len(), 20);
    rtts[8..].iter().for_each(|&srtt| near(srtt, ROUND_TRIP, 130e-12));
    let later = run(&scenario(&text, &[("run.warmup", "\"8 s\"")]), 1);
    near(figure(&later, "bulk-1", "srtt_mean"), ROUND_TRIP, 130e-12);
    // Of packets with data: those without do not count. The first of the 18 segments of the first second waits for the
    // last packet of the handshake, 40 B at 10 Mbit/s.
    let [delays, waits] = ["one_way_delay", "sojourn_mean"].map(|metric| values(&record, "bulk-1", metric));
    near(waits[0], 0.000_032 / 18.0, 1e-15);
    assert_eq!(waits[1..], [0.0; 19]);
    delays.iter().zip(waits).for_each(|(&delay, wait)| near(delay, 0.0316 + wait, 1e-12));
    for metric in ["rtt_p50", "rtt_p95", "rtt_p99"] {
        near(figure(&record, "one", metric), ROUND_TRIP, 1e-12);
    }
    for metric in ["one_way_delay_p50", "one_way_delay_p95", "one_way_delay_p99"] {
        near(figure(&record, "one", metric), 0.0316, 1e-12);
    }
    assert_eq!(figure(&record, "one", "loss_ratio"), 0.0);
    assert_eq!(figure(&record, "one", "goodput_total"), figure(&record, "bulk-1", "goodput"));
    assert!(record.summary.iter().all(|row| &*row.subject != "one" || row.metric != "jain"), "one flow has no index");
}

/// The round trip is 1.014 s, so that a second sees one round: 1, 2, 4 and 8 segments after the handshake.
#[test]
fn the_window_of_slow_start_doubles_each_round() {
    let set = [
        ("link.line.delay", "\"500 ms\""),
        ("traffic.bulk.tcp.window", "\"16 KiB\""),
        ("run.duration", "\"5500 ms\""),
        ("run.warmup", "\"0 s\""),
    ];
    let record = run(&scenario(&observing(BULK, "flows = [\"all\"]"), &set), 1);
    assert_eq!(values(&record, "bulk-1", "cwnd"), [1.0, 1.0, 2.0, 4.0, 8.0].map(|segments| segments * 960.0));
    // At 1 s the SYN is in flight, which counts one.
    assert_eq!(values(&record, "bulk-1", "in_flight"), [1.0, 960.0, 1920.0, 3840.0, 7680.0]);
    let of_first_measurement = series(&record, "bulk-1", "srtt")[0].0;
    assert_eq!(of_first_measurement, 2.0, "nothing is measured before the answer to the SYN");
}

/// Both slots send at the same instants. The second waits 0.16 ms for the first at the host and 1.44 ms at the line.
#[test]
fn a_packet_behind_another_has_its_wait_in_the_sojourn_and_in_the_delay() {
    let text = observing(VOICE, "flows = [\"voice\"]");
    let record = run(&scenario(&text, &[("traffic.voice.count", "2")]), 1);
    for (slot, wait) in [("voice-1", 0.0), ("voice-2", 0.0016)] {
        let [sojourn, delay] = ["sojourn_mean", "one_way_delay"].map(|metric| values(&record, slot, metric));
        assert_eq!([sojourn.len(), delay.len()], [20; 2]);
        sojourn.iter().for_each(|&sojourn| near(sojourn, wait, 1e-12));
        delay.iter().for_each(|&delay| near(delay, 0.02392 + wait, 1e-12));
        assert!(values(&record, slot, "cwnd").is_empty(), "datagrams have no window");
    }
}

/// 8 of 9 packets have 200 B and take 23.92 ms, the others 1000 B and take 31.6 ms; none meets another.
#[test]
fn percentiles_are_over_all_flows_of_a_set() {
    let large = VOICE.replace("voice", "large").replace("200 B", "1000 B") + "start = \"2500 us\"\n";
    let set = r#"set = [{ name = "both", flows = ["voice", "large"] }, { name = "small", flows = ["voice-1"] }]"#;
    let rates = [("traffic.voice.udp.rate", "\"128 kbit/s\"")];
    let record = run(&scenario(&observing(&(VOICE.to_owned() + &large), set), &rates), 1);
    let percentiles = |set| {
        ["one_way_delay_p50", "one_way_delay_p95", "one_way_delay_p99"].map(|metric| figure(&record, set, metric))
    };
    for (value, expected) in percentiles("both").into_iter().zip([0.02392, 0.0316, 0.0316]) {
        near(value, expected, 0.004 * expected);
    }
    percentiles("small").into_iter().for_each(|value| near(value, 0.02392, 1e-12));
    assert!(record.summary.iter().all(|row| row.metric != "rtt_p50"), "datagrams measure no round trip");
}

/// Shares of 1, 2 and 3: (1 + 2 + 3)^2 / (3 (1 + 4 + 9)), and of 1 and 3: 16 / 20.
#[test]
fn the_index_of_a_set_goes_across_groups() {
    let group = |name: &str, rate: u32| VOICE.replace("voice", name).replace("80 kbit/s", &format!("{rate} kbit/s"));
    let groups = group("x", 80) + &group("y", 160) + &group("z", 240);
    let sets = r#"set = [{ name = "three", flows = ["all"] }, { name = "two", flows = ["z", "x"] }]"#;
    let record = run(&scenario(&observing(&groups, sets), &[]), 1);
    for (set, index) in [("three", 36.0 / 42.0), ("two", 0.8)] {
        near(figure(&record, set, "jain"), index, 1e-12);
        near(figure(&record, set, "jain_min"), index, 1e-12);
    }
    let sum: f64 = ["x-1", "z-1"].map(|slot| figure(&record, slot, "goodput")).iter().sum();
    assert_eq!(figure(&record, "two", "goodput_total"), sum);
}

/// Of 25,000 packets each 0.8 ms the line of 8 ms a packet passes 2,500, and 4,000 wait: see the test of datagrams. The
/// last to arrive, after 21.8 ms more, is packet 2,497.
#[test]
fn the_loss_ratio_is_of_the_packets_whose_fate_is_known() {
    let set = [
        ("traffic.voice.udp.rate", "\"10 Mbit/s\""),
        ("traffic.voice.udp.packet", "\"1000 B\""),
        ("buffer.size", "\"4 MB\""),
        ("run.warmup", "\"0 s\""),
    ];
    let record = run(&scenario(&observing(VOICE, r#"set = [{ name = "s", flows = ["voice"] }]"#), &set), 1);
    assert_eq!(figure(&record, "s", "loss_ratio"), 18_498.0 / (18_498.0 + 2_497.0));
}

/// The keys add rows and change no other; rows of the flows are only those of the flows named.
#[test]
fn all_other_rows_are_those_of_a_run_without_the_keys() {
    let tables = BULK.to_owned() + VOICE;
    let plain = run(&scenario(&hosts_at_a_line(&tables), &[]), 1);
    let observed =
        run(&scenario(&observing(&tables, r#"flows = ["bulk"], set = [{ name = "s", flows = ["all"] }]"#), &[]), 1);
    let added = ["cwnd", "srtt", "in_flight", "one_way_delay", "sojourn_mean"];
    let is_new = |row: &&cellway_record::Row| &*row.subject == "bulk-1" && added.contains(&row.metric.name());
    let others: Vec<_> = observed.series.iter().filter(|row| !is_new(row)).cloned().collect();
    assert_eq!(others, plain.series);
    assert_eq!(observed.series.len() - others.len(), 5 * 20);
    let is_added = |row: &&cellway_record::Row| &*row.subject == "s" || row.metric == "srtt_mean";
    let summary: Vec<_> = observed.summary.iter().filter(|row| !is_added(row)).cloned().collect();
    assert_eq!(summary, plain.summary);
}

/// A rate of 200 kbit/s of packets of 1000 B with 960 B of payload; RACK has the exact times of segments.
#[test]
fn the_pacing_rate_and_the_least_round_trip_are_of_those_that_have_them() {
    let text = observing(BULK, "flows = [\"bulk\"]");
    let record = run(&scenario(&text, &[]), 1);
    assert_eq!(["pacing_rate", "min_rtt"].map(|metric| values(&record, "bulk-1", metric).len()), [0, 0]);
    let set = [
        ("traffic.bulk.tcp.pacing-rate", "\"200 kbit/s\""),
        ("traffic.bulk.tcp.variant", "\"newreno\""),
        ("traffic.bulk.tcp.recovery", "\"rack\""),
    ];
    let record = run(&scenario(&text, &set), 1);
    assert_eq!(values(&record, "bulk-1", "pacing_rate"), [192_000.0; 20]);
    let least = values(&record, "bulk-1", "min_rtt");
    assert_eq!(least.len(), 20);
    least.iter().for_each(|&rtt| near(rtt, ROUND_TRIP, 1e-12));
}
