//! What can be chosen about an endpoint.

pub use cellway_spec::{CongestionControl, FastRetransmit, LossRecovery, MAX_WINDOW, Variant};
use cellway_spec::{TIMESTAMPS_OPTION, TcpProblem, TcpValues};
use cellway_units::{Bytes, Rate, Span};
use thiserror::Error;

/// What the timestamps option takes of each segment, padding included (bytes). RFC 7323 §3.2.
pub(crate) const TIMESTAMPS: u32 = TIMESTAMPS_OPTION as u32;

/// The retransmission timer. RFC 6298.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first round trip is measured. RFC 6298 (2.1) says 1 s, RFC 1122 said 3 s.
    pub initial: Span,
    /// The least that is ever waited. RFC 6298 (2.4) says 1 s.
    pub min: Span,
    /// The most that is ever waited. RFC 6298 (2.5) asks for at least 60 s.
    pub max: Span,
    /// The tick of the clock by which round trips are measured and timers fire. Ticks fall on
    /// multiples of it since time zero; a timer of n ticks fires at the n-th tick after it was set,
    /// as in BSD, so up to one tick early. Zero: a continuous clock.
    pub granularity: Span,
    /// The least by which the timeout is above the smoothed round trip; `None`: one tick, the G of RFC 6298
    /// (2.3). Linux: 200 ms.
    pub margin: Option<Span>,
}

impl Default for RtoConfig {
    /// 4.3BSD: 3 s at first, 1 s to 64 s, on a clock of 500 ms.
    fn default() -> RtoConfig {
        RtoConfig {
            initial: Span::from_secs(3),
            min: Span::from_secs(1),
            max: Span::from_secs(64),
            granularity: Span::from_ms(500),
            margin: None,
        }
    }
}

/// Everything that can be chosen about an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The name of a pair of loss recovery and congestion control.
    pub variant: Variant,
    /// The loss recovery, in place of that of the pair.
    pub recovery: Option<LossRecovery>,
    /// The congestion control, in place of that of the pair.
    pub control: Option<CongestionControl>,
    /// Payload of a full segment (bytes), announced to the peer and used unless the peer's is smaller.
    pub mss: u32,
    /// Receive buffer (bytes). What is announced is at most 65,535 B without window scaling.
    pub receive_window: u64,
    /// Send buffer (bytes): what may be written and not yet acknowledged.
    pub send_buffer: u64,
    /// Whether to offer window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Whether to offer timestamps (RFC 7323): each segment carries the option, and has 12 B less of
    /// payload. Round trips are measured from each acknowledgement of new data, by a clock of
    /// [`RtoConfig::granularity`] but at least 1 ms; old segments are dropped by their timestamps.
    pub timestamps: bool,
    /// Whether slow start looks for a rising round trip and ends before a loss (HyStart++, RFC 9406).
    /// Only in CUBIC. It needs eight measurements a round trip, so `timestamps`.
    pub hystart: bool,
    /// Offers explicit congestion notification to the peer and accepts its offer (RFC 3168).
    pub ecn: bool,
    /// A mark reduces the window less than a loss does: to 0.8 with Reno and 0.85 with CUBIC (ABE, RFC 8511).
    pub abe: bool,
    /// Whether new segments are spaced in time, at 200 % of window / round trip in slow start and 120 %
    /// later. The first ten go at once, as in Linux.
    pub pacing: bool,
    /// The highest rate at which data leaves, in IP packets; `None`: no limit. It works with and
    /// without `pacing`.
    pub pacing_rate: Option<Rate>,
    /// The longest delay of an acknowledgement, unless two full segments wait for it or, where the
    /// application reads at once, half the buffer; `None` acknowledges every segment at once.
    pub delayed_ack: Option<Span>,
    /// Whether small segments wait while anything is unacknowledged. RFC 1122 §4.2.3.4.
    pub nagle: bool,
    /// The window with which a connection begins (segments). RFC 5681 §3.1.
    pub initial_window: u32,
    /// The slow-start threshold with which a connection begins (bytes); the window grows by a segment
    /// for each acknowledgement until it is there. RFC 5681 §3.1.
    pub initial_ssthresh: u64,
    /// The number of duplicate acknowledgements that mean a loss.
    pub duplicate_threshold: u32,
    /// The data that Tahoe resends on a fast retransmit; other variants always resend one segment.
    pub fast_retransmit: FastRetransmit,
    /// Sends one new segment at each of the first two duplicate acknowledgements. RFC 3042. Not in Tahoe.
    pub limited_transmit: bool,
    /// Whether to begin again with the initial window after sending nothing for longer than the
    /// retransmission timeout. RFC 5681 §4.1.
    pub idle_restart: bool,
    /// Whether the application takes every byte the moment it arrives. Otherwise bytes fill the
    /// receive buffer until [`consume`](crate::Endpoint::consume) is called.
    pub immediate_read: bool,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Whether to measure the [delivery rate](crate::Endpoint::delivery_rate), which takes a record for each segment in
    /// flight. [`LossRecovery::Rack`] keeps these records anyway.
    pub delivery_rate: bool,
    /// How often in a row the same data is resent before the connection is given up.
    pub max_retransmissions: u32,
    /// How long the side that closed first lingers: twice the longest life of a segment.
    pub time_wait: Span,
}

impl Default for Config {
    /// A host of 1993: Tahoe, segments of 512 B, 8 KiB windows, a clock of 500 ms.
    fn default() -> Config {
        Config {
            variant: Variant::Tahoe,
            recovery: None,
            control: None,
            mss: 512,
            receive_window: 8192,
            send_buffer: 8192,
            window_scaling: false,
            timestamps: false,
            hystart: true,
            ecn: false,
            abe: false,
            pacing: false,
            pacing_rate: None,
            delayed_ack: None,
            nagle: false,
            initial_window: 1,
            initial_ssthresh: MAX_WINDOW,
            duplicate_threshold: 3,
            fast_retransmit: FastRetransmit::default(),
            limited_transmit: true,
            idle_restart: true,
            immediate_read: true,
            rto: RtoConfig::default(),
            delivery_rate: false,
            max_retransmissions: 12,
            time_wait: Span::from_secs(60),
        }
    }
}

/// Why a [`Config`] is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A rule that also files are checked against; its keys are those of files.
    #[error(transparent)]
    Rule(#[from] TcpProblem),
    /// A count that must not be zero is.
    #[error("{field} is 0; it must be at least 1")]
    Zero {
        /// The name of the field.
        field: &'static str,
    },
    /// Tahoe has no fast recovery, so its window fits no other recovery, nor its recovery another window.
    #[error(
        "recovery \"{}\" does not go with control \"{}\"; tahoe goes only with tahoe, and reno and cubic with any other",
        recovery.name(), control.name()
    )]
    Pair {
        /// The loss recovery.
        recovery: LossRecovery,
        /// The congestion control.
        control: CongestionControl,
    },
}

impl Config {
    /// The loss recovery.
    pub fn recovery(&self) -> LossRecovery {
        self.recovery.unwrap_or(self.variant.recovery())
    }
    /// The congestion control.
    pub fn control(&self) -> CongestionControl {
        self.control.unwrap_or(self.variant.control())
    }
    /// True if the sender keeps a record of each segment in flight.
    pub(crate) fn keeps_records(&self) -> bool {
        self.delivery_rate || self.recovery() == LossRecovery::Rack
    }
    /// Whether an endpoint can work like this.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(problem) = self.values().problems(&|_| String::new()).into_iter().next() {
            return Err(problem.into());
        }
        for (field, value) in [
            ("initial_window", self.initial_window),
            ("duplicate_threshold", self.duplicate_threshold),
            ("max_retransmissions", self.max_retransmissions),
        ] {
            if value == 0 {
                return Err(ConfigError::Zero { field });
            }
        }
        let (recovery, control) = (self.recovery(), self.control());
        if (recovery == LossRecovery::Tahoe) != (control == CongestionControl::Tahoe) {
            return Err(ConfigError::Pair { recovery, control });
        }
        Ok(())
    }
    /// Returns the values that rules connect.
    fn values(&self) -> TcpValues {
        TcpValues {
            mss: Some(Bytes(self.mss.into())),
            window: Bytes(self.receive_window),
            send_buffer: Bytes(self.send_buffer),
            window_scaling: self.window_scaling,
            timestamps: self.timestamps,
            pacing_rate: self.pacing_rate,
            initial_ssthresh: Some(Bytes(self.initial_ssthresh)),
            delayed_ack: self.delayed_ack,
            timer_granularity: self.rto.granularity,
            rto_initial: self.rto.initial,
            rto_min: self.rto.min,
            rto_max: self.rto.max,
            rto_margin: self.rto.margin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_buffer_has_an_upper_limit() {
        let validate = |send_buffer| Config { send_buffer, ..Config::default() }.validate();
        assert_eq!(validate(1 << 40), Ok(()));
        let refused = |send_buffer| validate(send_buffer).expect_err("past the limit").to_string();
        assert_eq!(
            refused((1 << 40) + 1),
            "send-buffer: 1099511627777 B is too much; accepted: at most 1099511627776 B (1024 GiB)"
        );
        assert!(refused(u64::MAX).starts_with("send-buffer: 18446744073709551615 B is too much"));
    }
}
