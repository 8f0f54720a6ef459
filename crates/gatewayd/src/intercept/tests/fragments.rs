//! A SYN that arrives in fragments: from a client with a small MTU and data in its SYN, or from one that probes
//! gateways.

use std::io::Read;
use std::net::SocketAddr;

use cellway_sys::Namespace;
use socket2::{Domain, Protocol, Socket, Type};

use super::super::packet::samples::syn;
use super::super::testbed::{PATIENCE, Relay, Three, at, config, possible};
use super::SERVER;
use crate::config::PeerDown;

/// Returns the fragments of a packet whose first one has `first` octets after the IP header, a multiple of eight.
fn fragments(packet: &[u8], first: usize, id: u16) -> Vec<Vec<u8>> {
    let v4 = packet[0] >> 4 == 4;
    let (header, payload) = packet.split_at(if v4 { 20 } else { 40 });
    let piece = |offset: usize, part: &[u8], more: bool| {
        let mut one = header.to_vec();
        if v4 {
            // RFC 791, section 3.1; the kernel sets length and checksum of packets from a raw socket.
            one[4..6].copy_from_slice(&id.to_be_bytes());
            one[6..8].copy_from_slice(&((offset / 8) as u16 | u16::from(more) << 13).to_be_bytes());
        } else {
            // RFC 8200, section 4.5.
            one[6] = 44;
            one[4..6].copy_from_slice(&(part.len() as u16 + 8).to_be_bytes());
            one.extend_from_slice(&[6, 0]);
            one.extend_from_slice(&(offset as u16 | u16::from(more)).to_be_bytes());
            one.extend_from_slice(&u32::from(id).to_be_bytes());
        }
        one.extend_from_slice(part);
        one
    };
    vec![piece(0, &payload[..first], true), piece(first, &payload[first..], false)]
}

/// Sends packets with their IP headers from a namespace.
fn send(from: &Namespace, packets: Vec<Vec<u8>>, to: SocketAddr) {
    from.run(move || {
        let socket = Socket::new(Domain::for_address(to), Type::RAW, Some(Protocol::from(255))).unwrap();
        for packet in packets {
            socket.send_to(&packet, &SocketAddr::new(to.ip(), 0).into()).unwrap();
        }
    });
}

/// Opens a raw socket that receives the TCP segments for a namespace.
fn listen(at: &Namespace, like: SocketAddr) -> Socket {
    at.run(move || {
        let socket = Socket::new(Domain::for_address(like), Type::RAW, Some(Protocol::TCP)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    })
}

/// Returns the flags, the sequence number and the acknowledgement of the next TCP segment between two ports.
fn segment(socket: &Socket, from: u16, to: u16) -> (u8, u32, u32) {
    loop {
        let mut packet = [0; 4096];
        let length = (&*socket).read(&mut packet).expect("no segment comes");
        // The packet includes the header of IPv4, but not of IPv6.
        let header = if packet[0] == 0x45 && packet[9] == 6 { 20 } else { 0 };
        let tcp = &packet[header..length];
        let word = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
        if word(0) == u32::from(from) << 16 | u32::from(to) {
            return (tcp[13], word(4), word(8));
        }
    }
}

const SYN: u8 = 2;
const SYN_ACK: u8 = 0x12;

#[test]
fn a_syn_in_fragments_is_intercepted_like_any_other() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, &[]));
    for version in 0..2 {
        // The flags of TCP are in octet 13: behind the first fragment, in it, and with data that is cut. Linux drops
        // first fragments of IPv6 that are shorter than 1280 octets.
        let (cuts, data) = if version == 0 { (&[8, 16, 24, 64][..], 100) } else { (&[1232, 1400][..], 1600) };
        for (number, first) in cuts.iter().copied().enumerate() {
            let (client, server) = (at(version, 0, 4000 + first), at(version, 3, 80));
            let packet = syn(client, server, 1_000_000, &vec![b'x'; data]);
            let seen = listen(&three.client, client);
            send(&three.client, fragments(&packet, first.into(), 7000 + number as u16), server);
            let syn = relay.next_syn();
            assert_eq!((syn.client, syn.server, syn.key().2), (client, server, 1_000_000), "{first}");
            assert_eq!(syn.acknowledgement, 1_000_001 + data as u32);
            // The kernel answers it for the server.
            relay.release(syn);
            let (flags, _, acknowledgement) = segment(&seen, 80, 4000 + first);
            assert_eq!((flags, acknowledgement), (SYN_ACK, 1_000_001), "version {version}, {first}");
        }
        // It also bypasses the gateways in the fragments in which it arrived: it does not fit the next link in one
        // packet.
        let (client, server) = (at(version, 0, 4999), at(version, 3, 80));
        let packet = syn(client, server, 2_000_000, &[b'x'; 1900]);
        let seen = listen(&three.server, server);
        send(&three.client, fragments(&packet, 1400, 7999), server);
        relay.pass(relay.next_syn());
        let (flags, sequence, _) = segment(&seen, 4999, 80);
        assert_eq!((flags & 0x3f, sequence), (SYN, 2_000_000), "version {version}");
    }
}
