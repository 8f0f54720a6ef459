//! The framing of a link.

use cellway_settings::choice;
use cellway_units::{Bits, Bytes, ethernet_octets, fddi_octets};

choice! {
    /// The framing of a link.
    pub enum Framing {
        /// Cells. The only framing at a switch.
        Atm = "atm",
        /// IP packets without further framing.
        Packet = "packet",
        /// IP packets in Ethernet frames.
        Ethernet = "ethernet",
        /// IP packets in FDDI frames.
        Fddi = "fddi",
    }
}

impl Framing {
    /// Returns the largest IP packet of a link if nothing else is said.
    pub const fn usual_mtu(self) -> Bytes {
        Bytes(match self {
            // RFC 894.
            Framing::Ethernet => 1500,
            // RFC 1390.
            Framing::Fddi => 4352,
            // RFC 1626 and RFC 2225.
            Framing::Atm => 9180,
            // The MTU of Ethernet, and so of most paths today.
            Framing::Packet => 1500,
        })
    }

    /// Returns the bits on the line of an IP packet of `octets`. Over ATM those of the packet alone: the number of its
    /// cells depends on its [`Encapsulation`](crate::Encapsulation).
    pub fn bits(self, octets: u32) -> Bits {
        let octets = Bytes(u64::from(octets));
        let on_line = match self {
            Framing::Atm | Framing::Packet => octets,
            Framing::Ethernet => ethernet_octets(octets),
            Framing::Fddi => fddi_octets(octets),
        };
        on_line.bits()
    }
}
