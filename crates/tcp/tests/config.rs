//! What a configuration may ask for, and how refusals read.
#![allow(clippy::unwrap_used)]

use cellway_tcp::{Config, ConfigError, Endpoint, MAX_WINDOW, RtoConfig, State};
use cellway_units::{Rate, Span};

fn refusal(change: impl FnOnce(&mut Config)) -> ConfigError {
    let mut config = Config::default();
    change(&mut config);
    config.validate().unwrap_err()
}

#[test]
fn the_default_is_valid() {
    assert_eq!(Config::default().validate(), Ok(()));
    assert_eq!(Endpoint::checked(Config::default(), 1, true).unwrap().state(), State::Listen);
    assert_eq!(Endpoint::checked(Config::default(), 1, false).unwrap().state(), State::Closed);
}

#[test]
fn refusals_name_the_value_and_the_limit() {
    let text = |change: fn(&mut Config)| refusal(change).to_string();
    assert_eq!(text(|c| c.mss = 0), "mss: 0 B is zero; accepted: from 1 B to 65495 B, like \"1460 B\"");
    assert_eq!(
        text(|c| c.receive_window = 511),
        "window: 511 B is smaller than one segment of 512 B (mss); accepted: at least 512 B"
    );
    assert_eq!(
        text(|c| c.receive_window = MAX_WINDOW + 1),
        "window: 1073725441 B is more than TCP can announce; accepted: at most 1073725440 B"
    );
    assert_eq!(
        text(|c| c.send_buffer = 100),
        "send-buffer: 100 B is smaller than one segment of 512 B (mss); accepted: at least 512 B"
    );
    assert_eq!(
        text(|c| (c.mss, c.timestamps) = (12, true)),
        "mss: 12 B has no room for payload beside timestamps, which take 12 B; accepted: more than 12 B, or timestamps = false"
    );
    assert_eq!(
        text(|c| c.pacing_rate = Some(Rate::from_bps(0))),
        "pacing-rate: 0 bit/s is zero; accepted: more than 0, like \"20 Mbit/s\"; without the key there is no limit"
    );
    assert_eq!(text(|c| c.initial_window = 0), "initial_window is 0; it must be at least 1");
    assert_eq!(text(|c| c.duplicate_threshold = 0), "duplicate_threshold is 0; it must be at least 1");
    assert_eq!(text(|c| c.max_retransmissions = 0), "max_retransmissions is 0; it must be at least 1");
    assert_eq!(
        text(|c| c.delayed_ack = Some(Span::from_ms(501))),
        "delayed-ack: 501 ms is longer than an acknowledgement may wait; accepted: at most 500 ms, or \"off\""
    );
    assert_eq!(
        text(|c| c.rto = RtoConfig { initial: Span::from_secs(99), ..RtoConfig::default() }),
        "rto-initial: rto-initial, 99 s, is more than rto-max, 64 s; accepted: rto-initial at most rto-max"
    );
    assert_eq!(
        text(|c| c.rto.min = Span::from_ms(999)),
        "rto-min: rto-min, 999 ms, is less than two ticks of 500 ms; accepted: rto-min at least 2 x timer-granularity"
    );
}

#[test]
fn limits_themselves_are_accepted() {
    let edge = Config {
        mss: 65_495,
        receive_window: MAX_WINDOW,
        send_buffer: 65_495,
        delayed_ack: Some(Span::from_ms(500)),
        ..Config::default()
    };
    assert_eq!(edge.validate(), Ok(()));
    let keys = |change: fn(&mut Config)| match refusal(change) {
        ConfigError::Rule(problem) => problem.keys,
        other => panic!("{other}"),
    };
    assert_eq!(keys(|c| c.mss = 65_496), ["mss"]);
    assert_eq!(keys(|c| c.initial_ssthresh = 0), ["initial-ssthresh"]);
    assert_eq!(keys(|c| c.delayed_ack = Some(Span::ZERO)), ["delayed-ack"]);
    assert_eq!(keys(|c| c.rto.min = Span::ZERO), ["rto-min"]);
}
