//! TCP settings.

use cellway_units::{Bytes, Span};
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
    /// Congestion window at the start, in segments.
    pub initial_window: u32,
    /// How long an acknowledgement may wait for company; `None`: each segment is acknowledged.
    pub delayed_ack: Option<Span>,
    /// Whether small segments wait while data is unacknowledged (RFC 896).
    pub nagle: bool,
    /// Duplicate acknowledgements that stand for a loss.
    pub duplicate_threshold: u32,
    /// The tick of the clock that retransmission timers run on.
    pub timer_granularity: Span,
    /// Retransmission timeout before the first round trip is measured.
    pub rto_initial: Span,
    /// Smallest retransmission timeout.
    pub rto_min: Span,
    /// Largest retransmission timeout.
    pub rto_max: Span,
    /// Retransmissions of one segment before the connection is given up.
    pub max_retransmissions: u32,
    /// How long a closed connection lingers.
    pub time_wait: Span,
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
}
