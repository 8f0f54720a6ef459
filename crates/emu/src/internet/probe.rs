//! Packets that test, before a run, that the firewalls of this machine let the packets of a path pass. They enter at the
//! device of the path, and the path's own table counts and drops them behind all other rules: none leaves the machine.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use cellway_units::Ecn;
use cellway_wire::{Ipv4Tcp, PacketError, TcpFlags, TcpOptions, udp_packet};

use crate::sys::Tun;

/// The rule that recognises the packets, in words of nftables: port 1, reserved for a protocol that is not in use.
pub(super) const MATCH: &str = "th sport 1";
const SOURCE_PORT: u16 = 1;
/// An address of no machine (RFC 5737).
pub(super) const NOWHERE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const TIME_TO_LIVE: u8 = 64;

/// Returns a connection attempt to a web server, which a firewall that lets anything pass most likely lets pass, with
/// an empty header of the device.
pub(super) fn connection(from: Ipv4Addr) -> io::Result<Vec<u8>> {
    let attempt = Ipv4Tcp {
        source: from,
        destination: NOWHERE,
        source_port: SOURCE_PORT,
        destination_port: 443,
        identification: 0,
        ttl: TIME_TO_LIVE,
        ecn: Ecn::NotEct,
        seq: 0,
        ack: 0,
        flags: TcpFlags { syn: true, ..TcpFlags::default() },
        window: u16::MAX,
        options: TcpOptions::default(),
        payload_len: 0,
    };
    for_device(attempt.octets())
}

/// Returns a datagram to the resolver at `to`.
pub(super) fn look_up(from: Ipv4Addr, to: Ipv4Addr) -> io::Result<Vec<u8>> {
    let ends = [(from, SOURCE_PORT), (to, super::resolver::PORT)].map(SocketAddr::from);
    for_device(udp_packet(ends, Ecn::NotEct, 0, TIME_TO_LIVE, &[]))
}

fn for_device(packet: Result<Vec<u8>, PacketError>) -> io::Result<Vec<u8>> {
    let packet = packet.map_err(io::Error::other)?;
    Ok([&[0; Tun::HEADER], &packet[..]].concat())
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketHeaders, TransportHeader};

    use super::*;

    #[test]
    fn probes_have_the_ports_of_the_rule_and_their_destinations() {
        let (from, to) = (Ipv4Addr::new(100, 68, 0, 1), Ipv4Addr::new(100, 68, 0, 2));
        for (packet, destination) in [(connection(from).unwrap(), NOWHERE), (look_up(from, to).unwrap(), to)] {
            let parsed = PacketHeaders::from_ip_slice(&packet[Tun::HEADER..]).unwrap();
            let Some(etherparse::NetHeaders::Ipv4(ip, _)) = parsed.net else { panic!("{packet:?}") };
            assert_eq!((ip.source, ip.destination), (from.octets(), destination.octets()));
            match parsed.transport.unwrap() {
                TransportHeader::Tcp(tcp) => {
                    assert_eq!((tcp.source_port, tcp.destination_port, tcp.syn), (1, 443, true))
                }
                TransportHeader::Udp(udp) => assert_eq!((udp.source_port, udp.destination_port), (1, 53)),
                other => panic!("{other:?}"),
            }
        }
    }
}
