//! What travels on a link, and how many octets of the line an IP packet takes.

use cellway_units::{Bits, Bytes, ethernet_octets, fddi_octets};

/// What travels on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// ATM cells of 53 octets.
    Atm,
    /// Whole IP packets and nothing else.
    Packet,
    /// Ethernet II frames: see [`ethernet_octets`].
    Ethernet,
    /// FDDI frames with LLC/SNAP: see [`fddi_octets`].
    Fddi,
}

impl Framing {
    /// The bits on the line of an IP packet of `octets`. Over ATM those of the packet alone: how many
    /// cells it takes depends on its encapsulation ([`crate::cells_for`]).
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
