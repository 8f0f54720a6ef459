//! RACK-TLP (RFC 8985) with PRR (RFC 9937), segment by segment.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{LossRecovery, TcpSpec, Variant};
use cellway_units::Bytes;
use common::ladder::{Ladder, connected};

/// The round trip of the handshake is 100 ms, and so is SRTT.
fn config() -> TcpSpec {
    TcpSpec {
        variant: Variant::Sack,
        recovery: Some(LossRecovery::Rack),
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 10,
        timer_granularity: cellway_units::Span::from_ms(1),
        ..TcpSpec::default()
    }
}
/// Sends `segments` segments of 1000 B at 100 ms, of which `bytes` B wait in all.
fn out(config: TcpSpec, bytes: u64, segments: u64, script: &str) -> Ladder {
    let line = |i: u64| format!("100 > {}..{}\n", 1 + 1000 * i, 1001 + 1000 * i);
    let sent: String = (0..segments).map(line).collect();
    connected(config, &format!("100 do write {bytes}\n{sent}")).run(script)
}

/// RFC 8985 §7.2, §7.3: no new data to send, so the last segment is retransmitted after two round trips. Its
/// acknowledgement shows that the two before it are also lost, without a timeout.
#[test]
fn a_lost_tail_is_repaired_by_a_probe() {
    out(
        config(),
        5000,
        5,
        "200 < 1 ack 2001
         200 ? timer LossDetection deadline 400
         400 > 4001..5001
         400 ? probes 1 timeouts 0 recovery false
         # sent long before the probe, which has arrived: lost. PRR lets go what has been delivered
         500 < 1 ack 2001 sack 4001..5001
         500 > 2001..3001
         500 ? recovery true fast 1 ssthresh 2000
         # and a segment more while recovery makes progress
         600 < 1 ack 3001 sack 4001..5001
         600 > 3001..4001
         700 < 1 ack 5001
         700 ? recovery false cwnd 2000 timeouts 0 deadline none",
    );
}

/// RFC 8985 §7.3: a probe is new data if there are some, although the window is full.
#[test]
fn a_probe_is_new_data_if_there_is_some() {
    out(
        TcpSpec { initial_window: 4, ..config() },
        9000,
        4,
        "300 > 4001..5001
         300 ? probes 1 resent 0
         400 < 1 ack 5001
         400 > 5001..6001
         400 > 6001..7001
         400 > 7001..8001
         400 > 8001..9001
         # the probe was no loss
         400 ? recovery false cwnd 5000
         500 < 1 ack 9001",
    );
}

/// RFC 8985 §7.4.2: the cumulative acknowledgement of more than the probe shows that it has repaired a loss, for which
/// the window is reduced once.
#[test]
fn a_probe_that_repairs_the_only_loss_reduces_the_window() {
    out(
        config(),
        4000,
        4,
        "200 < 1 ack 3001
         # one segment: the delay of its acknowledgement is allowed for, up to the retransmission timer
         200 ? deadline 600
         600 > 3001..4001
         600 ? probes 1
         650 do write 1000
         650 > 4001..5001
         700 < 1 ack 4001
         750 < 1 ack 5001
         750 ? ssthresh 2000 cwnd 2000 recovery false timeouts 0",
    );
}

/// RFC 8985 §7.3: one probe for a flight; then the retransmission timer.
#[test]
fn a_lost_probe_waits_for_the_timeout() {
    out(
        config(),
        2000,
        2,
        "300  > 1001..2001
         1300 > 1..1001
         1300 ? probes 1 timeouts 1 cwnd 1000
         1400 < 1 ack 2001
         1400 ? recovery false deadline none",
    );
}

/// RFC 8985 §6.2, step 4: the first segment arrives 20 ms after later ones, within a quarter of the least round trip.
/// Two segments are SACKed, fewer than the threshold.
#[test]
fn reordering_within_the_window_causes_no_retransmission() {
    out(
        config(),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..3001
         200 ? timer LossDetection deadline 225 recovery false
         220 < 1 ack 3001
         220 ? resent 0 fast 0 recovery false
         # seen to reorder: the window stays open with more SACKed than the threshold
         230 < 1 ack 3001 sack 4001..9001
         230 ? recovery false
         250 < 1 ack 10001
         250 ? resent 0 fast 0 recovery false",
    );
}

/// RFC 8985 §6.2: the same, but the segment does not arrive. The timer of the reordering window declares it lost.
#[test]
fn after_the_reordering_window_a_segment_is_lost() {
    out(
        config(),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..3001
         225 > 1..1001
         225 ? recovery true fast 1 ssthresh 5000",
    );
}

/// With a margin the timer leaves the decision to an acknowledgement that arrives meanwhile; probes have it, too.
#[test]
fn the_timers_of_losses_are_late_by_their_margin() {
    let config = || TcpSpec { loss_timer_margin: cellway_units::Span::from_ms(2), ..config() };
    out(
        config(),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..3001
         200 ? timer LossDetection deadline 227
         226 < 1 ack 1 sack 1001..4001
         226 > 1..1001
         226 ? recovery true fast 1",
    );
    out(config(), 10_000, 10, "200 < 1 ack 1 sack 1001..3001\n227 > 1..1001\n227 ? recovery true fast 1");
    out(config(), 5000, 5, "200 < 1 ack 2001\n200 ? timer LossDetection deadline 402");
}

/// Without reordering seen, as many SACKed segments as the threshold close the window.
#[test]
fn the_third_sacked_segment_means_a_loss_at_once() {
    out(config(), 10_000, 10, "200 < 1 ack 1 sack 1001..4001\n200 > 1..1001\n200 ? recovery true");
}

/// A retransmission is lost. Later data arrive, so it is retransmitted again within the recovery: RFC 6675 would wait
/// for the timer. The window is reduced once.
#[test]
fn a_lost_retransmission_is_sent_again() {
    out(
        config(),
        30_000,
        10,
        "200 < 1 ack 1 sack 1001..2001
         200 > 10001..11001
         201 < 1 ack 1 sack 1001..3001
         201 > 11001..12001
         202 < 1 ack 1 sack 1001..4001
         202 > 1..1001
         202 ? ssthresh 5000 cwnd 9000
         203 < 1 ack 1 sack 1001..5001
         204 < 1 ack 1 sack 1001..6001
         204 > 12001..13001
         205 < 1 ack 1 sack 1001..7001
         206 < 1 ack 1 sack 1001..8001
         206 > 13001..14001
         207 < 1 ack 1 sack 1001..9001
         208 < 1 ack 1 sack 1001..10001
         # sent before the retransmission
         300 < 1 ack 1 sack 1001..11001
         300 > 14001..15001
         301 < 1 ack 1 sack 1001..12001
         301 > 15001..16001
         301 ? resent 1
         # sent after it
         304 < 1 ack 1 sack 1001..13001
         304 > 1..1001
         304 > 16001..17001
         304 ? ssthresh 5000 resent 2 timeouts 0 fast 1
         404 < 1 ack 17001
         404 > 17001..18001
         404 > 18001..19001
         404 > 19001..20001
         404 > 20001..21001
         404 > 21001..22001
         404 ? recovery false cwnd 5000 timeouts 0",
    );
}

/// The first retransmission is lost, the second arrives above the hole. Its acknowledgement echoes what came before the hole
/// (RFC 7323 §4.3), which does not make it one of the first transmission.
#[test]
fn a_lost_retransmission_is_found_despite_the_echo_of_the_left_edge() {
    out(
        TcpSpec { mss: Bytes(1012), timestamps: true, ..config() },
        10_000,
        10,
        "200 < 1 ack 1 sack 2001..10001 ts 150 100
         200 > 1..1001
         200 > 1001..2001
         300 < 1 ack 1 sack 1001..10001 ts 250 100
         300 > 1..1001
         300 ? resent 3 timeouts 0",
    );
}

/// The case of RFC 6937 §4, figure 1, with its two segments of limited transmit: 20 segments sent, the first lost. Then
/// each second acknowledgement sends a segment, until the network holds ssthresh.
#[test]
fn prr_halves_the_rate_evenly() {
    let ack = |last: u64| format!("200 < 1 ack 1 sack 1001..{}\n", 1001 + 1000 * last);
    let new = |n: u64| format!("200 > {}..{}\n", 20_001 + 1000 * n, 21_001 + 1000 * n);
    let mut script = format!("{}{}{}{}{}200 > 1..1001\n", ack(1), new(0), ack(2), new(1), ack(3));
    let mut sent = 2;
    for n in 4..20 {
        script += &ack(n);
        if n % 2 == 1 && n < 19 {
            script += &new(sent);
            sent += 1;
        }
    }
    script += "200 ? ssthresh 10000 recovery true cwnd 10000\n";
    out(TcpSpec { initial_window: 20, ..config() }, 60_000, 20, &script);
}

/// RFC 8985 §6.3: after a timeout the first segment is lost, and those that were sent long enough before; the others
/// get their time. SACKed data are not retransmitted.
#[test]
fn after_a_timeout_what_is_lost_goes_in_slow_start() {
    out(
        TcpSpec { limited_transmit: false, ..config() },
        6000,
        6,
        "300  > 5001..6001
         1300 > 1..1001
         1300 ? timeouts 1 cwnd 1000
         1400 < 1 ack 1001 sack 3001..4001
         1400 > 1001..2001
         1400 > 2001..3001
         1500 < 1 ack 4001
         1500 > 4001..5001
         1500 > 5001..6001
         1600 < 1 ack 6001
         1600 ? recovery false timeouts 1 deadline none",
    );
}

/// A peer may discard what it has SACKed. RFC 2018 §8.
#[test]
fn what_a_peer_discards_is_sent_again() {
    out(
        config(),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..3001
         210 < 1 ack 1001
         210 > 1001..2001
         210 > 2001..3001",
    );
}

/// Without the peer's permission for SACK, three duplicates mean a loss.
#[test]
fn a_peer_without_sack_gets_newreno() {
    common::ladder::client(
        config(),
        "0   do connect
         0   > SYN 0 sackok
         100 < SYN 0 ack 1 win 50000 mss 1000
         100 > 1 ack 1
         100 ! Connected
         100 do write 4000
         100 > 1..1001
         100 > 1001..2001
         100 > 2001..3001
         100 > 3001..4001
         200 < 1 ack 1 x3
         200 > 1..1001
         200 ? recovery true",
    );
}

/// RFC 8985 §6.2, step 3: segments that one acknowledgement reports are not compared with each other. After a loss, the
/// acknowledgement of the segment before it comes with SACK blocks of those behind.
#[test]
fn an_acknowledgement_around_a_hole_is_no_reordering() {
    out(
        config(),
        10_000,
        10,
        "200 < 1 ack 1001 sack 2001..5001
         200 > 1001..2001
         200 ? recovery true fast 1",
    );
}

/// RFC 8985 §7.4.2: a segment with data is no duplicate acknowledgement, so it does not show that the probe was
/// unnecessary.
#[test]
fn data_of_the_peer_do_not_clear_the_probe() {
    out(
        config(),
        1000,
        1,
        "500 > 1..1001
         500 ? probes 1
         600 < 1..101 ack 1001
         600 > 1001 ack 101
         600 < 101..201 ack 1001
         600 > 1001 ack 201
         600 do write 1000
         600 > 1001..2001 ack 201
         700 < 201 ack 2001
         700 ? cwnd 2000 ssthresh 2000 recovery false",
    );
}

/// RFC 8985 §7.4.2: nor does an acknowledgement of nothing new that reports later data by SACK, here because one of three
/// segments is overtaken by the next.
#[test]
fn sack_blocks_do_not_clear_the_probe() {
    out(
        config(),
        1000,
        1,
        "500 > 1..1001
         500 ? probes 1
         600 < 1 ack 1001
         600 do write 3000
         600 > 1001..2001
         600 > 2001..3001
         600 > 3001..4001
         700 < 1 ack 1001 sack 2001..3001
         701 < 1 ack 4001
         701 ? cwnd 2000 ssthresh 2000 recovery false",
    );
}

/// The timer does not outlast the retransmission timer, not by the longest margin either: what is lost by then is repaired.
#[test]
fn the_retransmission_timer_bounds_the_margin() {
    let config = TcpSpec { loss_timer_margin: cellway_units::Span::from_secs(1), ..config() };
    out(
        config,
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..3001
         200 ? timer LossDetection deadline 1100
         1100 > 1..1001
         1100 ? recovery true fast 1 timeouts 0",
    );
}

/// RFC 9293 §3.4: the FIN has a position, which SACK blocks report with the data before it. So the loss of the last segment
/// but one is found by the arrival of the last.
#[test]
fn the_last_segment_is_reported_with_its_fin() {
    connected(
        TcpSpec { initial_window: 2, ..config() },
        "100 do write 3000
         100 > 1..1001
         100 > 1001..2001",
    )
    .run(
        "110 do shutdown
         200 < 1 ack 1001
         200 > FIN 2001..3001
         300 < 1 ack 1001 sack 2001..3002
         300 > 1001..2001
         300 ? fast 1 timeouts 0",
    );
    // The receiver of such a transfer.
    connected(config(), "").run(
        "100 < FIN 2001..3001 ack 1
         100 > 1 ack 1 sack 2001..3002
         110 < 1..1001 ack 1
         110 > 1 ack 1001 sack 2001..3002
         120 < 1001..2001 ack 1
         120 ! PeerClosed
         120 > 1 ack 3002
         120 ? state CloseWait",
    );
}
