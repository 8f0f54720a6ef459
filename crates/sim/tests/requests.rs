//! Requests over TCP and pings over UDP against arithmetic: response times, losses and rates.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use cellway_scenario::Scenario;
use common::{capture, figure, hosts_at_a_line, run, scenario, series};

const PING: &str = r#"[[traffic]]
name = "ping"
from = "a"
to = "b"
udp = { source = "ping", packet = "100 B", interval = "100 ms" }
"#;

const REQUESTS: &str = r#"[tcp]
profile = "classic"
mss = "960 B"
delayed-ack = "200 ms"

[[traffic]]
name = "rr"
app = "request-response"
from = "a"
to = "b"
workload = { request = "100 B", response = "960 B", think = "10 ms" }
"#;

fn line(group: &str, set: &[(&str, &str)]) -> Scenario {
    scenario(&hosts_at_a_line(group), set)
}

fn of<'a>(record: &'a RunRecord, subject: &'a str) -> impl Fn(&str) -> f64 + 'a {
    move |metric| figure(record, subject, metric)
}

const TIMES: [&str; 5] =
    ["response_time_mean", "response_time_p50", "response_time_p95", "response_time_p99", "response_time_max"];

/// 100 B take 80 us on each fast link and 0.8 ms on the line, and 22 ms of propagation; the echo the same.
#[test]
fn a_ping_takes_the_way_there_and_back() {
    let record = run(&line(PING, &[]), 1);
    for subject in ["ping-1", "ping"] {
        let of = of(&record, subject);
        for metric in TIMES {
            assert!((of(metric) - 0.04592).abs() < 1e-12, "{subject} {metric}: {}", of(metric));
        }
        // At 2.0, 2.1 and so on up to 19.9 s.
        assert_eq!(
            ["packets_sent", "packets_received", "packets_lost", "loss_ratio"].map(&of),
            [180.0, 180.0, 0.0, 0.0]
        );
        assert!(record.summary.iter().all(|row| &*row.subject != subject || row.metric != "delay_mean"));
    }
    // 72 B of payload arrive at each side, ten times a second.
    assert_eq!(of(&record, "ping-1")("goodput"), 2.0 * 720.0 * 8.0);
    let bins = series(&record, "ping-1", "response_time_mean");
    assert!(bins.len() == 20 && bins.iter().all(|bin| (bin.1 - 0.04592).abs() < 1e-12), "{bins:?}");
}

/// A ping comes back if neither direction loses it: with a chance of a quarter. One on its way at the end is not lost.
#[test]
fn a_ping_may_be_lost_on_either_way() {
    let set = [("link.line.loss", "\"50%\""), ("traffic.ping.udp.interval", "\"5 ms\"")];
    let record = run(&line(PING, &set), 1);
    let of_lossy = of(&record, "ping");
    let sent = of_lossy("packets_sent");
    assert_eq!(sent, 3600.0);
    // Four standard deviations of a binomial share.
    let bound = 4.0 * (0.75 * 0.25 / sent).sqrt();
    assert!((of_lossy("loss_ratio") - 0.75).abs() < bound, "{}", of_lossy("loss_ratio"));
    let known = of_lossy("packets_received") + of_lossy("packets_lost");
    assert!(sent - known <= 10.0, "ten are sent in 50 ms: {known}");
    assert_eq!(of_lossy("response_time_max"), 0.04592);
}

/// A capture at the responder has the pings and their echoes, each from the port that the other goes to.
#[test]
fn echoes_go_back_between_the_same_ports() {
    let file = capture(&line(PING, &[("run.duration", "\"5 s\"")]), 1, "b");
    let (mut rest, mut towards, mut back) = (&file[24..], Vec::new(), Vec::new());
    while let Some((head, more)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
        let (packet, more) = more.split_at(length);
        let ports = [&packet[20..22], &packet[22..24]].map(|port| u16::from_be_bytes(port.try_into().unwrap()));
        assert_eq!(length, 100);
        if ports[1] == 5004 {
            towards.push(ports[0])
        } else {
            back.push((ports[0], ports[1]))
        }
        rest = more;
    }
    assert!(towards.len() >= 49 && back.len() >= 49, "{} {}", towards.len(), back.len());
    assert!(back.iter().all(|ports| *ports == (5004, towards[0])), "{back:?}");
}

/// A request of 140 B takes 112 us, 1.12 ms, 112 us and 22 ms; the response of 1000 B 0.8 ms, 8 ms, 0.8 ms and 22 ms.
/// Acknowledgements wait for them, and the next request leaves 10 ms later.
#[test]
fn a_response_takes_the_time_of_its_two_packets() {
    let record = run(&line(REQUESTS, &[]), 1);
    let (time, cycle) = (0.023344 + 0.0316, 0.064944);
    for subject in ["rr-1", "rr"] {
        let of = of(&record, subject);
        for metric in TIMES {
            assert!((of(metric) - time).abs() < 1e-11, "{subject} {metric}: {}", of(metric));
        }
        let transactions = of("transactions");
        // Those whose response arrives within the 18 s.
        assert!((transactions - (18.0 - time) / cycle).abs() <= 1.0, "{transactions}");
        assert!((of("transaction_rate") - transactions / 18.0).abs() < 1e-9);
    }
}

/// A transfer fills the queue of the line, and a response waits for it: bufferbloat.
#[test]
fn requests_wait_behind_a_transfer() {
    let transfer = "\n[[traffic]]\nname = \"bulk\"\napp = \"bulk\"\nfrom = \"b\"\nto = \"a\"\n";
    let record = run(&line(&format!("{REQUESTS}{transfer}"), &[("tcp.window", "\"65535 B\"")]), 1);
    let of = of(&record, "rr");
    // The queue holds 20,000 B, 160 ms of the line; a window of Reno is at least half of what fills it.
    assert!(of("response_time_p95") > 0.055 + 0.1 && of("response_time_p99") < 2.0, "{}", of("response_time_p95"));
    assert!(of("transaction_rate") < 0.7 / 0.064944, "{}", of("transaction_rate"));
}
