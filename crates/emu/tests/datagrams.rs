//! Datagrams of real sockets: on loopback, and through the network of a scenario.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::mpsc::channel;

use cellway_apps::{
    Arrivals, DatagramEcn, DatagramMark, DatagramModel, Distribution, Family, Knot, MeasuredDatagrams, QuantileModel,
    Side, UdpSource,
};
use cellway_emu::player::{DatagramPlan, DatagramPlayer, DatagramSlot, DatagramsPlayed, Observation, PlayerHost, Seen};
use cellway_emu::{Clock, Control, Emulated};
use cellway_units::{Bytes, Rate, Span, Time};
use common::{one_at_a_time, possible};
use socket2::Socket;

/// Plays two slots of a packet each 5 ms for half a second, which share the receiver's port.
fn on_loopback(address: IpAddr) -> (DatagramsPlayed, Vec<Observation>) {
    on_loopback_with(address, None)
}

/// Plays measured conversations in place of the source, if there are any.
fn on_loopback_with(address: IpAddr, measured: Option<MeasuredDatagrams>) -> (DatagramsPlayed, Vec<Observation>) {
    let socket = Box::new(|domain, kind, protocol| Socket::new(domain, kind, Some(protocol)));
    let hosts = vec![PlayerHost { name: "here".to_owned(), socket }];
    let (packet, rate) = (Bytes(200), Rate::from_bps(320_000));
    let source = UdpSource {
        family: if address.is_ipv6() { Family::Ipv6 } else { Family::Ipv4 },
        arrivals: Arrivals::Constant,
        packet,
        rate,
        duration: Some(Span::from_ms(500)),
        ecn: DatagramEcn::NotEct,
    };
    let port = std::net::UdpSocket::bind((address, 0)).unwrap().local_addr().unwrap().port();
    let slot = |slot: usize| DatagramSlot {
        slot,
        name: format!("voice-{slot}"),
        source,
        measured: measured.clone().map(Box::new),
        start: Time::ZERO,
        ends: [(0, address); 2],
        port,
        traffic_class: 0,
    };
    let plan = DatagramPlan { hosts, slots: vec![slot(3), slot(7)], seed: 1, duration: Span::from_ms(1500) };
    let (sender, receiver) = channel();
    let played = DatagramPlayer::new(plan, sender).unwrap().run(Clock::start()).unwrap();
    (played, receiver.into_iter().collect())
}

/// A conversation each 100 ms, with 4 packets of 172 B there, and 2 of 100 B back.
#[test]
fn measured_datagrams_go_both_ways() {
    let always = |value: f64| {
        let knots = [0.0, 1.0].map(|probability| Knot { probability, value }).to_vec();
        Distribution { model: QuantileModel::with_atoms(knots, "t").unwrap(), samples: 1, fit: None }
    };
    let model = DatagramModel {
        arrival_gap: Some(always(0.1)),
        packets: always(4.0),
        packets_back: Some(always(2.0)),
        size: always(172.0),
        size_back: Some(always(100.0)),
        gap: Some(always(0.02)),
        gap_back: Some(always(0.02)),
    };
    let (family, largest) = (Family::Ipv4, Bytes(1500));
    let measured = MeasuredDatagrams {
        model: model.into(),
        fits: false,
        scale: 1.0,
        count: Some(5),
        duration: None,
        limit: 9,
        family,
        largest,
    };
    let (played, seen) = on_loopback_with("127.0.0.1".parse().unwrap(), Some(measured));
    assert_eq!((played.sent, played.refused), (2 * 5 * 6, 0), "{played:?}");
    for slot in [3, 7] {
        let of = || seen.iter().filter(|observation| observation.slot == slot);
        for (side, count, octets) in [(Side::Originator, 20, 172), (Side::Responder, 10, 100)] {
            assert_eq!(of().filter(|one| one.seen == Seen::DatagramSentBy(side)).count(), count);
            let arrived = |one: &&Observation| match &one.seen {
                Seen::DatagramReceived { reader, payload, .. } => *reader == side.peer() && payload.0 == octets,
                _ => false,
            };
            assert_eq!(of().filter(arrived).count(), count, "{side:?}");
        }
    }
}

fn all_arrive(address: IpAddr, payload: u64) {
    let (played, seen) = on_loopback(address);
    assert_eq!((played.sent, played.refused), (200, 0), "{played:?}");
    for slot in [3, 7] {
        let of = || seen.iter().filter(|observation| observation.slot == slot);
        assert_eq!(of().filter(|observation| observation.seen == Seen::DatagramSent).count(), 100);
        let mut next = 0;
        for Observation { at, seen, .. } in of() {
            if let Seen::DatagramReceived { reader, mark: DatagramMark { sequence, sent }, payload: found } = seen {
                assert_eq!(*reader, Side::Responder);
                assert_eq!((*sequence, found.0), (next, payload));
                // Never before its time, and received after it was sent.
                assert!(*sent >= Time::ZERO + Span::from_ms(5) * next && at >= sent);
                next += 1;
            }
        }
        assert_eq!(next, 100);
    }
}

#[test]
fn datagrams_arrive_in_order_with_their_marks() {
    all_arrive(Ipv4Addr::new(127, 77, 1, 1).into(), 172);
}

#[test]
fn over_ipv6_the_packets_have_the_same_size() {
    if std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        eprintln!("skipped over_ipv6_the_packets_have_the_same_size: this machine has no IPv6 on loopback");
        return;
    }
    all_arrive(Ipv6Addr::LOCALHOST.into(), 152);
}

const NET: &str = r#"version = 1
name = "call"
buffer = { size = "20 kB", per = "port" }
node = [
  { name = "a", kind = "host" }, { name = "r1", kind = "router" }, { name = "r2", kind = "router" }, { name = "b", kind = "host" },
]
link = [
  { between = ["a", "r1"], rate = "fast-ethernet", delay = "0 s" },
  { name = "line", between = ["r1", "r2"], rate = "1 Mbit/s", delay = "20 ms" },
  { between = ["r2", "b"], rate = "fast-ethernet", delay = "0 s" },
]
run = { duration = "5 s", warmup = "1 s", emulate = { lateness-limit = "10 s" } }

[[traffic]]
name = "voice"
from = "a"
to = "b"
udp = { packet = "200 B", rate = "80 kbit/s" }

[observe]
interval = "500 ms"
fairness-window = "1 s"
"#;

fn run(set: &[(&str, &str)]) -> Emulated {
    common::run(NET, set, Control::default()).unwrap()
}

fn figure(emulated: &Emulated, metric: &str) -> f64 {
    common::figure(emulated, "voice-1", metric)
}

/// A call of 50 packets a second through namespaces: none is lost, and none is faster than the path.
#[test]
fn a_call_crosses_the_network_of_its_scenario() {
    if !possible("a_call_crosses_the_network_of_its_scenario") {
        return;
    }
    let _one = one_at_a_time();
    let emulated = run(&[]);
    let of = |metric| figure(&emulated, metric);
    assert_eq!([of("packets_sent"), of("packets_lost"), of("loss_ratio")], [200.0, 0.0, 0.0], "{:?}", emulated.notes);
    assert!(of("packets_received") >= 190.0, "{}", of("packets_received"));
    // 1.6 ms on the line and 20 ms of propagation.
    assert!(of("delay_p50") >= 0.0216 * (1.0 - 1.0 / 256.0), "{}", of("delay_p50"));
    assert!(of("delay_mean") >= 0.0216, "{}", of("delay_mean"));
    assert!(of("jitter_mean") >= 0.0 && of("delay_max") >= of("delay_mean"));
}

/// Twice the rate of the line: half of the packets are lost in the network's queue, and the counters of the port agree.
#[test]
fn a_source_above_the_line_loses_the_rest() {
    if !possible("a_source_above_the_line_loses_the_rest") {
        return;
    }
    let _one = one_at_a_time();
    let set = [("traffic.voice.udp.packet", "\"1000 B\""), ("traffic.voice.udp.rate", "\"2 Mbit/s\"")];
    let emulated = run(&set);
    let (ratio, lost) = (figure(&emulated, "loss_ratio"), figure(&emulated, "packets_lost"));
    // 1000 packets in 4 s. The queue of 20 packets is full from before the warm-up on; a busy machine may send in bursts.
    assert!((0.45..0.55).contains(&ratio), "{ratio} {:?}", emulated.notes);
    let dropped =
        emulated.record.summary.iter().find(|row| &*row.subject == "r1>r2" && row.metric == "dropped_packets");
    let dropped = dropped.unwrap().value;
    assert!((lost - dropped).abs() <= 30.0, "{lost} {dropped}");
}

/// Pings through namespaces: every echo comes back, none sooner than the path takes there and back.
#[test]
fn pings_come_back() {
    if !possible("pings_come_back") {
        return;
    }
    let _one = one_at_a_time();
    let ping = "{ source = \"ping\", packet = \"1000 B\", interval = \"50 ms\" }";
    let emulated = run(&[("traffic.voice.udp", ping)]);
    let of = |metric| figure(&emulated, metric);
    assert_eq!([of("packets_sent"), of("packets_lost")], [80.0, 0.0], "{:?}", emulated.notes);
    // Two of the last may be on their way.
    assert!(of("packets_received") >= 78.0, "{}", of("packets_received"));
    // 8 ms on the line and 20 ms of propagation, twice.
    assert!(of("response_time_p50") >= 0.056 * (1.0 - 1.0 / 256.0), "{}", of("response_time_p50"));
    assert!(of("response_time_mean") >= 0.056 && of("response_time_max") >= of("response_time_mean"));
    assert!(emulated.record.summary.iter().all(|row| row.subject.as_ref() != "voice-1" || row.metric != "delay_mean"));
}

/// Requests over the kernel's TCP: none is answered sooner than a round trip takes, and one is always outstanding.
#[test]
fn requests_are_answered_in_no_less_than_a_round_trip() {
    if !possible("requests_are_answered_in_no_less_than_a_round_trip") {
        return;
    }
    let _one = one_at_a_time();
    let text = NET.replace(
        "udp = { packet = \"200 B\", rate = \"80 kbit/s\" }",
        "app = \"request-response\"\nworkload = { request = \"100 B\", response = \"1000 B\" }",
    );
    let emulated = common::run(&text, &[], Control::default()).unwrap();
    let of = |metric| figure(&emulated, metric);
    // 140 B and 1040 B on the line and twice 20 ms: at most 20.2 a second, in 4 s.
    let least = 0.00112 + 0.00832 + 0.04;
    assert!(of("response_time_p50") >= least * (1.0 - 1.0 / 256.0), "{}", of("response_time_p50"));
    assert!((40.0..=4.0 / least + 1.0).contains(&of("transactions")), "{} {:?}", of("transactions"), emulated.notes);
    assert!((of("transaction_rate") - of("transactions") / 4.0).abs() < 1e-9);
}

/// Pages over the kernel's TCP, six connections for each: none is faster than its round trips and its bytes on the line.
#[test]
fn pages_take_no_less_than_their_round_trips() {
    if !possible("pages_take_no_less_than_their_round_trips") {
        return;
    }
    let _one = one_at_a_time();
    let text = NET.replace(
        "udp = { packet = \"200 B\", rate = \"80 kbit/s\" }",
        "app = \"page\"\nworkload = { html = \"1000 B\", objects = { count = 6, sizes = \"fixed\", size = \"1000 B\" } }",
    );
    let emulated = common::run(&text, &[], Control::default()).unwrap();
    let of = |metric| figure(&emulated, metric);
    // A handshake, the document in a packet of 1040 B, another handshake or object, and five objects behind each other.
    let packet = 0.00832;
    let least = 0.04 + (0.04 + packet) + 0.04 + (0.04 + 5.0 * packet);
    assert!(of("page_time_p50") >= least * (1.0 - 1.0 / 256.0), "{}", of("page_time_p50"));
    assert!(of("page_time_mean") >= least && of("page_time_max") >= of("page_time_mean"));
    assert!((1.0..=4.0 / least + 1.0).contains(&of("pages")), "{} {:?}", of("pages"), emulated.notes);
    // Each page has seven items; the first may have begun in the warm-up, and the last is cut.
    assert!((of("items") - 7.0 * of("pages")).abs() <= 7.0, "{} {}", of("items"), of("pages"));
    assert_eq!(of("failures"), 0.0);
}

/// A video through namespaces: its frames are whole, and none is faster than its packets on the line.
#[test]
fn the_frames_of_a_video_cross_the_network() {
    if !possible("the_frames_of_a_video_cross_the_network") {
        return;
    }
    let _one = one_at_a_time();
    // Frames of 1000 B, and every fourth of 5000 B in five packets.
    let video = "{ source = \"video\", packet = \"1000 B\", rate = \"400 kbit/s\", frame-rate = 25, key-frame-interval = 4, \
                 key-frame-ratio = 5, frame-sigma = 0, playout-delay = \"500 ms\" }";
    let emulated = run(&[("traffic.voice.udp", video)]);
    let of = |metric| figure(&emulated, metric);
    // Captured from 1 s to 4.5 s, whatever the machine does; a first and a last one may be either.
    assert!((86.0..=88.0).contains(&of("frames_sent")), "{}", of("frames_sent"));
    assert_eq!([of("frames_late"), of("frames_incomplete"), of("packets_lost")], [0.0; 3], "{:?}", emulated.notes);
    // 8 ms on the line and 20 ms of propagation; of a key frame five times 8 ms.
    assert!(of("frame_delay_p50") >= 0.028 * (1.0 - 1.0 / 256.0), "{}", of("frame_delay_p50"));
    assert!(of("frame_delay_p95") >= 0.06 * (1.0 - 1.0 / 256.0), "{}", of("frame_delay_p95"));
}
