//! Samples of the delivery rate: draft-ietf-ccwg-bbr, section "Delivery Rate Samples".
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{Config, TcpSpec, Variant};
use cellway_units::Bytes;
use common::ladder::connected;

fn config(variant: Variant) -> TcpSpec {
    TcpSpec {
        variant,
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 4,
        ..TcpSpec::default()
    }
}

fn measured(tcp: TcpSpec) -> Config {
    Config { delivery_rate: true, ..tcp.into() }
}

/// Four segments at 100 ms, acknowledged 10 ms apart from 200 ms on: 1 to 4 segments over 100 to 130 ms.
#[test]
fn samples_follow_the_acknowledgements_in_any_recovery() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Cubic] {
        connected(
            measured(config(variant)),
            "100 do write 4000
             100 > 1..1001
             100 > 1001..2001
             100 > 2001..3001
             100 > 3001..4001
             100 ? rate none
             200 < 1 ack 1001
             200 ? rate 80000
             210 < 1 ack 2001
             210 ? rate 145454
             220 < 1 ack 3001
             220 ? rate 200000
             230 < 1 ack 4001
             230 ? rate 246153",
        );
    }
}

/// The application had no data to send when the connection was set up, and has none from 100 ms on: data sent before
/// that data are delivered are limited by it. From 200 ms on the window limits the sender.
#[test]
fn an_application_that_runs_dry_limits_samples() {
    connected(
        measured(TcpSpec { initial_window: 2, ..config(Variant::Reno) }),
        "100 do write 1000
         100 > 1..1001
         150 do write 4000
         150 > 1001..2001
         200 < 1 ack 1001
         200 > 2001..3001
         200 > 3001..4001
         200 ? rate 80000 limited true
         250 < 1 ack 2001
         250 > 4001..5001
         250 ? limited true
         300 do write 20000
         300 > 5001..6001
         300 < 1 ack 3001
         300 > 6001..7001
         300 > 7001..8001
         350 < 1 ack 5001
         350 > 8001..9001
         350 > 9001..10001
         350 > 10001..11001
         400 < 1 ack 8001
         400 > 11001..12001
         400 > 12001..13001
         400 > 13001..14001
         400 > 14001..15001
         # sent before the 5000 B of 250 ms were delivered
         400 ? limited true
         450 < 1 ack 12001
         450 > 15001..16001
         450 > 16001..17001
         450 > 17001..18001
         450 > 18001..19001
         450 > 19001..20001
         450 ? limited false",
    );
}

/// SACKed data count as delivered; retransmissions are measured from their last transmission.
#[test]
fn selective_acknowledgements_deliver() {
    connected(
        measured(config(Variant::Sack)),
        "100 do write 4000
         100 > 1..1001
         100 > 1001..2001
         100 > 2001..3001
         100 > 3001..4001
         200 < 1 ack 1 sack 1001..4001
         200 > 1..1001
         # the rescue of the highest that is not SACKed
         200 > 1..1001
         # 3000 B in 100 ms
         200 ? rate 240000
         300 < 1 ack 4001
         300 ? rate 80000",
    );
}

#[test]
fn no_samples_without_the_option() {
    connected(
        config(Variant::Sack),
        "100 do write 1000
         100 > 1..1001
         200 < 1 ack 1001
         200 ? rate none",
    );
}
