//! The framing of an IP packet on a line.

use crate::{Bytes, CELL_PAYLOAD_OCTETS, Cells};

/// Octets of the AAL5 trailer. ITU-T I.363.5, section 9.2.1.
pub const AAL5_TRAILER_OCTETS: u64 = 8;
/// Octets of LLC/SNAP before routed IPv4. RFC 2684, section 5.1.
pub const LLC_SNAP_OCTETS: u64 = 8;

/// Returns the cells of an AAL5 frame around `sdu`, an encapsulation included: it and the trailer, padded to full
/// cells. ITU-T I.363.5.
#[inline]
pub const fn aal5_cells(sdu: Bytes) -> Cells {
    Cells(sdu.0.saturating_add(AAL5_TRAILER_OCTETS).div_ceil(CELL_PAYLOAD_OCTETS))
}

/// Returns the cells of `packet` without an adaptation layer: it is split into pieces of 48 octets, of which the last
/// is padded. Unlike AAL5 there is no trailer, and so neither a length nor a CRC.
#[inline]
pub const fn bare_cells(packet: Bytes) -> Cells {
    Cells(packet.0.div_ceil(CELL_PAYLOAD_OCTETS))
}

/// Returns the octets that an IP packet takes as an Ethernet II frame (IEEE 802.3 clauses 3 and 4, RFC 894): data
/// padded to 46, header 14, FCS 4, preamble and start delimiter 8, gap between frames 12.
pub const fn ethernet_octets(packet: Bytes) -> Bytes {
    let data = if packet.0 < 46 { 46 } else { packet.0 };
    Bytes(data.saturating_add(14 + 4 + 8 + 12))
}

/// Returns the octets that an IP packet takes as an FDDI frame (ANSI X3.139, RFC 1390): LLC/SNAP 8, frame control 1 and
/// two addresses of 6, FCS 4, starting delimiter 1, ending delimiter and frame status 2, preamble of 16 symbols 8. The
/// rotation of the token is not counted.
pub const fn fddi_octets(packet: Bytes) -> Bytes {
    Bytes(packet.0.saturating_add(LLC_SNAP_OCTETS + 13 + 4 + 1 + 2 + 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values: cells = ceil((IP + encapsulation + 8) / 48); a full Ethernet frame takes 1538 octets and the
    /// smallest 84; a full FDDI packet of 4352 octets fits a frame of 4500 (RFC 1390) with room to spare.
    #[test]
    fn packets_take_the_octets_of_their_frames() {
        assert_eq!([40, 41, 48, 1508, 9188].map(|n| aal5_cells(Bytes(n)).0), [1, 2, 2, 32, 192]);
        assert_eq!([1, 46, 47, 1500].map(|n| ethernet_octets(Bytes(n)).0), [84, 84, 85, 1538]);
        assert_eq!([1, 4352].map(|n| fddi_octets(Bytes(n)).0), [37, 4388]);
        assert_eq!(aal5_cells(Bytes(u64::MAX)), Cells(u64::MAX.div_ceil(48)));
        // A TELNET packet with one character has 41 octets: one cell without a trailer, two with one.
        assert_eq!([1, 41, 48, 49, 552].map(|n| bare_cells(Bytes(n)).0), [1, 1, 1, 2, 12]);
    }
}
