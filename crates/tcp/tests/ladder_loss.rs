//! Loss: the response of each variant to duplicate acknowledgements and timeouts.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{FastRetransmit, TcpSpec, Variant};
use cellway_units::Bytes;
use common::ladder::{Ladder, connected};

fn config(variant: Variant) -> TcpSpec {
    TcpSpec {
        variant,
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 8,
        limited_transmit: false,
        ..TcpSpec::default()
    }
}
/// Sends eight segments at 100 ms.
fn eight_out(config: TcpSpec, script: &str) -> Ladder {
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
         100 > 7001..8001",
    )
    .run(script)
}

#[test]
fn tahoe_goes_to_one_segment_and_slow_starts() {
    eight_out(
        config(Variant::Tahoe),
        "200 < 1 ack 1 x2
         200 ? cwnd 8000
         200 < 1 ack 1
         200 > 1..1001
         200 ? cwnd 1000 ssthresh 4000 flight 1000 recovery false fast 1 timeouts 0
         # no recovery: further duplicates do nothing
         210 < 1 ack 1 x4
         210 ? cwnd 1000
         300 < 1 ack 8001
         300 > 8001..9001
         300 > 9001..10001
         300 ? cwnd 2000 ssthresh 4000 resent 1",
    );
}

#[test]
fn tahoe_goes_back_n() {
    // The first and third segment are lost: the data after the first are retransmitted.
    eight_out(
        config(Variant::Tahoe),
        "200 < 1 ack 1 x6
         200 > 1..1001
         300 < 1 ack 2001
         300 > 2001..3001
         300 > 3001..4001
         300 ? cwnd 2000
         400 < 1 ack 8001
         400 > 8001..9001
         400 > 9001..10001
         400 > 10001..11001
         400 ? cwnd 3000 resent 3",
    );
}

/// 4.3BSD-Tahoe, `tcp_input`: `snd_nxt` is moved back for one segment and restored after it, while the window is one
/// segment.
#[test]
fn tahoe_as_in_bsd_resends_one_segment() {
    let bsd = TcpSpec { fast_retransmit: FastRetransmit::OneSegment, ..config(Variant::Tahoe) };
    // One segment is lost: its retransmission leads to the acknowledgement of all, and new data follows.
    eight_out(
        bsd,
        "200 < 1 ack 1 x3
         200 > 1..1001
         200 ? cwnd 1000 ssthresh 4000 flight 8000 recovery false fast 1 timeouts 0
         210 < 1 ack 1 x4
         210 ? cwnd 1000
         300 < 1 ack 8001
         300 > 8001..9001
         300 > 9001..10001
         300 ? cwnd 2000 ssthresh 4000 resent 1",
    );
    // The first and the third segment are lost: after the partial acknowledgement the window is below the outstanding
    // data, so nothing is sent until the retransmission timer fires.
    eight_out(
        bsd,
        "200 < 1 ack 1 x6
         200 > 1..1001
         300 < 1 ack 2001
         300 ? cwnd 2000 flight 6000 deadline 1000
         1000 > 2001..3001
         1000 ? cwnd 1000 ssthresh 2000 flight 1000 timeouts 1
         1100 < 1 ack 8001
         1100 > 8001..9001
         1100 > 9001..10001
         1100 ? resent 2",
    );
}

#[test]
fn tahoe_halves_whole_segments_of_the_window_in_use() {
    // The peer's window of 5,500 B is in use, not the 8,000 B of cwnd: half is 2.75 segments.
    eight_out(
        config(Variant::Tahoe),
        "150 < 1 ack 1001 win 5500
         200 < 1 ack 1001 x3
         200 > 1001..2001
         200 ? cwnd 1000 ssthresh 2000",
    );
}

#[test]
fn reno_halves_inflates_and_deflates() {
    eight_out(
        config(Variant::Reno),
        "200 < 1 ack 1 x3
         200 > 1..1001
         # half of 8 segments, and 3 that have left
         200 ? cwnd 7000 ssthresh 4000 recovery true fast 1
         200 < 1 ack 1
         200 ? cwnd 8000
         200 < 1 ack 1
         200 > 8001..9001
         200 < 1 ack 1 x2
         200 > 9001..10001
         200 > 10001..11001
         200 ? cwnd 11000 flight 11000
         300 < 1 ack 8001
         300 > 11001..12001
         300 ? cwnd 4000 ssthresh 4000 recovery false flight 4000",
    );
}

#[test]
fn reno_leaves_recovery_at_a_partial_acknowledgement() {
    eight_out(
        config(Variant::Reno),
        "200 < 1 ack 1 x3
         200 > 1..1001
         300 < 1 ack 3001
         300 ? cwnd 4000 recovery false flight 5000
         # the second hole waits for the timer; of the flight at most the window of 4000 is in the network
         1000 > 3001..4001
         1000 ? cwnd 1000 ssthresh 2000 timeouts 1",
    );
}

/// Duplicates have allowed three segments beyond the first eight, and all but the first have left the network: half of
/// the FlightSize of 11000 is more than the ssthresh that the loss has set.
#[test]
fn a_timeout_in_recovery_does_not_raise_ssthresh() {
    for variant in [Variant::Reno, Variant::NewReno] {
        eight_out(
            config(variant),
            "200  < 1 ack 1 x3
             200  > 1..1001
             200  < 1 ack 1 x4
             200  > 8001..9001
             200  > 9001..10001
             200  > 10001..11001
             200  ? cwnd 11000 ssthresh 4000 flight 11000 recovery true
             1000 > 1..1001
             1000 ? cwnd 1000 ssthresh 4000 timeouts 1 recovery false",
        );
    }
}

/// RFC 5681 §3.1, equation 4 remains an upper bound: little of the flight at the loss is outstanding, and no more data
/// are sent.
#[test]
fn a_timeout_in_recovery_halves_what_is_outstanding_if_that_is_less() {
    connected(
        config(Variant::NewReno),
        "100  do write 8000
         100  > 1..1001
         100  > 1001..2001
         100  > 2001..3001
         100  > 3001..4001
         100  > 4001..5001
         100  > 5001..6001
         100  > 6001..7001
         100  > 7001..8001
         200  < 1 ack 1 x3
         200  > 1..1001
         300  < 1 ack 5001
         300  > 5001..6001
         300  ? ssthresh 4000 flight 3000 recovery true
         1000 > 5001..6001
         1000 ? cwnd 1000 ssthresh 2000 timeouts 1",
    );
}

#[test]
fn limited_transmit_sends_two_segments_that_do_not_count() {
    for (variant, cwnd) in [(Variant::Reno, 7000), (Variant::NewReno, 7000)] {
        eight_out(
            TcpSpec { limited_transmit: true, ..config(variant) },
            &format!(
                "200 < 1 ack 1
                 200 > 8001..9001
                 200 < 1 ack 1
                 200 > 9001..10001
                 200 ? cwnd 8000 flight 10000
                 200 < 1 ack 1
                 200 > 1..1001
                 200 ? cwnd {cwnd} ssthresh 4000"
            ),
        );
    }
}

#[test]
fn newreno_repairs_a_hole_for_each_partial_acknowledgement() {
    // The first and third segment are lost.
    eight_out(
        config(Variant::NewReno),
        "200 < 1 ack 1 x3
         200 > 1..1001
         200 ? cwnd 7000 ssthresh 4000
         200 < 1 ack 1 x3
         200 > 8001..9001
         200 > 9001..10001
         200 ? cwnd 10000 flight 10000
         # partial: 10000 - 2000 + 1000
         300 < 1 ack 2001
         300 > 2001..3001
         300 > 10001..11001
         300 ? cwnd 9000 ssthresh 4000 recovery true
         300 < 1 ack 2001 x2
         300 > 11001..12001
         300 > 12001..13001
         # full: min(ssthresh, flight of 3 segments + 1)
         400 < 1 ack 10001
         400 > 13001..14001
         400 ? cwnd 4000 ssthresh 4000 recovery false resent 2 fast 1 timeouts 0",
    );
}

#[test]
fn newreno_leaves_recovery_without_a_burst() {
    eight_out(
        config(Variant::NewReno),
        "200 < 1 ack 1 x3
         200 > 1..1001
         # nothing is outstanding: one segment and one more
         300 < 1 ack 8001
         300 > 8001..9001
         300 > 9001..10001
         300 ? cwnd 2000 ssthresh 4000",
    );
}

#[test]
fn newreno_restarts_the_timer_at_the_first_partial_acknowledgement_only() {
    eight_out(
        config(Variant::NewReno),
        "200  < 1 ack 1 x3
         200  > 1..1001
         200  ? deadline 1000
         600  < 1 ack 1001
         600  > 1001..2001
         600  ? deadline 1500
         1100 < 1 ack 2001
         1100 > 2001..3001
         1100 > 8001..9001
         1100 ? deadline 1500
         1500 > 2001..3001
         1500 ? recovery false cwnd 1000",
    );
}

#[test]
fn newreno_takes_no_duplicates_for_a_loss_that_a_timeout_has_met() {
    eight_out(
        config(Variant::NewReno),
        "1000 > 1..1001
         1000 ? cwnd 1000 ssthresh 4000
         1100 < 1 ack 1001
         1100 > 1001..2001
         1100 > 2001..3001
         # duplicates below what was sent before the timeout
         1200 < 1 ack 1001 x3
         1200 ? recovery false fast 0 cwnd 2000",
    );
}

#[test]
fn a_loss_right_after_recovery() {
    eight_out(
        config(Variant::Reno),
        "200 < 1 ack 1 x3
         200 > 1..1001
         300 < 1 ack 8001
         300 > 8001..9001
         300 > 9001..10001
         300 > 10001..11001
         300 > 11001..12001
         400 < 1 ack 8001 x3
         400 > 8001..9001
         400 > 12001..13001
         400 ? cwnd 5000 ssthresh 2000 fast 2",
    );
    // RFC 6582 3.2 (2): duplicates at the recovery point itself may report spurious retransmissions.
    eight_out(
        config(Variant::NewReno),
        "200 < 1 ack 1 x3
         200 > 1..1001
         300 < 1 ack 8001
         300 > 8001..9001
         300 > 9001..10001
         400 < 1 ack 8001 x3
         400 ? cwnd 2000 recovery false fast 1
         500 < 1 ack 9001
         500 > 10001..11001
         500 > 11001..12001
         600 < 1 ack 9001 x3
         600 > 9001..10001
         600 > 12001..13001
         600 > 13001..14001
         600 ? cwnd 5000 ssthresh 2000 recovery true fast 2",
    );
}

#[test]
fn a_timeout_takes_every_variant_to_one_segment() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        // Tahoe computes ssthresh again from a window of one segment; RFC 5681 leaves it.
        let again = if variant == Variant::Tahoe { 2000 } else { 4000 };
        eight_out(
            config(variant),
            &format!(
                "1000 > 1..1001
                 1000 ? cwnd 1000 ssthresh 4000 timeouts 1 rto 2000 flight 1000
                 3000 > 1..1001
                 3000 ? cwnd 1000 ssthresh {again} timeouts 2 rto 4000
                 3100 < 1 ack 1001
                 3100 > 1001..2001
                 3100 > 2001..3001
                 3100 ? cwnd 2000"
            ),
        );
    }
}

#[test]
fn backoff_goes_to_the_ceiling_and_then_gives_up() {
    connected(
        TcpSpec { max_retransmissions: 8, ..config(Variant::Tahoe) },
        "100    do write 500
         100    > 1..501
         1000   > 1..501
         3000   > 1..501
         7000   > 1..501
         15000  > 1..501
         31000  > 1..501
         63000  > 1..501
         127000 > 1..501
         127000 ? rto 64000
         191000 > 1..501
         255000 > RST 501 ack 1
         255000 ! TimedOut
         255000 ? state Closed",
    );
}

#[test]
fn karn_keeps_the_backed_off_timeout_until_new_data_is_measured() {
    connected(
        config(Variant::Tahoe),
        "100  ? srtt 0 rto 1000
         100  do write 1000
         100  > 1..1001
         1000 > 1..1001
         3000 > 1..1001
         # whichever copy this acknowledges, it measures nothing
         3100 < 1 ack 1001
         3100 ? rto 4000 srtt 0
         3200 do write 1000
         3200 > 1001..2001
         3200 ? deadline 7000
         3800 < 1 ack 2001
         # one tick between: SRTT = 500/8, RTTVAR = 500/4, RTO = 62.5 + 500 but at least 1 s
         3800 ? srtt 62.5 rto 1000",
    );
}

#[test]
fn an_acknowledgement_of_new_data_starts_the_timer_anew() {
    eight_out(
        config(Variant::Reno),
        "700 < 1 ack 1001
         700 > 8001..9001
         700 > 9001..10001
         700 ? deadline 1500",
    );
}

#[test]
fn what_is_no_duplicate_does_not_count() {
    eight_out(
        config(Variant::Reno),
        "200 < 1 ack 1 win 49999
         200 < 1 ack 1 win 49998
         200 < 1 ack 1 win 49997
         200 < 1..11 ack 1
         200 > 8001 ack 11
         200 ? fast 0 recovery false
         # acknowledging more than was sent is answered and ignored
         210 < 11 ack 9001
         210 > 8001 ack 11
         210 ? flight 8000",
    );
}

#[test]
fn a_duplicate_threshold_can_be_chosen() {
    eight_out(
        TcpSpec { duplicate_threshold: 5, ..config(Variant::Reno) },
        "200 < 1 ack 1 x4
         200 ? recovery false
         200 < 1 ack 1
         200 > 1..1001
         200 > 8001..9001
         200 ? cwnd 9000 ssthresh 4000",
    );
}

#[test]
fn newreno_puts_no_segment_back_for_less_than_a_segment() {
    eight_out(
        config(Variant::NewReno),
        "200 < 1 ack 1 x3
         200 > 1..1001
         300 < 1 ack 501
         300 > 501..1501
         300 ? cwnd 6500 recovery true",
    );
}
