//! Closing: each side, both at once, half-close, resets, lost FINs, TIME-WAIT.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::TcpSpec;
use cellway_units::Bytes;
use common::ladder::{connected, server};

fn config() -> TcpSpec {
    TcpSpec { mss: Bytes(500), initial_window: 4, ..TcpSpec::default() }
}

#[test]
fn closing_first_lingers_in_time_wait() {
    connected(
        config(),
        "100   do write 700
         100   > 1..501
         100   > 501..701
         110   do shutdown
         110   > FIN 701 ack 1
         110   ? state FinWait1
         200   < 1 ack 702
         200   ? state FinWait2 deadline none
         # half-closed: the peer goes on sending
         300   < 1..501 ack 702
         300   ! Readable 500
         300   > 702 ack 501
         400   < FIN 501 ack 702
         400   ! PeerClosed
         400   ! Closed
         400   > 702 ack 502
         # 60 s are 120 ticks
         400   ? state TimeWait timer TimeWait deadline 60000
         # the last acknowledgement was lost: the FIN comes again
         5000  < FIN 501 ack 702
         5000  > 702 ack 502
         5000  ? state TimeWait deadline 65000
         65000 ? state Closed deadline none",
    );
}

#[test]
fn closing_second_ends_at_once() {
    connected(
        config(),
        "100 < FIN 1..101 ack 1
         100 ! Readable 100
         100 ! PeerClosed
         100 > 1 ack 102
         100 ? state CloseWait
         # half-closed: this side goes on sending
         200 do write 300
         200 > 1..301 ack 102
         250 < 102 ack 301
         300 do shutdown
         300 > FIN 301 ack 102
         300 ? state LastAck
         400 < 102 ack 302
         400 ! Closed
         400 ? state Closed deadline none
         # what still comes is refused
         500 < 102 ack 302
         500 > RST 302",
    );
}

#[test]
fn both_close_at_once() {
    connected(
        config(),
        "100 do shutdown
         100 > FIN 1 ack 1
         110 < FIN 1 ack 1
         110 ! PeerClosed
         110 > 2 ack 2
         110 ? state Closing
         200 < 2 ack 2
         200 ! Closed
         200 ? state TimeWait",
    );
}

#[test]
fn a_fin_that_acknowledges_ours_skips_fin_wait_2() {
    connected(
        config(),
        "100 do shutdown
         100 > FIN 1 ack 1
         110 < FIN 1 ack 2
         110 ! PeerClosed
         110 ! Closed
         110 > 2 ack 2
         110 ? state TimeWait",
    );
}

#[test]
fn the_fin_follows_queued_data() {
    connected(
        TcpSpec { initial_window: 1, ..config() },
        "100 do write 700
         100 > 1..501
         110 do shutdown
         110 ? state FinWait1
         120 do write 100 accepted 0
         200 < 1 ack 501
         200 > FIN 501..701
         210 < 1 ack 702
         210 ? state FinWait2",
    );
}

#[test]
fn a_lost_fin_is_sent_again() {
    connected(
        config(),
        "100  do shutdown
         100  > FIN 1
         1000 > FIN 1
         3000 > FIN 1
         3100 < 1 ack 2
         3100 ? state FinWait2 timeouts 2",
    );
    connected(
        config(),
        "100  do write 100
         100  > 1..101
         100  do shutdown
         100  > FIN 101
         1000 > FIN 1..101",
    );
}

#[test]
fn a_fin_before_a_gap_is_filled_waits() {
    connected(
        config(),
        "100 < FIN 501..601 ack 1
         100 > 1 ack 1
         100 ? state Established
         110 < 1..501 ack 1
         110 ! Readable 600
         110 ! PeerClosed
         110 > 1 ack 602
         110 ? state CloseWait
         120 < FIN 501..601 ack 1
         120 > 1 ack 602",
    );
}

#[test]
fn a_bare_fin_beyond_a_gap_is_remembered() {
    connected(
        config(),
        "100 < FIN 501 ack 1
         100 > 1 ack 1
         110 < 1..501 ack 1
         110 ! PeerClosed
         110 > 1 ack 502",
    );
}

#[test]
fn an_abort_resets_the_peer() {
    connected(
        config(),
        "100 do write 100
         100 > 1..101
         110 do abort
         110 > RST 101 ack 1
         110 ? state Closed deadline none
         120 do write 5 accepted 0",
    );
}

#[test]
fn a_reset_ends_every_state() {
    connected(config(), "100 do shutdown\n100 > FIN 1\n110 < RST 1\n110 ! Reset\n110 ? state Closed deadline none");
    // In TIME-WAIT the application has been notified of the end already.
    connected(
        config(),
        "100 do shutdown
         100 > FIN 1
         110 < FIN 1 ack 2
         110 ! PeerClosed
         110 ! Closed
         110 > 2 ack 2
         120 < RST 2
         120 ? state Closed deadline none",
    );
}

#[test]
fn data_after_the_peers_fin_is_not_taken() {
    connected(
        config(),
        "100 < FIN 1 ack 1
         100 ! PeerClosed
         100 > 1 ack 2
         110 < 2..102 ack 1
         110 > 1 ack 2
         110 ? readable 0",
    );
}

#[test]
fn closing_a_listener() {
    server(config(), "0 do shutdown\n0 ? state Closed");
}

#[test]
fn an_unanswered_fin_is_given_up() {
    connected(
        TcpSpec { max_retransmissions: 1, ..config() },
        "100  do shutdown
         100  > FIN 1
         1000 > FIN 1
         3000 > RST 2 ack 1
         3000 ! TimedOut",
    );
}

#[test]
fn aborting_in_time_wait_tells_nobody() {
    connected(
        config(),
        "100 do shutdown
         100 > FIN 1
         110 < FIN 1 ack 2
         110 ! PeerClosed
         110 ! Closed
         110 > 2 ack 2
         120 do abort
         120 ? state Closed deadline none",
    );
}
