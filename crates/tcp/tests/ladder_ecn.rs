//! Explicit congestion notification (RFC 3168) and ABE (RFC 8511), segment by segment.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{EcnMode, LossRecovery, TcpSpec, Variant};
use cellway_units::Bytes;
use common::ladder::{Ladder, client, connected, server};

fn config() -> TcpSpec {
    TcpSpec {
        variant: Variant::NewReno,
        ecn: EcnMode::Classic,
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 10,
        // In congestion avoidance from the start.
        initial_ssthresh: Some(Bytes(5000)),
        ..TcpSpec::default()
    }
}
/// Sends ten segments at 100 ms, each ECN-capable.
fn ten_out(config: TcpSpec, script: &str) -> Ladder {
    let sent: String = (0..10).map(|i| format!("100 > ect0 {}..{}\n", 1 + 1000 * i, 1001 + 1000 * i)).collect();
    connected(config, &format!("100 do write 40000\n{sent}")).run(script)
}

/// RFC 3168 §6.1.1: the SYN has ECE and CWR, the answer ECE alone.
#[test]
fn both_syns_agree() {
    let opened = |config, syn: &str, answer: &str, agreed: bool| {
        client(
            config,
            &format!(
                "0   do connect
                 0   > SYN {syn} 0
                 100 < SYN {answer} 0 ack 1 win 50000 mss 1000
                 100 > 1 ack 1
                 100 ! Connected
                 100 ? ecn {agreed}"
            ),
        );
    };
    opened(config(), "ECE CWR", "ECE", true);
    opened(config(), "ECE CWR", "", false);
    // A peer that reflects the flags does not support ECN.
    opened(config(), "ECE CWR", "ECE CWR", false);
    opened(TcpSpec { ecn: EcnMode::Off, ..config() }, "", "ECE", false);
    let answered = |config, syn: &str, answer: &str, agreed: bool| {
        server(
            config,
            &format!(
                "0   < SYN {syn} 0 win 50000 mss 1000
                 0   > SYN {answer} 0 ack 1
                 100 < 1 ack 1
                 100 ! Connected
                 100 ? ecn {agreed}"
            ),
        );
    };
    answered(config(), "ECE CWR", "ECE", true);
    answered(config(), "", "", false);
    answered(config(), "ECE", "", false);
    answered(TcpSpec { ecn: EcnMode::Off, ..config() }, "ECE CWR", "", false);
}

/// RFC 3168 §6.1.1.1: a lost SYN is retransmitted without the offer, and then ECN is not used.
#[test]
fn a_lost_syn_goes_again_without_the_offer() {
    client(
        config(),
        "0    do connect
         0    > SYN ECE CWR 0
         3000 > SYN 0
         3100 < SYN ECE 0 ack 1 win 50000 mss 1000
         3100 > 1 ack 1
         3100 ! Connected
         3100 ? ecn false
         3100 do write 1000
         3100 > 1..1001",
    );
}

/// RFC 3168 §6.1.2: half the window, once for all marks of a window of data; CWR on the next new data.
#[test]
fn a_window_of_marks_reduces_once() {
    ten_out(
        config(),
        "200 < ECE 1 ack 1001
         # ten were outstanding
         200 ? cwnd 5000 ssthresh 5000 marks 1 recovery false
         200 < ECE 1 ack 5001
         200 ? cwnd 5000 marks 1
         200 < ECE 1 ack 8001
         200 > ect0 CWR 10001..11001
         200 > ect0 11001..12001
         200 > ect0 12001..13001
         # the last of the window was acknowledged before CWR arrived
         210 < ECE 1 ack 10001
         210 > ect0 13001..14001
         210 > ect0 14001..15001
         210 ? cwnd 5000 marks 1
         # a mark of the next window
         310 < ECE 1 ack 11001
         310 ? cwnd 2500 ssthresh 2500 marks 2 resent 0",
    );
}

/// The window halves what was outstanding before the acknowledgement, as at a loss, and never grows at a mark.
#[test]
fn a_mark_on_the_last_acknowledgement_halves_all_of_it() {
    let two = TcpSpec { initial_window: 2, ..config() };
    connected(
        two,
        "100 do write 10000
         100 > ect0 1..1001
         100 > ect0 1001..2001
         200 < 1 ack 1001
         200 > ect0 2001..3001
         200 > ect0 3001..4001
         200 < 1 ack 2001
         200 > ect0 4001..5001
         200 > ect0 5001..6001
         300 < ECE 1 ack 6001
         300 ? cwnd 2000 ssthresh 2000 marks 1
         300 > ect0 CWR 6001..7001
         300 > ect0 7001..8001",
    );
    let one = TcpSpec { initial_window: 1, ..config() };
    connected(
        one,
        "100 do write 1000\n100 > ect0 1..1001\n200 < ECE 1 ack 1001\n200 ? cwnd 1000 ssthresh 2000 marks 1",
    );
}

/// RFC 8511 §3: 0.8 of the window with Reno, 0.85 with CUBIC; a loss, and slow start, as without.
#[test]
fn with_abe_a_mark_costs_less_than_a_loss() {
    for (variant, abe, ssthresh, kept) in [
        (Variant::NewReno, false, 5000, 5000),
        (Variant::NewReno, true, 5000, 8000),
        (Variant::Cubic, false, 5000, 7000),
        (Variant::Cubic, true, 5000, 8500),
        (Variant::NewReno, true, 1_000_000, 5000),
        (Variant::Cubic, true, 1_000_000, 7000),
    ] {
        let config = TcpSpec { variant, abe, initial_ssthresh: Some(Bytes(ssthresh)), ..config() };
        ten_out(config, &format!("200 < ECE 1 ack 1001\n200 ? cwnd {kept} ssthresh {kept} marks 1"));
    }
    ten_out(
        TcpSpec { abe: true, limited_transmit: false, ..config() },
        "200 < 1 ack 1 x3\n200 > 1..1001\n200 ? ssthresh 5000 recovery true marks 0",
    );
}

/// The echo of marks from before a timeout does not hold the window at one segment: slow start goes on while data is
/// retransmitted, which cannot carry CWR (RFC 3168 §6.1.5), and the first new data carries it.
#[test]
fn after_a_timeout_the_window_grows_though_marks_are_echoed() {
    ten_out(
        config(),
        "200  < ECE 1 ack 1001
         200  ? cwnd 5000 ssthresh 5000 marks 1
         1000 > 1001..2001
         1000 ? cwnd 1000 ssthresh 5000
         1100 < ECE 1 ack 2001
         1100 > 2001..3001
         1100 > 3001..4001
         1100 ? cwnd 2000
         1200 < ECE 1 ack 4001
         1200 > 4001..5001
         1200 > 5001..6001
         1200 > 6001..7001
         1200 ? cwnd 3000
         1300 < ECE 1 ack 10001
         1300 ? cwnd 4000 marks 1
         1300 > ect0 CWR 10001..11001
         1300 > ect0 11001..12001
         1300 > ect0 12001..13001
         1300 > ect0 13001..14001
         # a mark of what was sent after the timeout
         1400 < ECE 1 ack 12001
         1400 ? cwnd 2000 ssthresh 2000 marks 2",
    );
}

/// RFC 3168 §6.1.2: a loss in a window that a mark has reduced does not reduce it again.
#[test]
fn a_loss_and_a_mark_of_one_window_reduce_once() {
    ten_out(
        TcpSpec { limited_transmit: false, ..config() },
        "200 < ECE 1 ack 1001
         200 ? ssthresh 5000
         200 < ECE 1 ack 1001 x3
         200 > 1001..2001
         200 ? ssthresh 5000 recovery true marks 1
         300 < 1 ack 10001
         300 > ect0 CWR 10001..11001
         300 > ect0 11001..12001
         300 ? recovery false",
    );
}

/// Nor a mark while a loss is repaired. Retransmissions are not ECN-capable (§6.1.5); new data carries CWR after them.
#[test]
fn a_mark_in_recovery_reduces_nothing() {
    for recovery in [LossRecovery::Sack, LossRecovery::Rack] {
        ten_out(
            TcpSpec { recovery: Some(recovery), limited_transmit: false, ..config() },
            "200 < 1 ack 1 sack 1001..2001
             200 < 1 ack 1 sack 1001..3001
             200 < ECE 1 ack 1 sack 1001..4001
             200 > 1..1001
             200 ? ssthresh 5000 recovery true marks 0
             300 < ECE 1 ack 10001
             300 > ect0 CWR 10001..11001
             300 > ect0 11001..12001
             300 > ect0 12001..13001
             300 > ect0 13001..14001
             300 > ect0 14001..15001
             # of the window that the loss has reduced
             300 ? cwnd 5000 recovery false marks 0",
        );
    }
}

/// RFC 3168 §6.1.3: each acknowledgement echoes a mark until CWR; a mark together with CWR is echoed again.
#[test]
fn a_receiver_echoes_until_the_window_is_reduced() {
    connected(
        config(),
        "100 < ect0 1..1001 ack 1
         100 > 1 ack 1001
         100 ! Readable 1000
         110 < ce 1001..2001 ack 1
         110 > ECE 1 ack 2001
         120 < ect0 2001..3001 ack 1
         120 > ECE 1 ack 3001
         # on data too
         125 do write 500
         125 > ect0 ECE 1..501
         130 < ect0 CWR 3001..4001 ack 501
         130 > 501 ack 4001
         140 < ce CWR 4001..5001 ack 501
         140 > ECE 501 ack 5001
         # a mark outside the window says nothing (§6.1.5); nor does one without data
         150 < ect0 CWR 5001..6001 ack 501
         150 > 501 ack 6001
         160 < ce 1..1001 ack 501
         160 > 501 ack 6001",
    );
}

/// Without agreement nothing is ECN-capable and no mark counts.
#[test]
fn without_agreement_marks_are_ignored() {
    client(
        config(),
        "0   do connect
         0   > SYN ECE CWR 0
         100 < SYN 0 ack 1 win 50000 mss 1000
         100 > 1 ack 1
         100 ! Connected
         100 < ce 1..1001 ack 1
         100 > 1 ack 1001
         100 do write 1000
         100 > 1..1001
         200 < ECE 1001 ack 1001
         200 ? cwnd 10100 marks 0",
    );
}

/// With the recovery of RACK a mark reduces the window over a round trip: 5000 B while the 8000 B that are outstanding at
/// the mark are acknowledged. It does not grow before that.
#[test]
fn a_mark_reduces_the_window_over_a_round_trip() {
    let config = TcpSpec { recovery: Some(LossRecovery::Rack), variant: Variant::Sack, ..config() };
    ten_out(
        config,
        "200 < ECE 1 ack 2001
         200 ? cwnd 10000 ssthresh 5000 marks 1
         200 > CWR ect0 10001..11001
         200 > ect0 11001..12001
         210 < ECE 1 ack 4001
         210 ? cwnd 8750
         220 < 1 ack 6001
         220 ? cwnd 7500
         220 > ect0 12001..13001
         250 < 1 ack 10001
         250 ? cwnd 5000 marks 1
         250 > ect0 13001..14001
         250 > ect0 14001..15001",
    );
}
