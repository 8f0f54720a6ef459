//! Packets that test, before a run, that the firewalls of this machine let the packets of a path pass. They enter at the
//! device of the path, and the path's own table counts and drops them behind all other rules: none leaves the machine.

use std::net::{IpAddr, Ipv4Addr};

use cellway_wire::ip::checksum::{Sum, checksum};
use cellway_wire::ip::protocol;

use crate::sys::Tun;

/// The rule that recognises the packets, in words of nftables: port 1, reserved for a protocol that is not in use.
pub(super) const MATCH: &str = "th sport 1";
const SOURCE_PORT: u16 = 1;
/// An address of no machine (RFC 5737).
pub(super) const NOWHERE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// Returns a connection attempt to a web server, which a firewall that lets anything pass most likely lets pass, with
/// an empty header of the device.
pub(super) fn connection(from: Ipv4Addr) -> Vec<u8> {
    // Ports, sequence and acknowledgement number, five words with SYN, window, checksum, urgent pointer.
    let mut tcp = [ports(443), [0; 4], [0; 4], [5 << 4, 2, 0xff, 0xff], [0; 4]].concat();
    let sum = sum(&tcp, from, NOWHERE, protocol::TCP).checksum();
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    packet(from, NOWHERE, protocol::TCP, &tcp)
}

/// Returns a datagram to the resolver at `to`.
pub(super) fn look_up(from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut udp = [ports(super::resolver::PORT), [0, 8, 0, 0]].concat();
    let sum = sum(&udp, from, to, protocol::UDP).checksum_not_zero();
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    packet(from, to, protocol::UDP, &udp)
}

fn ports(destination: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (SOURCE_PORT.to_be_bytes(), destination.to_be_bytes());
    [a, b, c, d]
}

fn sum(payload: &[u8], from: Ipv4Addr, to: Ipv4Addr, protocol: u8) -> Sum {
    let [from, to] = [from, to].map(IpAddr::V4);
    Sum::default().with(payload).with_pseudo_header(from, to, protocol, payload.len() as u32)
}

fn packet(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    // Version and length, type of service, total length; no fragments; time to live, protocol, checksum.
    let mut header = [[0x45, 0, high, low], [0, 0, 0x40, 0], [64, protocol, 0, 0], from.octets(), to.octets()].concat();
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&[0; Tun::HEADER], &header[..], payload].concat()
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketHeaders, TransportHeader};

    use super::*;

    #[test]
    fn probes_are_packets_with_right_checksums() {
        let (from, to) = (Ipv4Addr::new(100, 68, 0, 1), Ipv4Addr::new(100, 68, 0, 2));
        for (packet, destination) in [(connection(from), NOWHERE), (look_up(from, to), to)] {
            let parsed = PacketHeaders::from_ip_slice(&packet[Tun::HEADER..]).unwrap();
            let Some(etherparse::NetHeaders::Ipv4(ip, _)) = parsed.net else { panic!("{packet:?}") };
            assert_eq!((ip.source, ip.destination), (from.octets(), destination.octets()));
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            match parsed.transport.unwrap() {
                TransportHeader::Tcp(tcp) => {
                    assert!(tcp.syn && tcp.destination_port == 443 && tcp.source_port == 1);
                    assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(&ip, &[]).unwrap());
                }
                TransportHeader::Udp(udp) => {
                    assert!(udp.destination_port == 53 && udp.source_port == 1);
                    assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&ip, &[]).unwrap());
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
