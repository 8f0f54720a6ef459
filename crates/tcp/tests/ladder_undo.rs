//! Spurious retransmissions: the reductions of the window that are undone, and those that stay.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{EcnMode, LossRecovery, TcpSpec, Variant};
use cellway_units::{Bytes, Span};
use common::ladder::{Ladder, connected};

/// RACK with the window of Reno, without timestamps. The round trip of the handshake is 100 ms.
fn rack() -> TcpSpec {
    TcpSpec {
        variant: Variant::Sack,
        recovery: Some(LossRecovery::Rack),
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 10,
        timer_granularity: Span::from_ms(1),
        ..TcpSpec::default()
    }
}
/// The same with timestamps, which take 12 B of a segment.
fn eifel(tcp: TcpSpec) -> TcpSpec {
    TcpSpec { mss: Bytes(1012), timestamps: true, ..tcp }
}
/// The recovery of RFC 6675.
fn sack() -> TcpSpec {
    TcpSpec { recovery: None, ..rack() }
}
/// Sends `segments` segments of 1000 B at 100 ms, of which `bytes` B wait in all.
fn out(config: TcpSpec, bytes: u64, segments: u64, script: &str) -> Ladder {
    let ect = if config.ecn != EcnMode::Off { "ect0" } else { "" };
    let line = |i: u64| format!("100 > {ect} {}..{}\n", 1 + 1000 * i, 1001 + 1000 * i);
    let sent: String = (0..segments).map(line).collect();
    connected(config, &format!("100 do write {bytes}\n{sent}")).run(script)
}

/// The first segment is late. Its retransmission is reported as a duplicate after the recovery, whose reduction is undone
/// then.
#[test]
fn a_fast_recovery_is_undone_by_dsack() {
    for config in [rack(), sack()] {
        out(
            config,
            10_000,
            10,
            "200 < 1 ack 1 sack 1001..4001
             200 > 1..1001
             200 ? recovery true fast 1 ssthresh 5000
             210 < 1 ack 4001
             220 < 1 ack 10001
             220 ? recovery false cwnd 5000 undone 0
             300 < 1 ack 10001 sack 1..1001
             300 ? cwnd 10000 ssthresh 1073725440 undone 1 dsacks 1",
        );
    }
}

/// Eifel detection (RFC 3522): the acknowledgement of the segment that was resent echoes the timestamp of its first
/// transmission. RACK ends the recovery at once; that of RFC 6675 first repairs all that it began with.
#[test]
fn a_fast_recovery_is_undone_by_timestamps() {
    out(
        eifel(rack()),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..4001 ts 150 100
         200 > 1..1001 ts 200 150
         200 ? recovery true ssthresh 5000
         210 < 1 ack 4001 ts 160 100
         210 ? recovery false cwnd 10000 ssthresh 1073725440 undone 1
         220 < 1 ack 10001 ts 170 100
         220 ? resent 1",
    );
    out(
        eifel(sack()),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..4001 ts 150 100
         200 > 1..1001
         210 < 1 ack 4001 ts 160 100
         210 ? recovery true undone 0
         220 < 1 ack 10001 ts 170 100
         220 ? recovery false cwnd 10000 undone 1 resent 1",
    );
}

/// The acknowledgement of a retransmission echoes its own timestamp, and no duplicate is reported.
#[test]
fn a_real_loss_is_not_undone() {
    for config in [rack(), sack()] {
        out(
            eifel(config),
            10_000,
            10,
            "200 < 1 ack 1 sack 1001..4001 ts 150 100
             200 > 1..1001 ts 200 150
             210 < 1 ack 1 sack 1001..5001 ts 160 100
             300 < 1 ack 10001 ts 250 200
             300 ? recovery false cwnd 5000 ssthresh 5000 undone 0",
        );
    }
}

/// The first and the third segment are resent; the first was late, the third lost. Neither kind of evidence undoes the
/// reduction, in whatever order the acknowledgements arrive.
#[test]
fn one_real_loss_among_late_segments_is_enough() {
    let begin = "200 < 1 ack 1 sack 1001..2001,3001..10001 ts 150 100
                 200 > 1..1001
                 200 > 2001..3001
                 200 ? recovery true fast 1 resent 2";
    for late_first in [true, false] {
        let rest = if late_first {
            "210 < 1 ack 2001 sack 3001..10001 ts 160 100
             210 ? undone 0 recovery true
             300 < 1 ack 10001 ts 250 200"
        } else {
            "290 < 1 ack 1 sack 1001..10001 ts 240 100
             300 < 1 ack 10001 ts 250 200"
        };
        out(eifel(rack()), 10_000, 10, &format!("{begin}\n{rest}\n300 ? undone 0 recovery false cwnd 5000"));
    }
    out(
        rack(),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..2001,3001..10001
         200 > 1..1001
         200 > 2001..3001
         210 < 1 ack 2001 sack 3001..10001
         300 < 1 ack 2001 sack 1..1001,3001..10001
         300 ? dsacks 1
         301 < 1 ack 10001
         301 ? undone 0 cwnd 5000",
    );
}

/// Both segments were late, and both are reported.
#[test]
fn all_retransmissions_must_be_reported() {
    out(
        rack(),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..2001,3001..10001
         200 > 1..1001
         200 > 2001..3001
         210 < 1 ack 10001
         300 < 1 ack 10001 sack 1..1001
         300 ? undone 0 cwnd 5000
         301 < 1 ack 10001 sack 2001..3001
         301 ? undone 1 cwnd 10000",
    );
}

/// A delay of two seconds: the timer resends the first segment, and then the acknowledgement of the first transmission
/// arrives, with its timestamp. The others go on as they were.
#[test]
fn a_spurious_timeout_is_undone_by_timestamps() {
    out(
        eifel(rack()),
        30_000,
        10,
        "300 > 10001..11001
         1300 > 1..1001
         1300 ? timeouts 1 cwnd 1000 ssthresh 5000 probes 1
         2000 < 1 ack 1001 ts 1950 100
         2000 ? undone 1 cwnd 10000 ssthresh 1073725440 resent 1 flight 10000
         2010 < 1 ack 2001 ts 1960 100
         2010 > 11001..12001
         2010 > 12001..13001
         2010 ? cwnd 11000 resent 1",
    );
    out(
        eifel(sack()),
        30_000,
        10,
        "1100 > 1..1001
         1100 ? timeouts 1 cwnd 1000 ssthresh 5000
         2000 < 1 ack 1001 ts 1950 100
         2000 > 10001..11001
         2000 ? undone 1 cwnd 10000 ssthresh 1073725440 resent 1 flight 10000
         2010 < 1 ack 2001 ts 1960 100
         2010 > 11001..12001
         2010 > 12001..13001
         2010 ? cwnd 11000 resent 1",
    );
}

/// Without timestamps the recovery of RFC 6675 goes back N, until the peer has reported all that it has resent.
#[test]
fn a_spurious_timeout_is_undone_by_dsack() {
    out(
        TcpSpec { initial_window: 4, ..sack() },
        4000,
        4,
        "1100 > 1..1001
         1100 ? timeouts 1 cwnd 1000 ssthresh 2000
         2000 < 1 ack 1001
         2000 > 1001..2001
         2000 > 2001..3001
         2010 < 1 ack 4001
         2010 ? undone 0 cwnd 2500 resent 3
         2100 < 1 ack 4001 sack 1..1001
         2900 < 1 ack 4001 sack 1001..2001
         2900 ? undone 0
         2900 < 1 ack 4001 sack 2001..3001
         2900 ? undone 1 dsacks 3 cwnd 4000 ssthresh 1073725440 rto 1000 deadline none",
    );
}

/// The timeout was for a loss: the acknowledgement echoes the retransmission.
#[test]
fn a_real_timeout_is_not_undone() {
    out(
        eifel(rack()),
        1000,
        1,
        "500 > 1..1001
         1500 > 1..1001
         1600 < 1 ack 1001 ts 1550 1500
         1600 ? timeouts 1 undone 0 ssthresh 2000",
    );
}

/// Without timestamps F-RTO (RFC 5682 §3) sends new data after the first acknowledgement. The second reports data that
/// were not resent: the timeout was spurious, and its backing off ends.
#[test]
fn a_spurious_timeout_is_found_by_frto() {
    for second in ["ack 2001", "ack 1001 sack 2001..3001"] {
        out(
            TcpSpec { initial_window: 4, ..rack() },
            30_000,
            4,
            &format!(
                "300 > 4001..5001
                 1300 > 1..1001
                 1300 ? timeouts 1 rto 2000
                 2000 < 1 ack 1001
                 2000 > 5001..6001
                 2000 > 6001..7001
                 2000 ? undone 0 cwnd 2000 resent 1
                 2010 < 1 {second}
                 2010 ? undone 1 resent 1 cwnd 4000 rto 1000 ssthresh 1073725440"
            ),
        );
    }
}

/// The same, but nothing of the flight has arrived: the second acknowledgement reports only the new data, and what was
/// lost goes again.
#[test]
fn frto_resends_what_was_lost() {
    out(
        TcpSpec { initial_window: 4, ..rack() },
        30_000,
        4,
        "300 > 4001..5001
         1300 > 1..1001
         1400 < 1 ack 1001
         1400 > 5001..6001
         1400 > 6001..7001
         1500 < 1 ack 1001 sack 5001..6001
         1500 > 1001..2001
         1500 ? undone 0 resent 2 ssthresh 2000",
    );
}

/// RFC 5682 §3, step 2: without new data to send, or at an acknowledgement of nothing new, lost data go at once.
#[test]
fn frto_needs_new_data_and_progress() {
    out(
        rack(),
        4000,
        4,
        "300 > 3001..4001
         1300 > 1..1001
         1400 < 1 ack 1001
         1400 > 1001..2001
         1400 > 2001..3001",
    );
    out(
        TcpSpec { initial_window: 4, ..rack() },
        30_000,
        4,
        "300 > 4001..5001
         1300 > 1..1001
         1400 < 1 ack 1
         1500 < 1 ack 1001
         1500 > 1001..2001
         1500 > 2001..3001
         1500 ? undone 0",
    );
}

/// RFC 8985 §7.4.2, case 1: the peer reports the probe as a duplicate, so it has repaired nothing. Later data do not
/// reduce the window. The probe's duplicate is no sign of reordering.
#[test]
fn a_probe_reported_as_duplicate_reduces_nothing() {
    out(
        rack(),
        4000,
        4,
        "200 < 1 ack 3001
         600 > 3001..4001
         650 < 1 ack 4001
         650 do write 1000
         650 > 4001..5001
         700 < 1 ack 4001 sack 3001..4001
         750 < 1 ack 5001
         750 ? ssthresh 1073725440 recovery false dsacks 1 probes 1",
    );
}

/// A D-SACK block of other data says nothing of the probe.
#[test]
fn another_duplicate_does_not_clear_the_probe() {
    out(
        rack(),
        4000,
        4,
        "200 < 1 ack 3001
         600 > 3001..4001
         650 < 1 ack 4001
         650 do write 1000
         650 > 4001..5001
         700 < 1 ack 4001 sack 1..1001
         750 < 1 ack 5001
         750 ? ssthresh 2000 recovery false",
    );
}

/// The first segment is late by more than a quarter of the round trip, which D-SACK reports at 325 ms. Then 2000 B wait
/// at 400 ms, and the first of the two segments does not arrive.
fn after_a_late_segment(script: &str) {
    out(
        rack(),
        10_000,
        10,
        &format!(
            "200 < 1 ack 1 sack 1001..2001
             200 ? timer LossDetection deadline 225
             225 > 1..1001
             240 < 1 ack 10001
             325 < 1 ack 10001 sack 1..1001
             325 ? undone 1 cwnd 10000
             {script}"
        ),
    );
}
/// Two segments from `from` on, sent at `at`, of which the first is lost. It is resent after a round trip and `window`, and
/// the peer's acknowledgement comes with `blocks`.
fn lost_first(at: u64, from: u64, window: u64, blocks: &str) -> String {
    let [second, end] = [from + 1000, from + 2000];
    let [sacked, resent, acked] = [at + 100, at + 100 + window, at + 200 + window];
    format!(
        "{at} do write 2000
         {at} > {from}..{second}
         {at} > {second}..{end}
         {sacked} < 1 ack {from} sack {second}..{end}
         {sacked} ? timer LossDetection deadline {resent}
         {resent} > {from}..{second}
         {acked} < 1 ack {end} {blocks}
         {acked} ? recovery false
         "
    )
}

/// RFC 8985 §6.2, step 4: with each round trip that has D-SACK the window grows by a quarter of the least round trip, up
/// to SRTT.
#[test]
fn the_reordering_window_grows_by_dsack() {
    let mut script = String::new();
    for (round, window) in [50, 75, 100, 100].into_iter().enumerate() {
        let [at, from] = [1000, 2000].map(|step| step * round as u64);
        // The acknowledgement also reports the last retransmission as a duplicate.
        let duplicate = format!("sack {}..{}", from + 10_001, from + 11_001);
        script += &lost_first(at + 400, from + 10_001, window, &duplicate);
    }
    after_a_late_segment(&script);
}

/// RFC 8985 §6.2, step 4: after 16 recoveries without D-SACK the window is a quarter of the least round trip again.
#[test]
fn the_reordering_window_shrinks_after_16_recoveries() {
    let mut script = String::new();
    for round in 0..18 {
        script += &lost_first(400 + 1000 * round, 10_001 + 2000 * round, if round < 16 { 50 } else { 25 }, "");
    }
    after_a_late_segment(&script);
}

/// A mark after the recovery reduces the window for a reason of its own: a late report undoes nothing.
#[test]
fn a_mark_after_the_loss_keeps_the_reduction() {
    out(
        TcpSpec { ecn: EcnMode::Classic, ..rack() },
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..4001
         200 > 1..1001
         210 < 1 ack 10001
         210 do write 1000
         210 > CWR ect0 10001..11001
         210 ? recovery false cwnd 5000
         310 < ECE 1 ack 11001
         310 ? marks 1 cwnd 2000
         311 < ECE 1 ack 11001 sack 1..1001
         311 ? dsacks 1 undone 0 cwnd 2000 ssthresh 2000",
    );
}

/// After the reduction for late segments is undone, a loss reduces the window by itself.
#[test]
fn a_loss_after_an_undone_reduction_counts() {
    out(
        eifel(rack()),
        10_000,
        10,
        "200 < 1 ack 1 sack 1001..4001 ts 150 100
         200 > 1..1001
         210 < 1 ack 4001 ts 160 100
         210 do write 10000
         210 > 10001..11001
         210 > 11001..12001
         210 > 12001..13001
         210 > 13001..14001
         210 ? undone 1 cwnd 10000 recovery false
         # the fifth is lost; reordering was seen, so the window is waited for
         220 < 1 ack 4001 sack 5001..10001 ts 170 100
         220 > 14001..15001
         220 > 15001..16001
         220 > 16001..17001
         220 > 17001..18001
         220 > 18001..19001
         245 > 4001..5001
         245 ? recovery true ssthresh 5000 fast 2
         345 < 1 ack 19001 ts 295 245
         345 > 19001..20001
         345 ? recovery false undone 1 cwnd 5000",
    );
}
