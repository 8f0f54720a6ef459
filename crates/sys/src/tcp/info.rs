//! `TCP_INFO`: the kernel's statistics of one connection.

use std::io;
use std::os::fd::AsFd;

/// The length of `struct tcp_info` that is requested: a longer structure of a newer kernel is truncated, a shorter one
/// of an older kernel is filled up with zeros.
const OCTETS: usize = 320;

/// `TCPI_OPT_TIMESTAMPS`.
const TIMESTAMPS: u8 = 1;

/// Makes [`Info`] from a table: for each field its type, the octet at which it begins, and its name in the kernel.
macro_rules! info {
    ($($(#[$comment:meta])* $name:ident: $type:ty = $at:literal $kernel:ident,)*) => {
        /// The kernel's statistics of one connection, at this end: the fields of `struct tcp_info` in linux/tcp.h that
        /// are used here, with the kernel's own units and values for "unknown". A field that an older kernel lacks is
        /// 0.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Info {
            $($(#[$comment])* pub $name: $type,)*
        }

        impl Info {
            /// The offsets do not change: the structure only grows at its end.
            fn from_octets(octets: &[u8; OCTETS]) -> Info {
                Info { $($name: <$type>::from_ne_bytes(std::array::from_fn(|i| octets[$at + i])),)* }
            }
        }

        /// For each field its name, its offset in the table, and its offset in the headers of the C library.
        #[cfg(all(test, target_env = "gnu"))]
        const PLACES: &[(&str, usize, usize)] =
            &[$((stringify!($name), $at, std::mem::offset_of!(libc::tcp_info, $kernel)),)*];

        /// Does not compile if a field has another type in the headers of the C library.
        #[cfg(all(test, target_env = "gnu"))]
        fn from_structure(structure: &libc::tcp_info) -> Info {
            Info { $($name: structure.$kernel,)* }
        }
    };
}

info! {
    /// Expiries of the retransmission timer since the last progress.
    timeouts_now: u8 = 2 tcpi_retransmits,
    /// Options that both ends have agreed on, a bit for each; see [`Info::has_timestamps`].
    options: u8 = 5 tcpi_options,
    /// Retransmission timeout, in microseconds.
    rto_us: u32 = 8 tcpi_rto,
    /// Payload of a full segment, options taken off, in bytes.
    snd_mss: u32 = 16 tcpi_snd_mss,
    /// Segments sent and not yet acknowledged.
    unacked: u32 = 24 tcpi_unacked,
    /// Smoothed round-trip time (RFC 6298), in microseconds. 0 until one was measured.
    rtt_us: u32 = 68 tcpi_rtt,
    /// Its mean deviation (RFC 6298), in microseconds.
    rtt_variation_us: u32 = 72 tcpi_rttvar,
    /// Slow-start threshold, in segments; 0x7fff_ffff or more before the first loss, when it has no bound
    /// (`TCP_INFINITE_SSTHRESH`).
    ssthresh: u32 = 76 tcpi_snd_ssthresh,
    /// Congestion window, in segments.
    cwnd: u32 = 80 tcpi_snd_cwnd,
    /// Retransmitted segments.
    retransmissions: u32 = 100 tcpi_total_retrans,
    /// Rate at which the kernel paces segments, in bytes per second; `u64::MAX` if it does not.
    pacing_rate: u64 = 104 tcpi_pacing_rate,
    /// Payload acknowledged by the peer, the SYN counted as one byte.
    bytes_acked: u64 = 120 tcpi_bytes_acked,
    /// Payload received in order, in bytes.
    bytes_received: u64 = 128 tcpi_bytes_received,
    /// Segments sent, modulo 2^32, pure acknowledgements and retransmissions too.
    segments_sent: u32 = 136 tcpi_segs_out,
    /// Bytes written that have never been sent.
    bytes_waiting: u32 = 144 tcpi_notsent_bytes,
    /// The least round-trip time of the last minutes (`tcp_min_rtt_wlen`), in microseconds; `u32::MAX` until one was
    /// measured.
    rtt_min_us: u32 = 148 tcpi_min_rtt,
    /// Latest estimate of the rate at which payload reaches the peer, in bytes per second. Linux 4.9.
    delivery_rate: u64 = 160 tcpi_delivery_rate,
    /// Time with something to send, in microseconds. Linux 4.10.
    busy_us: u64 = 168 tcpi_busy_time,
    /// Part of it in which the peer's window was the limit.
    rwnd_limited_us: u64 = 176 tcpi_rwnd_limited,
    /// Part of it in which the send buffer was the limit.
    sndbuf_limited_us: u64 = 184 tcpi_sndbuf_limited,
    /// Payload sent, retransmissions included, in bytes. Linux 4.19.
    bytes_sent: u64 = 200 tcpi_bytes_sent,
    /// Retransmitted payload, in bytes. Linux 4.19.
    bytes_retransmitted: u64 = 208 tcpi_bytes_retrans,
    /// The window that the peer last advertised, scaled, in bytes. Linux 5.4.
    peer_window: u32 = 228 tcpi_snd_wnd,
}

impl Info {
    /// Returns the statistics of `socket` (`TCP_INFO`, tcp(7)).
    ///
    /// # Errors
    /// It is no TCP socket.
    pub fn of(socket: impl AsFd) -> io::Result<Info> {
        let mut octets = [0; OCTETS];
        super::get(socket.as_fd(), super::INFO, &mut octets)?;
        Ok(Info::from_octets(&octets))
    }

    /// Returns true if segments carry time stamps (RFC 7323).
    pub fn has_timestamps(&self) -> bool {
        self.options & TIMESTAMPS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_env = "gnu")]
    #[test]
    fn fields_are_where_the_c_library_has_them() {
        let _: fn(&libc::tcp_info) -> Info = from_structure;
        for (name, at, there) in PLACES {
            assert_eq!(at, there, "{name}");
        }
    }

    #[test]
    fn fields_are_read_at_their_places() {
        let octets = std::array::from_fn(|i| i as u8);
        let info = Info::from_octets(&octets);
        assert_eq!((info.timeouts_now, info.options, info.has_timestamps()), (2, 5, true));
        assert_eq!(info.rtt_us, u32::from_ne_bytes([68, 69, 70, 71]));
        assert_eq!(info.bytes_sent, u64::from_ne_bytes([200, 201, 202, 203, 204, 205, 206, 207]));
        assert_eq!(Info::from_octets(&[0; OCTETS]), Info::default());
    }
}
