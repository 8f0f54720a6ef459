//! Pacing: at a fixed rate, and by window and round trip.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{TcpSpec, Variant};
use cellway_units::{Bytes, Rate, Span};
use common::ladder::connected;

fn config() -> TcpSpec {
    TcpSpec {
        variant: Variant::Reno,
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 4,
        timer_granularity: Span::ZERO,
        ..TcpSpec::default()
    }
}

/// Packets of 1040 B at 1.04 Mbit/s: 8 ms each.
fn fixed() -> TcpSpec {
    TcpSpec { pacing_rate: Some(Rate::from_bps(1_040_000)), ..config() }
}

#[test]
fn a_fixed_rate_spaces_packets_by_their_length() {
    connected(
        fixed(),
        "200 do write 3480
         200 > 1..1001
         200 ? timer Pace deadline 208
         208 > 1001..2001
         216 > 2001..3001
         # the last, of 480 B, need not wait longer than those before it
         224 > 3001..3481
         # what was written in between waits for 480 B
         225 < 1 ack 3001
         225 do write 1000
         228 > 3481..4481",
    );
}

#[test]
fn acknowledgements_release_nothing_early() {
    connected(
        fixed(),
        "200 do write 9000
         200 > 1..1001
         208 > 1001..2001
         209 < 1 ack 1001
         210 < 1 ack 2001
         216 > 2001..3001
         224 > 3001..4001
         232 > 4001..5001
         240 > 5001..6001
         248 > 6001..7001
         256 > 7001..8001
         # a window of six is full
         264 ? flight 6000 cwnd 6000
         300 < 1 ack 4001
         300 > 8001..9001",
    );
}

#[test]
fn what_was_not_used_cannot_be_made_up_for() {
    connected(
        fixed(),
        "200 do write 1000
         200 > 1..1001
         300 < 1 ack 1001
         500 do write 3000
         500 > 1001..2001
         508 > 2001..3001
         516 > 3001..4001",
    );
}

/// Retransmissions are paced, except for the first segment of a fast retransmit.
#[test]
fn resending_is_paced_too() {
    connected(
        TcpSpec { variant: Variant::Sack, ..fixed() },
        "200 do write 4000
         200 > 1..1001
         208 > 1001..2001
         216 > 2001..3001
         224 > 3001..4001
         # the timer runs since the first; all four are resent as the window grows
         1200 > 1..1001
         1210 < 1 ack 1001
         1210 > 1001..2001
         1218 > 2001..3001
         1219 < 1 ack 3001
         1226 > 3001..4001",
    );
}

/// 200 % of window / round trip while the window is below half of ssthresh; the first ten segments are sent at once.
#[test]
fn slow_start_sends_at_twice_the_window_a_round_trip() {
    let config = TcpSpec { pacing: true, initial_window: 9, ..config() };
    connected(
        config,
        "200 do write 20000
         200 > 1..1001
         200 > 1001..2001
         200 > 2001..3001
         200 > 3001..4001
         200 > 4001..5001
         200 > 5001..6001
         200 > 6001..7001
         200 > 7001..8001
         200 > 8001..9001
         # the round trip is 100 ms, the window 10 segments: a gap of 100 / 20 ms from the tenth on
         300 < 1 ack 1001
         300 > 9001..10001
         300 ? srtt 100 cwnd 10000 timer Pace deadline 305
         305 > 10001..11001
         306 < 1 ack 2001
         310 > 11001..12001
         310 ? flight 10000 cwnd 11000",
    );
}

/// The gap after the second segment is that of 100 ms and a window of five: 100 / 10 ms.
#[test]
fn pacing_begins_after_the_unpaced_segments() {
    connected(
        TcpSpec { pacing: true, unpaced_segments: 2, initial_window: 5, ..config() },
        "200 do write 5000
         200 > 1..1001
         200 > 1001..2001
         210 > 2001..3001
         220 > 3001..4001
         230 > 4001..5001",
    );
}

/// 120 % after that.
#[test]
fn past_half_of_the_threshold_it_is_1_2_windows_a_round_trip() {
    let config = TcpSpec { pacing: true, initial_window: 10, initial_ssthresh: Some(Bytes(22_000)), ..config() };
    connected(
        config,
        "200 do write 10000
         200 > 1..1001
         200 > 1001..2001
         200 > 2001..3001
         200 > 3001..4001
         200 > 4001..5001
         200 > 5001..6001
         200 > 6001..7001
         200 > 7001..8001
         200 > 8001..9001
         200 > 9001..10001
         300 < 1 ack 10001
         300 ? cwnd 11000 ssthresh 22000
         # 660 B at 1.2 x 11000 B / 100 ms
         300 do write 660
         300 > 10001..10661
         301 do write 660
         305 > 10661..11321
         306 do write 1320
         310 > 11321..12321
         310 ? flight 2320",
    );
}

/// A closed window is probed; a slow pace is no closed window.
#[test]
fn a_pace_slower_than_the_timeout_does_not_probe() {
    connected(
        TcpSpec { pacing_rate: Some(Rate::from_bps(1_040)), ..config() },
        "200 do write 2000
         200 > 1..1001
         300 < 1 ack 1001
         300 ? timer Pace deadline 8200
         8200 > 1001..2001",
    );
}
