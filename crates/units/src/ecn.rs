//! Explicit congestion notification in the IP header.

/// The ECN field of an IP header. RFC 3168 section 5, names of RFC 9331.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// The endpoints do not use ECN.
    #[default]
    NotEct,
    /// ECN-capable transport, codepoint 1: low latency (L4S).
    Ect1,
    /// ECN-capable transport, codepoint 0: classic ECN.
    Ect0,
    /// Congestion experienced: a queue has marked the packet.
    Ce,
}

impl Ecn {
    /// Returns the codepoint in the two lowest bits of `octet`, the traffic class of an IP header.
    pub const fn from_traffic_class(octet: u8) -> Ecn {
        match octet & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Returns the two bits of the codepoint.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        }
    }

    /// Returns true if a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_have_the_bits_of_rfc_3168() {
        let fields = [(0, Ecn::NotEct), (1, Ecn::Ect1), (2, Ecn::Ect0), (3, Ecn::Ce)];
        for (bits, ecn) in fields {
            assert_eq!((Ecn::from_traffic_class(0b1011_1000 | bits), ecn.bits()), (ecn, bits));
            assert_eq!(ecn.is_capable(), bits != 0);
        }
    }
}
