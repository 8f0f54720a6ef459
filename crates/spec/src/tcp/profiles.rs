//! TCP profiles: values for the keys that a file leaves out. `linux-6` is the default of a file that names none.
//!
//! None of the systems of the 1990s is at hand. Values marked "Kato et al." are from T. Kato et al., *High-speed TCP/IP
//! experiment over an international ATM test bed*, 1997; the rest are recalled from W. R. Stevens, TCP/IP Illustrated,
//! volumes 1 and 2, and from the systems' own documentation, and not checked against code. What is not known is left to
//! the file.

use cellway_units::{Bytes, Span};

use super::{AckDelay, FastRetransmit, TcpKeys, TcpProfile, Variant};

/// The values of a profile.
#[derive(Clone, Copy, Debug)]
pub struct ProfileKeys {
    /// The keys that the profile has.
    pub keys: TcpKeys,
    /// True if segments are as large as the path takes, as after path MTU discovery (RFC 1191).
    pub mss_of_path: bool,
}

/// TCP as the RFCs of the 1990s require it, without options: a segment of 536 B where nothing else is negotiated (RFC
/// 1122 section 4.2.2.6), windows without the scale option (RFC 793), an initial window of one segment (RFC 2001), an
/// initial timeout of 3 s and a minimum of 1 s (RFC 2988 section 2), up to 64 s and on the 500 ms clock of 4.3BSD, and
/// failure after 12 retransmissions. Each segment is acknowledged at once and small segments are not delayed, which RFC
/// 1122 allows; limited transmit (RFC 3042) is on. It also has the values that the profiles of systems leave out.
const CLASSIC: TcpKeys = TcpKeys {
    variant: Some(Variant::Reno),
    mss: Some(Bytes(536)),
    window: Some(Bytes(65_535)),
    window_scaling: Some(false),
    timestamps: Some(false),
    byte_counting: Some(false),
    dsack: Some(false),
    initial_window: Some(1),
    delayed_ack: Some(AckDelay(None)),
    nagle: Some(false),
    duplicate_threshold: Some(3),
    fast_retransmit: Some(FastRetransmit::GoBackN),
    timer_granularity: Some(Span::from_ms(500)),
    rto_initial: Some(Span::from_secs(3)),
    rto_min: Some(Span::from_secs(1)),
    rto_max: Some(Span::from_secs(64)),
    loss_timer_margin: Some(Span::ZERO),
    max_retransmissions: Some(12),
    time_wait: Some(Span::from_secs(60)),
    limited_transmit: Some(true),
    idle_restart: Some(true),
    ..TcpKeys::NONE
};

/// The keys that the systems of the 1990s share: an initial window of one segment, Nagle's rule, three duplicates, a
/// restart after idle time, and no limited transmit (RFC 3042 is of 2001).
const COMMON: TcpKeys = TcpKeys {
    variant: Some(Variant::Reno),
    initial_window: Some(1),
    nagle: Some(true),
    duplicate_threshold: Some(3),
    fast_retransmit: Some(FastRetransmit::GoBackN),
    limited_transmit: Some(false),
    idle_restart: Some(true),
    window_scaling: Some(false),
    ..TcpKeys::NONE
};

/// BSD: acknowledgements at the latest at the next tick of 200 ms, retransmission by ticks of 500 ms, at least two,
/// at most 64 s, 6 s before a measurement, given up after 12 (Stevens, volume 2, chapter 25); TIME-WAIT of 60 s.
const BSD: TcpKeys = TcpKeys {
    delayed_ack: Some(AckDelay(Some(Span::from_ms(200)))),
    timer_granularity: Some(Span::from_ms(500)),
    rto_initial: Some(Span::from_secs(6)),
    rto_min: Some(Span::from_secs(1)),
    rto_max: Some(Span::from_secs(64)),
    max_retransmissions: Some(12),
    time_wait: Some(Span::from_secs(60)),
    ..COMMON
};

/// Linux 6, as its documentation (ip-sysctl) and source have it: CUBIC, SACK, timestamps, ten segments at first
/// (`TCP_INIT_CWND`), acknowledgements within 40 ms (`TCP_DELACK_MIN`), timeouts of 1 s at first (`TCP_TIMEOUT_INIT`) and
/// from 200 ms above the round trip (`tcp_rtt_estimator`) to 120 s (`TCP_RTO_MIN`, `TCP_RTO_MAX`), timers of RACK and of
/// loss probes 2 ms late (`TCP_TIMEOUT_MIN_US`), `tcp_retries2` of 15, TIME-WAIT of 60 s. The window is the half that is
/// for payload of the 6 MiB to which `tcp_rmem` lets a receive buffer grow; the send buffer is the 4 MiB of `tcp_wmem`.
/// Nagle's rule unless an application turns it off. Pacing needs the fq discipline or a socket option.
const LINUX: TcpKeys = TcpKeys {
    variant: Some(Variant::Cubic),
    window: Some(Bytes(3 << 20)),
    send_buffer: Some(Bytes(4 << 20)),
    window_scaling: Some(true),
    timestamps: Some(true),
    byte_counting: Some(true),
    dsack: Some(true),
    initial_window: Some(10),
    delayed_ack: Some(AckDelay(Some(Span::from_ms(40)))),
    nagle: Some(true),
    duplicate_threshold: Some(3),
    fast_retransmit: Some(FastRetransmit::GoBackN),
    timer_granularity: Some(Span::from_ms(1)),
    rto_initial: Some(Span::from_secs(1)),
    rto_min: Some(Span::from_ms(200)),
    rto_max: Some(Span::from_secs(120)),
    rto_margin: Some(Span::from_ms(200)),
    loss_timer_margin: Some(Span::from_ms(2)),
    max_retransmissions: Some(15),
    time_wait: Some(Span::from_secs(60)),
    limited_transmit: Some(true),
    idle_restart: Some(true),
    ..TcpKeys::NONE
};

impl TcpProfile {
    /// The profile of a file that names none.
    pub const DEFAULT: TcpProfile = TcpProfile::Linux6;

    /// Returns the values of the profile.
    pub const fn keys(self) -> ProfileKeys {
        let (keys, mss_of_path) = match self {
            TcpProfile::Classic => (CLASSIC, false),
            // 512 B to hosts that are not on a local network; 8 KiB for sockets; RFC 1323 on.
            TcpProfile::Bsd44 => {
                let keys =
                    TcpKeys { mss: Some(Bytes(512)), window: Some(Bytes(8 << 10)), window_scaling: Some(true), ..BSD };
                (keys, false)
            }
            // The network code of 4.3BSD-Tahoe, whose tcp_input resends one segment; tcp_sendspace and tcp_recvspace are 4
            // KiB.
            TcpProfile::SunOs413 => {
                let keys = TcpKeys {
                    variant: Some(Variant::Tahoe),
                    fast_retransmit: Some(FastRetransmit::OneSegment),
                    mss: Some(Bytes(512)),
                    window: Some(Bytes(4 << 10)),
                    ..BSD
                };
                (keys, false)
            }
            // Windows of 8760 B on Ethernet: Kato et al. 1997, section 4.4. Timers in tcp_rexmit_interval_initial, _min, _max of 500 ms,
            // 200 ms, 60 s, run by a clock of 10 ms; tcp_deferred_ack_interval 50 ms; tcp_close_wait_interval 4 min.
            TcpProfile::Solaris25 => {
                let keys = TcpKeys {
                    window: Some(Bytes(8760)),
                    delayed_ack: Some(AckDelay(Some(Span::from_ms(50)))),
                    timer_granularity: Some(Span::from_ms(10)),
                    rto_initial: Some(Span::from_ms(500)),
                    rto_min: Some(Span::from_ms(200)),
                    rto_max: Some(Span::from_secs(60)),
                    time_wait: Some(Span::from_secs(240)),
                    ..COMMON
                };
                (keys, true)
            }
            // 4.4BSD with sockets of 60 KiB.
            TcpProfile::Irix63 => (TcpKeys { window: Some(Bytes(60 << 10)), window_scaling: Some(true), ..BSD }, true),
            // Reno with sockets of 32 KiB.
            TcpProfile::Osf1 => (TcpKeys { window: Some(Bytes(32 << 10)), ..BSD }, true),
            // DefaultRcvWindow 8 KiB, path MTU discovery on, MaxDataRetransmissions 5; TIME-WAIT of 4 min.
            TcpProfile::Windows95 => {
                let keys = TcpKeys {
                    window: Some(Bytes(8 << 10)),
                    delayed_ack: Some(AckDelay(Some(Span::from_ms(200)))),
                    timer_granularity: Some(Span::from_ms(100)),
                    rto_initial: Some(Span::from_secs(3)),
                    max_retransmissions: Some(5),
                    time_wait: Some(Span::from_secs(240)),
                    ..COMMON
                };
                (keys, true)
            }
            TcpProfile::Linux6 => (LINUX, true),
        };
        ProfileKeys { keys: TcpKeys { profile: Some(self), ..keys }, mss_of_path }
    }
}
