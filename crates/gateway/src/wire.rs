//! The transport of the packets of gateways, and their size on the link.

use cellway_units::{Bits, Bytes, LLC_SNAP_OCTETS, aal5_cells, bare_cells};
use serde::{Deserialize, Serialize};

/// The transport of packets from one gateway to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transport {
    /// Each packet in an IPv4 packet of protocol 253 (RFC 3692): 20 octets of header, 2 of checksum.
    Ip,
    /// Each packet in a DATAGRAM frame (RFC 9221) of a QUIC packet: 8 octets of UDP, 1 of flags, 4 of connection
    /// identifier, 2 of packet number, 3 of frame header, 16 of authentication (RFC 9001, section 5.3).
    Quic {
        /// Set if they use IPv6 (40 octets of header) instead of IPv4 (20).
        v6: bool,
    },
    /// Each packet in a TLS 1.3 record (RFC 8446, section 5) over TCP, in a segment of its own: 20 octets of TCP and 12
    /// of its timestamps, 5 of record header, 1 of content type, 16 of authentication, 2 of length.
    Tls {
        /// Set if they use IPv6 (40 octets of header) instead of IPv4 (20).
        v6: bool,
    },
}

impl Transport {
    /// Returns the octets around one packet, the header of IP included.
    pub const fn overhead(self) -> u32 {
        const fn ip(v6: bool) -> u32 {
            if v6 { 40 } else { 20 }
        }
        match self {
            Transport::Ip => ip(false) + 2,
            Transport::Quic { v6 } => ip(v6) + 8 + 1 + 4 + 2 + 3 + 16,
            Transport::Tls { v6 } => ip(v6) + 20 + 12 + 5 + 1 + 16 + 2,
        }
    }
}

/// The part of an IP packet that counts against the rate between the gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wire {
    /// Its octets.
    Packet,
    /// Full cells of 53 octets that carry the packet in an AAL5 frame, trailer and padding included.
    Atm {
        /// Set if eight octets of LLC/SNAP (RFC 2684) precede the packet.
        llc: bool,
    },
    /// Whole cells of 53 octets that carry the packet without an adaptation layer.
    BareCells,
}

impl Wire {
    /// Returns the bits that an IP packet of `octets` takes on the link.
    pub const fn bits(self, octets: u32) -> Bits {
        let octets = octets as u64;
        match self {
            Wire::Packet => Bytes(octets).bits(),
            Wire::Atm { llc } => {
                let sdu = if llc { octets + LLC_SNAP_OCTETS } else { octets };
                aal5_cells(Bytes(sdu)).bits()
            }
            Wire::BareCells => bare_cells(Bytes(octets)).bits(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_carries_whole_cells() {
        assert_eq!(Wire::Packet.bits(8236), Bits(65_888));
        // 8236 + 8 of trailer = 171.75 payloads of 48; with LLC/SNAP 171.92.
        assert_eq!(Wire::Atm { llc: false }.bits(8236), Bits(172 * 424));
        assert_eq!(Wire::Atm { llc: true }.bits(8236), Bits(172 * 424));
        // 40 + 8 fill one cell; one octet more needs a second.
        assert_eq!(Wire::Atm { llc: false }.bits(40), Bits(424));
        assert_eq!(Wire::Atm { llc: false }.bits(41), Bits(848));
        assert_eq!(Wire::Atm { llc: true }.bits(40), Bits(848));
        // Without a trailer 48 octets fill one.
        assert_eq!([41, 48, 49].map(|octets| Wire::BareCells.bits(octets)), [Bits(424), Bits(424), Bits(848)]);
    }

    #[test]
    fn headers_of_the_transports() {
        assert_eq!(Transport::Ip.overhead(), 22);
        assert_eq!([Transport::Quic { v6: false }, Transport::Quic { v6: true }].map(Transport::overhead), [54, 74]);
    }
}
