//! Accurate ECN feedback (RFC 9768), segment by segment.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{EcnMode, TcpSpec, Variant};
use cellway_units::{Bytes, Span};
use common::ladder::{Ladder, client, connected, server};

fn config() -> TcpSpec {
    TcpSpec {
        variant: Variant::NewReno,
        ecn: EcnMode::Accurate,
        mss: Bytes(1000),
        window: Bytes(50_000),
        send_buffer: Bytes(1_000_000),
        initial_window: 10,
        // In congestion avoidance from the start.
        initial_ssthresh: Some(Bytes(5000)),
        ..TcpSpec::default()
    }
}
fn sack() -> TcpSpec {
    TcpSpec { variant: Variant::Sack, ..config() }
}
/// Sends ten segments at 100 ms, each ECN-capable.
fn ten_out(config: TcpSpec, script: &str) -> Ladder {
    let sent: String = (0..10).map(|i| format!("100 > ace 5 ect0 {}..{}\n", 1 + 1000 * i, 1001 + 1000 * i)).collect();
    connected(config, &format!("100 do write 40000\n{sent}")).run(script)
}

/// RFC 9768 §3.1.2, table 2, the client's rows: the answer, the mode, the first acknowledgement and data.
#[test]
fn a_client_takes_the_mode_of_the_answer() {
    let cases = [
        ("CWR", "true", "CWR acc0 1,0,1", "ace 5 ect0"),
        // The SYN was not ECN-capable, but arrived so: the path writes the field. §3.2.2.3.
        ("CWR ECE", "true", "CWR acc0 1,0,1", "ace 5"),
        ("AE", "true", "CWR acc0 1,0,1", "ace 5"),
        ("AE CWR", "true", "CWR acc0 1,0,1", "ace 5"),
        // Reserved. §3.1.3.
        ("AE ECE", "true", "CWR acc0 1,0,1", "ace 5 ect0"),
        ("ECE", "true", "", "ect0"),
        ("", "false", "", ""),
        ("AE CWR ECE", "false", "", ""),
    ];
    for (answer, agreed, first, data) in cases {
        client(
            config(),
            &format!(
                "0   do connect
                 0   > SYN AE CWR ECE 0
                 100 < SYN {answer} 0 ack 1 win 50000 mss 1000
                 100 > {first} 1 ack 1
                 100 ! Connected
                 100 ? ecn {agreed}
                 100 do write 1000
                 100 > {data} 1..1001"
            ),
        );
    }
    // A client that did not request it is answered by RFC 3168, or not.
    for (ecn, syn) in [(EcnMode::Classic, "CWR ECE"), (EcnMode::Off, "")] {
        client(
            TcpSpec { ecn, ..config() },
            &format!(
                "0   do connect
                 0   > SYN {syn} 0
                 100 < SYN AE 0 ack 1 win 50000 mss 1000
                 100 > 1 ack 1
                 100 ! Connected
                 100 ? ecn false"
            ),
        );
    }
}

/// RFC 9768 §3.1.2, table 2, the server's rows; the codepoint of the SYN is reflected.
#[test]
fn a_server_takes_the_mode_of_the_syn() {
    let cases = [
        (EcnMode::Accurate, "AE CWR ECE", "CWR acc0 1,0,1", "CWR acc0 1,0,1", "ace 5 ect0"),
        (EcnMode::Accurate, "AE CWR ECE ect1", "CWR ECE acc0 1,0,1", "CWR acc0 1,0,1", "ace 5 ect0"),
        (EcnMode::Accurate, "AE CWR ECE ect0", "AE acc0 1,0,1", "CWR acc0 1,0,1", "ace 5 ect0"),
        (EcnMode::Accurate, "AE CWR ECE ce", "AE CWR acc0 1,0,1", "CWR acc0 1,0,1", "ace 5 ect0"),
        // A combination of the future. §3.1.3.
        (EcnMode::Accurate, "AE", "CWR acc0 1,0,1", "CWR acc0 1,0,1", "ace 5 ect0"),
        (EcnMode::Accurate, "CWR ECE", "ECE", "", "ect0"),
        (EcnMode::Accurate, "", "", "", ""),
        (EcnMode::Classic, "AE CWR ECE", "ECE", "", "ect0"),
        (EcnMode::Off, "AE CWR ECE", "", "", ""),
        // Table 4: no feedback (zero) ends ECN-capable data; a value that is not used does not.
        (EcnMode::Accurate, "AE CWR ECE", "CWR acc0 1,0,1", "", "ace 5"),
        (EcnMode::Accurate, "AE CWR ECE", "CWR acc0 1,0,1", "ace 1", "ace 5 ect0"),
    ];
    for (ecn, syn, answer, last, data) in cases {
        server(
            TcpSpec { ecn, ..config() },
            &format!(
                "0   < SYN {syn} 0 win 50000
                 0   > SYN {answer} 0 ack 1
                 100 < {last} 1 ack 1
                 100 ! Connected
                 100 do write 500
                 100 > {data} 1..501"
            ),
        );
    }
}

/// RFC 9768 §3.1.4.1: the SYN is retransmitted once with the request, then without; the first answer counts.
#[test]
fn a_syn_that_is_lost_twice_goes_without_the_request() {
    let lost = "0    do connect
                0    > SYN AE CWR ECE 0
                3000 > SYN AE CWR ECE 0
                9000 > SYN 0\n";
    let late = |answer: &str, first: &str, agreed: bool| {
        client(
            config(),
            &format!(
                "{lost}
                 9100 < SYN {answer} 0 ack 1 win 50000 mss 1000
                 9100 > {first} 1 ack 1
                 9100 ! Connected
                 9100 ? ecn {agreed}"
            ),
        );
    };
    late("", "", false);
    late("CWR", "CWR acc0 1,0,1", true);
}

/// RFC 9768 §3.2.3.2.2: the answer is retransmitted without the option, then without AccECN, after which no data is
/// ECN-capable, while the feedback goes on (§3.1.5).
#[test]
fn an_answer_that_is_lost_goes_without_the_option_and_then_without_accecn() {
    server(
        config(),
        "0     < SYN AE CWR ECE 0 win 50000
         0     > SYN CWR acc0 1,0,1 0 ack 1
         3000  > SYN CWR 0 ack 1
         9000  > SYN 0 ack 1
         9100  < CWR acc0 1,0,1 1 ack 1
         9100  ! Connected
         9100  < ace 5 ce 1..1001 ack 1
         9100  > ace 6 acc0 1,1000 1 ack 1001
         9100  do write 500
         9100  > ace 6 1..501",
    );
}

/// RFC 9768 §3.1.5: the latest SYN is reflected; one without the request ends ECN-capable data; one for RFC 3168 resets.
#[test]
fn a_syn_that_arrives_again_is_reflected() {
    server(
        config(),
        "0    < SYN AE CWR ECE 0 win 50000
         0    > SYN CWR acc0 1,0,1 0 ack 1
         100  < SYN AE CWR ECE ect0 0 win 50000
         100  > ace 5 1 ack 1
         3000 > SYN AE 0 ack 1
         3100 < SYN 0 win 50000
         3100 > ace 5 1 ack 1
         3200 < CWR acc0 1,0,1 1 ack 1
         3200 ! Connected
         3200 do write 500
         3200 > ace 5 1..501",
    );
    server(
        config(),
        "0    < SYN AE CWR ECE 0 win 50000
         0    > SYN CWR acc0 1,0,1 0 ack 1
         100  < SYN CWR ECE 0 win 50000
         100  > RST 1 ack 1
         100  ? state Listen",
    );
}

/// RFC 9768 §3.2.2.1, table 3: the client reflects the codepoint of each SYN/ACK, and counts CE on it once.
#[test]
fn the_codepoint_of_the_answer_is_reflected() {
    for (codepoint, ace, count) in [("", 0b010, 5), ("ect1", 0b011, 5), ("ect0", 0b100, 5), ("ce", 0b110, 6)] {
        client(
            config(),
            &format!(
                "0   do connect
                 0   > SYN AE CWR ECE 0
                 100 < SYN CWR {codepoint} 0 ack 1 win 50000 mss 1000
                 100 > ace {ace} acc0 1,0,1 1 ack 1
                 100 ! Connected
                 100 ? cep {count}
                 200 < SYN CWR {codepoint} 0 ack 1 win 50000 mss 1000
                 200 > ace {ace} acc0 1,0,1 1 ack 1
                 200 ? cep {count}
                 200 do write 100
                 200 > ace {count} ect0 1..101"
            ),
        );
    }
    // At the server: CE on its answer counts as a mark.
    server(
        config(),
        "0   < SYN AE CWR ECE 0 win 50000
         0   > SYN CWR acc0 1,0,1 0 ack 1
         100 < ace 6 acc0 1,0,1 1 ack 1
         100 ! Connected
         100 ? scep 6 marks 0",
    );
    // If that acknowledgement is lost, data has the count.
    server(
        config(),
        "0   < SYN AE CWR ECE 0 win 50000
         0   > SYN CWR acc0 1,0,1 0 ack 1
         100 < ace 5 ect0 1..101 ack 1
         100 ! Connected
         100 > ace 5 acc0 101 1 ack 101
         100 ? scep 5",
    );
}

/// With data to send, the acknowledgement that reflects the SYN/ACK goes before it.
#[test]
fn the_reflection_precedes_data() {
    client(
        config(),
        "0   do connect
         0   > SYN AE CWR ECE 0
         0   do write 1000
         100 < SYN CWR ect0 acc0 1,0,1 0 ack 1 win 50000 mss 1000
         100 > ace 4 acc0 1,0,1 1 ack 1
         100 > ace 5 ect0 1..1001
         100 ! Connected",
    );
}

/// The receiver: each CE packet counts, and acknowledgements are sent at the first mark and at every second.
/// RFC 9768 §3.2.2, §3.2.2.5.1, §3.2.3.3.
#[test]
fn a_receiver_counts_marks() {
    let config = TcpSpec { delayed_ack: cellway_tcp::AckDelay(Some(Span::from_ms(200))), ..config() };
    connected(
        config,
        "100 < ace 5 ect0 1..1001 ack 1
         300 > ace 5 acc0 1001 1 ack 1001
         300 < ace 5 ce 1001..2001 ack 1
         300 > ace 6 acc0 1001,1000 1 ack 2001
         310 < ace 5 ce 2001..3001 ack 1
         320 < ace 5 ce 3001..4001 ack 1
         320 > ace 0 acc0 1001,3000 1 ack 4001
         # no change of a counter, no option
         330 do write 500
         330 > ace 0 ect0 1..501
         340 < ace 5 ect1 4001..5001 ack 501
         350 < ace 5 5001..6001 ack 501
         350 > ace 0 acc0 1001,3000,1001 501 ack 6001
         # outside the window: not acceptable
         360 < ace 5 ce 1..1001 ack 501
         360 > ace 0 501 ack 6001
         370 < ace 5 ce 6001..7001 ack 501
         370 > ace 1 acc0 1001,4000,1001 501 ack 7001
         370 ? cep 9",
    );
}

/// RFC 9768 §3.2.3.3: beside timestamps two SACK blocks have precedence over the option, and the option over the third.
#[test]
fn the_option_shares_its_space_with_sack() {
    let config = TcpSpec { timestamps: true, ..sack() };
    connected(
        config,
        "100 < ts 50 0 ace 5 ect0 989..1977 ack 1
         100 > ace 5 sack 989..1977 acc0 989 1 ack 1
         100 < ts 50 0 ace 5 ce 2965..3953 ack 1
         100 > ace 6 sack 2965..3953,989..1977 acc0 989,988 1 ack 1
         100 < ts 50 0 ace 5 ect0 4941..5929 ack 1
         # 12 + 18 + 8 octets: no third block
         100 > ace 6 sack 4941..5929,2965..3953 acc0 1977,988 1 ack 1
         100 < ts 50 0 ace 5 ect1 6917..7905 ack 1
         # three fields would leave one block: those that have changed since the last option, in the other order
         100 > ace 6 sack 6917..7905,4941..5929 acc1 989,988 1 ack 1
         100 < ts 50 0 ace 5 ect0 1..989 ack 1
         100 > ace 6 sack 6917..7905,4941..5929 acc0 2965,988 1 ack 1977",
    );
}

/// The sender: one reduction for the marks of a window, without CWR.
#[test]
fn a_window_of_marks_reduces_once() {
    for option in [true, false] {
        let acc = |ceb: u32, e0b: u32| if option { format!("acc0 {e0b},{ceb}") } else { String::new() };
        ten_out(
            config(),
            &format!(
                "200 < ace 6 {} 1 ack 1001
                 200 ? cwnd 5000 ssthresh 5000 marks 1 scep 6
                 200 < ace 7 {} 1 ack 3001
                 200 ? cwnd 5000 marks 1 scep 7
                 200 < ace 7 {} 1 ack 6001
                 200 > ace 5 ect0 10001..11001
                 # three marks, and the field has wrapped
                 200 < ace 2 {} 1 ack 9001
                 200 ? marks 1 scep 10
                 200 > ace 5 ect0 11001..12001
                 200 > ace 5 ect0 12001..13001
                 200 > ace 5 ect0 13001..14001
                 210 < ace 2 {} 1 ack 10001
                 210 > ace 5 ect0 14001..15001
                 # a mark of the next window
                 310 < ace 3 {} 1 ack 11001
                 310 ? cwnd 2500 ssthresh 2500 marks 2 scep 11 resent 0",
                acc(1000, 1),
                acc(2000, 1001),
                acc(2000, 4001),
                acc(5000, 4001),
                acc(5000, 5001),
                acc(6000, 5001)
            ),
        );
    }
}

/// RFC 9768 §3.2.2.5.2: acknowledgements are lost, and one is for ten segments. Without the option eight marks more than
/// the field shows are taken to be likely; the option shows how many there were.
#[test]
fn lost_acknowledgements_may_hide_marks() {
    let five: String = (10..15).map(|i| format!("200 > ace 5 ect0 {}..{}\n", 1 + 1000 * i, 1001 + 1000 * i)).collect();
    let cases = [("", 14, 0), ("acc0 10001", 6, 0), ("acc0 1,9000", 14, 9000), ("acc0 1,1000", 6, 1000)];
    for (option, count, bytes) in cases {
        let script = format!("200 < ace 6 {option} 1 ack 10001\n{five}200 ? scep {count} sceb {bytes} marks 1");
        ten_out(config(), &script);
    }
    // Seven segments cannot wrap it.
    ten_out(
        config(),
        "200 < ace 6 1 ack 7001
         200 ? scep 6 marks 1
         200 > ace 5 ect0 10001..11001
         200 > ace 5 ect0 11001..12001",
    );
}

/// SACK: what was reported selectively does not count again when the gap before it is filled.
#[test]
fn data_reported_by_sack_is_not_counted_twice() {
    ten_out(
        TcpSpec { limited_transmit: false, ..sack() },
        "200 < ace 5 1 ack 1 sack 1001..2001
         200 < ace 5 1 ack 1 sack 1001..3001
         200 < ace 5 1 ack 1 sack 1001..4001
         200 > ace 5 ect0 1..1001
         200 < ace 5 1 ack 1 sack 1001..10001
         200 > ace 5 ect0 10001..11001
         200 > ace 5 ect0 11001..12001
         200 > ace 5 ect0 12001..13001
         200 > ace 5 ect0 13001..14001
         200 ? scep 5 recovery true
         300 < ace 5 1 ack 10001
         300 ? scep 5 recovery false
         300 > ace 5 ect0 14001..15001",
    );
}

/// RFC 9768 §3.2.2.2: a segment that a later one has overtaken does not take the count back; without new data or a later
/// timestamp it may have been.
#[test]
fn an_old_acknowledgement_is_ignored() {
    ten_out(
        config(),
        "200 < ace 6 1 ack 2001
         200 ? scep 6 marks 1
         210 < ace 5 1 ack 1001
         210 ? scep 6
         220 < ace 7 1 ack 2001 win 40000
         220 ? scep 6
         230 < ace 7 1 ack 3001
         230 ? scep 7",
    );
}

/// RFC 9768 §3.2.2.4: a first count of zero is none. Data is not ECN-capable any more, and marks do not count; the
/// feedback to the peer goes on.
#[test]
fn a_first_count_of_zero_ends_ecn_capable_data() {
    ten_out(
        config(),
        "200 < ace 0 1 ack 10001
         200 ? marks 0 scep 5
         200 > ace 5 10001..11001
         200 > ace 5 11001..12001
         200 > ace 5 12001..13001
         200 > ace 5 13001..14001
         200 > ace 5 14001..15001
         200 > ace 5 15001..16001
         200 > ace 5 16001..17001
         200 > ace 5 17001..18001
         200 > ace 5 18001..19001
         200 > ace 5 19001..20001
         300 < ace 3 1 ack 11001
         300 ? marks 0 scep 5
         300 > ace 5 20001..21001
         310 < ace 3 ce 1..1001 ack 11001
         310 > ace 6 acc0 1,1000 21001 ack 1001",
    );
}

/// RFC 9768 §3.2.3.2.4: an option whose counts were cleared is not used, so that the field may have wrapped.
#[test]
fn a_cleared_option_is_ignored() {
    client(
        TcpSpec { initial_window: 9, ..config() },
        "0   do connect
         0   > SYN AE CWR ECE 0
         0   do write 9000
         100 < SYN CWR acc0 0,0,0 0 ack 1 win 50000 mss 1000
         100 > CWR acc0 1,0,1 1 ack 1
         100 > ace 5 ect0 1..1001
         100 > ace 5 ect0 1001..2001
         100 > ace 5 ect0 2001..3001
         100 > ace 5 ect0 3001..4001
         100 > ace 5 ect0 4001..5001
         100 > ace 5 ect0 5001..6001
         100 > ace 5 ect0 6001..7001
         100 > ace 5 ect0 7001..8001
         100 > ace 5 ect0 8001..9001
         100 ! Connected
         200 < ace 6 acc0 0,0,0 1 ack 9001
         200 ? scep 14",
    );
}

/// A retransmission is ECN-capable, as a receiver counts marks in it.
#[test]
fn retransmissions_are_ecn_capable() {
    ten_out(TcpSpec { limited_transmit: false, ..config() }, "200 < ace 5 1 ack 1 x3\n200 > ace 5 ect0 1..1001");
}
