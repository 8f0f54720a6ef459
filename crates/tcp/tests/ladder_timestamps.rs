//! The timestamps option (RFC 7323): its negotiation, its measurements, and the segments that it rejects.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{AckDelay, TcpSpec, Variant};
use cellway_units::{Bytes, Span};
use common::ladder::{client, connected, server};

/// Segments of 1012 B, of which the option takes 12.
fn config() -> TcpSpec {
    TcpSpec {
        variant: Variant::NewReno,
        mss: Bytes(1012),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        timestamps: true,
        initial_window: 4,
        rto_min: Span::from_ms(200),
        timer_granularity: Span::from_ms(1),
        ..TcpSpec::default()
    }
}

#[test]
fn both_syns_must_carry_the_option() {
    let agreed = client(
        config(),
        "7 do connect
         7 > SYN 0 ts 7 none
         107 < SYN 0 ack 1 win 50000 mss 1012 ts 30 7
         107 > 1 ack 1 ts 107 30
         107 ! Connected
         110 do write 3000
         110 > 1..1001 ts 110 30
         110 > 1001..2001 ts 110 30
         110 > 2001..3001 ts 110 30",
    );
    assert_eq!(agreed.endpoint.mss(), 1000);
    let refused = client(
        config(),
        "7 do connect
         7 > SYN 0 ts 7 none
         107 < SYN 0 ack 1 win 50000 mss 1012
         107 > 1 ack 1
         107 ! Connected
         110 do write 1012
         110 > 1..1013",
    );
    assert_eq!(refused.endpoint.mss(), 1012);
}

#[test]
fn an_answer_carries_it_only_if_it_was_offered() {
    server(
        config(),
        "5 < SYN 0 win 50000 mss 1012 ts 900 none
         5 > SYN 0 ack 1 ts 5 900
         55 < 1 ack 1 ts 950 5
         55 ! Connected
         55 ? srtt 50",
    );
    let plain = TcpSpec { timestamps: false, ..config() };
    server(plain, "5 < SYN 0 win 50000 mss 1012 ts 900 none\n5 > SYN 0 ack 1");
    server(config(), "5 < SYN 0 win 50000 mss 1012\n5 > SYN 0 ack 1");
}

/// RFC 7323 §4.3: the acknowledgement of several segments echoes the first, so the delay is measured too.
#[test]
fn a_delayed_acknowledgement_echoes_the_oldest_segment() {
    let config = TcpSpec { delayed_ack: AckDelay(Some(Span::from_ms(200))), ..config() };
    connected(
        config,
        "200 < 1..1001 ack 1 ts 150 100
         250 < 1001..2001 ack 1 ts 200 100
         250 > 1 ack 2001 ts 250 150
         300 < 2001..3001 ack 1 ts 250 100
         500 > 1 ack 3001 ts 500 250",
    );
}

/// RFC 7323 §4.3, the example with a gap: data that arrive early are not echoed before the gap is filled.
#[test]
fn a_segment_beyond_a_gap_is_not_echoed() {
    connected(
        config(),
        "200 < 1..1001 ack 1 ts 150 100
         200 > 1 ack 1001 ts 200 150
         202 < 2001..3001 ack 1 ts 152 100
         202 > 1 ack 1001 ts 202 150
         204 < 1001..2001 ack 1 ts 154 100
         204 > 1 ack 3001 ts 204 154",
    );
}

/// Each acknowledgement of new data is measured, with the full weight of RFC 6298 (2.3).
#[test]
fn every_acknowledgement_of_new_data_is_measured() {
    connected(
        config(),
        "100 ? srtt 100 rto 300
         200 do write 4000
         200 > 1..1001 ts 200 50
         200 > 1001..2001 ts 200 50
         200 > 2001..3001 ts 200 50
         200 > 3001..4001 ts 200 50
         # 100 + (132 - 100) / 8
         332 < 1 ack 1001 ts 280 200
         332 ? srtt 104
         # 104 + (136 - 104) / 8
         336 < 1 ack 2001 ts 282 200
         336 ? srtt 108
         # an old echo on an acknowledgement of nothing new tells nothing
         350 < 1 ack 2001 ts 300 1
         350 ? srtt 108
         # 108 + (172 - 108) / 8
         372 < 1 ack 3001 ts 310 200
         372 ? srtt 116
         ",
    );
}

/// Karn's rule is not needed: the echo shows which transmission is acknowledged, and ends the backoff.
#[test]
fn a_resent_segment_is_measured() {
    connected(
        config(),
        "200 do write 1000
         200 > 1..1001 ts 200 50
         500 > 1..1001 ts 500 50
         500 ? rto 600
         580 < 1 ack 1001 ts 530 500
         # 100 + (80 - 100) / 8; RTTVAR 3/4 50 + 20/4
         580 ? srtt 97.5 rto 267.5 timeouts 1",
    );
    let without = TcpSpec { timestamps: false, ..config() };
    connected(
        without,
        "200 do write 1000
         200 > 1..1001
         500 > 1..1001
         580 < 1 ack 1001
         580 ? srtt 100 rto 600 timeouts 1",
    );
}

/// PAWS: RFC 7323 §5.3.
#[test]
fn a_segment_from_before_is_answered_and_dropped() {
    connected(
        config(),
        "200 < 1..1001 ack 1 ts 150 100
         200 > 1 ack 1001 ts 200 150
         # the sequence number fits, as after a wrap; the timestamp tells
         210 < 1001..2001 ack 1 ts 149 100
         210 > 1 ack 1001 ts 210 150
         210 ? old 1
         # the same timestamp is no older
         220 < 1001..2001 ack 1 ts 150 100
         220 > 1 ack 2001 ts 220 150
         # without the option: dropped in silence
         230 < 2001..3001 ack 1
         230 ? old 2
         # a reset passes
         240 < RST 2001 ts 3 100
         240 ! Reset
         240 ? old 2",
    );
}

#[test]
fn an_old_acknowledgement_moves_nothing() {
    connected(
        config(),
        "200 do write 2000
         200 > 1..1001
         200 > 1001..2001
         210 < 1..1001 ack 1 ts 160 100
         210 > 2001 ack 1001 ts 210 160
         220 < 1001 ack 2001 ts 159 200
         220 > 2001 ack 1001 ts 220 160
         220 ? flight 2000 srtt 100 old 1
         300 < 1001 ack 2001 ts 161 200
         300 ? flight 0",
    );
}

/// Blocks next to the option: three at most, and none in a full segment.
#[test]
fn three_sack_blocks_fit_beside_it() {
    connected(
        TcpSpec { variant: Variant::Sack, ..config() },
        "200 < 1001..2001 ack 1 ts 150 100
         200 > 1 ack 1 sack 1001..2001 ts 200 50
         200 < 3001..4001 ack 1 ts 150 100
         200 > 1 ack 1 sack 3001..4001,1001..2001
         200 < 5001..6001 ack 1 ts 150 100
         200 > 1 ack 1 sack 5001..6001,3001..4001,1001..2001
         200 < 7001..8001 ack 1 ts 150 100
         200 > 1 ack 1 sack 7001..8001,5001..6001,3001..4001
         300 do write 1000
         300 > 1..1001",
    );
}
