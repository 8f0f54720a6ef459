//! DCTCP (RFC 8257) and the data of Prague, segment by segment.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{AckDelay, CongestionControl, EcnMode, TcpSpec, Variant};
use cellway_units::{Bytes, Span};
use common::ladder::{client, connected};

fn config(ecn: EcnMode) -> TcpSpec {
    TcpSpec {
        variant: Variant::NewReno,
        control: Some(CongestionControl::Dctcp),
        ecn,
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 10,
        // In congestion avoidance from the start.
        initial_ssthresh: Some(Bytes(5000)),
        ..TcpSpec::default()
    }
}
fn sent(time: u64, head: &str, segments: std::ops::Range<u64>) -> String {
    segments.map(|i| format!("{time} > {head} {}..{}\n", 1 + 1000 * i, 1001 + 1000 * i)).collect()
}

/// RFC 8257 §3.3, by hand. Alpha begins at 1, so that the first mark halves the window. The next window has no mark: alpha
/// is 15/16, and a mark leaves 1 - 15/32 of the window.
#[test]
fn the_window_is_reduced_by_half_of_the_marked_share() {
    for (ecn, plain, [none, one, two]) in [
        (EcnMode::Classic, "ect0", ["", "ECE", "ECE"]),
        (EcnMode::Accurate, "ace 5 ect0", ["ace 6 acc0 9001,1000", "ace 6 acc0 1,1000", "ace 7 acc0 10001,2000"]),
    ] {
        let cwr = if ecn == EcnMode::Classic { "ect0 CWR" } else { plain };
        let [ten, first, five, next] =
            [sent(100, plain, 0..10), sent(200, cwr, 10..11), sent(200, plain, 11..15), sent(300, plain, 15..16)];
        connected(
            config(ecn),
            &format!(
                "100 do write 40000
                 {ten}
                 200 < {one} 1 ack 1001
                 200 ? cwnd 5000 ssthresh 5000 marks 1
                 200 < {none} 1 ack 10001
                 200 ? cwnd 5200
                 {first}{five}
                 300 < {none} 1 ack 11001
                 300 ? cwnd 5392
                 {next}
                 310 < {two} 1 ack 12001
                 310 ? cwnd 2864 ssthresh 2864 marks 2"
            ),
        );
    }
}

/// A loss halves the window, as in Reno, whatever alpha is.
#[test]
fn a_loss_halves_the_window() {
    let ten = sent(100, "ect0", 0..10);
    connected(
        TcpSpec { limited_transmit: false, ..config(EcnMode::Classic) },
        &format!("100 do write 40000\n{ten}200 < 1 ack 1 x3\n200 > 1..1001\n200 ? ssthresh 5000 recovery true marks 0"),
    );
}

/// RFC 8257 §3.2, figure 1: where the marks begin and end, the data before is acknowledged with the echo of before.
#[test]
fn the_echo_follows_each_segment() {
    connected(
        TcpSpec { delayed_ack: AckDelay(Some(Span::from_ms(200))), ..config(EcnMode::Classic) },
        "100 < ect0 1..1001 ack 1
         110 < ce 1001..2001 ack 1
         110 > 1 ack 1001
         110 > ECE 1 ack 2001
         120 < ce 2001..3001 ack 1
         130 < ce CWR 3001..4001 ack 1
         130 > ECE 1 ack 4001
         # nothing is unacknowledged
         140 < ect0 4001..5001 ack 1
         140 > 1 ack 5001
         150 < ect0 5001..6001 ack 1
         160 < ect0 6001..7001 ack 1
         160 > 1 ack 7001",
    );
}

fn prague() -> TcpSpec {
    let control = Some(CongestionControl::Prague);
    TcpSpec { control, unpaced_segments: 1000, ..config(EcnMode::Accurate) }
}

/// Data of Prague is ECT(1). The first mark halves the window, which also grows where marks are reported.
#[test]
fn prague_sends_ect1() {
    let (ten, more) = (sent(100, "ace 5 ect1", 0..10), sent(200, "ace 5 ect1", 10..13));
    connected(
        prague(),
        &format!(
            "100 do write 40000
             {ten}
             200 < ace 6 acc1 4001,1000 1 ack 5001
             # 4000 bytes without a mark, then half of 10400
             200 ? cwnd 5200 ssthresh 5200 marks 1
             200 < ace 7 acc1 7001,2000 1 ack 8001
             # 2000 bytes without a mark
             200 ? cwnd 5584 marks 1
             {more}"
        ),
    );
}

/// Without AccECN it is Reno, with ECT(0) if the peer has RFC 3168.
#[test]
fn prague_without_accurate_ecn_is_reno() {
    for (answer, head, second) in [("ECE", "ect0", "ECE"), ("", "", "")] {
        let (four, cwnd) = (sent(100, head, 0..10), if second.is_empty() { 10_100 } else { 5000 });
        let more = if second.is_empty() { sent(200, head, 10..11) } else { String::new() };
        client(
            prague(),
            &format!(
                "0   do connect
                 0   > SYN AE CWR ECE 0
                 100 < SYN {answer} 0 ack 1 win 50000 mss 1000
                 100 > 1 ack 1
                 100 ! Connected
                 100 do write 40000
                 {four}
                 200 < {second} 1 ack 1001
                 200 ? cwnd {cwnd}
                 {more}"
            ),
        );
    }
}
