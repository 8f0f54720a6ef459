//! Connections that a pair of gateways splits. `kdd` section 2.2.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{figure, run, scenario, series};

/// Customers on ATM at both ends of a long line, as in `kdd` section 3.
const SPLIT: &str = r#"version = 1
name = "split"
run = { duration = "30 s", warmup = "10 s" }
buffer = { size = "4000 cell", per = "port" }
tcp = { profile = "classic", variant = "reno", mss = "8192 B", window = "36592 B", delayed-ack = "50 ms", nagle = true }

[[node]]
name = "a"
kind = "switch"
[[node]]
name = "g1"
kind = "gateway"
peer = "g2"
gateway = { window = "1 MiB", rate = "30 Mbit/s" }
[[node]]
name = "m"
kind = "switch"
[[node]]
name = "g2"
kind = "gateway"
peer = "g1"
gateway = { window = "1 MiB", rate = "30 Mbit/s" }
[[node]]
name = "b"
kind = "switch"

[[link]]
between = ["a", "g1"]
rate = "oc3c"
delay = "0 s"
[[link]]
between = ["g1", "m"]
rate = "ds3"
delay = "87.5 ms"
[[link]]
between = ["m", "g2"]
rate = "ds3"
delay = "0 s"
[[link]]
between = ["g2", "b"]
rate = "oc3c"
delay = "0 s"

[[traffic]]
name = "t"
app = "bulk"
from = "a"
to = "b"
access = { rate = "oc3c", delay = "0 s", framing = "atm" }
"#;

/// The rate of 8192-byte payloads in 30 Mbit/s of cells: at most 8235 octets of packet and 8 of trailer fill 172 cells.
const PAYLOAD_SHARE: f64 = 30e6 * 8192.0 / (172.0 * 53.0);

#[test]
fn a_pair_of_gateways_fills_the_line_that_a_small_window_cannot() {
    let s = scenario(SPLIT, &[]);
    let record = run(&s, 1);
    let goodput = figure(&record, "t-1", "goodput");
    assert!((0.99..=1.0).contains(&(goodput / PAYLOAD_SHARE)), "{goodput} of {PAYLOAD_SHARE}");
    // The same without: one window a round trip.
    let direct = figure(&run(&scenario(SPLIT, &[("traffic.t.gateway", "false")]), 1), "t-1", "goodput");
    assert!((direct / (4.0 * 8192.0 * 8.0 / 0.175) - 1.0).abs() < 0.05, "{direct}");
}

#[test]
fn quic_between_the_gateways_takes_its_headers() {
    let set = ["node.g1.gateway.transport", "node.g2.gateway.transport"].map(|key| (key, "\"quic\""));
    let goodput = figure(&run(&scenario(SPLIT, &set), 1), "t-1", "goodput");
    // 54 octets of QUIC and at most 21 of the gateways' around 8192 take a cell more.
    let share = PAYLOAD_SHARE * 172.0 / 173.0;
    // In the 20 s that count one packet more can end.
    let packet = 8192.0 * 8.0 / 20.0;
    assert!((0.99 * share..=share + packet).contains(&goodput), "{goodput} of {share}");
}

#[test]
fn the_window_between_the_gateways_binds_where_it_is_small() {
    let set = ["node.g1.gateway.window", "node.g2.gateway.window"].map(|key| (key, "\"256 KiB\""));
    let goodput = figure(&run(&scenario(SPLIT, &set), 1), "t-1", "goodput");
    let bound = 262_144.0 * 8.0 / 0.175;
    assert!((0.95..=1.0).contains(&(goodput / bound)), "{goodput} of {bound}");
}

#[test]
fn connections_share_the_line_packet_by_packet() {
    let record = run(&scenario(SPLIT, &[("traffic.t.count", "8"), ("traffic.t.stagger", "\"37 ms\"")]), 1);
    let each: Vec<f64> = (1..=8).map(|i| figure(&record, &format!("t-{i}"), "goodput")).collect();
    let total: f64 = each.iter().sum();
    assert!((0.99..=1.0).contains(&(total / PAYLOAD_SHARE)), "{total}");
    // In 20 s each sends some 1140 packets; their counts differ by a packet or two.
    let (least, most) = each.iter().fold((f64::MAX, 0.0f64), |(l, m), &x| (l.min(x), m.max(x)));
    assert!(most - least <= 3.0 * 8192.0 * 8.0 / 20.0, "{each:?}");
}

/// Every byte arrives, connections open and close from end to end, one transfer after the other, with losses on
/// the customers' lines and between the gateways.
#[test]
fn finite_transfers_arrive_whole_through_losses() {
    let size = 400_000.0;
    for losses in [false, true] {
        let mut set = vec![
            ("traffic.t.workload.size", "\"400000 B\""),
            ("traffic.t.count", "3"),
            ("traffic.t.stagger", "\"11 ms\""),
            ("run.duration", "\"60 s\""),
            ("run.warmup", "\"0 s\""),
            ("observe.interval", "\"60 s\""),
        ];
        if losses {
            // A hop that is slower than the rate of the gateways, and holds two packets.
            let buffer = "{ size = \"360 cell\", discard = \"epd\", threshold = \"180 cell\" }";
            set.extend([
                ("link.m-g2.buffer", buffer),
                ("link.m-g2.rate", "\"25 Mbit/s\""),
                ("node.g2.gateway.rate", "\"25 Mbit/s\""),
            ]);
        }
        let record = run(&scenario(SPLIT, &set), 1);
        for slot in ["t-1", "t-2", "t-3"] {
            let (items, conversations) = (figure(&record, slot, "items"), figure(&record, slot, "conversations"));
            assert!(items >= 20.0 && items - conversations <= 1.0, "{slot} {losses}: {items} {conversations}");
            assert_eq!(figure(&record, slot, "failures"), 0.0, "{slot} {losses}");
            // The arrived bytes are whole items, and part of the one in transfer.
            let bytes = figure(&record, slot, "goodput") * 60.0 / 8.0;
            assert!((items * size..(items + 1.0) * size).contains(&bytes.round()), "{slot} {losses}: {bytes}");
        }
        let resent = figure(&record, "g1", "gateway_resent");
        assert_eq!(resent > 0.0, losses, "{resent}");
    }
}

/// A receiver that reads slowly slows the far sender down, and no data accumulate beyond the windows.
#[test]
fn a_slow_reader_slows_the_far_sender() {
    let set =
        [("traffic.t.app", "\"www\""), ("traffic.t.workload", "{ sizes = [\"3 MB\"], display-rate = \"500 kbit/s\" }")];
    let record = run(&scenario(SPLIT, &set), 1);
    let goodput = figure(&record, "t-1", "goodput");
    // The windows are full from the beginning to the end: the delivered bytes are those that were read, to two
    // segments.
    assert!((goodput - 500e3).abs() <= 2.0 * 8192.0 * 8.0 / 20.0, "{goodput}");
    // The server is at b: its bytes enter at g2 and wait at either gateway, at most a window at each.
    for gateway in ["g1", "g2"] {
        let held = figure(&record, gateway, "gateway_buffered_max");
        assert!(held <= 1_048_576.0, "{gateway} held {held}");
    }
    assert!(figure(&record, "g2", "gateway_buffered_max") > 500_000.0);
}

/// The aggregate rate also limits single cells: one line of the shaped channel never exceeds it.
#[test]
fn the_line_between_the_gateways_carries_no_more_than_their_rate() {
    let record = run(&scenario(SPLIT, &[("traffic.t.count", "4")]), 1);
    let share = figure(&record, "g1>m", "utilisation") * 40_704_000.0;
    assert!((0.99..=1.000_01).contains(&(share / 30e6)), "{share}");
    assert!(figure(&record, "g2>m", "utilisation") * 40_704_000.0 < 1e6, "acknowledgements only");
}

#[test]
fn the_same_run_twice_is_the_same() {
    let s = scenario(SPLIT, &[("traffic.t.count", "3"), ("traffic.t.jitter", "\"20 ms\"")]);
    let rows =
        |seed| format!("{:?}", run(&s, seed).summary.iter().map(|r| (r.metric.name(), r.value)).collect::<Vec<_>>());
    assert_eq!(rows(5), rows(5));
    assert_ne!(rows(5), rows(6), "the jitter depends on the seed");
}

/// The line behind the far gateway nearly stops: TCP gives up there, the flows end at both gateways, and when the line
/// recovers the slot continues.
#[test]
fn a_split_connection_that_fails_ends_at_both_gateways_and_the_slot_goes_on() {
    let changes = "[[change]]\nat = \"5 s\"\nlink = \"g2-b\"\nrate = \"10 kbit/s\"\n\
                   [[change]]\nat = \"40 s\"\nlink = \"g2-b\"\nrate = \"100 Mbit/s\"\n";
    let set = [
        ("traffic.t.workload.size", "\"400000 B\""),
        ("tcp.max-retransmissions", "2"),
        ("run.duration", "\"80 s\""),
        ("run.warmup", "\"0 s\""),
    ];
    let record = run(&scenario(&format!("{SPLIT}{changes}"), &set), 1);
    let failures = figure(&record, "t-1", "failures");
    assert!(failures >= 1.0, "{failures}");
    let arrivals: Vec<f64> = series(&record, "t-1", "item_time").into_iter().map(|(t, _)| t).collect();
    let between = |from: f64, to: f64| arrivals.iter().filter(|t| (from..to).contains(*t)).count();
    assert!(between(0.0, 5.0) >= 2 && between(6.0, 40.0) == 0 && between(40.0, 80.0) >= 10, "{arrivals:?}");
    for gateway in ["g1", "g2"] {
        let [flows, open] = ["gateway_flows", "gateway_flows_open"].map(|metric| figure(&record, gateway, metric));
        // That of the transfer in progress, and perhaps one that is closing.
        assert!(flows >= 12.0 && open <= 2.0, "{gateway}: {open} of {flows} flows");
    }
}

/// The effect of a loss on the window depends on the end that sends: here the gateway's Reno, whose fast retransmits
/// are no collapses, though the hosts are Tahoe.
#[test]
fn collapses_go_by_the_variant_of_each_end() {
    let reno = "{ variant = \"reno\" }";
    let set = |gateways| {
        [
            ("tcp.variant", "\"tahoe\""),
            ("tcp.mss", "\"1460 B\""),
            ("node.g1.tcp", gateways),
            ("node.g2.tcp", gateways),
            ("link.g2-b.rate", "\"20 Mbit/s\""),
            ("link.g2-b.buffer", "{ size = \"600 cell\", discard = \"epd\", threshold = \"400 cell\" }"),
        ]
    };
    let counts = |gateways| {
        let record = run(&scenario(SPLIT, &set(gateways)), 1);
        ["collapses", "timeouts", "fast_retransmits"].map(|metric| figure(&record, "t-1", metric))
    };
    let [collapses, timeouts, fast] = counts(reno);
    assert!(fast > 10.0 && collapses == timeouts, "{collapses} {timeouts} {fast}");
    let [collapses, timeouts, fast] = counts("{ variant = \"tahoe\" }");
    assert!(fast > 10.0 && collapses == timeouts + fast, "{collapses} {timeouts} {fast}");
}
