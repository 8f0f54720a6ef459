//! The header that a TUN device with `IFF_VNET_HDR` puts before each packet, `struct virtio_net_hdr`.
//! Virtual I/O Device (VIRTIO) 1.2, section 5.1.6.

use super::Malformed;

/// The checksum is not complete.
const NEEDS_CSUM: u8 = 1;
/// The checksums are verified.
const DATA_VALID: u8 = 2;
/// One of the pieces has the CWR flag.
const GSO_ECN: u8 = 0x80;

/// The packets from which one was coalesced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Gso {
    /// None: it is one packet.
    #[default]
    None,
    /// TCP segments over IPv4.
    TcpV4,
    /// TCP segments over IPv6.
    TcpV6,
    /// UDP datagrams of equal size, over either.
    Udp,
}

impl Gso {
    const fn octet(self) -> u8 {
        match self {
            Gso::None => 0,
            Gso::TcpV4 => 1,
            Gso::TcpV6 => 4,
            Gso::Udp => 5,
        }
    }
}

/// The header. Its numbers are in the byte order of the machine, which is the default of a TUN device (`TUNSETVNETLE`
/// and `TUNSETVNETBE` change it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VirtioNetHeader {
    /// The checksum of the payload is only that of its pseudo-header and has to be completed.
    pub needs_checksum: bool,
    /// Checksums need not be checked.
    pub data_valid: bool,
    /// The packets from which it was coalesced.
    pub gso: Gso,
    /// The first of the coalesced segments has the CWR flag. RFC 3168, section 6.1.2.
    pub ecn: bool,
    /// Octets of all headers of the packet: a hint, which may be too large.
    pub header_len: u16,
    /// Octets of payload of each coalesced segment; the last may have fewer.
    pub gso_size: u16,
    /// The offset of the octets that the checksum covers, from the start of the packet.
    pub checksum_start: u16,
    /// Octets from there to the checksum.
    pub checksum_offset: u16,
}

impl VirtioNetHeader {
    /// Octets of the header.
    pub const LEN: usize = 10;

    /// Parses the header of octets that were read from the device. Also returns the packet.
    pub fn parse(octets: &[u8]) -> Result<(VirtioNetHeader, &[u8]), Malformed> {
        let Some((header, packet)) = octets.split_first_chunk::<{ Self::LEN }>() else {
            return Err(Malformed::Truncated { header: "virtio-net header", needed: Self::LEN, found: octets.len() });
        };
        let number = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let gso = match header[1] & !GSO_ECN {
            0 => Gso::None,
            1 => Gso::TcpV4,
            4 => Gso::TcpV6,
            5 => Gso::Udp,
            found => return Err(Malformed::GsoType { found }),
        };
        let parsed = VirtioNetHeader {
            needs_checksum: header[0] & NEEDS_CSUM != 0,
            data_valid: header[0] & DATA_VALID != 0,
            gso,
            ecn: header[1] & GSO_ECN != 0,
            header_len: number(2),
            gso_size: number(4),
            checksum_start: number(6),
            checksum_offset: number(8),
        };
        Ok((parsed, packet))
    }

    /// Returns the octets of the header. The default is the header of a plain packet to the device.
    pub const fn octets(&self) -> [u8; VirtioNetHeader::LEN] {
        let flags = if self.needs_checksum { NEEDS_CSUM } else { 0 } | if self.data_valid { DATA_VALID } else { 0 };
        let gso = self.gso.octet() | if self.ecn { GSO_ECN } else { 0 };
        let [h, i] = self.header_len.to_ne_bytes();
        let [s, t] = self.gso_size.to_ne_bytes();
        let [c, d] = self.checksum_start.to_ne_bytes();
        let [o, p] = self.checksum_offset.to_ne_bytes();
        [flags, gso, h, i, s, t, c, d, o, p]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_structure() {
        let header = VirtioNetHeader {
            needs_checksum: true,
            gso: Gso::TcpV6,
            ecn: true,
            header_len: 74,
            gso_size: 1440,
            checksum_start: 40,
            checksum_offset: 16,
            ..VirtioNetHeader::default()
        };
        let numbers: Vec<u8> = [74u16, 1440, 40, 16].into_iter().flat_map(u16::to_ne_bytes).collect();
        let octets = [&[1, 0x84], &numbers[..], b"packet"].concat();
        assert_eq!(header.octets(), octets[..10]);
        assert_eq!(VirtioNetHeader::parse(&octets).unwrap(), (header, &b"packet"[..]));
        let plain = VirtioNetHeader { data_valid: true, ..VirtioNetHeader::default() };
        assert_eq!(plain.octets(), [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(VirtioNetHeader::parse(&plain.octets()).unwrap(), (plain, &[][..]));
    }

    #[test]
    fn unknown_values_are_refused() {
        assert_eq!(VirtioNetHeader::parse(&[0; 9]).unwrap_err().name(), "truncated");
        // 3 is UDP fragmentation offload, which current kernels do not use.
        assert_eq!(VirtioNetHeader::parse(&[0, 3, 0, 0, 0, 0, 0, 0, 0, 0]), Err(Malformed::GsoType { found: 3 }));
    }
}
