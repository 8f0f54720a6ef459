//! Accepted configurations, and the messages of refusals.
#![allow(clippy::unwrap_used)]

use cellway_tcp::{AckDelay, Config, Endpoint, MAX_WINDOW, Problem, State, TcpSpec};
use cellway_units::{Bytes, Rate, Span};

fn refusal(change: impl FnOnce(&mut TcpSpec)) -> Problem {
    let mut tcp = TcpSpec::default();
    change(&mut tcp);
    Config::from(tcp).validate().unwrap_err()
}

#[test]
fn the_default_is_valid() {
    assert_eq!(Config::default().validate(), Ok(()));
    assert_eq!(Endpoint::checked(Config::default(), 1, true).unwrap().state(), State::Listen);
    assert_eq!(Endpoint::checked(Config::default(), 1, false).unwrap().state(), State::Closed);
}

#[test]
fn refusals_name_the_value_and_the_limit() {
    let text = |change: fn(&mut TcpSpec)| refusal(change).to_string();
    assert_eq!(text(|c| c.mss = Bytes(0)), "mss: 0 B is out of range; accepted: from 1 B to 65495 B");
    assert_eq!(
        text(|c| c.window = Bytes(511)),
        "window: 511 B is smaller than one segment of 512 B (mss); accepted: at least 512 B"
    );
    assert_eq!(
        text(|c| c.window = Bytes(MAX_WINDOW + 1)),
        "window: 1073725441 B is out of range; accepted: from 1 B to 1073725440 B"
    );
    assert_eq!(
        text(|c| c.send_buffer = Bytes(100)),
        "send-buffer: 100 B is smaller than one segment of 512 B (mss); accepted: at least 512 B"
    );
    assert_eq!(
        text(|c| c.send_buffer = Bytes((1 << 40) + 1)),
        "send-buffer: 1099511627777 B is out of range; accepted: from 1 B to 1024 GiB"
    );
    assert!(
        text(|c| c.send_buffer = Bytes(u64::MAX)).starts_with("send-buffer: 18446744073709551615 B is out of range")
    );
    assert_eq!(
        text(|c| (c.mss, c.timestamps) = (Bytes(12), true)),
        "mss: 12 B has no room for payload beside timestamps, which take 12 B; accepted: more than 12 B, or timestamps = false"
    );
    assert_eq!(
        text(|c| c.pacing_rate = Some(Rate::from_bps(0))),
        "pacing-rate: 0 bit/s is out of range; accepted: more than 0 bit/s"
    );
    assert_eq!(text(|c| c.initial_window = 0), "initial-window: 0 is out of range; accepted: from 1 to 1000");
    assert_eq!(text(|c| c.duplicate_threshold = 0), "duplicate-threshold: 0 is out of range; accepted: from 1 to 100");
    assert_eq!(text(|c| c.max_retransmissions = 0), "max-retransmissions: 0 is out of range; accepted: from 1 to 1000");
    assert_eq!(
        text(|c| c.delayed_ack = AckDelay(Some(Span::from_ms(501)))),
        "delayed-ack: 501 ms is out of range; accepted: more than 0 s, at most 500 ms"
    );
    assert_eq!(
        text(|c| c.rto_initial = Span::from_secs(99)),
        "rto-initial: rto-initial, 99 s, is more than rto-max, 64 s; accepted: rto-initial at most rto-max"
    );
    assert_eq!(
        text(|c| c.rto_min = Span::from_ms(999)),
        "rto-min: rto-min, 999 ms, is less than two ticks of 500 ms; accepted: rto-min at least 2 x timer-granularity"
    );
}

#[test]
fn limits_themselves_are_accepted() {
    let edge = TcpSpec {
        mss: Bytes(65_495),
        window: Bytes(MAX_WINDOW),
        send_buffer: Bytes(1 << 40),
        delayed_ack: AckDelay(Some(Span::from_ms(500))),
        ..TcpSpec::default()
    };
    assert_eq!(edge.validate(), Ok(()));
    assert_eq!(TcpSpec { send_buffer: Bytes(65_495), ..edge }.validate(), Ok(()));
    let keys = |change: fn(&mut TcpSpec)| refusal(change).keys;
    assert_eq!(keys(|c| c.mss = Bytes(65_496)), ["mss"]);
    assert_eq!(keys(|c| c.initial_ssthresh = Some(Bytes(0))), ["initial-ssthresh"]);
    assert_eq!(keys(|c| c.delayed_ack = AckDelay(Some(Span::ZERO))), ["delayed-ack"]);
    assert_eq!(keys(|c| c.rto_min = Span::ZERO), ["rto-min"]);
}
