//! The octets of packets, which the simulation only counts: for captures.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU16;

use cellway_apps::Family;
use cellway_apps::random::Streams;
use cellway_net::{NodeId, Packet};
use cellway_record::Source;
use cellway_scenario::Scenario;
use cellway_tcp::{FieldOrder, Flags, Segment};
use cellway_testbed::{Leg, SlotPlan, Testbed};
use cellway_wire::{AccEcn, IpTcp, TcpFlags, TcpOptions, ip_packet, udp_packet};

use crate::body::Body;
use crate::error::Error;
use crate::slot::Slot;
use crate::stack::Payload;

/// First port of the originators' connections; those below are reserved. RFC 6335 section 6.
const FIRST_DYNAMIC_PORT: u32 = 1024;
/// Packets between gateways have no port: a protocol number for experiments. RFC 3692.
const GATEWAY_PROTOCOL: u8 = 253;
/// The octets of an IPv4 header without options.
const IPV4_HEADER: u32 = 20;
/// The port of the responders of stacks over UDP: that of HTTP over QUIC. RFC 9114 section 3.1.
const STACK_PORT: u16 = 443;
/// Hops that a packet may take.
const TIME_TO_LIVE: u8 = 64;

/// Returns the nodes of `scenario` that a [`cellway_testbed::Capture`] may name: those of the file and the implicit
/// hosts, in the order of their names. Refuses the scenarios that a run would refuse.
pub fn node_names(scenario: &Scenario) -> Result<Vec<String>, Error> {
    let mut bed = Testbed::<()>::new(scenario, &Streams::new(0), Source::Simulate)?;
    bed.open_planned()?;
    Ok(bed.names().into_keys().map(str::to_owned).collect())
}

/// Returns the octets of a packet on a real link: addresses by host, ports by connection, a fixed payload.
pub(crate) fn octets(packet: &Packet<Body>, slots: &[Slot], legs: &[Leg]) -> Vec<u8> {
    let (slot, is_first, number, segment) = match (&packet.body, legs[packet.conversation as usize]) {
        (&Body::Segment { is_first, number, segment, .. }, Leg::Slot { slot, .. }) => (slot, is_first, number, segment),
        (&Body::Datagram { number, mark }, Leg::Slot { slot, .. }) => {
            let plan = slots[slot as usize].plan();
            let mut payload = mark.octets().to_vec();
            payload.resize((u64::from(packet.octets) - plan.family().udp_headers()) as usize, 0);
            let mut ports = [dynamic_port(packet.conversation, packet.flow), plan.datagram_port()];
            if packet.from != plan.hosts[0] {
                // An echo goes the other way.
                ports.reverse();
            }
            let hosts = [packet.from, packet.to].map(|host| ip_address(host, plan.family()));
            let ends = [0, 1].map(|end| SocketAddr::new(hosts[end], ports[end]));
            let octets = udp_packet(ends, packet.ecn, identification(number), TIME_TO_LIVE, &payload);
            return octets.expect("a checked packet has room for headers and mark");
        }
        (Body::Stack { number, contents, .. }, Leg::Slot { slot, .. }) => {
            return stack_octets(packet, &slots[slot as usize], *number, contents);
        }
        // The numbers of gateways' packets count up; so do identifications.
        (Body::Transport { packet: body, .. }, _) => {
            let hosts = [packet.from, packet.to].map(|host| ip_address(host, Family::Ipv4));
            let payload = vec![0; packet.octets.saturating_sub(IPV4_HEADER) as usize];
            return ip_packet(hosts, GATEWAY_PROTOCOL, packet.ecn, identification(body.number), TIME_TO_LIVE, &payload)
                .expect("the gateway makes packets that fit");
        }
        (Body::Segment { .. } | Body::Datagram { .. } | Body::Stack { .. }, Leg::Gateways { .. }) => {
            unreachable!("gateways speak their own transport")
        }
    };
    let plan = slots[slot as usize].plan();
    let [originator, responder] = plan.hosts;
    let ports = tcp_ports(plan, packet.conversation, packet.flow, is_first);
    let towards_responder = packet.from == originator || packet.to == responder;
    let [source_port, destination_port] = if towards_responder { ports } else { [ports[1], ports[0]] };
    let Segment { seq, ack, window, len, options, .. } = segment;
    let tcp = IpTcp {
        source: packet.from,
        destination: packet.to,
        source_port,
        destination_port,
        identification: identification(number),
        ttl: TIME_TO_LIVE,
        ecn: packet.ecn,
        seq: seq.0,
        ack: ack.0,
        flags: tcp_flags(&segment),
        window,
        options: TcpOptions {
            mss: options.mss.map(NonZeroU16::get),
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            sack: options.sack.as_slice().iter().map(|block| (block.start.0, block.end.0)).collect(),
            timestamps: options.timestamps.map(|stamp| (stamp.value, stamp.echo)),
            acc_ecn: options.acc_ecn.map(|option| AccEcn {
                ect1_first: option.order() == FieldOrder::Ect1First,
                fields: option.fields().map(|(_, count)| count).collect(),
            }),
        },
        payload_len: len,
    };
    let octets = match plan.family() {
        Family::Ipv4 => tcp.between(address).octets(),
        Family::Ipv6 => tcp.between(address_v6).octets(),
    };
    octets.expect("the endpoint makes segments that fit")
}

/// Returns the ports of originator and responder of connection `serial` of a slot, which may be the first of its
/// conversation.
pub(crate) fn tcp_ports(plan: &SlotPlan, conversation: u32, serial: u32, is_first: bool) -> [u16; 2] {
    let known = plan.tcp().expect("a slot of segments has TCP").well_known_ports[usize::from(!is_first)];
    [dynamic_port(conversation, serial), known]
}

/// Returns the octets of a packet with a datagram of a stack of others.
fn stack_octets(packet: &Packet<Body>, slot: &Slot, number: u64, contents: &[u8]) -> Vec<u8> {
    let Slot::Stack(slot) = slot else { unreachable!("only a slot with a stack has such packets") };
    let plan = &slot.plan;
    let hosts = [packet.from, packet.to].map(|host| ip_address(host, plan.family()));
    let octets = match slot.stack.payload {
        Payload::Ip { protocol } => {
            ip_packet(hosts, protocol, packet.ecn, identification(number), TIME_TO_LIVE, contents)
        }
        Payload::Udp => {
            let mut ports = [dynamic_port(packet.conversation, 0), STACK_PORT];
            if packet.from != plan.hosts[0] {
                ports.reverse();
            }
            let ends = [0, 1].map(|end| SocketAddr::new(hosts[end], ports[end]));
            udp_packet(ends, packet.ecn, identification(number), TIME_TO_LIVE, contents)
        }
    };
    octets.expect("a checked datagram fits into a packet")
}

/// Returns the identification: a packet that may not be fragmented may have any (RFC 6864 section 4.1), here the
/// packet's number. But in a frame without LLC header Wireshark guesses the protocol, and takes these two, at their
/// position, for the protocol identifiers of Frame Relay (RFC 2427).
fn identification(number: u64) -> u16 {
    match number as u16 {
        0x03cc | 0x038e => 0,
        number => number,
    }
}

fn tcp_flags(segment: &Segment) -> TcpFlags {
    TcpFlags {
        fin: segment.is(Flags::FIN),
        syn: segment.is(Flags::SYN),
        rst: segment.is(Flags::RST),
        psh: segment.is(Flags::PSH),
        ack: segment.is(Flags::ACK),
        ece: segment.is(Flags::ECE),
        cwr: segment.is(Flags::CWR),
        ae: segment.is(Flags::AE),
        ..TcpFlags::default()
    }
}

/// Returns the port of the originator of a connection, or of a conversation of datagrams.
fn dynamic_port(conversation: u32, serial: u32) -> u16 {
    let number = u64::from(conversation) * 4099 + u64::from(serial);
    (FIRST_DYNAMIC_PORT + (number % u64::from(65_536 - FIRST_DYNAMIC_PORT)) as u32) as u16
}

/// Returns the address of a host.
pub(crate) fn ip_address(host: NodeId, family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => address(host).into(),
        Family::Ipv6 => address_v6(host).into(),
    }
}

fn address(host: NodeId) -> Ipv4Addr {
    let [_, b, c, d] = (host.0 + 1).to_be_bytes();
    Ipv4Addr::new(10, b, c, d)
}

/// Returns the IPv6 address of a host: the IPv4 address in a unique local network. RFC 4193.
fn address_v6(host: NodeId) -> Ipv6Addr {
    let [a, b] = [(0, 1), (2, 3)].map(|(high, low)| {
        let octets = address(host).octets();
        u16::from_be_bytes([octets[high], octets[low]])
    });
    Ipv6Addr::new(0xfd63, 0x656c, 0x6c77, 0x6179, 0, 0, a, b)
}
