//! Connection setup: the three-way handshake and the negotiation of options.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{State, TcpSpec, Variant};
use cellway_units::Bytes;
use common::ladder::{client, connected, server};

#[test]
fn three_way_handshake_of_the_client() {
    client(
        TcpSpec::default(),
        "0   do connect
         0   ? state SynSent
         0   > SYN 0 win 8192 mss 512
         90  < SYN 0 ack 1 win 8192 mss 512
         90  > 1 ack 1 win 8192
         90  ! Connected
         90  ? state Established cwnd 512 deadline none",
    );
}

#[test]
fn three_way_handshake_of_the_server() {
    server(
        TcpSpec::default(),
        "0   ? state Listen
         0   < SYN 0 win 4096 mss 512
         0   > SYN 0 ack 1 win 8192 mss 512
         0   ? state SynReceived
         90  < 1 ack 1
         90  ! Connected
         90  ? state Established window 512",
    );
}

#[test]
fn data_on_the_handshake_acknowledgement_is_taken() {
    server(
        TcpSpec::default(),
        "0   < SYN 0 mss 512
         0   > SYN 0 ack 1
         90  < 1..101 ack 1
         90  ! Connected
         90  ! Readable 100
         90  > 1 ack 101",
    );
}

#[test]
fn the_smaller_mss_is_used_and_536_without_an_option() {
    let config = TcpSpec { mss: Bytes(1460), ..TcpSpec::default() };
    let script = |option: &str| {
        format!(
            "0 do connect
             0 > SYN 0 mss 1460
             9 < SYN 0 ack 1 {option}
             9 > 1 ack 1
             9 ! Connected"
        )
    };
    assert_eq!(client(config, &script("mss 512")).endpoint.mss(), 512);
    assert_eq!(client(config, &script("mss 9000")).endpoint.mss(), 1460);
    assert_eq!(client(config, &script("")).endpoint.mss(), 536);
}

#[test]
fn both_open_at_once() {
    client(
        TcpSpec::default(),
        "0   do connect
         0   > SYN 0
         10  < SYN 0 mss 512
         10  > SYN 0 ack 1
         10  ? state SynReceived
         20  < SYN 0 ack 1 mss 512
         20  > 1 ack 1
         20  ? state SynReceived
         30  < 1 ack 1
         30  ! Connected
         30  ? state Established",
    );
}

#[test]
fn bytes_written_and_closed_before_the_handshake_follow_it() {
    client(
        TcpSpec { initial_window: 4, ..TcpSpec::default() },
        "0  do connect
         0  > SYN 0
         5  do write 600
         6  do shutdown
         90 < SYN 0 ack 1 mss 512
         90 ! Connected
         90 > 1..513 ack 1
         90 > FIN 513..601 ack 1
         90 ? state FinWait1",
    );
}

#[test]
fn a_window_scale_needs_both_sides() {
    let wide = TcpSpec { window_scaling: true, window: Bytes(200_000), ..TcpSpec::default() };
    // 200,000 B need a shift of 2; the SYN's own window is not scaled.
    client(
        wide,
        "0 do connect
         0 > SYN 0 win 65535 ws 2
         9 < SYN 0 ack 1 win 60000 mss 512 ws 3
         9 > 1 ack 1 win 50000
         9 ! Connected
         9 < 1..513 ack 1 win 10000
         9 > 1 ack 513 win 50000
         9 ? window 512",
    );
    let scaled = client(wide, "0 do connect\n0 > SYN 0 ws 2\n9 < SYN 0 ack 1 ws 3 mss 512\n9 > 1 ack 1\n9 ! Connected");
    let scaled = scaled.run("9 < 1..2 ack 1 win 10000\n9 > 1 ack 2");
    assert_eq!(scaled.endpoint.peer_window(), 80_000);

    client(
        wide,
        "0 do connect
         0 > SYN 0 win 65535 ws 2
         9 < SYN 0 ack 1 win 60000 mss 512
         9 > 1 ack 1 win 65535
         9 ! Connected",
    );
    server(
        TcpSpec { window_scaling: false, window: Bytes(200_000), ..TcpSpec::default() },
        "0 < SYN 0 win 60000 mss 512 ws 3
         0 > SYN 0 ack 1 win 65535",
    );
    server(
        wide,
        "0 < SYN 0 win 60000 mss 512 ws 0
         0 > SYN 0 ack 1 win 65535 ws 2
         9 < 1 ack 1
         9 ! Connected",
    );
}

#[test]
fn sack_needs_both_sides() {
    let sack = TcpSpec { variant: Variant::Sack, ..TcpSpec::default() };
    server(sack, "0 < SYN 0 mss 512 sackok\n0 > SYN 0 ack 1 sackok");
    server(sack, "0 < SYN 0 mss 512\n0 > SYN 0 ack 1");
    server(TcpSpec::default(), "0 < SYN 0 mss 512 sackok\n0 > SYN 0 ack 1");
    // Without the peer's permission no blocks are sent, and recovery is NewReno's.
    client(
        sack,
        "0 do connect
         0 > SYN 0 sackok
         9 < SYN 0 ack 1 mss 512
         9 > 1 ack 1
         9 ! Connected
         9 < 1001..1101 ack 1
         9 > 1 ack 1",
    );
}

#[test]
fn a_lost_syn_is_sent_again_on_ticks_with_backoff() {
    // 3 s are six ticks of 500 ms; the sixth tick after 0.2 s falls on 3 s.
    client(
        TcpSpec { initial_window: 4, ..TcpSpec::default() },
        "200   do connect
         200   > SYN 0
         3000  > SYN 0
         9000  > SYN 0
         9090  < SYN 0 ack 1 mss 512
         9090  > 1 ack 1
         9090  ! Connected
         # RFC 5681 3.1: one segment after a lost SYN; Karn: the SYN measures nothing.
         9090  ? cwnd 512 srtt none rto 3000 timeouts 2",
    );
}

#[test]
fn a_lost_syn_raises_a_short_timeout_to_three_seconds() {
    let mut config = TcpSpec::default();
    config.rto_initial = config.rto_min;
    client(
        config,
        "0     do connect
         0     > SYN 0
         1000  > SYN 0
         1090  < SYN 0 ack 1 mss 512
         1090  > 1 ack 1
         1090  ! Connected
         1090  ? rto 3000",
    );
}

#[test]
fn an_unanswered_syn_is_given_up() {
    client(
        TcpSpec { max_retransmissions: 2, ..TcpSpec::default() },
        "0     do connect
         0     > SYN 0
         3000  > SYN 0
         9000  > SYN 0
         21000 ! TimedOut
         21000 ? state Closed deadline none",
    );
}

#[test]
fn a_lost_answer_to_a_syn_is_sent_again() {
    server(
        TcpSpec::default(),
        "0     < SYN 0 mss 512
         0     > SYN 0 ack 1
         3000  > SYN 0 ack 1
         # the peer's SYN again: it is old, and is answered
         3100  < SYN 0 mss 512
         3100  > 1 ack 1
         3200  < 1 ack 1
         3200  ! Connected",
    );
}

#[test]
fn a_refused_connection() {
    client(
        TcpSpec::default(),
        "0   do connect
         0   > SYN 0
         # a reset that does not acknowledge the SYN, or acknowledges something else, does not count
         10  < RST 0
         10  ? state SynSent
         20  < RST 0 ack 1
         20  ! Reset
         20  ? state Closed",
    );
}

#[test]
fn an_acknowledgement_of_no_syn_is_reset() {
    client(TcpSpec::default(), "0 do connect\n0 > SYN 0\n5 < 77 ack 9\n5 > RST 9\n5 ? state SynSent");
    server(TcpSpec::default(), "0 < 77 ack 9\n0 > RST 9\n0 ? state Listen");
}

#[test]
fn a_listener_whose_peer_resets_listens_again() {
    let ladder = server(
        TcpSpec::default(),
        "0   < SYN 0 mss 512
         0   > SYN 0 ack 1
         5   < RST 1
         5   ? state Listen deadline none
         9   < SYN 0 mss 512
         9   > SYN 0 ack 1
         20  < 1 ack 1
         20  ! Connected",
    );
    assert_eq!(ladder.endpoint.state(), State::Established);
}

#[test]
fn connecting_twice_is_connecting_once() {
    connected(TcpSpec::default(), "200 do connect\n200 ? state Established");
}
