//! Packets and files, octet by octet.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::Cursor;

use cellway_capture::{Fault, Octets, Reader};

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    pub(crate) ports: (u16, u16),
    pub(crate) seq: u32,
    pub(crate) ack: Option<u32>,
    /// The octet of flags, without ACK.
    pub(crate) flags: u8,
    pub(crate) payload: usize,
}

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;

impl Tcp {
    pub(crate) fn octets(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        octets.extend(self.ports.0.to_be_bytes());
        octets.extend(self.ports.1.to_be_bytes());
        octets.extend(self.seq.to_be_bytes());
        octets.extend(self.ack.unwrap_or(0).to_be_bytes());
        octets.extend([5 << 4, self.flags | if self.ack.is_some() { 0x10 } else { 0 }, 0xff, 0xff, 0, 0, 0, 0]);
        octets.extend(vec![7; self.payload]);
        octets
    }
}

pub(crate) fn udp(ports: (u16, u16), payload: usize) -> Vec<u8> {
    let mut octets = Vec::new();
    octets.extend(ports.0.to_be_bytes());
    octets.extend(ports.1.to_be_bytes());
    octets.extend((8 + payload as u16).to_be_bytes());
    octets.extend([0, 0]);
    octets.extend(vec![9; payload]);
    octets
}

/// An IPv4 packet from 10.0.0.`ends.0` to 10.0.0.`ends.1`.
pub(crate) fn v4(ends: (u8, u8), protocol: u8, content: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x45, 0];
    octets.extend((20 + content.len() as u16).to_be_bytes());
    octets.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, ends.0, 10, 0, 0, ends.1]);
    octets.extend(content);
    octets
}

/// An IPv6 packet from fd00::`ends.0` to fd00::`ends.1`.
pub(crate) fn v6(ends: (u8, u8), protocol: u8, content: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x60, 0, 0, 0];
    octets.extend((content.len() as u16).to_be_bytes());
    octets.extend([protocol, 64]);
    for end in [ends.0, ends.1] {
        octets.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end]);
    }
    octets.extend(content);
    octets
}

/// The order of the octets of a file, and the units of its times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
    pub(crate) fn u64(self, value: u64) -> [u8; 8] {
        if self == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

/// A pcap file of packets with their times in ns.
pub(crate) fn pcap(order: Order, is_nano: bool, link: u32, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(order.u32(if is_nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }));
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    file.extend([0; 8]);
    file.extend(order.u32(65_535));
    file.extend(order.u32(link));
    for (time, octets) in packets {
        let unit = if is_nano { 1 } else { 1_000 };
        file.extend(order.u32((time / 1_000_000_000) as u32));
        file.extend(order.u32((time % 1_000_000_000 / unit) as u32));
        file.extend(order.u32(octets.len() as u32));
        file.extend(order.u32(octets.len() as u32));
        file.extend(octets);
    }
    file
}

/// A block of pcapng.
pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = order.u32(12 + body.len() as u32);
    [&order.u32(kind)[..], &length, &body, &length].concat()
}

pub(crate) fn section(order: Order) -> Vec<u8> {
    let body = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &[0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &body)
}

/// The description of an interface with options, each a code and a value.
pub(crate) fn interface(order: Order, link: u16, snap: u32, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = [&order.u16(link)[..], &[0, 0], &order.u32(snap)].concat();
    for (code, value) in options {
        body.extend(order.u16(*code));
        body.extend(order.u16(value.len() as u16));
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(order, 1, &body)
}

/// An enhanced packet block.
pub(crate) fn enhanced(order: Order, interface: u32, ticks: u64, octets: &[u8], wire: u32) -> Vec<u8> {
    let (high, low) = ((ticks >> 32) as u32, ticks as u32);
    let mut body: Vec<u8> =
        [interface, high, low, octets.len() as u32, wire].into_iter().flat_map(|field| order.u32(field)).collect();
    body.extend(octets);
    body.resize(body.len().next_multiple_of(4), 0);
    // An option behind the packet: a comment, and the end of options.
    body.extend(order.u16(1));
    body.extend(order.u16(5));
    body.extend(b"hello\0\0\0\0\0\0\0");
    block(order, 6, &body)
}

/// A record: time, octets on the link, octets kept.
pub(crate) type Read = (Option<u64>, u32, Vec<u8>);

/// Reads a whole file.
pub(crate) fn read(file: &[u8]) -> (Vec<Read>, Option<Fault>) {
    let mut reader = match Reader::new(Octets::new(Cursor::new(file.to_vec()))) {
        Ok(reader) => reader,
        Err(fault) => return (Vec::new(), Some(fault)),
    };
    let mut records = Vec::new();
    loop {
        match reader.read() {
            Ok(Some(record)) => records.push((record.time, record.wire, record.octets.to_vec())),
            Ok(None) => return (records, None),
            Err(fault) => return (records, Some(fault)),
        }
    }
}
