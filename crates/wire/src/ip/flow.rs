//! The flow to which a packet belongs. Cáceres 1993, section 8: from the IP addresses and the ports.

use std::net::IpAddr;

use etherparse::TcpHeaderSlice;

use super::{Malformed, Packet, protocol};
use crate::TcpFlags;

/// The five-tuple of a packet, as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IP protocol.
    pub protocol: u8,
    /// Source port. The identifier for an ICMP echo or its reply; 0 for a protocol without ports.
    pub source_port: u16,
    /// Destination port, or the same identifier, or 0.
    pub destination_port: u16,
}

/// A fragmented packet: the fields that its fragments have in common. RFC 791, section 3.2; RFC 8200, section 4.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "they have the names of the RFC")]
pub struct Datagram {
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    pub identification: u32,
}

/// The subject of an ICMP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// A packet of this flow. The key is that of an answer to it, which has the direction of the error.
    Packet(FlowKey),
    /// A fragment without ports; source and destination are those of the fragment.
    Fragment(Datagram),
}

/// The fields that identify the flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// A whole packet.
    Packet(FlowKey),
    /// A first fragment; later ones of the datagram belong to it.
    FirstFragment(FlowKey, Datagram),
    /// A later fragment, which has no ports.
    LaterFragment(Datagram),
    /// An ICMP error, with its own key and its subject, if the quoted packet can be parsed.
    IcmpError(FlowKey, Option<About>),
}

/// The fields of a TCP segment that concern the state of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; counts only with the ACK flag.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Octets of payload.
    pub payload: u32,
}

/// A packet and its flow.
#[derive(Clone, Copy, Debug)]
pub struct Recognised<'a> {
    /// The packet, without trailing octets.
    pub packet: Packet<'a>,
    /// Its flow.
    pub flow: Flow,
    /// The segment, if the packet is unfragmented TCP with a valid header.
    pub segment: Option<Segment>,
}

impl FlowKey {
    /// Returns the key of an answer.
    #[must_use]
    pub const fn reversed(self) -> FlowKey {
        FlowKey {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..self
        }
    }

    /// Returns the key of a packet that is whole or a first fragment.
    fn of(packet: &Packet<'_>) -> FlowKey {
        let (source_port, destination_port) = ports(packet);
        FlowKey {
            source: packet.source(),
            destination: packet.destination(),
            protocol: packet.protocol(),
            source_port,
            destination_port,
        }
    }
}

impl Datagram {
    fn of(packet: &Packet<'_>) -> Option<Datagram> {
        packet.fragment().map(|fragment| Datagram {
            source: packet.source(),
            destination: packet.destination(),
            protocol: fragment.protocol,
            identification: fragment.identification,
        })
    }

    /// Returns the key of a fragment without ports: addresses and protocol.
    pub const fn without_ports(self) -> FlowKey {
        let Datagram { source, destination, protocol, .. } = self;
        FlowKey { source, destination, protocol, source_port: 0, destination_port: 0 }
    }
}

/// Returns the ports, or the identifier of an ICMP echo for both. A payload too short to have any gives 0: a router
/// forwards it.
fn ports(packet: &Packet<'_>) -> (u16, u16) {
    match (packet.protocol(), packet.payload()) {
        (protocol::TCP | protocol::UDP | protocol::UDP_LITE | protocol::DCCP | protocol::SCTP, &[a, b, c, d, ..]) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        // Echo and echo reply. RFC 792; RFC 4443, section 4.
        (protocol::ICMP, &[0 | 8, _, _, _, a, b, ..]) | (protocol::ICMPV6, &[128 | 129, _, _, _, a, b, ..]) => {
            let identifier = u16::from_be_bytes([a, b]);
            (identifier, identifier)
        }
        _ => (0, 0),
    }
}

/// Returns true if the packet starts an ICMP error message. RFC 1122, section 3.2.2; RFC 4443, section 2.1.
pub(super) fn is_icmp_error(packet: &Packet<'_>) -> bool {
    packet.is_first()
        && match (packet.protocol(), packet.payload().first()) {
            // Destination unreachable, source quench, redirect, time exceeded, parameter problem.
            (protocol::ICMP, Some(kind)) => matches!(kind, 3 | 4 | 5 | 11 | 12),
            (protocol::ICMPV6, Some(kind)) => *kind < 128,
            _ => false,
        }
}

/// Returns the subject of an ICMP error: the packet that is quoted after eight octets.
fn about(error: &Packet<'_>) -> Option<About> {
    let quoted = Packet::quoted(error.payload().get(8..)?).ok()?;
    if quoted.is_v4() != error.is_v4() {
        return None;
    }
    match Datagram::of(&quoted) {
        Some(datagram) if !quoted.is_first() => Some(About::Fragment(datagram)),
        _ => Some(About::Packet(FlowKey::of(&quoted).reversed())),
    }
}

fn segment(packet: &Packet<'_>) -> Option<Segment> {
    if packet.protocol() != protocol::TCP || packet.fragment().is_some() {
        return None;
    }
    let tcp = TcpHeaderSlice::from_slice(packet.payload()).ok()?;
    let flags = TcpFlags {
        fin: tcp.fin(),
        syn: tcp.syn(),
        rst: tcp.rst(),
        psh: tcp.psh(),
        ack: tcp.ack(),
        urg: tcp.urg(),
        ece: tcp.ece(),
        cwr: tcp.cwr(),
        ae: tcp.ns(),
    };
    let payload = (packet.payload().len() - tcp.slice().len()) as u32;
    Some(Segment { seq: tcp.sequence_number(), ack: tcp.acknowledgment_number(), flags, payload })
}

/// Checks a packet and finds its flow.
pub fn recognise(octets: &[u8]) -> Result<Recognised<'_>, Malformed> {
    let packet = Packet::parse(octets)?;
    let flow = match Datagram::of(&packet) {
        Some(datagram) if !packet.is_first() => Flow::LaterFragment(datagram),
        _ if is_icmp_error(&packet) => Flow::IcmpError(FlowKey::of(&packet), about(&packet)),
        Some(datagram) => Flow::FirstFragment(FlowKey::of(&packet), datagram),
        None => Flow::Packet(FlowKey::of(&packet)),
    };
    Ok(Recognised { packet, flow, segment: segment(&packet) })
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::super::samples::{tcp_v4, tcp_v6, udp_v4, with};
    use super::super::{Fit, Trouble, fit, icmp_error};
    use super::*;

    fn key(source: &str, destination: &str, protocol: u8, ports: (u16, u16)) -> FlowKey {
        let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
        FlowKey { source, destination, protocol, source_port: ports.0, destination_port: ports.1 }
    }

    fn flow(packet: &[u8]) -> Flow {
        recognise(packet).unwrap().flow
    }

    #[test]
    fn the_five_tuple_of_either_version() {
        let v4 = key("10.0.0.1", "10.0.0.2", 6, (40_000, 80));
        assert_eq!(flow(&tcp_v4(3)), Flow::Packet(v4));
        let v6 = (("101:101:101:101:101:101:101:101"), ("202:202:202:202:202:202:202:202"));
        assert_eq!(flow(&tcp_v6(3)), Flow::Packet(key(v6.0, v6.1, 6, (40_000, 80))));
        assert_eq!(flow(&udp_v4(3)), Flow::Packet(key("10.0.0.1", "10.0.0.2", 17, (53, 5353))));
        // A protocol without ports, and a payload too short for them.
        assert_eq!(flow(&with(udp_v4(3), |p| p[9] = 47)), Flow::Packet(key("10.0.0.1", "10.0.0.2", 47, (0, 0))));
        let short = with(udp_v4(3)[..22].to_vec(), |p| p[3] = 22);
        assert_eq!(flow(&short), Flow::Packet(key("10.0.0.1", "10.0.0.2", 17, (0, 0))));
    }

    #[test]
    fn an_echo_and_its_reply_are_one_conversation() {
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let (mut echo, mut reply) = (Vec::new(), Vec::new());
        PacketBuilder::ipv4(a, b, 64).icmpv4_echo_request(77, 1).write(&mut echo, &[]).unwrap();
        PacketBuilder::ipv4(b, a, 64).icmpv4_echo_reply(77, 1).write(&mut reply, &[]).unwrap();
        let there = key("10.0.0.1", "10.0.0.2", 1, (77, 77));
        assert_eq!((flow(&echo), flow(&reply)), (Flow::Packet(there), Flow::Packet(there.reversed())));
        let mut six = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64).icmpv6_echo_request(9, 1).write(&mut six, &[]).unwrap();
        assert!(matches!(flow(&six), Flow::Packet(FlowKey { protocol: 58, source_port: 9, destination_port: 9, .. })));
    }

    #[test]
    fn fragments_name_their_datagram() {
        let whole = with(udp_v4(100), |p| p[4..6].copy_from_slice(&[1, 2]));
        let parsed = recognise(&whole).unwrap();
        let Fit::Fragments(fragments) = fit(&parsed.packet, 60) else { panic!("it fits") };
        let all: Vec<Flow> = fragments.map(|fragment| flow(&fragment)).collect();
        let key = key("10.0.0.1", "10.0.0.2", 17, (53, 5353));
        let datagram = Datagram { source: key.source, destination: key.destination, protocol: 17, identification: 258 };
        assert_eq!(all[0], Flow::FirstFragment(key, datagram));
        assert!(all.len() == 3 && all[1..].iter().all(|flow| *flow == Flow::LaterFragment(datagram)));
    }

    #[test]
    fn an_icmp_error_has_the_key_of_an_answer_to_its_subject() {
        for (packet, router) in [(tcp_v4(600), "10.0.0.9"), (tcp_v6(2000), "fe80::9")] {
            let about = recognise(&packet).unwrap();
            let Flow::Packet(key) = about.flow else { panic!() };
            let error = icmp_error(Trouble::HostUnreachable, router.parse().unwrap(), &about.packet).unwrap();
            let Flow::IcmpError(own, found) = flow(&error) else { panic!() };
            assert_eq!(found, Some(About::Packet(key.reversed())));
            assert_eq!((own.source, own.destination), (router.parse().unwrap(), key.source));
        }
    }

    #[test]
    fn a_quote_may_be_cut_short_or_be_of_a_fragment() {
        let packet = udp_v4(100);
        let parsed = recognise(&packet).unwrap();
        let router = "10.0.0.9".parse().unwrap();
        let error = icmp_error(Trouble::TimeExceeded, router, &parsed.packet).unwrap();
        let quote = |octets: usize| {
            let cut = with(error[..28 + octets].to_vec(), |p| p[2..4].copy_from_slice(&[0, 28 + octets as u8]));
            let Flow::IcmpError(_, about) = flow(&cut) else { panic!() };
            about
        };
        let there = key("10.0.0.1", "10.0.0.2", 17, (53, 5353));
        // RFC 792 requires the header and eight octets.
        assert_eq!(quote(28), Some(About::Packet(there.reversed())));
        assert_eq!(quote(19), None);
        let later = with(error.clone(), |p| p[28 + 7] = 5);
        let Flow::IcmpError(_, Some(About::Fragment(datagram))) = flow(&later) else { panic!() };
        assert_eq!((datagram.source, datagram.protocol), (there.source, 17));
    }

    #[test]
    fn a_segment_shows_the_state_of_its_connection() {
        let packet = with(tcp_v4(9), |p| p[33] = 0x11);
        let segment = recognise(&packet).unwrap().segment.unwrap();
        assert_eq!((segment.seq, segment.ack, segment.payload), (1, 7, 9));
        assert_eq!(segment.flags, TcpFlags { fin: true, ack: true, ..TcpFlags::default() });
        // A header that ends beyond the packet is ignored, but the packet is valid.
        assert!(recognise(&with(tcp_v4(9), |p| p[32] = 0xf0)).unwrap().segment.is_none());
    }
}
