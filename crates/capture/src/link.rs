//! The link layers in front of an IP packet. Numbers: <https://www.tcpdump.org/linktypes.html>.

use crate::left_out::PacketReason;

/// The link types that are read, in words.
pub(crate) const ACCEPTED: &str = "Ethernet (1), raw IP (101, 228, 229, 12, 14), Linux cooked (113, 276), \
     BSD loopback (0, 108)";

/// EtherTypes (IEEE 802 numbers, IANA).
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Tags of VLANs: IEEE 802.1Q, 802.1ad, and the one in use before 802.1ad.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// The most tags in front of a packet.
const MAX_TAGS: usize = 4;

/// A link type that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// Ethernet, with or without tags of VLANs.
    Ethernet,
    /// IPv4 or IPv6 without a header in front of it.
    RawIp,
    /// The "any" device of Linux, first version.
    LinuxCooked,
    /// The "any" device of Linux, second version.
    LinuxCooked2,
    /// The loopback device of BSD: the address family in front, in the order of the host or of the network.
    Loopback,
}

impl Link {
    /// Returns the link type with a number in captures, if it is read.
    pub fn from_number(number: u32) -> Option<Link> {
        match number {
            1 => Some(Link::Ethernet),
            // 12 and 14 are DLT_RAW of some systems, which files have by mistake.
            12 | 14 | 101 | 228 | 229 => Some(Link::RawIp),
            113 => Some(Link::LinuxCooked),
            276 => Some(Link::LinuxCooked2),
            0 | 108 => Some(Link::Loopback),
            _ => None,
        }
    }

    /// Returns the offset of the IP packet in a record, in octets.
    ///
    /// # Errors
    /// It has no IP packet, or too few octets.
    pub fn header(self, octets: &[u8]) -> Result<usize, PacketReason> {
        let header = match self {
            Link::RawIp => Ok(0),
            Link::Ethernet => tagged(octets, 12),
            Link::LinuxCooked => tagged(octets, 14),
            Link::LinuxCooked2 => match two(octets, 0)? {
                IPV4 | IPV6 => Ok(20),
                _ => Err(PacketReason::NotIp),
            },
            Link::Loopback => {
                let family = octets.get(..4).ok_or(PacketReason::Cut)?;
                // AF_INET is 2 everywhere; AF_INET6 differs between systems. The order of the octets is unknown.
                let family = family.iter().fold(0, |all, &octet| all | octet);
                match family {
                    2 | 10 | 23 | 24 | 28 | 30 => Ok(4),
                    _ => Err(PacketReason::NotIp),
                }
            }
        }?;
        if header <= octets.len() { Ok(header) } else { Err(PacketReason::Cut) }
    }
}

fn two(octets: &[u8], at: usize) -> Result<u16, PacketReason> {
    match octets.get(at..at + 2) {
        Some(pair) => Ok(u16::from_be_bytes([pair[0], pair[1]])),
        None => Err(PacketReason::Cut),
    }
}

/// Returns the offset after an EtherType at `at` and the tags that follow it.
fn tagged(octets: &[u8], mut at: usize) -> Result<usize, PacketReason> {
    for _ in 0..=MAX_TAGS {
        match two(octets, at)? {
            IPV4 | IPV6 => return Ok(at + 2),
            tag if TAGS.contains(&tag) => at += 4,
            _ => return Err(PacketReason::NotIp),
        }
    }
    Err(PacketReason::NotIp)
}
