//! Receiving: reassembly, when to acknowledge, which window to announce.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{AckDelay, Config, TcpSpec};
use cellway_units::{Bytes, Span};
use common::ladder::connected;

fn config() -> TcpSpec {
    TcpSpec { mss: Bytes(500), window: Bytes(8000), ..TcpSpec::default() }
}
fn delayed() -> TcpSpec {
    TcpSpec { delayed_ack: AckDelay(Some(Span::from_ms(200))), ..config() }
}
/// Returns the configuration of an application that reads only at the steps of the script.
fn slow_reader(tcp: TcpSpec) -> Config {
    Config { immediate_read: false, ..tcp.into() }
}

#[test]
fn every_segment_is_acknowledged_without_delay() {
    connected(
        config(),
        "100 < 1..501 ack 1
         100 ! Readable 500
         100 > 1 ack 501 win 8000
         110 < 501..511 ack 1
         110 > 1 ack 511 win 8000
         110 ? readable 0",
    );
}

#[test]
fn a_delayed_acknowledgement_goes_with_the_second_full_segment_or_the_timer() {
    connected(
        delayed(),
        "100 < 1..501 ack 1
         100 ? timer DelayedAck deadline 300
         110 < 501..1001 ack 1
         110 > 1 ack 1001
         110 ? deadline none
         # small segments do not make two full ones
         200 < 1001..1101 ack 1
         210 < 1101..1201 ack 1
         220 < 1201..1301 ack 1
         400 > 1 ack 1301",
    );
}

#[test]
fn a_delayed_acknowledgement_rides_on_data() {
    connected(
        delayed(),
        "100 < 1..101 ack 1
         150 do write 100
         150 > 1..101 ack 101
         150 ? timer Retransmit
         160 < 101 ack 101
         160 ? deadline none",
    );
}

#[test]
fn gaps_and_their_filling_are_acknowledged_at_once() {
    connected(
        delayed(),
        "100 < 501..1001 ack 1
         100 > 1 ack 1
         110 < 1501..2001 ack 1
         110 > 1 ack 1
         # fills part of a gap
         120 < 1..501 ack 1
         120 ! Readable 1000
         120 > 1 ack 1001
         130 < 1001..1501 ack 1
         130 ! Readable 1000
         130 > 1 ack 2001
         140 < 2001..2101 ack 1
         140 ? timer DelayedAck deadline 340
         150 < 3001..3501 ack 1
         150 > 1 ack 2101
         # fills part of a gap without reaching what lies beyond
         160 < 2101..2601 ack 1
         160 > 1 ack 2601",
    );
}

#[test]
fn duplicates_and_overlaps_are_trimmed() {
    let ladder = connected(
        delayed(),
        "100 < 1..501 ack 1
         # an old duplicate is acknowledged at once
         110 < 1..501 ack 1
         110 > 1 ack 501
         120 < 301..701 ack 1
         120 ! Readable 200
         # overlaps on both sides of what is held
         130 < 901..1101 ack 1
         130 > 1 ack 701
         140 < 801..1301 ack 1
         140 > 1 ack 701
         150 < 601..1001 ack 1
         150 ! Readable 600
         150 > 1 ack 1301",
    );
    assert_eq!(ladder.endpoint.stats().bytes_received, 1300);
    assert_eq!(ladder.endpoint.stats().duplicates_received, 1);
    assert_eq!(ladder.endpoint.stats().out_of_order_received, 2);
}

#[test]
fn what_lies_beyond_the_window_is_cut_off() {
    connected(
        slow_reader(TcpSpec { window: Bytes(1000), ..config() }),
        "100 < 501..1501 ack 1
         100 > 1 ack 1 win 1000
         110 < 1..501 ack 1
         110 ! Readable 1000
         110 > 1 ack 1001 win 0
         120 < 1001..1002 ack 1
         120 > 1 ack 1001 win 0
         130 < 1501..1502 ack 1
         130 > 1 ack 1001 win 0",
    );
}

#[test]
fn the_window_opens_by_a_segment_or_half_the_buffer() {
    connected(
        slow_reader(TcpSpec { window: Bytes(1000), ..config() }),
        "100 < 1..501 ack 1
         100 > 1 ack 501 win 500
         110 < 501..1001 ack 1
         110 > 1 ack 1001 win 0
         # too little to tell
         120 do consume 499
         120 ? readable 501
         130 do consume 1
         130 > 1 ack 1001 win 500
         140 do consume 400
         150 do consume 1000
         150 > 1 ack 1001 win 1000
         150 ? readable 0",
    );
}

#[test]
fn a_wide_window_is_updated_by_two_segments() {
    connected(
        slow_reader(TcpSpec { delayed_ack: AckDelay(Some(Span::from_ms(200))), ..config() }),
        "100 < 1..501 ack 1
         110 do consume 500
         120 < 501..1001 ack 1
         120 > 1 ack 1001 win 7500
         130 do consume 500
         130 < 1001..1501 ack 1
         140 < 1501..2001 ack 1
         140 > 1 ack 2001 win 7000
         150 do consume 1000
         150 > 1 ack 2001 win 8000",
    );
}

#[test]
fn rounding_never_takes_back_what_was_promised() {
    // With a shift of 2 windows count in fours, rounded up.
    let config = slow_reader(TcpSpec { window_scaling: true, window: Bytes(200_000), ..config() });
    common::ladder::client(
        config,
        "0 do connect
         0 > SYN 0 ws 2
         9 < SYN 0 ack 1 ws 0 mss 500
         9 > 1 ack 1 win 50000
         9 ! Connected
         # the edge stands at 200,001: 199,999 left are 49,999.75 units
         9 < 1..3 ack 1
         9 > 1 ack 3 win 50000
         9 < 3..6 ack 1
         9 > 1 ack 6 win 49999",
    );
}

#[test]
fn resets_count_at_the_expected_number_only() {
    connected(
        config(),
        "100 < RST 9001
         100 ? state Established
         # in the window: challenged
         110 < RST 101
         110 > 1 ack 1
         120 < RST 1
         120 ! Reset
         120 ? state Closed deadline none",
    );
}

#[test]
fn a_syn_in_an_open_connection_is_challenged() {
    connected(
        config(),
        "100 < SYN 1 mss 500
         100 > 1 ack 1
         110 < SYN 0 ack 1 mss 500
         110 > 1 ack 1
         110 ? state Established",
    );
}

#[test]
fn an_old_empty_segment_is_answered() {
    connected(
        config(),
        "100 < 1..11 ack 1
         100 > 1 ack 11
         110 < 10 ack 1
         110 > 1 ack 11",
    );
}

#[test]
fn a_segment_without_acknowledgement_is_dropped() {
    connected(config(), "100 < 1..11\n100 ? readable 0 state Established");
}

#[test]
fn a_gap_is_told_in_a_segment_without_data() {
    // The acknowledgement releases data, but on data the peer would not count the duplicate.
    connected(
        config(),
        "100 do write 1500
         100 > 1..501
         200 < 501..1001 ack 501
         200 > 501 ack 1
         200 > 501..1001 ack 1
         200 > 1001..1501 ack 1",
    );
}

#[test]
fn a_window_that_was_nearly_closed_reopens_by_two_segments() {
    connected(
        slow_reader(TcpSpec { window: Bytes(3000), ..config() }),
        "100 < 1..501 ack 1
         100 > 1 ack 501 win 2500
         100 < 501..2901 ack 1
         100 > 1 ack 2901 win 100
         110 do consume 999
         120 do consume 1
         120 > 1 ack 2901 win 1100
         130 do consume 999
         140 do consume 1
         140 > 1 ack 2901 win 2100
         # an acknowledgement that goes anyway tells of less: a segment
         150 do consume 500
         160 < 2901..2951 ack 1
         160 > 1 ack 2951 win 2550",
    );
}

#[test]
fn an_odd_last_segment_waits_for_the_timer() {
    connected(
        delayed(),
        "100 < 1..501 ack 1
         101 < 501..1001 ack 1
         101 > 1 ack 1001
         102 < 1001..1501 ack 1
         103 < 1501..2001 ack 1
         103 > 1 ack 2001
         104 < 2001..2501 ack 1
         304 > 1 ack 2501
         # short segments do not make a full one, but the end is acknowledged at once
         400 < 2501..2900 ack 1
         401 < 2900..3299 ack 1
         402 < FIN 3299..3300 ack 1
         402 ! PeerClosed
         402 > 1 ack 3301",
    );
}

#[test]
fn a_reader_of_half_the_buffer_is_as_good_as_two_segments() {
    // Half of 1,000 B is a segment, half of 2,001 B one byte more than two.
    connected(
        TcpSpec { window: Bytes(1000), ..delayed() },
        "100 < 1..500 ack 1
         100 ? timer DelayedAck deadline 300
         110 < 500..501 ack 1
         110 > 1 ack 501 win 1000
         110 ? deadline none",
    );
    connected(
        TcpSpec { window: Bytes(2001), ..delayed() },
        "100 < 1..501 ack 1
         110 < 501..1000 ack 1
         110 ? timer DelayedAck deadline 300
         120 < 1000..1001 ack 1
         120 > 1 ack 1001 win 2001",
    );
    // One that does not read waits for two segments and announces the rest.
    connected(
        slow_reader(TcpSpec { window: Bytes(1500), ..delayed() }),
        "100 < 1..501 ack 1
         110 < 501..1000 ack 1
         110 ? timer DelayedAck deadline 300
         120 < 1000..1001 ack 1
         120 > 1 ack 1001 win 500",
    );
}

#[test]
fn an_update_for_the_reader_carries_the_acknowledgement() {
    connected(
        slow_reader(TcpSpec { window: Bytes(1000), ..delayed() }),
        "100 < 1..501 ack 1
         100 ? timer DelayedAck deadline 300
         110 do consume 500
         110 > 1 ack 501 win 1000
         110 ? deadline none readable 0",
    );
    // Too little for an update: the timer acknowledges, and that announces the reading.
    connected(
        slow_reader(delayed()),
        "100 < 1..501 ack 1
         110 do consume 500
         300 > 1 ack 501 win 8000",
    );
}

#[test]
fn a_slow_reader_closes_and_reopens_the_window() {
    let ladder = connected(
        slow_reader(TcpSpec { window: Bytes(2000), ..config() }),
        "100 < 1..501 ack 1
         100 > 1 ack 501 win 1500
         100 < 501..1001 ack 1
         100 > 1 ack 1001 win 1000
         100 < 1001..1501 ack 1
         100 > 1 ack 1501 win 500
         100 < 1501..2001 ack 1
         100 > 1 ack 2001 win 0
         # a probe is refused and answered
         1100 < 2001..2002 ack 1
         1100 > 1 ack 2001 win 0
         1100 ? readable 2000
         1200 do consume 600
         # it stands beyond what was promised, but is told of more than a segment
         2100 < 2001..2002 ack 1
         2100 > 1 ack 2001 win 600
         2200 do consume 999
         2300 do consume 1
         2300 > 1 ack 2001 win 1600
         2400 < 2001..3501 ack 1
         2400 ! Readable 1500
         2400 > 1 ack 3501 win 100
         # the end needs no room; what is unread stays, and nothing more is announced
         2500 < FIN 3501 ack 1
         2500 ! PeerClosed
         2500 > 1 ack 3502
         2600 do consume 5000
         2600 ? readable 0 state CloseWait",
    );
    assert_eq!(ladder.endpoint.stats().bytes_received, 3500);
}
