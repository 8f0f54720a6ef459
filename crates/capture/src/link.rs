//! The link layers in front of an IP packet. Numbers: <https://www.tcpdump.org/linktypes.html>.

use crate::left_out::PacketReason;

/// The link types that are read, in words.
pub(crate) const ACCEPTED: &str = "Ethernet (1), raw IP (101, 228, 229, 12, 14), Linux cooked (113, 276), \
     BSD loopback (0, 108), ERF (197)";

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
    /// ERF records, as captures of Cellway at routers and switches have them. A router records each packet when it
    /// arrives and when it leaves: those that arrived (interface 1) count.
    Erf,
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
            197 => Some(Link::Erf),
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
            Link::Erf => erf(octets),
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

/// Octets of the header of an ERF record, and of each extension of it.
const ERF_HEADER: usize = 16;
const ERF_EXTENSION: usize = 8;
/// LLC and SNAP in front of IPv4 or IPv6. RFC 2684, section 5.1.
const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// Returns the offset of the IP packet in an ERF record: an AAL5 frame behind the header of its cells, or a packet.
fn erf(octets: &[u8]) -> Result<usize, PacketReason> {
    let [kind, flags] = [8, 9].map(|at| octets.get(at).copied());
    let (Some(kind), Some(flags)) = (kind, flags) else { return Err(PacketReason::Cut) };
    if flags & 3 != 1 {
        return Err(PacketReason::SentCopy);
    }
    let (mut at, mut has_more) = (ERF_HEADER, kind & 0x80 != 0);
    while has_more {
        has_more = octets.get(at).ok_or(PacketReason::Cut)? & 0x80 != 0;
        at += ERF_EXTENSION;
    }
    match kind & 0x7f {
        22 | 23 => Ok(at),
        // Ethernet begins after two octets of padding.
        2 => tagged(octets, at + 14),
        4 => {
            let frame = octets.get(at + 4..).ok_or(PacketReason::Cut)?;
            Ok(if frame.starts_with(&LLC_SNAP) { at + 12 } else { at + 4 })
        }
        _ => Err(PacketReason::NotIp),
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
