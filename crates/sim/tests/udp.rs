//! Datagrams against arithmetic: delays and losses to the last packet, on packet lines and over cells.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use cellway_scenario::Scenario;
use common::{NetworkPath, PS, figure, hosts_at_a_line, run, scenario, series};

/// Speech from one host to the other.
const GROUP: &str = r#"[[traffic]]
name = "voice"
from = "a"
to = "b"
udp = { packet = "200 B", rate = "80 kbit/s" }
"#;

fn line(set: &[(&str, &str)]) -> Scenario {
    scenario(&hosts_at_a_line(GROUP), set)
}

fn of<'a>(record: &'a RunRecord, subject: &'a str) -> impl Fn(&str) -> f64 + 'a {
    move |metric| figure(record, subject, metric)
}

fn has(record: &RunRecord, subject: &str, metric: &str) -> bool {
    record.summary.iter().any(|row| &*row.subject == subject && row.metric == metric)
}

/// 160 us + 1 ms, 1.6 ms + 20 ms, 160 us + 1 ms: the same for each packet, every 20 ms.
#[test]
fn a_constant_source_alone_has_the_delay_of_the_path_and_no_jitter() {
    let record = run(&line(&[]), 1);
    for subject in ["voice-1", "voice"] {
        let of = of(&record, subject);
        for metric in ["delay_mean", "delay_p50", "delay_p95", "delay_p99", "delay_max"] {
            assert!((of(metric) - 0.02392).abs() < 1e-12, "{subject} {metric}: {}", of(metric));
        }
        assert_eq!([of("jitter_mean"), of("jitter_max"), of("packets_lost"), of("loss_ratio")], [0.0; 4]);
        // From 2 s on, at 2.00, 2.02 and so on up to 19.98 s; the last takes 24 ms and is in flight at the end.
        assert_eq!([of("packets_sent"), of("packets_received")], [900.0, 899.0]);
    }
    let of = of(&record, "voice-1");
    // Payload: 172 of 200 B. Arrivals between 2 s and 20 s: those that were sent from 1.98 s to 19.96 s.
    assert_eq!(of("goodput"), 900.0 * 172.0 * 8.0 / 18.0);
    assert_eq!(of("throughput"), of("goodput") / 1e6);
    assert!((figure(&record, "r1>r2", "utilisation") - 0.08).abs() < 1e-4);
    // Metrics of TCP are absent.
    for metric in ["window_mean", "retransmissions", "timeouts", "conversations", "items", "packets_reordered"] {
        assert!(!has(&record, "voice-1", metric), "{metric}");
    }
    assert!(!has(&record, "voice", "collapses_mean") && !has(&record, "voice", "timeouts_mean"));
    let delays = series(&record, "voice-1", "delay_mean");
    assert!(delays.len() == 20 && delays.iter().all(|(_, delay)| (delay - 0.02392).abs() < 1e-12), "{delays:?}");
    assert!(series(&record, "voice-1", "jitter").iter().all(|(_, jitter)| *jitter == 0.0));
    assert!(series(&record, "voice-1", "window_mean").is_empty());
}

/// A source of 2.5 times the line's rate loses 1 - 1/2.5 = 60 % of its packets, and the others wait for a full queue.
#[test]
fn a_constant_source_above_the_line_loses_the_excess() {
    let set = [("traffic.voice.udp.rate", "\"2.5 Mbit/s\""), ("traffic.voice.udp.packet", "\"1000 B\"")];
    let record = run(&line(&set), 1);
    let of = of(&record, "voice-1");
    // 18 s of a packet each 3.2 ms; 1 Mbit/s passes one each 8 ms, and the queue is full from before the warm-up on.
    assert_eq!(of("packets_sent"), 5625.0);
    assert!((of("loss_ratio") - 0.6).abs() < 1.0 / 2000.0, "{}", of("loss_ratio"));
    // Packets are lost at the port that counts them.
    let (lost, dropped) = (of("packets_lost"), figure(&record, "r1>r2", "dropped_packets"));
    assert!((lost - dropped).abs() <= 1.0, "{lost} {dropped}");
    // The queue holds 20 packets of 8 ms, without the one on the line: an accepted one waits for 19 and the rest of
    // another.
    let least = 0.0008 + 0.001 + 0.008 + 0.02 + 0.0008 + 0.001;
    let wait = least + 0.152..least + 0.160;
    assert!(wait.contains(&of("delay_max")) && wait.contains(&of("delay_p50")), "{}", of("delay_p50"));
}

/// The ratio is that of the counts, also while all that arrives was sent before the queue was full for the first time.
#[test]
fn losses_after_the_last_arrival_count() {
    let set = [
        ("traffic.voice.udp.rate", "\"10 Mbit/s\""),
        ("traffic.voice.udp.packet", "\"1000 B\""),
        ("buffer.size", "\"4 MB\""),
        ("run.warmup", "\"0 s\""),
    ];
    let record = run(&line(&set), 1);
    let of = of(&record, "voice-1");
    // Packet i, from 0, is sent at 0.8 i ms and arrives at the line 1.8 ms later: 24,998 do in 20 s. The line takes one
    // each 8 ms from 1.8 ms on, 2,500, and 4,000 wait for it.
    assert_eq!(of("packets_sent"), 25_000.0);
    assert_eq!([of("packets_lost"), figure(&record, "r1>r2", "dropped_packets")], [18_498.0; 2]);
    assert_eq!(of("loss_ratio"), of("packets_lost") / of("packets_sent"));
}

/// Each packet that was sent is received, lost or in flight; sent at twice the rate of the line, by three slots.
#[test]
fn the_sums_of_a_group_are_those_of_its_slots() {
    let set = [
        ("traffic.voice.count", "3"),
        ("traffic.voice.udp.rate", "\"700 kbit/s\""),
        ("traffic.voice.jitter", "\"20 ms\""),
    ];
    let record = run(&line(&set), 1);
    for metric in ["packets_sent", "packets_received", "packets_lost"] {
        let sum: f64 = (1..=3).map(|i| figure(&record, &format!("voice-{i}"), metric)).sum();
        assert_eq!(figure(&record, "voice", metric), sum, "{metric}");
    }
    let of = of(&record, "voice");
    assert!(of("packets_lost") > 0.0 && of("packets_sent") >= of("packets_received") + of("packets_lost"));
    // Packets in flight at the end are in the queue (100 packets) or on the lines (13 each way 1 ms or 20 ms).
    assert!(of("packets_sent") - of("packets_received") - of("packets_lost") <= 130.0);
    assert!(
        of("delay_p50") <= of("delay_p95") && of("delay_p95") <= of("delay_p99") && of("delay_p99") <= of("delay_max")
    );
}

/// All packets are lost: a loss ratio of 1, no delay, no jitter.
#[test]
fn a_slot_of_which_nothing_arrives() {
    let record = run(&line(&[("link.line.loss", "\"99.999999%\"")]), 1);
    let of = of(&record, "voice-1");
    assert_eq!(
        [of("packets_sent"), of("packets_received"), of("packets_lost"), of("loss_ratio")],
        [900.0, 0.0, 900.0, 1.0]
    );
    assert!(!has(&record, "voice-1", "delay_mean") && !has(&record, "voice-1", "jitter_mean"));
}

/// Random loss is that of the link: 20 % of 90,000 packets, within four standard deviations.
#[test]
fn random_loss_is_counted() {
    let set =
        [("link.line.loss", "\"20%\""), ("traffic.voice.udp.rate", "\"800 kbit/s\""), ("run.duration", "\"182 s\"")];
    let record = run(&line(&set), 1);
    let of = of(&record, "voice-1");
    assert_eq!(of("packets_sent"), 90_000.0);
    let deviation = (0.2 * 0.8 / 90_000.0f64).sqrt();
    assert!((of("loss_ratio") - 0.2).abs() < 4.0 * deviation, "{}", of("loss_ratio"));
    // One that was sent just before the end of the warm-up may be lost after it.
    let apart = figure(&record, "r1>r2", "lost") - of("packets_lost");
    assert!((0.0..=1.0).contains(&apart), "{apart}");
}

/// Over ATM a packet of 200 B is 5 cells of an AAL5 frame; its delay is that of the cells.
#[test]
fn over_cells_the_delay_is_that_of_the_frame() {
    let udp = "udp = { packet = \"200 B\", rate = \"80 kbit/s\" }";
    let text = common::BULK.replace("app = \"bulk\"", udp).replace("name = \"bulk\"\nudp", "name = \"voice\"\nudp");
    let record = run(&scenario(&text, &[]), 1);
    let expected = NetworkPath::cellsim().travel(&[(0, 200)])[0] as f64 / PS as f64;
    let of = of(&record, "voice-1");
    // A line carries its rest of a picosecond over from cell to cell: up to 1 ps at each of four lines.
    let apart = ((of("delay_mean") - expected) * 1e12).abs().round();
    assert!(apart <= 4.0, "{} {expected}", of("delay_mean"));
    assert_eq!(of("packets_lost"), 0.0);
}

#[test]
fn the_start_stagger_and_duration_of_a_group_hold() {
    let set = [
        ("traffic.voice.count", "2"),
        ("traffic.voice.start", "\"5 s\""),
        ("traffic.voice.stagger", "\"1 s\""),
        ("traffic.voice.udp.duration", "\"3 s\""),
    ];
    let record = run(&line(&set), 1);
    assert_eq!([1, 2].map(|i| figure(&record, &format!("voice-{i}"), "packets_received")), [150.0; 2]);
    let received =
        |slot: &str| -> Vec<bool> { series(&record, slot, "goodput").iter().map(|row| row.1 > 0.0).collect() };
    let active = |from: usize, to: usize| (0..20).map(|second| (from..to).contains(&second)).collect::<Vec<_>>();
    // The last packet arrives 4 ms after the end of its second.
    assert_eq!(received("voice-1"), active(5, 9));
    assert_eq!(received("voice-2"), active(6, 10));
}

/// Sources are drawn from streams of their own: the seed decides, the network does not.
#[test]
fn a_source_is_a_function_of_the_seed() {
    let set = [("traffic.voice.udp.source", "\"poisson\"")];
    let slow = [set[0], ("link.line.rate", "\"90 kbit/s\"")];
    let sent = |set: &[(&str, &str)], seed| figure(&run(&line(set), seed), "voice-1", "packets_sent");
    assert_eq!(sent(&set, 1), sent(&slow, 1));
    assert_ne!(sent(&set, 1), sent(&set, 2));
    assert_eq!(run(&line(&set), 3), run(&line(&set), 3));
}

/// Packets of 1250 B take 1 ms on the fast links and 10 ms on the line of 1 Mbit/s, from 2 ms after they were sent. At 5.007 s
/// the line changes to 2 Mbit/s: the packet sent at 5 s has then 5 ms behind it, and the rest of it takes 2.5 ms.
#[test]
fn a_packet_on_the_line_at_a_change_of_its_rate_is_sent_in_two_parts() {
    let change = "[[change]]\nat = \"5.007 s\"\nlink = \"line\"\nrate = \"2 Mbit/s\"\n";
    let set = [("traffic.voice.udp.packet", "\"1250 B\""), ("traffic.voice.udp.rate", "\"100 kbit/s\"")];
    let record = run(&scenario(&hosts_at_a_line(&format!("{GROUP}\n{change}")), &set), 1);
    let of = of(&record, "voice-1");
    // Every 100 ms from 2 s on, the last at 19.9 s: 30 at 1 Mbit/s, one at both rates, 149 at 2 Mbit/s.
    assert_eq!(of("packets_received"), 180.0);
    let sum = 30.0 * 0.034 + 0.0315 + 149.0 * 0.029;
    assert!((of("delay_mean") * 180.0 - sum).abs() < 1e-9, "{}", of("delay_mean"));
    assert!((of("delay_max") - 0.034).abs() < 1e-12);
}
