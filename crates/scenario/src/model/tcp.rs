//! TCP settings.

use cellway_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP for one group, complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSpec {
    /// How loss is recovered from.
    pub variant: TcpVariant,
    /// Payload of a full segment, in bytes; with 40 bytes of headers at most 65 535.
    pub mss: Bytes,
    /// Receive window, in bytes; at least one segment.
    pub window: Bytes,
    /// Send buffer, in bytes; at least one segment.
    pub send_buffer: Bytes,
    /// Whether the window scale option is offered (RFC 7323); true if `window` passes 65 535.
    pub window_scaling: bool,
    /// Whether timestamps are offered (RFC 7323); they take 12 bytes of each segment.
    pub timestamps: bool,
    /// Whether the first slow start ends where the round trip rises (HyStart++, RFC 9406); only in CUBIC.
    pub hystart: bool,
    /// Whether segments are spaced by window and round trip.
    pub pacing: bool,
    /// The highest rate at which data leaves, in bits of IP packets; above 0.
    pub pacing_rate: Option<Rate>,
    /// Congestion window at the start, in segments.
    pub initial_window: u32,
    /// Slow start threshold at the start, in bytes; `None`: slow start goes on until the first loss.
    pub initial_ssthresh: Option<Bytes>,
    /// How long an acknowledgement may wait for company; `None`: each segment is acknowledged.
    pub delayed_ack: Option<Span>,
    /// Whether small segments wait while data is unacknowledged (RFC 896).
    pub nagle: bool,
    /// Duplicate acknowledgements that stand for a loss.
    pub duplicate_threshold: u32,
    /// The data that Tahoe resends after that many.
    pub fast_retransmit: FastRetransmit,
    /// The tick of the clock that retransmission timers run on.
    pub timer_granularity: Span,
    /// Retransmission timeout before the first round trip is measured.
    pub rto_initial: Span,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
    /// Largest retransmission timeout.
    pub rto_max: Span,
    /// The least by which it is above the smoothed round trip; `None`: one tick of the clock.
    pub rto_margin: Option<Span>,
    /// Retransmissions of one segment before the connection is given up.
    pub max_retransmissions: u32,
    /// How long a closed connection lingers.
    pub time_wait: Span,
    /// Whether the first two duplicate acknowledgements let a new segment go each (RFC 3042).
    pub limited_transmit: bool,
    /// Whether the window falls back to its initial size after a time without sending (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// The profile that filled in what the file leaves out; its values are in the other fields already.
    pub profile: TcpProfile,
}

/// Keys of TCP of which any may be left out: what a profile or one table of the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the same fields as in `TcpSpec`; `delayed_ack` holds `Some(None)` for \"off\"")]
pub struct TcpKeys {
    pub variant: Option<TcpVariant>,
    pub mss: Option<Bytes>,
    pub window: Option<Bytes>,
    pub send_buffer: Option<Bytes>,
    pub window_scaling: Option<bool>,
    pub timestamps: Option<bool>,
    pub hystart: Option<bool>,
    pub pacing: Option<bool>,
    pub pacing_rate: Option<Rate>,
    pub initial_window: Option<u32>,
    pub initial_ssthresh: Option<Bytes>,
    pub delayed_ack: Option<Option<Span>>,
    pub nagle: Option<bool>,
    pub duplicate_threshold: Option<u32>,
    pub fast_retransmit: Option<FastRetransmit>,
    pub timer_granularity: Option<Span>,
    pub rto_initial: Option<Span>,
    pub rto_min: Option<Span>,
    pub rto_max: Option<Span>,
    pub rto_margin: Option<Span>,
    pub max_retransmissions: Option<u32>,
    pub time_wait: Option<Span>,
    pub limited_transmit: Option<bool>,
    pub idle_restart: Option<bool>,
    pub profile: Option<TcpProfile>,
}

impl TcpKeys {
    /// These keys, and those of `other` where these leave one out.
    pub fn or(self, other: TcpKeys) -> TcpKeys {
        TcpKeys {
            variant: self.variant.or(other.variant),
            mss: self.mss.or(other.mss),
            window: self.window.or(other.window),
            send_buffer: self.send_buffer.or(other.send_buffer),
            window_scaling: self.window_scaling.or(other.window_scaling),
            timestamps: self.timestamps.or(other.timestamps),
            hystart: self.hystart.or(other.hystart),
            pacing: self.pacing.or(other.pacing),
            pacing_rate: self.pacing_rate.or(other.pacing_rate),
            initial_window: self.initial_window.or(other.initial_window),
            initial_ssthresh: self.initial_ssthresh.or(other.initial_ssthresh),
            delayed_ack: self.delayed_ack.or(other.delayed_ack),
            nagle: self.nagle.or(other.nagle),
            duplicate_threshold: self.duplicate_threshold.or(other.duplicate_threshold),
            fast_retransmit: self.fast_retransmit.or(other.fast_retransmit),
            timer_granularity: self.timer_granularity.or(other.timer_granularity),
            rto_initial: self.rto_initial.or(other.rto_initial),
            rto_min: self.rto_min.or(other.rto_min),
            rto_max: self.rto_max.or(other.rto_max),
            rto_margin: self.rto_margin.or(other.rto_margin),
            max_retransmissions: self.max_retransmissions.or(other.max_retransmissions),
            time_wait: self.time_wait.or(other.time_wait),
            limited_transmit: self.limited_transmit.or(other.limited_transmit),
            idle_restart: self.idle_restart.or(other.idle_restart),
            profile: self.profile.or(other.profile),
        }
    }
}

impl From<TcpSpec> for TcpKeys {
    fn from(spec: TcpSpec) -> TcpKeys {
        TcpKeys {
            variant: Some(spec.variant),
            mss: Some(spec.mss),
            window: Some(spec.window),
            send_buffer: Some(spec.send_buffer),
            window_scaling: Some(spec.window_scaling),
            timestamps: Some(spec.timestamps),
            hystart: Some(spec.hystart),
            pacing: Some(spec.pacing),
            pacing_rate: spec.pacing_rate,
            initial_window: Some(spec.initial_window),
            initial_ssthresh: spec.initial_ssthresh,
            delayed_ack: Some(spec.delayed_ack),
            nagle: Some(spec.nagle),
            duplicate_threshold: Some(spec.duplicate_threshold),
            fast_retransmit: Some(spec.fast_retransmit),
            timer_granularity: Some(spec.timer_granularity),
            rto_initial: Some(spec.rto_initial),
            rto_min: Some(spec.rto_min),
            rto_max: Some(spec.rto_max),
            rto_margin: spec.rto_margin,
            max_retransmissions: Some(spec.max_retransmissions),
            time_wait: Some(spec.time_wait),
            limited_transmit: Some(spec.limited_transmit),
            idle_restart: Some(spec.idle_restart),
            profile: Some(spec.profile),
        }
    }
}

/// A set of values for the keys of TCP that a file leaves out: most are those of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TcpProfile {
    /// 4.4BSD.
    #[serde(rename = "bsd-4.4")]
    Bsd44,
    /// SunOS 4.1.3.
    #[serde(rename = "sunos-4.1.3")]
    SunOs413,
    /// Solaris 2.5.
    #[serde(rename = "solaris-2.5")]
    Solaris25,
    /// IRIX 6.3.
    #[serde(rename = "irix-6.3")]
    Irix63,
    /// DEC OSF/1.
    #[serde(rename = "osf1")]
    Osf1,
    /// Windows 95.
    #[serde(rename = "windows-95")]
    Windows95,
    /// Linux 6; the profile of a file that names none.
    #[serde(rename = "linux-6")]
    Linux6,
    /// No system: TCP as the RFCs of the 1990s require it, without options.
    #[serde(rename = "classic")]
    Classic,
}

/// The data that Tahoe resends when duplicate acknowledgements mean a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastRetransmit {
    /// Everything from the first unacknowledged byte on, as the window grows again.
    GoBackN,
    /// The first unacknowledged segment, as 4.3BSD-Tahoe does.
    OneSegment,
}

/// How a TCP sender recovers from loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TcpVariant {
    /// Fast retransmit, then slow start from one segment.
    Tahoe,
    /// Fast recovery. RFC 5681.
    Reno,
    /// Fast recovery that repairs several losses. RFC 6582.
    NewReno,
    /// Recovery from selective acknowledgements. RFC 6675.
    Sack,
    /// The recovery of sack, and a window that grows as a cubic of the time since the last loss. RFC 9438.
    Cubic,
}
