//! The encapsulation of IP packets in AAL5 frames. RFC 2684 (earlier RFC 1483).

use cellway_units::Bytes;

/// LLC AA-AA-03, OUI 00-00-00 (EtherType follows), EtherType 08-00 (IPv4). RFC 2684, section 5.1.
pub const LLC_SNAP_IPV4: [u8; 8] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00, 0x08, 0x00];
/// The header for EtherType 86-DD: IPv6. RFC 2492, section 2.
pub const LLC_SNAP_IPV6: [u8; 8] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00, 0x86, 0xdd];

/// The encapsulation of routed IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SduFormat {
    /// VC multiplexing: the channel implies IP. RFC 2684, section 6.1.
    #[default]
    VcMux,
    /// LLC/SNAP: eight octets before the packet name the protocol. RFC 2684, section 5.1.
    LlcSnap,
}

/// The error for an SDU that holds no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LlcError {
    /// Another LLC/SNAP header, or none.
    #[error("the SDU starts with {found:02x?}, not with the LLC/SNAP header of IPv4 {LLC_SNAP_IPV4:02x?} or IPv6")]
    Header {
        /// The first octets; zeros where there are fewer than eight.
        found: [u8; 8],
    },
}

impl SduFormat {
    /// Returns the octets before an IPv4 packet; those of IPv6 have the same length.
    pub const fn header(self) -> &'static [u8] {
        match self {
            SduFormat::VcMux => &[],
            SduFormat::LlcSnap => &LLC_SNAP_IPV4,
        }
    }
    /// Returns their number.
    pub const fn overhead(self) -> Bytes {
        Bytes(self.header().len() as u64)
    }
    /// Returns the SDU that carries `packet`.
    pub fn wrap(self, packet: &[u8]) -> Vec<u8> {
        let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
        match self {
            SduFormat::LlcSnap if is_v6 => [&LLC_SNAP_IPV6, packet].concat(),
            _ => [self.header(), packet].concat(),
        }
    }
    /// Returns the packet that `sdu` carries.
    pub fn unwrap(self, sdu: &[u8]) -> Result<&[u8], LlcError> {
        let v6 = || sdu.strip_prefix(&LLC_SNAP_IPV6).filter(|_| self == SduFormat::LlcSnap);
        sdu.strip_prefix(self.header()).or_else(v6).ok_or_else(|| {
            let mut found = [0; 8];
            found.iter_mut().zip(sdu).for_each(|(to, &from)| *to = from);
            LlcError::Header { found }
        })
    }
}
