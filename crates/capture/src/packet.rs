//! The headers of a captured packet: IPv4 and IPv6, TCP and UDP.
//!
//! A capture has packets that a router would not take: cut at the snap length, with checksums that a network card fills
//! in later, and coalesced ones that are longer than IP allows. So lengths are those of the headers, checksums are not
//! verified, and only the octets up to the ports and sequence numbers must be there.

use crate::left_out::PacketReason;

/// An address with a port. IPv4 addresses are mapped into those of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The address, as a number.
    pub address: u128,
    /// The port.
    pub port: u16,
}

/// A packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The sender.
    pub source: Endpoint,
    /// The receiver.
    pub destination: Endpoint,
    /// The header behind that of IP.
    pub transport: Transport,
    /// The offset of that header in the IP packet, in octets.
    pub header: usize,
    /// The octets of the whole IP packet.
    pub length: u32,
}

/// The header of a transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP. RFC 9293, section 3.1.
    Tcp(Segment),
    /// UDP. RFC 768.
    Udp {
        /// Octets of payload of the whole datagram.
        payload: u32,
    },
}

/// The fields of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; `None` without the flag ACK.
    pub ack: Option<u32>,
    /// The flag SYN.
    pub syn: bool,
    /// The flag FIN.
    pub fin: bool,
    /// The flag RST.
    pub rst: bool,
    /// Octets of payload.
    pub payload: u32,
}

/// The header of IP, as far as it matters here.
struct Ip {
    addresses: [u128; 2],
    protocol: u8,
    /// Offset of the transport header.
    transport: usize,
    /// Octets from the transport header to the end of the packet.
    rest: u32,
    /// True if further fragments follow.
    is_fragment: bool,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Packet {
    /// Parses an IP packet of which the capture has `octets`; on the link it had `wire` octets.
    ///
    /// # Errors
    /// It is no packet of TCP or UDP, or too few octets of it were captured.
    pub fn parse(octets: &[u8], wire: u32) -> Result<Packet, PacketReason> {
        let ip = match octets.first().map(|first| first >> 4) {
            Some(4) => v4(octets, wire)?,
            Some(6) => v6(octets, wire)?,
            Some(_) => return Err(PacketReason::NotIp),
            None => return Err(PacketReason::Cut),
        };
        let header = &octets[ip.transport.min(octets.len())..];
        let needed = match ip.protocol {
            TCP => 14,
            UDP => 8,
            _ => return Err(PacketReason::OtherProtocol),
        };
        if (ip.rest as usize) < needed {
            return Err(PacketReason::Malformed);
        }
        let header = header.get(..needed).ok_or(PacketReason::Cut)?;
        let [source_port, destination_port] = [0, 2].map(|at| two(header, at));
        let transport = if ip.protocol == TCP {
            let length = u32::from(header[12] >> 4) * 4;
            if length < 20 || length > ip.rest {
                return Err(PacketReason::Malformed);
            }
            let flags = header[13];
            let on = |bit: u8| flags & bit != 0;
            Transport::Tcp(Segment {
                seq: four(header, 4),
                ack: on(0x10).then(|| four(header, 8)),
                fin: on(0x01),
                syn: on(0x02),
                rst: on(0x04),
                payload: ip.rest - length,
            })
        } else {
            // A jumbogram has the length 0. RFC 2675, section 4.
            let length = match u32::from(two(header, 4)) {
                0 => ip.rest,
                1..8 => return Err(PacketReason::Malformed),
                // A first fragment has the length of the whole datagram.
                length if length > ip.rest && !ip.is_fragment => return Err(PacketReason::Malformed),
                length => length,
            };
            Transport::Udp { payload: length - 8 }
        };
        let [source, destination] = ip.addresses;
        Ok(Packet {
            source: Endpoint { address: source, port: source_port },
            destination: Endpoint { address: destination, port: destination_port },
            transport,
            header: ip.transport,
            length: ip.transport as u32 + ip.rest,
        })
    }
}

fn two(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

fn four(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

fn address(octets: &[u8]) -> u128 {
    octets.iter().fold(0, |all, &octet| all << 8 | u128::from(octet))
}

/// IPv4. RFC 791, section 3.1.
fn v4(octets: &[u8], wire: u32) -> Result<Ip, PacketReason> {
    let header = octets.get(..20).ok_or(PacketReason::Cut)?;
    let length = u32::from(header[0] & 0xf) * 4;
    // Linux captures coalesced packets of 64 KiB or more with the length 0.
    let total = match u32::from(two(header, 2)) {
        0 => wire,
        total => total,
    };
    if length < 20 || total < length || total > wire {
        return Err(PacketReason::Malformed);
    }
    let fragment = two(header, 6);
    if fragment & 0x1fff != 0 {
        return Err(PacketReason::LaterFragment);
    }
    const MAPPED: u128 = 0xffff << 32;
    Ok(Ip {
        addresses: [12, 16].map(|at| MAPPED | u128::from(four(header, at))),
        protocol: header[9],
        transport: length as usize,
        rest: total - length,
        is_fragment: fragment & 0x2000 != 0,
    })
}

/// IPv6 with its extension headers. RFC 8200, section 4.
fn v6(octets: &[u8], wire: u32) -> Result<Ip, PacketReason> {
    const HEADER: u32 = 40;
    let header = octets.get(..HEADER as usize).ok_or(PacketReason::Cut)?;
    // The length of a jumbogram is 0, as of a coalesced packet of 64 KiB or more.
    let total = match u32::from(two(header, 4)) {
        0 => wire,
        payload => HEADER + payload,
    };
    if total > wire {
        return Err(PacketReason::Malformed);
    }
    let (mut protocol, mut at, mut is_fragment) = (header[6], HEADER as usize, false);
    loop {
        let length = match protocol {
            // Hop-by-hop, routing, destination options, mobility, HIP, shim6.
            0 | 43 | 60 | 135 | 139 | 140 => (usize::from(*octets.get(at + 1).ok_or(PacketReason::Cut)?) + 1) * 8,
            // Authentication: in words of four octets. RFC 4302, section 2.2.
            51 => (usize::from(*octets.get(at + 1).ok_or(PacketReason::Cut)?) + 2) * 4,
            44 => {
                let place = octets.get(at + 2..at + 4).ok_or(PacketReason::Cut)?;
                if two(place, 0) & 0xfff8 != 0 {
                    return Err(PacketReason::LaterFragment);
                }
                is_fragment = two(place, 0) & 1 != 0;
                8
            }
            _ => break,
        };
        protocol = *octets.get(at).ok_or(PacketReason::Cut)?;
        at += length;
    }
    let rest = total.checked_sub(at as u32).ok_or(PacketReason::Malformed)?;
    let addresses = [address(&header[8..24]), address(&header[24..40])];
    Ok(Ip { addresses, protocol, transport: at, rest, is_fragment })
}
