//! `TCP_INFO`: the kernel's statistics of one connection.

use std::io;
use std::os::fd::AsFd;

use cellway_sys::tcp::Info;
use cellway_units::{Bytes, Rate, Span};

/// The kernel's statistics of one connection, at this end. A field that an older kernel lacks is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpInfo {
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Retransmitted payload.
    pub bytes_retransmitted: Bytes,
    /// Expiries of the retransmission timer since the last progress.
    pub timeouts_now: u8,
    /// Smoothed round trip, RFC 6298. Zero until one was measured.
    pub rtt: Span,
    /// Its mean deviation, RFC 6298.
    pub rtt_variation: Span,
    /// The least round trip of the last minutes (`tcp_min_rtt_wlen`); `None` until one was measured.
    pub rtt_min: Option<Span>,
    /// Retransmission timeout.
    pub rto: Span,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; `None` before the first loss, when it has no bound.
    pub ssthresh: Option<u32>,
    /// Payload of a full segment, options taken off.
    pub snd_mss: Bytes,
    /// Segments sent and not yet acknowledged.
    pub unacked: u32,
    /// The window that the peer last advertised, scaled. Linux 5.4.
    pub peer_window: Bytes,
    /// Latest estimate of the rate at which payload reaches the peer. Linux 4.9.
    pub delivery_rate: Rate,
    /// Rate at which the kernel paces segments, if it does.
    pub pacing_rate: Option<Rate>,
    /// Payload sent, retransmissions included. Linux 4.19.
    pub bytes_sent: Bytes,
    /// Payload acknowledged by the peer; at the end that opened the connection one byte more, for its SYN.
    pub bytes_acked: Bytes,
    /// Payload received in order.
    pub bytes_received: Bytes,
    /// Bytes written that have never been sent.
    pub bytes_waiting: Bytes,
    /// Time with something to send. Linux 4.10.
    pub busy: Span,
    /// Part of it in which the peer's window was the limit.
    pub rwnd_limited: Span,
    /// Part of it in which the send buffer was the limit.
    pub sndbuf_limited: Span,
}

/// `tcpi_snd_ssthresh` without a threshold: `TCP_INFINITE_SSTHRESH`.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// Returns the statistics of `socket`. Fails if it is no TCP socket.
    pub fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
        Info::of(socket).map(TcpInfo::from)
    }

    /// Returns the congestion window in bytes: full segments.
    pub fn cwnd_bytes(&self) -> Bytes {
        Bytes(u64::from(self.cwnd) * self.snd_mss.0)
    }
}

impl From<Info> for TcpInfo {
    fn from(info: Info) -> TcpInfo {
        let micros = |n: u64| Span::from_us(n.min(Span::MAX.as_ps() / 1_000_000));
        let rate = |bytes_per_second: u64| Rate::from_bps(bytes_per_second.saturating_mul(8));
        TcpInfo {
            retransmissions: info.retransmissions.into(),
            bytes_retransmitted: Bytes(info.bytes_retransmitted),
            timeouts_now: info.timeouts_now,
            rtt: micros(info.rtt_us.into()),
            rtt_variation: micros(info.rtt_variation_us.into()),
            rtt_min: Some(info.rtt_min_us).filter(|&n| n != u32::MAX).map(|n| micros(n.into())),
            rto: micros(info.rto_us.into()),
            cwnd: info.cwnd,
            ssthresh: Some(info.ssthresh).filter(|&n| n < NO_THRESHOLD),
            snd_mss: Bytes(info.snd_mss.into()),
            unacked: info.unacked,
            peer_window: Bytes(info.peer_window.into()),
            delivery_rate: rate(info.delivery_rate),
            pacing_rate: Some(info.pacing_rate).filter(|&n| n != u64::MAX).map(rate),
            bytes_sent: Bytes(info.bytes_sent),
            bytes_acked: Bytes(info.bytes_acked),
            bytes_received: Bytes(info.bytes_received),
            bytes_waiting: Bytes(info.bytes_waiting.into()),
            busy: micros(info.busy_us),
            rwnd_limited: micros(info.rwnd_limited_us),
            sndbuf_limited: micros(info.sndbuf_limited_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_kernel_become_quantities() {
        let told = Info {
            rtt_us: 20_000,
            ssthresh: NO_THRESHOLD,
            cwnd: 10,
            snd_mss: 1448,
            rtt_min_us: u32::MAX,
            pacing_rate: u64::MAX,
            delivery_rate: 125_000,
            ..Info::default()
        };
        let info = TcpInfo::from(told);
        assert_eq!((info.rtt, info.ssthresh), (Span::from_ms(20), None));
        assert_eq!((info.rtt_min, info.pacing_rate), (None, None));
        assert_eq!((info.cwnd_bytes(), info.delivery_rate), (Bytes(14480), Rate::from_bps(1_000_000)));
        let known = TcpInfo::from(Info { ssthresh: 7, rtt_min_us: 3, pacing_rate: 5, ..told });
        assert_eq!((known.ssthresh, known.rtt_min), (Some(7), Some(Span::from_us(3))));
        assert_eq!(known.pacing_rate, Some(Rate::from_bps(40)));
    }
}
