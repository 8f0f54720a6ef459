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
    assert_eq!(
        text(|c| c.mss = 0),
        "mss is 0 B; it must be from 1 B to 65495 B (an IPv4 packet of 65535 B less 40 B of headers)"
    );
    assert_eq!(text(|c| c.receive_window = 511), "the receive window is 511 B, less than one segment of 512 B");
    assert_eq!(
        text(|c| c.receive_window = MAX_WINDOW + 1),
        "the receive window is 1073725441 B; a window scale can announce at most 1073725440 B"
    );
    assert_eq!(text(|c| c.send_buffer = 100), "the send buffer is 100 B, less than one segment of 512 B");
    assert_eq!(
        text(|c| (c.mss, c.timestamps) = (12, true)),
        "mss is 12 B; with timestamps, which take 12 B of each segment, it must be above that"
    );
    assert_eq!(
        text(|c| c.pacing_rate = Some(Rate::from_bps(0))),
        "pacing_rate is 0 bit/s; it must be above that, or None"
    );
    assert_eq!(text(|c| c.initial_window = 0), "initial_window is 0; it must be at least 1");
    assert_eq!(text(|c| c.duplicate_threshold = 0), "duplicate_threshold is 0; it must be at least 1");
    assert_eq!(text(|c| c.max_retransmissions = 0), "max_retransmissions is 0; it must be at least 1");
    assert_eq!(
        text(|c| c.delayed_ack = Some(Span::from_ms(501))),
        "acknowledgements are delayed by 501 ms; it must be above 0 ms and at most 500 ms (RFC 1122)"
    );
    assert_eq!(
        text(|c| c.rto = RtoConfig { initial: Span::from_secs(99), ..RtoConfig::default() }),
        "the retransmission timeout starts at 99 s with bounds 1 s to 64 s; it needs 0 s < min <= initial <= max"
    );
    assert_eq!(
        text(|c| c.rto.min = Span::from_ms(999)),
        "the least retransmission timeout is 999 ms; on a clock of 500 ms it must be at least two ticks"
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
    assert!(matches!(refusal(|c| c.mss = 65_496), ConfigError::Mss { mss: 65_496 }));
    assert!(matches!(refusal(|c| c.delayed_ack = Some(Span::ZERO)), ConfigError::DelayedAck { .. }));
    assert!(matches!(refusal(|c| c.rto.min = Span::ZERO), ConfigError::RtoOrder { .. }));
}
