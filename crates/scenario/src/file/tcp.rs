//! Keys of TCP.

use cellway_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{FastRetransmit, TcpKeys, TcpProfile, TcpVariant};
use crate::quantity::{AckDelay, Quantity};

/// TCP. Keys that are left out have the values of `profile`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TcpFile {
    /// How loss is recovered from.
    pub(crate) variant: Option<TcpVariant>,
    /// Payload of a full segment; the packet has 40 bytes of headers more. Default: by the profile; that of linux-6 is
    /// the largest that the path takes.
    pub(crate) mss: Option<Quantity<Bytes>>,
    /// Receive window.
    pub(crate) window: Option<Quantity<Bytes>>,
    /// Send buffer. Default: as large as the window, or that of the profile if that is larger.
    pub(crate) send_buffer: Option<Quantity<Bytes>>,
    /// Offer the window scale option (RFC 7323); needed for windows past 65535 B.
    pub(crate) window_scaling: Option<bool>,
    /// Offer timestamps (RFC 7323), which take 12 bytes of each segment's payload.
    pub(crate) timestamps: Option<bool>,
    /// End the first slow start where the round trip rises (HyStart++, RFC 9406); only in cubic, needs timestamps.
    pub(crate) hystart: Option<bool>,
    /// Space segments in time, at 200 % of window / round trip in slow start and 120 % later.
    pub(crate) pacing: Option<bool>,
    /// The highest rate at which data leaves, in bits of IP packets. Default: none.
    pub(crate) pacing_rate: Option<Quantity<Rate>>,
    /// Congestion window at the start, in segments.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) initial_window: Option<u32>,
    /// Slow start threshold at the start. Default: none, slow start goes on until the first loss.
    pub(crate) initial_ssthresh: Option<Quantity<Bytes>>,
    /// The longest time that an acknowledgement may wait, or "off": each segment is acknowledged.
    pub(crate) delayed_ack: Option<Quantity<AckDelay>>,
    /// Hold small segments back while data is unacknowledged (RFC 896).
    pub(crate) nagle: Option<bool>,
    /// Duplicate acknowledgements that stand for a loss.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) duplicate_threshold: Option<u32>,
    /// The data that tahoe resends after that many; the other variants always send one segment.
    pub(crate) fast_retransmit: Option<FastRetransmit>,
    /// The tick of the clock that retransmission timers run on: 500 ms in BSD systems of 1993.
    pub(crate) timer_granularity: Option<Quantity<Span>>,
    /// Retransmission timeout before the first round trip is measured.
    pub(crate) rto_initial: Option<Quantity<Span>>,
    /// Smallest retransmission timeout.
    pub(crate) rto_min: Option<Quantity<Span>>,
    /// Largest retransmission timeout.
    pub(crate) rto_max: Option<Quantity<Span>>,
    /// The least by which the timeout is above the smoothed round trip. Default: by the profile, else timer-granularity.
    pub(crate) rto_margin: Option<Quantity<Span>>,
    /// Retransmissions of one segment before the connection is given up.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) max_retransmissions: Option<u32>,
    /// How long a closed connection lingers (TIME-WAIT).
    pub(crate) time_wait: Option<Quantity<Span>>,
    /// Limited transmit (RFC 3042); never done by tahoe.
    pub(crate) limited_transmit: Option<bool>,
    /// Begin with the initial window again after a time without sending (RFC 5681 section 4.1).
    pub(crate) idle_restart: Option<bool>,
    /// The values of the keys that the file leaves out: those of a system, or "classic", TCP as the RFCs of the 1990s
    /// require it. Default: the profile of [tcp], and there "linux-6".
    pub(crate) profile: Option<TcpProfile>,
}

impl TcpFile {
    pub(crate) fn keys(&self) -> TcpKeys {
        fn plain<T>(quantity: Option<Quantity<T>>) -> Option<T> {
            quantity.map(|Quantity(value)| value)
        }
        TcpKeys {
            variant: self.variant,
            mss: plain(self.mss),
            window: plain(self.window),
            send_buffer: plain(self.send_buffer),
            window_scaling: self.window_scaling,
            timestamps: self.timestamps,
            hystart: self.hystart,
            pacing: self.pacing,
            pacing_rate: plain(self.pacing_rate),
            initial_window: self.initial_window,
            initial_ssthresh: plain(self.initial_ssthresh),
            delayed_ack: plain(self.delayed_ack).map(|AckDelay(delay)| delay),
            nagle: self.nagle,
            duplicate_threshold: self.duplicate_threshold,
            fast_retransmit: self.fast_retransmit,
            timer_granularity: plain(self.timer_granularity),
            rto_initial: plain(self.rto_initial),
            rto_min: plain(self.rto_min),
            rto_max: plain(self.rto_max),
            rto_margin: plain(self.rto_margin),
            max_retransmissions: self.max_retransmissions,
            time_wait: plain(self.time_wait),
            limited_transmit: self.limited_transmit,
            idle_restart: self.idle_restart,
            profile: self.profile,
        }
    }
}
