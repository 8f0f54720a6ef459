//! `TCP_INFO`: what the kernel knows of one connection.

use std::io;
use std::os::fd::AsFd;

use cellway_units::{Bytes, Rate, Span};

use super::sys::{self, INFO_OCTETS};

/// The kernel's figures of one connection, from the side that asks. `include/uapi/linux/tcp.h`. A field that the
/// running kernel is too old to have is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpInfo {
    /// Segments sent again, so far.
    pub retransmissions: u64,
    /// Payload sent again, so far.
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
    /// Payload acknowledged by the peer, the SYN counted as one byte.
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

/// `tcpi_snd_ssthresh` where there is none: `TCP_INFINITE_SSTHRESH`.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// The figures of `socket` now. Fails if it is no TCP socket.
    pub fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
        let (octets, _) = sys::info(socket.as_fd())?;
        Ok(TcpInfo::from_octets(&octets))
    }

    /// Congestion window in bytes: full segments.
    pub fn cwnd_bytes(&self) -> Bytes {
        Bytes(u64::from(self.cwnd) * self.snd_mss.0)
    }

    /// Offsets as in `struct tcp_info`, which only ever grows at its end.
    fn from_octets(octets: &[u8; INFO_OCTETS]) -> TcpInfo {
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| octets[at + i]));
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| octets[at + i]));
        let micros = |n: u64| Span::from_us(n.min(Span::MAX.as_ps() / 1_000_000));
        let rate = |bytes_per_second: u64| Rate::from_bps(bytes_per_second.saturating_mul(8));
        TcpInfo {
            timeouts_now: octets[2],
            rto: micros(word(8).into()),
            snd_mss: Bytes(word(16).into()),
            unacked: word(24),
            rtt: micros(word(68).into()),
            rtt_variation: micros(word(72).into()),
            ssthresh: Some(word(76)).filter(|&n| n < NO_THRESHOLD),
            cwnd: word(80),
            retransmissions: word(100).into(),
            pacing_rate: Some(long(104)).filter(|&n| n != u64::MAX).map(rate),
            bytes_acked: Bytes(long(120)),
            bytes_received: Bytes(long(128)),
            bytes_waiting: Bytes(word(144).into()),
            rtt_min: Some(word(148)).filter(|&n| n != u32::MAX).map(|n| micros(n.into())),
            delivery_rate: rate(long(160)),
            busy: micros(long(168)),
            rwnd_limited: micros(long(176)),
            sndbuf_limited: micros(long(184)),
            bytes_sent: Bytes(long(200)),
            bytes_retransmitted: Bytes(long(208)),
            peer_window: Bytes(word(228).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The offsets above are those that the headers of the C library give.
    #[cfg(target_env = "gnu")]
    #[test]
    fn offsets_are_those_of_the_structure() {
        type C = libc::tcp_info;
        let found = [
            offset_of!(C, tcpi_backoff) - 2,
            offset_of!(C, tcpi_rto),
            offset_of!(C, tcpi_snd_mss),
            offset_of!(C, tcpi_unacked),
            offset_of!(C, tcpi_rtt),
            offset_of!(C, tcpi_rttvar),
            offset_of!(C, tcpi_snd_ssthresh),
            offset_of!(C, tcpi_snd_cwnd),
            offset_of!(C, tcpi_total_retrans),
            offset_of!(C, tcpi_pacing_rate),
            offset_of!(C, tcpi_bytes_acked),
            offset_of!(C, tcpi_bytes_received),
            offset_of!(C, tcpi_notsent_bytes),
            offset_of!(C, tcpi_min_rtt),
            offset_of!(C, tcpi_delivery_rate),
            offset_of!(C, tcpi_busy_time),
            offset_of!(C, tcpi_rwnd_limited),
            offset_of!(C, tcpi_sndbuf_limited),
            offset_of!(C, tcpi_bytes_sent),
            offset_of!(C, tcpi_bytes_retrans),
            offset_of!(C, tcpi_snd_wnd),
        ];
        let used = [2, 8, 16, 24, 68, 72, 76, 80, 100, 104, 120, 128, 144, 148, 160, 168, 176, 184, 200, 208, 228usize];
        assert_eq!(found, used);
    }

    #[test]
    fn texts_of_the_kernel_become_quantities() {
        let mut octets = [0; INFO_OCTETS];
        for (at, value) in [(68, 20_000u32), (76, NO_THRESHOLD), (80, 10), (16, 1448), (148, u32::MAX)] {
            octets[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        octets[160..168].copy_from_slice(&125_000u64.to_ne_bytes());
        let info = TcpInfo::from_octets(&octets);
        assert_eq!((info.rtt, info.ssthresh, info.rtt_min), (Span::from_ms(20), None, None));
        assert_eq!((info.cwnd_bytes(), info.delivery_rate), (Bytes(14480), Rate::from_bps(1_000_000)));
    }
}
