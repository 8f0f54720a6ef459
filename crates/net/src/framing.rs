//! What travels on a link, and how many octets of the line an IP packet takes.

use cellway_units::{Bits, Bytes};

/// What travels on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// ATM cells of 53 octets.
    Atm,
    /// Whole IP packets and nothing else.
    Packet,
    /// Ethernet II frames, RFC 894 and IEEE 802.3 clauses 3 and 4: 46 octets of data at least; header 14,
    /// FCS 4, preamble and start delimiter 8, gap between frames 12.
    Ethernet,
    /// FDDI frames with LLC/SNAP, RFC 1390 and ANSI X3.139: LLC/SNAP 8; frame control 1 and two addresses
    /// of 6; FCS 4; starting delimiter 1; ending delimiter and frame status 2; preamble 8 (16 symbols).
    Fddi,
}

impl Framing {
    /// The bits on the line of an IP packet of `octets`. Over ATM those of the packet alone: how many
    /// cells it takes depends on its encapsulation ([`crate::cells_for`]).
    pub fn bits(self, octets: u32) -> Bits {
        let octets = u64::from(octets);
        let on_line = match self {
            Framing::Atm | Framing::Packet => octets,
            Framing::Ethernet => octets.max(46) + 14 + 4 + 8 + 12,
            Framing::Fddi => octets + 8 + 13 + 4 + 1 + 2 + 8,
        };
        Bytes(on_line).bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values: a full Ethernet frame takes 1538 octets and the smallest 84; a full FDDI packet of
    /// 4352 octets fits a frame of 4500 (RFC 1390) with 8 octets of preamble and room to spare.
    #[test]
    fn packets_take_the_octets_of_their_frames() {
        let octets = |framing: Framing, octets| framing.bits(octets).0 / 8;
        assert_eq!([1, 46, 47, 1500].map(|n| octets(Framing::Ethernet, n)), [84, 84, 85, 1538]);
        assert_eq!([1, 4352].map(|n| octets(Framing::Fddi, n)), [37, 4388]);
        assert_eq!(octets(Framing::Packet, 40), 40);
    }
}
