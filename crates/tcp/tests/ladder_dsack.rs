//! Reports of data that arrive twice: D-SACK (RFC 2883), the receiver's side.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{AckDelay, TcpSpec, Variant};
use cellway_units::{Bytes, Span};
use common::ladder::connected;

/// Segments of 500 B, each acknowledged.
fn config() -> TcpSpec {
    TcpSpec { variant: Variant::Sack, mss: Bytes(500), window: Bytes(8000), dsack: true, ..TcpSpec::default() }
}

/// RFC 2883 §4.1: two acknowledgements are lost, and a segment is sent again. It is reported once.
#[test]
fn a_duplicate_below_the_acknowledgement_is_reported() {
    connected(
        config(),
        "100 < 1..501 ack 1
         100 > 1 ack 501
         110 < 501..1001 ack 1
         110 > 1 ack 1001
         120 < 1..501 ack 1
         120 > 1 ack 1001 sack 1..501
         130 < 1001..1501 ack 1
         130 > 1 ack 1501",
    );
}

/// RFC 2883 §4.2: the same while a later segment waits for a lost one.
#[test]
fn a_duplicate_goes_before_what_lies_beyond_a_gap() {
    connected(
        config(),
        "100 < 1..501 ack 1
         100 > 1 ack 501
         110 < 501..1001 ack 1
         110 > 1 ack 1001
         120 < 1501..2001 ack 1
         120 > 1 ack 1001 sack 1501..2001
         130 < 1..501 ack 1
         130 > 1 ack 1001 sack 1..501,1501..2001
         140 < 1001..1501 ack 1
         140 > 1 ack 2001",
    );
}

/// RFC 2883 §4.3: the duplicate lies inside the second block.
#[test]
fn a_duplicate_beyond_a_gap_goes_before_the_block_with_it() {
    connected(
        config(),
        "100 < 1..501 ack 1
         100 > 1 ack 501
         110 < 1001..1501 ack 1
         110 > 1 ack 501 sack 1001..1501
         120 < 1501..2001 ack 1
         120 > 1 ack 501 sack 1001..2001
         130 < 1501..2001 ack 1
         130 > 1 ack 501 sack 1501..2001,1001..2001
         # the block with the latest segment stays first of the others
         140 < 3001..3501 ack 1
         140 > 1 ack 501 sack 3001..3501,1001..2001
         150 < 1001..1501 ack 1
         150 > 1 ack 501 sack 1001..1501,1001..2001,3001..3501",
    );
}

/// RFC 2883 §4.4: the sender has joined two segments, of which the first was only late.
#[test]
fn a_part_of_a_segment_is_reported() {
    connected(
        config(),
        "100 < 1..501 ack 1
         100 > 1 ack 501
         110 < 1501..2001 ack 1
         110 > 1 ack 501 sack 1501..2001
         120 < 501..1001 ack 1
         120 > 1 ack 1001 sack 1501..2001
         130 < 501..1501 ack 1
         130 > 1 ack 2001 sack 501..1001",
    );
}

/// RFC 2883 §4.5: of two duplicate parts the first is reported.
#[test]
fn of_two_parts_the_first_is_reported() {
    connected(
        config(),
        "100 < 1..501 ack 1
         100 > 1 ack 501
         110 < 2501..3001 ack 1
         110 > 1 ack 501 sack 2501..3001
         120 < 501..1001 ack 1
         120 > 1 ack 1001 sack 2501..3001
         130 < 1501..2001 ack 1
         130 > 1 ack 1001 sack 1501..2001,2501..3001
         140 < 501..2001 ack 1
         140 > 1 ack 2001 sack 501..1001,2501..3001",
    );
}

/// A part is reported at once, too, where new data would wait for a delayed acknowledgement.
#[test]
fn a_report_is_not_delayed() {
    connected(
        TcpSpec { delayed_ack: AckDelay(Some(Span::from_ms(200))), ..config() },
        "100 < 1..401 ack 1
         300 > 1 ack 401
         310 < 301..601 ack 1
         310 > 1 ack 601 sack 301..401",
    );
}

/// The FIN counts as a byte.
#[test]
fn a_second_fin_is_reported() {
    connected(
        config(),
        "100 < FIN 1..501 ack 1
         100 > 1 ack 502
         100 ! PeerClosed
         200 < FIN 1..501 ack 1
         200 > 1 ack 502 sack 1..502",
    );
}

/// With timestamps there is room for three blocks. A segment that PAWS drops is a duplicate like others: the first
/// transmission, which the second has overtaken. Linux, tcp_send_dupack().
#[test]
fn a_late_first_transmission_is_reported() {
    connected(
        TcpSpec { mss: Bytes(512), timestamps: true, timer_granularity: Span::from_ms(1), ..config() },
        "200 < 1..501 ack 1 ts 150 100
         200 > 1 ack 501
         210 < 501..1001 ack 1 ts 180 100
         210 > 1 ack 1001
         220 < 501..1001 ack 1 ts 160 100
         220 > 1 ack 1001 sack 501..1001
         220 ? old 1
         230 < 1501..2001 ack 1 ts 190 100
         230 > 1 ack 1001 sack 1501..2001
         240 < 2501..3001 ack 1 ts 190 100
         240 > 1 ack 1001 sack 2501..3001,1501..2001
         250 < 3501..4001 ack 1 ts 190 100
         250 > 1 ack 1001 sack 3501..4001,2501..3001,1501..2001
         260 < 1501..2001 ack 1 ts 190 100
         260 > 1 ack 1001 sack 1501..2001,1501..2001,3501..4001",
    );
}

/// Without the key duplicates are acknowledged as before.
#[test]
fn without_the_key_nothing_is_reported() {
    connected(
        TcpSpec { dsack: false, ..config() },
        "100 < 1..501 ack 1
         100 > 1 ack 501
         120 < 1..501 ack 1
         120 > 1 ack 501",
    );
}
