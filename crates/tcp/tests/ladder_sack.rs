//! SACK-based recovery (RFC 6675) and the blocks that a receiver sends (RFC 2018).
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{TcpSpec, Variant};
use cellway_units::Bytes;
use common::ladder::{Ladder, connected};

fn config() -> TcpSpec {
    TcpSpec {
        variant: Variant::Sack,
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 10,
        ..TcpSpec::default()
    }
}
/// Sends ten segments at 100 ms.
fn ten_out(config: TcpSpec, script: &str) -> Ladder {
    connected(
        config,
        "100 do write 30000
         100 > 1..1001
         100 > 1001..2001
         100 > 2001..3001
         100 > 3001..4001
         100 > 4001..5001
         100 > 5001..6001
         100 > 6001..7001
         100 > 7001..8001
         100 > 8001..9001
         100 > 9001..10001",
    )
    .run(script)
}

#[test]
fn three_losses_are_repaired_within_one_round_trip() {
    // The first, third and fifth segment are lost.
    ten_out(
        config(),
        "200 < 1 ack 1 sack 1001..2001
         200 > 10001..11001
         200 < 1 ack 1 sack 3001..4001,1001..2001
         200 > 11001..12001
         200 < 1 ack 1 sack 5001..6001,3001..4001,1001..2001
         200 > 1..1001
         # half of the ten segments out before limited transmit
         200 ? cwnd 5000 ssthresh 5000 recovery true fast 1
         200 < 1 ack 1 sack 5001..7001,3001..4001,1001..2001
         200 < 1 ack 1 sack 5001..8001,3001..4001,1001..2001
         # the pipe: what was resent, and 9001..12001
         200 < 1 ack 1 sack 5001..9001,3001..4001,1001..2001
         200 > 2001..3001
         200 < 1 ack 1 sack 5001..10001,3001..4001,1001..2001
         200 > 4001..5001
         200 < 1 ack 1 sack 5001..11001,3001..4001,1001..2001
         200 > 12001..13001
         200 < 1 ack 1 sack 5001..12001,3001..4001,1001..2001
         200 > 13001..14001
         300 < 1 ack 2001 sack 5001..12001,3001..4001
         300 > 14001..15001
         300 < 1 ack 4001 sack 5001..12001
         300 > 15001..16001
         300 ? recovery true cwnd 5000
         300 < 1 ack 12001
         300 > 16001..17001
         300 ? recovery false cwnd 5000 ssthresh 5000 resent 3 timeouts 0 flight 5000",
    );
}

#[test]
fn bytes_above_can_tell_of_a_loss_before_the_third_duplicate() {
    // IsLost(): more than two segments above in one block.
    ten_out(
        config(),
        "200 < 1 ack 1 sack 1001..4001
         200 > 1..1001
         200 ? recovery true cwnd 5000",
    );
}

#[test]
fn an_acknowledgement_without_new_blocks_is_no_duplicate() {
    ten_out(config(), "200 < 1 ack 1 x5\n200 ? recovery false cwnd 10000");
}

#[test]
fn a_new_block_on_a_cumulative_acknowledgement_counts() {
    ten_out(
        TcpSpec { limited_transmit: false, ..config() },
        "200 < 1 ack 1001 sack 2001..3001
         200 > 10001..11001
         200 > 11001..12001
         200 < 1 ack 1001 sack 2001..4001
         200 < 1 ack 1001 sack 2001..5001
         200 > 1001..2001
         200 ? recovery true",
    );
}

#[test]
fn a_window_halves_once_for_all_losses_of_a_flight() {
    ten_out(
        TcpSpec { limited_transmit: false, ..config() },
        "200 < 1 ack 1 sack 1001..4001
         200 > 1..1001
         200 < 1 ack 1 sack 5001..8001,1001..4001
         200 > 4001..5001
         200 > 10001..11001
         200 ? cwnd 5000 fast 1",
    );
}

#[test]
fn the_tail_is_rescued_once() {
    // The first and the last segment are lost; when no other data can be sent, the last is retransmitted.
    connected(
        config(),
        "100 do write 5000
         100 > 1..1001
         100 > 1001..2001
         100 > 2001..3001
         100 > 3001..4001
         100 > 4001..5001
         200 < 1 ack 1 sack 1001..4001
         200 > 1..1001
         200 ? cwnd 2500
         300 < 1 ack 4001
         300 > 4001..5001
         300 ? recovery true resent 2
         400 < 1 ack 5001
         400 ? recovery false deadline none",
    );
}

#[test]
fn after_a_timeout_blocks_are_passed_over() {
    ten_out(
        TcpSpec { limited_transmit: false, ..config() },
        "200  < 1 ack 1 sack 1001..3001
         1000 > 1..1001
         1000 ? cwnd 1000 ssthresh 5000
         # the blocks come again; no recovery before all sent before the timeout is acknowledged
         1100 < 1 ack 3001 sack 4001..5001,6001..7001,8001..10001
         1100 > 3001..4001
         1100 > 5001..6001
         1100 ? cwnd 2000 recovery false
         1200 < 1 ack 5001 sack 6001..7001,8001..10001
         1200 > 7001..8001
         1200 > 10001..11001
         1200 ? cwnd 3000
         1300 < 1 ack 10001
         1300 > 11001..12001
         1300 > 12001..13001
         1300 > 13001..14001
         1300 ? cwnd 4000",
    );
}

/// Nine of ten segments have left the network, and then those that the recovery sent: half of the FlightSize is more
/// than the ssthresh that the loss has set when the timer fires.
#[test]
fn a_timeout_in_recovery_does_not_raise_ssthresh() {
    for (variant, kept) in [(Variant::Sack, 5), (Variant::Cubic, 7)] {
        // One segment of the pipe is the retransmitted one.
        let new = kept - 1;
        let sent = |at: u64, first: u64| -> String {
            let line = |i: u64| format!("{at} > {}..{}\n", (first + i) * 1000 + 1, (first + i + 1) * 1000 + 1);
            (0..new).map(line).collect()
        };
        let (one, two) = (sent(200, 10), sent(300, 10 + new));
        ten_out(
            TcpSpec { variant, limited_transmit: false, ..config() },
            &format!(
                "200  < 1 ack 1 sack 1001..10001
                 200  > 1..1001
                 {one}200  ? cwnd {kept}000 ssthresh {kept}000 recovery true
                 300  < 1 ack 1 sack 1001..{}
                 {two}300  ? flight {}
                 1000 > 1..1001
                 1000 ? cwnd 1000 ssthresh {kept}000 timeouts 1 recovery false",
                (10 + new) * 1000 + 1,
                (10 + 2 * new) * 1000,
            ),
        );
    }
}

/// Segments that the peer SACKed after a timeout, and that the sender skips, are not in the network when the next timer
/// fires: FlightSize is ten segments, but the window allows two.
#[test]
fn a_second_timeout_halves_what_the_window_lets_go() {
    ten_out(
        config(),
        "1000 > 1..1001
         1000 ? cwnd 1000 ssthresh 5000
         1100 < 1 ack 1001 sack 2001..10001
         1100 > 1001..2001
         1100 > 10001..11001
         1100 ? cwnd 2000 flight 10000
         3000 > 1001..2001
         3000 ? cwnd 1000 ssthresh 2000 timeouts 2",
    );
}

#[test]
fn a_hole_is_filled_no_further_than_the_next_block() {
    ten_out(
        TcpSpec { limited_transmit: false, ..config() },
        "1000 > 1..1001
         1100 < 1 ack 3001 sack 3501..5001
         1100 > 3001..3501
         1100 > 5001..6001",
    );
    ten_out(
        config(),
        "200 < 1 ack 1 sack 401..5001
         200 > 1..401
         200 ? recovery true",
    );
}

/// A peer may discard data that it has SACKed (RFC 2018 §8): the timer retransmits them, and later data are not
/// skipped.
#[test]
fn what_a_peer_discards_is_sent_again() {
    ten_out(
        TcpSpec { limited_transmit: false, ..config() },
        "200  < 1 ack 1 sack 1001..3001
         1000 > 1..1001
         1100 < 1 ack 1001
         3000 > 1001..2001
         3100 < 1 ack 2001
         3100 > 2001..3001
         3100 > 3001..4001",
    );
}

/// RFC 6675 §5.1: data SACKed before a timeout are not retransmitted after it.
#[test]
fn a_timeout_keeps_what_was_sacked() {
    ten_out(
        TcpSpec { limited_transmit: false, ..config() },
        "200  < 1 ack 1 sack 1001..3001
         1000 > 1..1001
         1000 ? cwnd 1000 ssthresh 5000
         1100 < 1 ack 3001
         1100 > 3001..4001
         1100 > 4001..5001",
    );
}

#[test]
fn a_rescue_goes_once_and_does_not_pass_for_the_hole_before_it() {
    // The first and the last two of six segments are lost.
    connected(
        config(),
        "100 do write 6000
         100 > 1..1001
         100 > 1001..2001
         100 > 2001..3001
         100 > 3001..4001
         100 > 4001..5001
         100 > 5001..6001
         200 < 1 ack 1 sack 1001..4001
         200 > 1..1001
         200 ? cwnd 3000
         300 < 1 ack 4001
         300 > 5001..6001
         400 < 1 ack 4001 sack 5001..6001
         400 > 4001..5001
         500 < 1 ack 6001
         500 ? recovery false resent 3 timeouts 0",
    );
}

#[test]
fn blocks_outside_the_flight_are_ignored() {
    ten_out(
        config(),
        "200 < 1 ack 2001 sack 1..1001
         200 > 10001..11001
         200 > 11001..12001
         200 > 12001..13001
         210 < 1 ack 2001 sack 40001..41001
         210 < 1 ack 2001 sack 5001..4001
         210 ? recovery false flight 11000",
    );
}

#[test]
fn the_receiver_names_the_most_recent_block_first() {
    connected(
        config(),
        "100 < 1001..2001 ack 1
         100 > 1 ack 1 sack 1001..2001
         110 < 3001..4001 ack 1
         110 > 1 ack 1 sack 3001..4001,1001..2001
         120 < 5001..6001 ack 1
         120 > 1 ack 1 sack 5001..6001,3001..4001,1001..2001
         130 < 2001..2501 ack 1
         130 > 1 ack 1 sack 1001..2501,5001..6001,3001..4001
         140 < 7001..8001 ack 1
         140 > 1 ack 1 sack 7001..8001,1001..2501,5001..6001,3001..4001
         # a fifth block has no room
         150 < 9001..9501 ack 1
         150 > 1 ack 1 sack 9001..9501,7001..8001,1001..2501,5001..6001
         # a duplicate of what is held is reported first
         160 < 3001..4001 ack 1
         160 > 1 ack 1 sack 3001..4001,9001..9501,7001..8001,1001..2501
         170 < 1..1001 ack 1
         170 ! Readable 2500
         170 > 1 ack 2501 sack 3001..4001,9001..9501,7001..8001,5001..6001",
    );
}

#[test]
fn a_full_segment_leaves_no_room_for_blocks() {
    connected(
        config(),
        "100 < 1001..2001 ack 1
         100 > 1 ack 1 sack 1001..2001
         110 do write 1100
         110 > 1..1001
         110 > 1001..1101 sack 1001..2001",
    );
}

#[test]
fn new_data_goes_before_what_may_not_be_lost() {
    ten_out(
        TcpSpec { limited_transmit: false, ..config() },
        "200 < 1 ack 1 sack 1001..4001
         200 > 1..1001
         200 ? cwnd 5000
         200 < 1 ack 1 sack 5001..7001,1001..4001
         300 < 1 ack 4001 sack 5001..7001
         300 > 10001..11001",
    );
    // With no new data to send, data that may be lost are retransmitted.
    connected(
        TcpSpec { limited_transmit: false, send_buffer: Bytes(8000), ..config() },
        "100 do write 8000
         100 > 1..1001
         100 > 1001..2001
         100 > 2001..3001
         100 > 3001..4001
         100 > 4001..5001
         100 > 5001..6001
         100 > 6001..7001
         100 > 7001..8001
         200 < 1 ack 1 sack 1001..4001
         200 > 1..1001
         200 < 1 ack 1 sack 5001..7001,1001..4001
         200 > 4001..5001",
    );
}
