//! The settings of a TCP endpoint, as files declare them.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use cellway_settings::{choice, in_files, section, settings};
use cellway_units::{Bytes, ParseError, Rate, Span};

use super::{CongestionControl, FastRetransmit, LossRecovery, Variant};
use crate::EcnMode;

section! {
    /// TCP. Keys that are left out have the values of `profile`.
    #[derive(Copy, Eq)]
    pub struct TcpSpec, TcpKeys {
        /// The name of a pair of loss recovery and congestion control.
        pub variant: Variant,
        /// Loss recovery, in place of that of the variant. "tahoe" goes only with the control of tahoe.
        pub recovery: Option<LossRecovery>,
        /// Congestion control, in place of that of the variant. "tahoe" goes only with the recovery of tahoe.
        pub control: Option<CongestionControl>,
        /// Payload of a full segment; the packet has 40 bytes of headers more, and IP allows 65535 B (RFC 791). Default: by
        /// the profile; that of linux-6 is the largest that the path takes.
        #[range(min = "1 B", max = "65495 B")]
        pub mss: Bytes,
        /// Receive window. The largest that a segment can announce is 65535 B shifted by 14 (RFC 7323 section 2.3).
        #[range(min = "1 B", max = "1073725440 B")]
        pub window: Bytes,
        /// Send buffer. Default: as large as the window, or that of the profile if that is larger.
        #[range(min = "1 B", max = "1024 GiB")]
        pub send_buffer: Bytes,
        /// Offer the window scale option (RFC 7323); needed for windows past 65535 B.
        pub window_scaling: bool,
        /// Offer timestamps (RFC 7323), which take 12 bytes of each segment's payload.
        pub timestamps: bool,
        /// End the first slow start where the round trip rises (HyStart++, RFC 9406); only in cubic, needs timestamps.
        pub hystart: bool = true,
        /// Grow the window of reno and dctcp by the bytes that are acknowledged (RFC 3465), as Linux does; else by a step for
        /// each acknowledgement (RFC 5681), which is slower where these are delayed. Default: by the profile.
        pub byte_counting: bool,
        /// Report data that arrives twice to the peer by selective acknowledgements (D-SACK, RFC 2883); only in sack and
        /// rack. Default: by the profile.
        pub dsack: bool,
        /// Explicit congestion notification (RFC 3168, RFC 9768), if the peer has it too: queues may mark packets instead of
        /// dropping them.
        pub ecn: EcnMode = EcnMode::Off,
        /// Reduce the window less at a mark than at a loss, to 0.8 with reno and 0.85 with cubic (ABE, RFC 8511).
        pub abe: bool = false,
        /// Space segments in time, at 200 % of window / round trip in slow start and 120 % later.
        pub pacing: bool = false,
        /// Data segments at the start of a connection that pacing does not delay.
        #[range(min = 1, max = 1000)]
        pub unpaced_segments: u32 = 10,
        /// The highest rate at which data leaves, in bits of IP packets. Default: no limit.
        #[range(above = "0 bit/s")]
        pub pacing_rate: Option<Rate>,
        /// Congestion window at the start, in segments.
        #[range(min = 1, max = 1000)]
        pub initial_window: u32,
        /// Slow start threshold at the start. Default: none, slow start goes on until the first loss.
        #[range(min = "1 B")]
        pub initial_ssthresh: Option<Bytes>,
        /// The longest time that an acknowledgement may wait, at most 500 ms (RFC 1122 section 4.2.3.2), or "off": each
        /// segment is acknowledged.
        #[range(above = "0 s", max = "500 ms")]
        pub delayed_ack: AckDelay,
        /// Hold small segments back while data is unacknowledged (RFC 896). Programs that set TCP_NODELAY have false.
        pub nagle: bool,
        /// Duplicate acknowledgements that stand for a loss.
        #[range(min = 1, max = 100)]
        pub duplicate_threshold: u32,
        /// The data that tahoe resends after that many; the other variants always send one segment.
        pub fast_retransmit: FastRetransmit,
        /// The tick of the clock that retransmission timers run on: 500 ms in BSD systems of 1993.
        pub timer_granularity: Span,
        /// Retransmission timeout before the first round trip is measured.
        #[range(above = "0 s")]
        pub rto_initial: Span,
        /// Smallest retransmission timeout.
        #[range(above = "0 s")]
        pub rto_min: Span,
        /// Largest retransmission timeout.
        #[range(above = "0 s")]
        pub rto_max: Span,
        /// The least by which the timeout is above the smoothed round trip. Default: by the profile, else timer-granularity.
        #[range(above = "0 s")]
        pub rto_margin: Option<Span>,
        /// The time by which the timers of RACK and of its probes fire later than RFC 8985 requires, in which an
        /// acknowledgement may arrive; only in rack.
        #[range(max = "1 s")]
        pub loss_timer_margin: Span,
        /// Retransmissions of one segment before the connection is given up.
        #[range(min = 1, max = 1000)]
        pub max_retransmissions: u32,
        /// The time for which a closed connection lingers (TIME-WAIT).
        pub time_wait: Span,
        /// Limited transmit (RFC 3042); never done by tahoe.
        pub limited_transmit: bool,
        /// Begin with the initial window again after a time without sending (RFC 5681 section 4.1).
        pub idle_restart: bool,
        /// The values of the keys that the file leaves out: those of a system, or "classic", TCP as the RFCs of the 1990s
        /// require it. Default: the profile of [tcp], and there "linux-6".
        pub profile: TcpProfile,
    }
}

impl TcpSpec {
    /// The loss recovery: the key, else that of the variant.
    pub fn recovery(&self) -> LossRecovery {
        self.recovery.unwrap_or(self.variant.recovery())
    }
    /// The congestion control: the key, else that of the variant.
    pub fn control(&self) -> CongestionControl {
        self.control.unwrap_or(self.variant.control())
    }
}

impl Default for TcpSpec {
    /// A host of 1993: the profile "classic" with Tahoe, segments of 512 B and windows of 8 KiB.
    fn default() -> TcpSpec {
        let window = Some(Bytes(8192));
        let host = TcpKeys {
            variant: Some(Variant::Tahoe),
            mss: Some(Bytes(512)),
            window,
            send_buffer: window,
            ..TcpProfile::Classic.keys().keys
        };
        host.resolve().expect("the profile has the other keys")
    }
}

/// The longest time that an acknowledgement may wait; `None` is "off": each segment is acknowledged at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckDelay(pub Option<Span>);

settings!(AckDelay);

impl fmt::Display for AckDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(delay) => write!(f, "{delay}"),
            None => f.write_str("off"),
        }
    }
}

impl FromStr for AckDelay {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<AckDelay, ParseError> {
        if text.trim() == "off" { Ok(AckDelay(None)) } else { Ok(AckDelay(Some(text.parse()?))) }
    }
}

impl PartialOrd for AckDelay {
    /// Compares two times; "off" is neither more nor less than a time.
    fn partial_cmp(&self, other: &AckDelay) -> Option<Ordering> {
        match (self.0, other.0) {
            (Some(delay), Some(other)) => Some(delay.cmp(&other)),
            (None, None) => Some(Ordering::Equal),
            (Some(_), None) | (None, Some(_)) => None,
        }
    }
}

in_files! {
    impl cellway_settings::quantity::Text for AckDelay {
        const FORMAT: &'static str = "time-or-off";
        const UNITS: &'static [&'static str] = Span::UNITS;
        const EXAMPLES: &'static [&'static str] = &["200 ms", "off"];
        const WORDS: &'static [&'static str] = &["off"];

        const COMPARE: cellway_settings::quantity::Compare<AckDelay> = PartialOrd::partial_cmp;

        fn read(text: &str) -> Result<AckDelay, cellway_settings::quantity::Error> {
            Ok(text.parse()?)
        }
    }
}

choice! {
    /// A set of values for the keys of TCP that a file leaves out: most are those of a system.
    pub enum TcpProfile {
        /// 4.4BSD.
        Bsd44 = "bsd-4.4",
        /// SunOS 4.1.3.
        SunOs413 = "sunos-4.1.3",
        /// Solaris 2.5.
        Solaris25 = "solaris-2.5",
        /// IRIX 6.3.
        Irix63 = "irix-6.3",
        /// DEC OSF/1.
        Osf1 = "osf1",
        /// Windows 95.
        Windows95 = "windows-95",
        /// Linux 6; the profile of a file that names none.
        Linux6 = "linux-6",
        /// No system: TCP as the RFCs of the 1990s require it, without options.
        Classic = "classic",
    }
}
