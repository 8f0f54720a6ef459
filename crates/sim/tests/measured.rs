//! Measured conversations, against arithmetic: completion times, times of answers, and octets on the wire.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_apps::{DatagramModel, Distribution, ExchangeModel, GroupWorkload, Knot, QuantileModel};
use cellway_record::RunRecord;
use cellway_scenario::Scenario;
use cellway_sim::{Capture, Control, Input};
use common::{figure, hosts_at_a_line, run_with, scenario};

/// Segments of 960 B are packets of 1000 B.
const GROUP: &str = r#"[tcp]
profile = "classic"
mss = "960 B"
window = "65535 B"
initial-window = 10

[[traffic]]
name = "web"
app = "workload:w.toml#web"
from = "a"
to = "b"
"#;

fn of(knots: &[(f64, f64)]) -> Distribution {
    let knots = knots.iter().map(|&(probability, value)| Knot { probability, value }).collect();
    Distribution { model: QuantileModel::with_atoms(knots, "t").unwrap(), samples: 1, fit: None }
}

fn always(value: f64) -> Distribution {
    of(&[(0.0, value), (1.0, value)])
}

/// Two requests of 100 B with responses of 960 B, twice a second; 30 ms before a response, 70 ms before the second
/// request.
fn fixed() -> ExchangeModel {
    ExchangeModel {
        arrival_gap: Some(always(0.5)),
        exchanges: Some(always(2.0)),
        request: Some(always(100.0)),
        response: Some(always(960.0)),
        pause: Some(always(0.03)),
        think: Some(always(0.07)),
        recorded: Vec::new(),
    }
}

fn line(set: &[(&str, &str)]) -> Scenario {
    scenario(&hosts_at_a_line(GROUP), set)
}

fn workloads(scenario: &Scenario, model: ExchangeModel) -> Vec<GroupWorkload> {
    let input = Input::Class(Arc::new(model));
    scenario.traffic.iter().map(|group| cellway_sim::workload(group, Some(input.clone())).unwrap()).collect()
}

fn run(scenario: &Scenario, model: ExchangeModel, seed: u64) -> RunRecord {
    run_with(scenario, &workloads(scenario, model), seed)
}

fn has(record: &RunRecord, subject: &str, metric: &str) -> bool {
    record.summary.iter().any(|row| &*row.subject == subject && row.metric == metric)
}

/// SYN and SYN+ACK of 44 B take 35.2 us on a fast link and 352 us on the line, and 22 ms.
const HANDSHAKE: f64 = 2.0 * (2.0 * 35.2e-6 + 352e-6 + 22e-3);
/// The request of 140 B follows an ACK of 40 B: that takes 32 us and 1 ms, and the line for 320 us; the request 1.12 ms
/// on the line, 112 us on the last link, and 21 ms.
const FIRST_REQUEST: f64 = 32e-6 + 1e-3 + 320e-6 + 1.12e-3 + 112e-6 + 21e-3;
/// The response of 1000 B: 0.8 ms on a fast link, 8 ms on the line, and 22 ms.
const RESPONSE: f64 = 2.0 * 0.8e-3 + 8e-3 + 22e-3;
/// The second request goes alone.
const SECOND_REQUEST: f64 = 2.0 * 112e-6 + 1.12e-3 + 22e-3;

#[test]
fn a_conversation_takes_the_time_of_its_messages() {
    let record = run(&line(&[]), fixed(), 1);
    let answers = [FIRST_REQUEST + 0.03 + RESPONSE, SECOND_REQUEST + 0.03 + RESPONSE];
    let whole = HANDSHAKE + answers[0] + 0.07 + answers[1];
    for subject in ["web-1", "web"] {
        let of = |metric| figure(&record, subject, metric);
        for metric in ["fct_mean", "fct_p50", "fct_p95", "fct_p99", "fct_small_mean"] {
            assert!((of(metric) - whole).abs() < 1e-11, "{subject} {metric}: {} and not {whole}", of(metric));
        }
        assert!((of("response_time_mean") - (answers[0] + answers[1]) / 2.0).abs() < 1e-11);
        assert!((of("response_time_max") - answers[0]).abs() < 1e-11, "{}", of("response_time_max"));
        // From 2.0 to 19.5 s, the last is complete at 19.8 s; one that arrives at 20 s does not begin.
        assert_eq!(["flows_started", "flows_completed", "flows_small"].map(&of), [36.0; 3]);
        assert_eq!(of("transactions"), 72.0);
        // A time to think has no least value, so there is no slowdown.
        assert!(!has(&record, subject, "slowdown_mean") && !has(&record, subject, "flows_rejected"));
    }
    assert_eq!(figure(&record, "web-1", "goodput"), 36.0 * 2.0 * 1060.0 * 8.0 / 18.0);
}

/// Returns the payload of TCP from the originators and from the responders in a capture, and the number of SYNs from
/// originators.
fn payload(file: &[u8]) -> ([u64; 2], u64) {
    let (mut rest, mut octets, mut opened) = (&file[24..], [0; 2], 0);
    while let Some((head, more)) = rest.split_at_checked(16) {
        let (packet, more) = more.split_at(u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize);
        let total = u64::from(u16::from_be_bytes(packet[2..4].try_into().unwrap()));
        let (ip, tcp) = (u64::from(packet[0] & 15) * 4, u64::from(packet[32] >> 4) * 4);
        let from_responder = u16::from_be_bytes(packet[20..22].try_into().unwrap()) == 8008;
        octets[usize::from(from_responder)] += total - ip - tcp;
        opened += u64::from(!from_responder && packet[33] & 0b10 != 0);
        rest = more;
    }
    (octets, opened)
}

/// No octet more or less than the sizes say passes the responder, without losses.
#[test]
fn the_octets_of_a_class_are_on_the_wire() {
    let captured = |model, count: &str| {
        let workload = format!("{{ conversations = {count} }}");
        // One at a time, in a window that the queue of the line holds: nothing is lost.
        let set = [("traffic.web.workload", &workload[..]), ("run.duration", "\"90 s\""), ("tcp.window", "\"16 KiB\"")];
        let scenario = line(&set);
        let (mut file, mut records) = (Vec::new(), 0);
        let control = Control { capture: Some(Capture::new("b", &mut file, &mut records)), ..Control::new(&|| false) };
        cellway_sim::run(&scenario, &workloads(&scenario, model), 1, control).unwrap();
        payload(&file)
    };
    assert_eq!(captured(fixed(), "7"), ([7 * 200, 7 * 1920], 7));
    // Messages of many segments, and none.
    let large = ExchangeModel {
        arrival_gap: Some(always(20.0)),
        request: Some(always(50_001.0)),
        response: Some(always(123_457.0)),
        ..fixed()
    };
    assert_eq!(captured(large, "3"), ([3 * 2 * 50_001, 3 * 2 * 123_457], 3));
    let silent = ExchangeModel { response: None, ..fixed() };
    assert_eq!(captured(silent, "3"), ([3 * 200, 0], 3));
    let pushed = ExchangeModel { request: Some(always(0.0)), ..fixed() };
    assert_eq!(captured(pushed, "3"), ([0, 3 * 1920], 3));
    let empty = ExchangeModel { request: Some(always(0.0)), response: None, ..fixed() };
    assert_eq!(captured(empty, "3"), ([0, 0], 3));
}

/// Enormous sizes fill the line to the end of the run.
#[test]
fn enormous_messages_are_carried_as_far_as_the_time_allows() {
    let model = ExchangeModel { response: Some(always(1e15)), ..fixed() };
    let record =
        run(&line(&[("traffic.web.workload", "{ conversations = 1 }"), ("tcp.window", "\"16 KiB\"")]), model, 1);
    assert_eq!(figure(&record, "web", "flows_completed"), 0.0);
    // 960 B of each packet of 1000 B on 1 Mbit/s.
    let goodput = figure(&record, "web-1", "goodput");
    assert!((940e3..=960e3).contains(&goodput), "{goodput}");
}

/// A user has one conversation after the other, `gap` after the end of each.
#[test]
fn closed_users_take_turns_with_themselves() {
    let closed = |count: &str| {
        let set =
            [("traffic.web.workload", "{ arrivals = \"closed\", gap = \"300 ms\" }"), ("traffic.web.count", count)];
        run(&line(&set), fixed(), 1)
    };
    let one = closed("1");
    let of = |metric| figure(&one, "web", metric);
    let whole = HANDSHAKE + 2.0 * 0.03 + FIRST_REQUEST + SECOND_REQUEST + 2.0 * RESPONSE + 0.07;
    assert!((of("fct_mean") - whole).abs() < 1e-11, "{}", of("fct_mean"));
    // A FIN there, one back and the last ACK, all of 40 B: 32 us, 320 us, 32 us and 22 ms each.
    let cycle = whole + 3.0 * (384e-6 + 22e-3) + 0.3;
    assert!((of("flows_completed") - 18.0 / cycle).abs() <= 1.0, "{} and not {}", of("flows_completed"), 18.0 / cycle);
    // A conversation may begin before the warm-up and request behind it.
    assert!((of("transactions") / 2.0 - of("flows_completed")).abs() <= 1.0);
    let three = closed("3");
    assert!((figure(&three, "web", "flows_completed") / of("flows_completed") - 3.0).abs() < 0.2);
}

/// Sizes of a heavy tail, of a mean of 10 kB with the request.
fn heavy() -> ExchangeModel {
    let response = of(&[(0.0, 100.0), (0.9, 8000.0), (1.0, 116_800.0)]);
    // 0.9 times 4050 B and 0.1 times 62,400 B.
    assert!((response.mean(false).unwrap() - 9885.0).abs() < 1e-6);
    let times = Some(of(&[(0.0, 0.0), (1.0, 0.02)]));
    ExchangeModel {
        arrival_gap: Some(of(&[(0.0, 0.0), (1.0, 2.0)])),
        exchanges: Some(of(&[(0.6, 1.0), (1.0, 1.0)])),
        response: Some(response),
        pause: times.clone(),
        think: times,
        ..fixed()
    }
}

#[test]
fn a_load_is_carried_and_a_seed_repeats_it() {
    let set = [("traffic.web.workload", "{ load = 0.4 }"), ("run.duration", "\"400 s\""), ("traffic.web.count", "2")];
    let scenario = line(&set);
    let record = run(&scenario, heavy(), 1);
    // Responses of 9885 B at 0.4 Mbit/s: 5.06 conversations/s, 2013 in 398 s. The second moment of the sizes is
    // 0.9 x 21.6e6 + 0.1 x 4.88e9 B^2, a standard deviation of 2.05 means; that of gaps even from 0 is 0.577 means.
    let carried = figure(&record, "web", "goodput_total") / 1e6;
    let expected = 0.4 * (9885.0 + 100.0) / 9885.0;
    let bound = 4.0 * (2.05f64.powi(2) + 0.577f64.powi(2)).sqrt() / 2013f64.sqrt();
    assert!((carried / expected - 1.0).abs() < bound, "{carried} {bound}");
    let rows = |record: &RunRecord| record.summary.iter().map(|row| (row.metric.name(), row.value)).collect::<Vec<_>>();
    assert_eq!(rows(&run(&scenario, heavy(), 1)), rows(&record));
    assert_ne!(rows(&run(&scenario, heavy(), 2)), rows(&record));
}

/// The conversations are the same on a path of half the rate: common random numbers.
#[test]
fn a_slower_path_has_the_same_conversations() {
    let set = |rate| {
        [("traffic.web.workload", "{ conversations = 20 }"), ("link.line.rate", rate), ("run.warmup", "\"0 s\"")]
    };
    let all = |rate| {
        let record = run(&line(&[("run.duration", "\"200 s\""), set(rate)[0], set(rate)[1], set(rate)[2]]), heavy(), 5);
        let of = |metric| figure(&record, "web", metric);
        (of("flows_completed"), of("transactions"), of("goodput_total"), of("fct_mean"))
    };
    let (fast, slow) = (all("\"1 Mbit/s\""), all("\"0.5 Mbit/s\""));
    assert_eq!((fast.0, fast.1, fast.2), (slow.0, slow.1, slow.2));
    assert!(fast.0 == 20.0 && slow.3 > fast.3, "{fast:?} {slow:?}");
}

/// Conversations over UDP each second, with 5 packets of 172 B there, 20 ms apart, and 3 of 100 B back, 30 ms apart.
fn voice() -> DatagramModel {
    DatagramModel {
        arrival_gap: Some(always(1.0)),
        packets: always(5.0),
        packets_back: Some(always(3.0)),
        size: always(172.0),
        size_back: Some(always(100.0)),
        gap: Some(always(0.02)),
        gap_back: Some(always(0.03)),
    }
}

fn run_datagrams(set: &[(&str, &str)], model: DatagramModel) -> RunRecord {
    let mut scenario = line(set);
    scenario.traffic.iter_mut().for_each(|group| group.use_datagrams());
    let input = Input::Datagrams(Arc::new(model));
    let workloads = scenario.traffic.iter().map(|group| cellway_sim::workload(group, Some(input.clone())).unwrap());
    run_with(&scenario, &workloads.collect::<Vec<_>>(), 1)
}

/// A packet of 200 B takes 160 us on a fast link and 1.6 ms on the line, one of 128 B 102.4 us and 1.024 ms, and 22 ms of
/// propagation.
#[test]
fn datagrams_of_a_class_go_both_ways() {
    let record = run_datagrams(&[], voice());
    let (there, back) = (2.0 * 160e-6 + 1.6e-3 + 22e-3, 2.0 * 102.4e-6 + 1.024e-3 + 22e-3);
    for subject in ["web-1", "web"] {
        let of = |metric| figure(&record, subject, metric);
        // Those of the conversations from 2 to 19 s.
        assert_eq!(["packets_sent", "packets_received", "packets_lost"].map(of), [18.0 * 8.0, 18.0 * 8.0, 0.0]);
        assert!((of("delay_max") - there).abs() < 1e-12, "{}", of("delay_max"));
        assert!((of("delay_mean") - (5.0 * there + 3.0 * back) / 8.0).abs() < 1e-9, "{}", of("delay_mean"));
    }
    assert_eq!(figure(&record, "web-1", "goodput"), 18.0 * (5.0 * 172.0 + 3.0 * 100.0) * 8.0 / 18.0);
    assert!(!has(&record, "web", "fct_mean") && !has(&record, "web", "timeouts_mean"));
}

/// Captures the datagrams of a class at the responder's host: the ports of each, source first, in their order.
fn ports_of_datagrams(set: &[(&str, &str)], model: DatagramModel) -> Vec<[u16; 2]> {
    let mut scenario = line(set);
    scenario.traffic.iter_mut().for_each(|group| group.use_datagrams());
    let input = Input::Datagrams(Arc::new(model));
    let workloads = scenario.traffic.iter().map(|group| cellway_sim::workload(group, Some(input.clone())).unwrap());
    let (mut file, mut records) = (Vec::new(), 0);
    let control = Control { capture: Some(Capture::new("b", &mut file, &mut records)), ..Control::new(&|| false) };
    cellway_sim::run(&scenario, &workloads.collect::<Vec<_>>(), 1, control).unwrap();
    let (mut rest, mut ports) = (&file[24..], Vec::new());
    while let Some((head, more)) = rest.split_at_checked(16) {
        let (packet, more) = more.split_at(u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize);
        ports.push([20, 22].map(|at| u16::from_be_bytes(packet[at..at + 2].try_into().unwrap())));
        rest = more;
    }
    ports
}

/// Conversations that overlap: 80 ms long and back until 90 ms after their beginning, each 50 ms. Both directions of one
/// have the same ports.
#[test]
fn each_conversation_of_datagrams_has_a_port_of_its_own() {
    let set = [("traffic.web.workload", "{ scale = 20, conversations = 30 }")];
    let mut packets: BTreeMap<u16, [u32; 2]> = BTreeMap::new();
    for ports in ports_of_datagrams(&set, voice()) {
        let is_back = ports[0] == 8008;
        let [own, known] = if is_back { [ports[1], ports[0]] } else { ports };
        assert_eq!(known, 8008);
        packets.entry(own).or_default()[usize::from(is_back)] += 1;
    }
    assert_eq!(packets.len(), 30, "{packets:?}");
    assert!(packets.values().all(|packets| *packets == [5, 3]), "{packets:?}");
}

/// Two bursts of 40 packets, 1 ms after each other: first in, first out, one follows the other; queues that separate flows
/// serve them in turn, a packet of 1028 B of each.
#[test]
fn fair_queues_keep_conversations_of_datagrams_apart() {
    let burst = || DatagramModel {
        arrival_gap: Some(always(0.001)),
        packets: always(40.0),
        packets_back: None,
        size: always(1000.0),
        size_back: None,
        gap: None,
        gap_back: None,
    };
    let turns = |queue| {
        let workload = ("traffic.web.workload", "{ conversations = 2 }");
        let ports = ports_of_datagrams(&[workload, ("buffer.queue", queue), ("buffer.size", "\"1 MB\"")], burst());
        assert_eq!(ports.len(), 80);
        ports.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    assert_eq!(turns("\"fifo\""), 1);
    assert!(turns("\"drr\"") > 20, "{}", turns("\"drr\""));
}

/// Packets of a mark at least and of the MTU at most; conversations that overlap; a direction without packets.
#[test]
fn datagrams_have_bounds() {
    let set = [("traffic.web.workload", "{ scale = 10, conversations = 7 }"), ("run.warmup", "\"0 s\"")];
    let sent = |model| {
        let record = run_datagrams(&set, model);
        ["packets_sent", "packets_received", "goodput_total"].map(|metric| figure(&record, "web", metric))
    };
    let octets = |bytes: f64| bytes * 8.0 / 20.0;
    // 100 ms apart, 80 ms long.
    assert_eq!(sent(voice()), [56.0, 56.0, octets(7.0 * 1160.0)]);
    let tiny = DatagramModel { size: always(0.0), packets_back: None, ..voice() };
    assert_eq!(sent(tiny), [35.0, 35.0, octets(35.0 * 16.0)]);
    let large = DatagramModel { size: always(9000.0), packets_back: Some(always(0.0)), ..voice() };
    assert_eq!(sent(large)[2], octets(35.0 * 1472.0));
    // All packets at once.
    let at_once = DatagramModel { gap: None, packets: always(20.0), packets_back: None, ..voice() };
    assert_eq!(sent(at_once)[0], 140.0);
}
