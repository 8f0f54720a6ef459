//! Sending: window growth, Nagle, silly window avoidance, the peer's window.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{TcpSpec, Variant};
use cellway_units::{Bytes, Span};
use common::ladder::{client, connected};

fn config() -> TcpSpec {
    TcpSpec { mss: Bytes(1000), window: Bytes(50_000), send_buffer: Bytes(1_000_000), ..TcpSpec::default() }
}

#[test]
fn slow_start_adds_a_segment_for_each_acknowledgement() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        connected(
            TcpSpec { variant, ..config() },
            "100 do write 30000
             100 > 1..1001 ack 1
             200 < 1 ack 1001
             200 > 1001..2001
             200 > 2001..3001
             200 ? cwnd 2000
             300 < 1 ack 2001
             300 > 3001..4001
             300 > 4001..5001
             300 < 1 ack 3001
             300 > 5001..6001
             300 > 6001..7001
             300 ? cwnd 4000 flight 4000",
        );
    }
}

#[test]
fn tahoe_counts_acknowledgements_and_the_rest_count_bytes() {
    let script = |cwnd| {
        format!(
            "100 do write 100
             100 > 1..101
             200 < 1 ack 101
             200 ? cwnd {cwnd}"
        )
    };
    connected(config(), &script(2000));
    connected(TcpSpec { variant: Variant::Reno, ..config() }, &script(1100));
}

#[test]
fn congestion_avoidance_adds_mss_squared_over_cwnd() {
    // A timeout with eight segments out sets ssthresh to four.
    connected(
        TcpSpec { initial_window: 8, send_buffer: Bytes(8000), ..config() },
        "100  do write 8000
         100  > 1..1001
         100  > 1001..2001
         100  > 2001..3001
         100  > 3001..4001
         100  > 4001..5001
         100  > 5001..6001
         100  > 6001..7001
         100  > 7001..8001
         1000 > 1..1001
         1000 ? cwnd 1000 ssthresh 4000
         1100 < 1 ack 8001
         1100 do write 8000
         1100 > 8001..9001
         1100 > 9001..10001
         1200 < 1 ack 9001
         1200 > 10001..11001
         1200 > 11001..12001
         1200 < 1 ack 10001
         1200 > 12001..13001
         1200 > 13001..14001
         1200 ? cwnd 4000
         # 4000 + 1000*1000/4000, then 4250 + 1000000/4250
         1300 < 1 ack 11001
         1300 > 14001..15001
         1300 ? cwnd 4250
         1300 < 1 ack 12001
         1300 > 15001..16001
         1300 ? cwnd 4485",
    );
}

#[test]
fn part_of_a_segment_never_goes_for_want_of_congestion_window() {
    let ladder = connected(
        TcpSpec { variant: Variant::Reno, ..config() },
        "100 do write 100
         100 > 1..101
         200 < 1 ack 101
         200 ? cwnd 1100
         200 do write 3000
         200 > 101..1101",
    );
    assert_eq!(ladder.endpoint.in_flight(), 1000);
}

#[test]
fn the_peers_window_bounds_the_flight() {
    client(
        TcpSpec { initial_window: 10, ..config() },
        "0 do connect
         0 > SYN 0
         9 < SYN 0 ack 1 win 2500 mss 1000
         9 > 1 ack 1
         9 ! Connected
         9 do write 5000
         9 > 1..1001
         9 > 1001..2001
         # 500 B would be less than a segment and less than half the window
         9 ? flight 2000 window 2500
         20 < 1 ack 1001 win 2500
         20 > 2001..3001",
    );
}

#[test]
fn half_the_largest_window_is_worth_sending() {
    client(
        TcpSpec { initial_window: 10, ..config() },
        "0 do connect
         0 > SYN 0
         9 < SYN 0 ack 1 win 1600 mss 1000
         9 > 1 ack 1
         9 ! Connected
         9 do write 5000
         9 > 1..1001
         20 < 1 ack 1001 win 700
         20 ? flight 0 timer Persist
         20 < 1 ack 1001 win 800
         20 > 1001..1801",
    );
}

#[test]
fn nagle_holds_small_segments_while_anything_is_unacknowledged() {
    let nagle = TcpSpec { nagle: true, initial_window: 4, ..config() };
    connected(
        nagle,
        "100 do write 10
         100 > 1..11
         110 do write 10
         120 do write 10
         200 < 1 ack 11
         200 > 11..31
         210 do write 1500
         # a full segment goes at once, the rest waits
         210 > 31..1031
         300 < 1 ack 1031
         300 > 1031..1531",
    );
    connected(TcpSpec { nagle: false, ..nagle }, "100 do write 10\n100 > 1..11\n110 do write 10\n110 > 11..21");
}

#[test]
fn nagle_does_not_hold_the_last_bytes_before_a_fin() {
    connected(
        TcpSpec { nagle: true, initial_window: 4, ..config() },
        "100 do write 10
         100 > 1..11
         110 do write 10
         120 do shutdown
         120 > FIN 11..21",
    );
}

#[test]
fn the_send_buffer_bounds_writes_and_tells_when_there_is_room() {
    connected(
        TcpSpec { send_buffer: Bytes(2000), initial_window: 4, ..config() },
        "100 do write 1500
         100 > 1..1001
         100 > 1001..1501
         100 do write 900 accepted 500
         100 > 1501..2001
         100 do write 1 accepted 0
         200 < 1 ack 1001
         200 ! Acked 1000
         200 ! Writable
         200 do write 1000
         200 > 2001..3001
         # told once
         210 < 1 ack 1501",
    );
}

#[test]
fn an_idle_connection_restarts_with_the_initial_window() {
    let script = |cwnd, segments: &str| {
        format!(
            "100  do write 3000
             100  > 1..1001
             200  < 1 ack 1001
             200  > 1001..2001
             200  > 2001..3001
             300  < 1 ack 3001
             300  ? cwnd 3000 rto 1000
             # idle for exactly the timeout is not longer than it
             1200 do write 100
             1200 > 3001..3101
             1250 < 1 ack 3101
             1250 ? cwnd 4000
             3000 do write 4000
             {segments}
             3000 ? cwnd {cwnd}"
        )
    };
    connected(config(), &script(1000, "3000 > 3101..4101"));
    let all = "3000 > 3101..4101\n3000 > 4101..5101\n3000 > 5101..6101\n3000 > 6101..7101";
    connected(TcpSpec { idle_restart: false, ..config() }, &script(4000, all));
}

#[test]
fn a_closed_window_is_probed_with_backoff_until_it_opens() {
    connected(
        config(),
        "100  do write 3000
         100  > 1..1001
         150  < 1 ack 1001 win 0
         # the timeout is 1 s; the second tick of 500 ms after 150 ms falls on 1000 ms
         150  ? timer Persist deadline 1000 flight 0
         1000 > 1001..1002
         1050 < 1 ack 1001 win 0
         3000 > 1001..1002
         3050 < 1 ack 1001 win 0
         7000 > 1001..1002
         7050 < 1 ack 1001 win 0
         7100 < 1 ack 1001 win 5000
         # idle for longer than the timeout: one segment
         7100 > 1001..2001
         # probes are neither losses nor duplicate acknowledgements
         7100 ? timeouts 0 fast 0 resent 0 timer Retransmit",
    );
}

#[test]
fn an_accepted_probe_moves_on() {
    connected(
        config(),
        "100  do write 3000
         100  > 1..1001
         150  < 1 ack 1001 win 0
         1000 > 1001..1002
         1050 < 1 ack 1002 win 2000
         1050 > 1002..2002
         1050 > 2002..3001",
    );
}

#[test]
fn unanswered_probes_end_the_connection_and_answered_ones_do_not() {
    let ladder = connected(
        TcpSpec { max_retransmissions: 2, ..config() },
        "100  do write 3000
         100  > 1..1001
         150  < 1 ack 1001 win 0
         1000 > 1001..1002
         1050 < 1 ack 1001 win 0
         3000 > 1001..1002
         3050 < 1 ack 1001 win 0
         7000 > 1001..1002
         15000 > 1001..1002
         31000 > RST 1001 ack 1
         31000 ! TimedOut",
    );
    assert_eq!(ladder.endpoint.stats().window_probes, 4);
}

#[test]
fn a_fin_needs_no_window() {
    connected(
        config(),
        "100  do write 1000
         100  > 1..1001
         150  < 1 ack 1001 win 0
         160  do shutdown
         160  > FIN 1001",
    );
}

#[test]
fn a_silly_window_is_filled_when_the_persist_timer_says_so() {
    connected(
        config(),
        "100  do write 3000
         100  > 1..1001
         150  < 1 ack 1001 win 300
         150  ? timer Persist
         1000 > 1001..1301
         1000 ? timer Retransmit",
    );
}

#[test]
fn a_late_window_of_an_older_segment_is_ignored() {
    let ladder = connected(
        config(),
        "100 < 101..201 ack 1 win 9000
         100 > 1 ack 1
         110 < 1..101 ack 1 win 40000
         110 > 1 ack 201
         # without payload it is answered and dropped
         120 < 1 ack 1 win 45000
         120 > 1 ack 201",
    );
    assert_eq!(ladder.endpoint.peer_window(), 9000);
    // A newer segment does set it.
    assert_eq!(ladder.run("130 < 201 ack 1 win 8000").endpoint.peer_window(), 8000);
}

#[test]
fn a_fine_clock_needs_no_ticks() {
    let mut fine = config();
    fine.timer_granularity = Span::ZERO;
    fine.rto_min = Span::from_ms(200);
    // The handshake measured 100 ms: RTO = 100 + 4 * 50.
    connected(
        fine,
        "100 ? srtt 100 rto 300
         150 do write 1000
         150 > 1..1001
         450 > 1..1001
         1050 > 1..1001",
    );
}

#[test]
fn nagle_does_not_hold_what_is_sent_again() {
    connected(
        TcpSpec { nagle: true, initial_window: 4, ..config() },
        "100  do write 10
         100  > 1..11
         100  do write 2000
         100  > 11..1011
         100  > 1011..2011
         1000 > 1..1001
         1100 < 1 ack 1001
         1100 > 1001..2001
         1100 > 2001..2011",
    );
}

#[test]
fn a_probe_carries_no_fin() {
    connected(
        config(),
        "100  do write 1001
         100  > 1..1001
         110  do shutdown
         150  < 1 ack 1001 win 0
         1000 > 1001..1002
         1050 < 1 ack 1002 win 0
         1050 > FIN 1002",
    );
}

#[test]
fn a_window_update_lets_data_go_before_any_probe() {
    let ladder = connected(
        TcpSpec { initial_window: 4, ..config() },
        "100 do write 5000
         100 > 1..1001
         100 > 1001..2001
         100 > 2001..3001
         100 > 3001..4001
         150 < 1 ack 4001 win 0
         150 ? timer Persist flight 0
         # a reader took two segments
         250 < 1 ack 4001 win 2000
         250 > 4001..5001
         250 ? timer Retransmit",
    );
    assert_eq!(ladder.endpoint.stats().window_probes, 0);
}

#[test]
fn writes_below_a_segment_wait_for_the_round_trip_under_nagle() {
    // RFC 896: the first write is sent, the others make full segments meanwhile.
    connected(
        TcpSpec { nagle: true, initial_window: 4, mss: Bytes(9148), send_buffer: Bytes(36_592), ..config() },
        "100 do write 8192
         100 > 1..8193
         # less than a segment waits
         110 do write 8192
         120 do write 8192
         120 > 8193..17341
         130 do write 8192
         130 > 17341..26489
         # room for the write is short, but what fits makes a segment
         140 do write 8192 accepted 3824
         140 > 26489..35637
         200 < 1 ack 8193
         200 ! Writable
         # 956 B wait behind the last full segment until all of those are acknowledged
         210 < 1 ack 26489
         220 < 1 ack 35637
         220 > 35637..36593",
    );
}
