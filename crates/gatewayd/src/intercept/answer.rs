//! Answers to a SYN that no server has sent: a reset, or an ICMP error.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use cellway_gateway::Reason;
use etherparse::{
    Icmpv4Type, Icmpv6Type, IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, Ipv6Extensions, Ipv6Header, PacketBuilder,
    PacketBuilderStep, icmpv4, icmpv6, ip_number,
};
use socket2::{Domain, Protocol, Socket, Type};

/// Time to live of an answer (RFC 1700, "IP time to live parameter").
const TTL: u8 = 64;
/// Octets of a packet that an ICMP error may quote: it shall fit in 576 octets with its own headers (RFC 1812,
/// section 4.3.2.3), in IPv6 in 1280 (RFC 4443, section 2.4 (c)).
const QUOTED_V4: usize = 576 - 28;
const QUOTED_V6: usize = 1280 - 48;
/// IPPROTO_RAW: the packet is given with its IP header (raw(7), and RFC 3542, section 3).
const RAW: i32 = 255;

/// The answer that refuses a SYN.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Manner {
    Reset,
    Icmp { v4: icmpv4::DestUnreachableHeader, v6: icmpv6::DestUnreachableCode },
    Silence,
}

/// Returns the answer that a client without a gateway would have got for the same reason.
fn manner(reason: Reason) -> Manner {
    use icmpv4::DestUnreachableHeader as V4;
    use icmpv6::DestUnreachableCode as V6;
    match reason {
        // To Linux EHOSTUNREACH, ENETUNREACH and EHOSTUNREACH; by IPv6 EHOSTUNREACH, ENETUNREACH and EACCES.
        Reason::HostUnreachable => Manner::Icmp { v4: V4::Host, v6: V6::Address },
        Reason::NetUnreachable => Manner::Icmp { v4: V4::Network, v6: V6::NoRoute },
        Reason::Prohibited => Manner::Icmp { v4: V4::FilterProhibited, v6: V6::Prohibited },
        // The client retransmits, as it would without a gateway, until its own timeout.
        Reason::TimedOut => Manner::Silence,
        _ => Manner::Reset,
    }
}

/// The data of a SYN on which its answer depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    /// The number that acknowledges all of it.
    pub(crate) acknowledgement: u32,
    /// The IP packet.
    pub(crate) packet: &'a [u8],
}

/// Returns the IP packet that answers for `reason`; `None` if there is no answer. `router` returns the source address
/// of an ICMP error; other answers do not call it.
pub(crate) fn answer(
    about: &About<'_>,
    reason: Reason,
    router: impl FnOnce() -> io::Result<IpAddr>,
) -> io::Result<Option<Vec<u8>>> {
    let mut packet = Vec::new();
    let client = about.client.ip();
    match manner(reason) {
        Manner::Silence => return Ok(None),
        // RFC 9293, section 3.10.7.1: to a segment without ACK, <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>.
        Manner::Reset => ip(about.server.ip(), client, ip_number::TCP)?
            .tcp(about.server.port(), about.client.port(), 0, 0)
            .rst()
            .ack(about.acknowledgement)
            .write(&mut packet, &[]),
        Manner::Icmp { v4, .. } if client.is_ipv4() => {
            let quoted = &about.packet[..about.packet.len().min(QUOTED_V4)];
            let icmp = Icmpv4Type::DestinationUnreachable(v4);
            ip(router()?, client, ip_number::ICMP)?.icmpv4(icmp).write(&mut packet, quoted)
        }
        Manner::Icmp { v6, .. } => {
            let quoted = &about.packet[..about.packet.len().min(QUOTED_V6)];
            let icmp = Icmpv6Type::DestinationUnreachable(v6);
            ip(router()?, client, ip_number::IPV6_ICMP)?.icmpv6(icmp).write(&mut packet, quoted)
        }
    }
    .map_err(io::Error::other)?;
    Ok(Some(packet))
}

fn ip(from: IpAddr, to: IpAddr, protocol: IpNumber) -> io::Result<PacketBuilderStep<IpHeaders>> {
    Ok(PacketBuilder::ip(match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => IpHeaders::Ipv4(
            Ipv4Header::new(0, TTL, protocol, from.octets(), to.octets()).map_err(io::Error::other)?,
            Ipv4Extensions::default(),
        ),
        (IpAddr::V6(from), IpAddr::V6(to)) => IpHeaders::Ipv6(
            Ipv6Header {
                hop_limit: TTL,
                next_header: protocol,
                source: from.octets(),
                destination: to.octets(),
                ..Ipv6Header::default()
            },
            Ipv6Extensions::default(),
        ),
        _ => return Err(io::Error::other("addresses of two versions of IP")),
    }))
}

/// Returns the address of this machine on the route to `client`: the source address of its ICMP errors as a router (RFC
/// 1812, section 4.3.2.4). The server's router is not known, but nothing depends on it: a host finds the connection of
/// an error by the packet quoted in it, and the address of a router on the path passes every check of source addresses.
fn own_address(client: SocketAddr) -> io::Result<IpAddr> {
    let any: SocketAddr = if client.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let socket = UdpSocket::bind(any)?;
    // connect(2) of a UDP socket sends nothing, it looks up the route. The port does not matter.
    socket.connect(client)?;
    Ok(socket.local_addr()?.ip())
}

/// Sends answers in the same manner as all packets of this machine: they need no permission to be forwarded.
#[derive(Debug)]
pub(super) struct Answers {
    v4: Socket,
    v6: Option<Socket>,
}

impl Answers {
    /// Opens its sockets.
    pub(super) fn open() -> io::Result<Answers> {
        let raw = |domain: Domain| Socket::new(domain, Type::RAW.nonblocking(), Some(Protocol::from(RAW)));
        // Without IPv6 in the kernel there are no SYNs of IPv6.
        Ok(Answers { v4: raw(Domain::IPV4)?, v6: raw(Domain::IPV6).ok() })
    }

    /// Answers a SYN.
    pub(super) fn send(&self, about: &About<'_>, reason: Reason) -> io::Result<()> {
        let Some(packet) = answer(about, reason, || own_address(about.client))? else { return Ok(()) };
        self.pass(&packet, about.client.ip())
    }

    /// Sends an IP packet to `to`.
    pub(super) fn pass(&self, packet: &[u8], to: IpAddr) -> io::Result<()> {
        let socket = if to.is_ipv4() { Some(&self.v4) } else { self.v6.as_ref() };
        // The port of a raw socket's address has no meaning, and IPv6 refuses one.
        let to = SocketAddr::new(to, 0);
        match socket.map(|socket| socket.send_to(packet, &to.into())) {
            Some(Ok(_)) => Ok(()),
            Some(Err(e)) => Err(e),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use cellway_wire::ip::checksum::Sum;
    use etherparse::{SlicedPacket, TransportSlice};

    use super::super::packet::samples::syn;
    use super::*;

    const ENDS: [(&str, &str, &str); 2] =
        [("10.0.0.2:4000", "10.0.1.2:80", "10.0.0.1"), ("[fd00::2]:4000", "[fd01::2]:80", "fd00::1")];

    /// Returns the answer to a SYN with three octets of data.
    fn answers(reason: Reason) -> Vec<Option<Vec<u8>>> {
        let of = |(client, server, router): (&str, &str, &str)| {
            let (client, server) = (client.parse().unwrap(), server.parse().unwrap());
            let packet = syn(client, server, u32::MAX - 1, b"abc");
            let about = About { client, server, acknowledgement: 2, packet: &packet };
            answer(&about, reason, || Ok(router.parse().unwrap())).unwrap()
        };
        ENDS.map(of).to_vec()
    }

    /// Returns the checksum over a transport with its checksum in place, which is 0 (RFC 1071, section 1).
    fn sum(packet: &[u8]) -> u16 {
        if packet[0] >> 4 == 4 {
            assert_eq!(Sum::default().with(&packet[..20]).checksum(), 0, "of the IPv4 header");
            let address = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).unwrap());
            let bare = if packet[9] == 1 {
                Sum::default()
            } else {
                Sum::default().with_pseudo_header(address(12), address(16), packet[9], packet.len() as u32 - 20)
            };
            return bare.with(&packet[20..]).checksum();
        }
        let address = |at: usize| IpAddr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap());
        let len = packet.len() as u32 - 40;
        Sum::default().with_pseudo_header(address(8), address(24), packet[6], len).with(&packet[40..]).checksum()
    }

    #[test]
    fn a_reset_acknowledges_the_syn_with_its_data() {
        for packet in answers(Reason::Refused) {
            let packet = packet.unwrap();
            let sliced = SlicedPacket::from_ip(&packet).unwrap();
            let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP in {packet:?}") };
            assert!(tcp.rst() && tcp.ack() && !tcp.syn());
            // SEG.SEQ + SEG.LEN, over the end of the number space: 2^32 - 2 + 1 + 3.
            assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (0, 2));
            assert_eq!((tcp.source_port(), tcp.destination_port()), (80, 4000));
            assert_eq!(sum(&packet), 0);
        }
    }

    #[test]
    fn an_icmp_error_quotes_the_syn() {
        for (reason, v4, v6) in
            [(Reason::HostUnreachable, 1, 3), (Reason::NetUnreachable, 0, 0), (Reason::Prohibited, 13, 1)]
        {
            for (packet, (header, kind, code)) in answers(reason).into_iter().zip([(20, 3, v4), (40, 1, v6)]) {
                let packet = packet.unwrap();
                assert_eq!(packet[header..header + 2], [kind, code], "{reason}");
                let (client, server, _) = ENDS[usize::from(header == 40)];
                let quoted = syn(client.parse().unwrap(), server.parse().unwrap(), u32::MAX - 1, b"abc");
                assert_eq!(packet[header + 8..], quoted);
                assert_eq!(sum(&packet), 0);
            }
        }
    }

    #[test]
    fn a_large_syn_is_quoted_in_part() {
        let (client, server) = ("10.0.0.2:4000".parse().unwrap(), "10.0.1.2:80".parse().unwrap());
        let packet = syn(client, server, 0, &[0; 1400]);
        let about = About { client, server, acknowledgement: 1401, packet: &packet };
        let error = answer(&about, Reason::HostUnreachable, || Ok([10, 0, 0, 1].into())).unwrap().unwrap();
        assert_eq!(error.len(), 576);
    }

    #[test]
    fn a_timeout_has_no_answer_and_other_reasons_reset() {
        assert_eq!(answers(Reason::TimedOut), [None, None]);
        for reason in Reason::ALL {
            let silent = reason == Reason::TimedOut;
            let icmp = [Reason::HostUnreachable, Reason::NetUnreachable, Reason::Prohibited].contains(&reason);
            assert_eq!(manner(reason) == Manner::Reset, !silent && !icmp, "{reason}");
        }
    }
}
