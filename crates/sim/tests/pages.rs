//! Load times of pages against arithmetic.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use cellway_scenario::Scenario;
use common::{figure, hosts_at_a_line, queue_before_a_line, run, scenario, series};

/// Messages of one segment each, and pages more than 10 s apart.
const PAGE: &str = r#"[tcp]
profile = "classic"
mss = "960 B"
delayed-ack = "200 ms"

[[traffic]]
name = "page"
app = "page"
from = "a"
to = "b"
workload = { html = "960 B", objects = { count = 6, sizes = "fixed", size = "960 B" }, request = "100 B", think = "10 s" }
"#;

fn line(set: &[(&str, &str)]) -> Scenario {
    let warmup = ("run.warmup", "\"0 s\"");
    let set: Vec<_> = [warmup].into_iter().chain(set.iter().copied()).collect();
    scenario(&hosts_at_a_line(PAGE), &set)
}

fn of<'a>(record: &'a RunRecord, subject: &'a str) -> impl Fn(&str) -> f64 + 'a {
    move |metric| figure(record, subject, metric)
}

const TIMES: [&str; 5] = ["page_time_mean", "page_time_p50", "page_time_p95", "page_time_p99", "page_time_max"];

/// SYN and SYN+ACK of 44 B: 35.2 us on each fast link, 352 us on the line, 22 ms of propagation.
const HANDSHAKE: f64 = 2.0 * (2.0 * 35.2e-6 + 352e-6 + 0.022);
/// A request of 140 B: 112 us, 1.12 ms, 112 us and 22 ms.
const REQUEST: f64 = 112e-6 + 1.12e-3 + 112e-6 + 0.022;
/// The first request is behind an ACK of 40 B, which leaves the line 32 us + 320 us after it was sent. Alone the request
/// would begin on the line after 112 us.
const BEHIND_ACK: f64 = 32e-6 + 320e-6 - 112e-6;
/// A segment of 1000 B: 0.8 ms, 8 ms, 0.8 ms and 22 ms.
const SEGMENT: f64 = 0.8e-3 + 8e-3 + 0.8e-3 + 0.022;
/// Until the document has arrived, in one segment.
const DOCUMENT: f64 = HANDSHAKE + BEHIND_ACK + REQUEST + SEGMENT;

/// The first object goes with the handshakes of the other connections, and each further round has an object on each
/// connection. The first connection leads each round, as its response is the first that ends on the line; the responses of
/// the others follow at 8 ms each. So connections save round trips, until the line is full: 55 ms are seven responses.
#[test]
fn a_page_takes_the_rounds_of_its_connections() {
    let mut before = f64::INFINITY;
    for (connections, rounds, in_the_last) in [(1, 6.0, 1.0), (2, 4.0, 1.0), (3, 3.0, 2.0), (6, 2.0, 5.0)] {
        let connections = connections.to_string();
        let record = run(&line(&[("traffic.page.workload.connections", &connections)]), 1);
        let time = DOCUMENT + rounds * (REQUEST + SEGMENT) + (in_the_last - 1.0) * 8e-3;
        for subject in ["page-1", "page"] {
            let of = of(&record, subject);
            for metric in TIMES {
                assert!((of(metric) - time).abs() < 1e-11, "{connections} {subject} {metric}: {} {time}", of(metric));
            }
            assert_eq!(of("pages"), 2.0);
        }
        let bins = series(&record, "page-1", "page_time_mean");
        assert!(bins.len() == 2 && bins.iter().all(|bin| (bin.1 - time).abs() < 1e-11), "{bins:?}");
        assert!(time < before);
        before = time;
    }
}

/// Seven segments with an initial window of one, of which the document has made two: rounds of two, four and one. An ACK of
/// 40 B takes 32 us, 320 us, 32 us and 22 ms. Each segment is acknowledged at once, so each message is behind an ACK: a
/// response by its 32 us on the first link.
#[test]
fn an_object_takes_the_rounds_of_slow_start() {
    let set = [
        ("traffic.page.workload.objects", "{ count = 1, sizes = \"fixed\", size = \"6720 B\" }"),
        ("tcp.delayed-ack", "\"off\""),
    ];
    let record = run(&line(&set), 1);
    let ack = 32e-6 + 320e-6 + 32e-6 + 0.022;
    let time = HANDSHAKE + 2.0 * (BEHIND_ACK + REQUEST + 32e-6 + SEGMENT) + 2.0 * (ack + SEGMENT);
    let of = of(&record, "page");
    assert!((of("page_time_mean") - time).abs() < 1e-11, "{} {time}", of("page_time_mean"));
}

/// Pages one after the other, without losses: all that is delivered is that of whole pages and of the one that the end cuts.
#[test]
fn pages_deliver_all_of_their_bytes() {
    let record = run(&line(&[("traffic.page.workload.think", "\"0 s\"")]), 1);
    let of = of(&record, "page-1");
    let pages = of("pages");
    // A FIN, the FIN of the other end, and its ACK follow each page; those of six connections take 5 x 0.64 ms more.
    let closed = of("page_time_mean") + 3.0 * (32e-6 + 320e-6 + 32e-6 + 0.022);
    assert!((20.0 / (closed + 5.0 * 0.64e-3) - 1.0..=20.0 / closed).contains(&pages), "{pages} {closed}");
    assert_eq!((of("failures"), of("retransmissions")), (0.0, 0.0));
    // The last may be loaded and not closed.
    assert!((0.0..=1.0).contains(&(pages - of("conversations"))), "{pages} {}", of("conversations"));
    let (bytes, page) = (of("goodput") * 20.0 / 8.0, 7.0 * (960.0 + 100.0));
    assert!((0.0..page).contains(&(bytes - pages * page)), "{bytes} {pages}");
    assert!((0.0..7.0).contains(&(of("items") - 7.0 * pages)), "{}", of("items"));
}

/// Runs pages of objects of random sizes beside a download, over a line of 10 Mbit/s with a buffer of 0.4 s.
fn beside_a_download(discipline: &str, seed: u64) -> RunRecord {
    let groups = r#"
[[traffic]]
name = "page"
app = "page"
from = "r2"
to = "r1"
start = "5 s"
access = { rate = "1 Gbit/s", delay = "0 s" }
[traffic.workload]
html = "30 kB"
objects = { count = 20, sizes = "log-normal", median = "10 kB", sigma = 1.5 }
think = "500 ms"

[[traffic]]
name = "download"
app = "bulk"
from = "r1"
to = "r2"
access = { rate = "1 Gbit/s", delay = "0 s" }
"#;
    let text = format!("{}{groups}", queue_before_a_line(discipline));
    run(&scenario(&text, &[("run.duration", "\"30 s\""), ("buffer.size", "\"500 kB\"")]), seed)
}

/// The first in, first out queue adds its 0.4 s to most of the round trips of a page.
#[test]
fn a_page_waits_behind_a_download_in_a_long_queue() {
    let of = |discipline| {
        let record = beside_a_download(discipline, 1);
        (figure(&record, "page", "page_time_p50"), figure(&record, "page", "pages"))
    };
    let (fifo, fair) = (of("fifo"), of("fq-codel"));
    assert!(fifo.0 > 2.0 * fair.0 && fifo.1 < fair.1, "{fifo:?} {fair:?}");
}

#[test]
fn the_same_seed_loads_the_same_pages() {
    let rows = |seed| {
        let rows = beside_a_download("fq-codel", seed).summary;
        rows.iter().map(|row| (row.subject.to_string(), row.metric, row.value.to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(rows(3), rows(3));
    assert_ne!(rows(3), rows(4));
}
