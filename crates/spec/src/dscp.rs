//! The differentiated services code point of IP packets. RFC 2474.

use cellway_settings::choice;

choice! {
    /// The class that hosts write into the headers of their packets (DSCP).
    pub enum Dscp {
        /// Default forwarding, code point 0.
        Cs0 = "cs0",
        /// Lower effort (RFC 8622), code point 1.
        Le = "le",
        /// Class selector 1, code point 8.
        Cs1 = "cs1",
        /// Assured forwarding 11 (RFC 2597), code point 10.
        Af11 = "af11",
        /// Assured forwarding 12, code point 12.
        Af12 = "af12",
        /// Assured forwarding 13, code point 14.
        Af13 = "af13",
        /// Class selector 2, code point 16.
        Cs2 = "cs2",
        /// Assured forwarding 21, code point 18.
        Af21 = "af21",
        /// Assured forwarding 22, code point 20.
        Af22 = "af22",
        /// Assured forwarding 23, code point 22.
        Af23 = "af23",
        /// Class selector 3, code point 24.
        Cs3 = "cs3",
        /// Assured forwarding 31, code point 26.
        Af31 = "af31",
        /// Assured forwarding 32, code point 28.
        Af32 = "af32",
        /// Assured forwarding 33, code point 30.
        Af33 = "af33",
        /// Class selector 4, code point 32.
        Cs4 = "cs4",
        /// Assured forwarding 41, code point 34.
        Af41 = "af41",
        /// Assured forwarding 42, code point 36.
        Af42 = "af42",
        /// Assured forwarding 43, code point 38.
        Af43 = "af43",
        /// Class selector 5, code point 40.
        Cs5 = "cs5",
        /// Voice with admission control (RFC 5865), code point 44.
        VoiceAdmit = "voice-admit",
        /// Expedited forwarding (RFC 3246), code point 46.
        Ef = "ef",
        /// Class selector 6, code point 48.
        Cs6 = "cs6",
        /// Class selector 7, code point 56.
        Cs7 = "cs7",
    }
}

impl Dscp {
    /// Returns the code point, of 6 bits.
    pub const fn bits(self) -> u8 {
        match self {
            Dscp::Cs0 => 0,
            Dscp::Le => 1,
            Dscp::Cs1 => 8,
            Dscp::Af11 => 10,
            Dscp::Af12 => 12,
            Dscp::Af13 => 14,
            Dscp::Cs2 => 16,
            Dscp::Af21 => 18,
            Dscp::Af22 => 20,
            Dscp::Af23 => 22,
            Dscp::Cs3 => 24,
            Dscp::Af31 => 26,
            Dscp::Af32 => 28,
            Dscp::Af33 => 30,
            Dscp::Cs4 => 32,
            Dscp::Af41 => 34,
            Dscp::Af42 => 36,
            Dscp::Af43 => 38,
            Dscp::Cs5 => 40,
            Dscp::VoiceAdmit => 44,
            Dscp::Ef => 46,
            Dscp::Cs6 => 48,
            Dscp::Cs7 => 56,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Class selectors are 8 n (RFC 2474 section 4.2.2), AFxy is 8 x + 2 y (RFC 2597 section 6).
    #[test]
    fn code_points_are_those_of_their_names() {
        for dscp in Dscp::ALL {
            let digits: Vec<u8> = dscp.name().bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
            let expected = match (&dscp.name()[..2], &digits[..]) {
                ("cs", [class]) => 8 * class,
                ("af", [class, drop]) => 8 * class + 2 * drop,
                ("le", _) => 1,
                ("ef", _) => 46,
                _ => 44,
            };
            assert_eq!(dscp.bits(), expected, "{}", dscp.name());
        }
    }
}
