//! The network fed with packets made by hand, without devices or clocks: delays are exact.

mod gateways;
mod queues;

use std::net::{IpAddr, Ipv4Addr};

use cellway_apps::random::Streams;
use cellway_scenario::{LinkDirection, LinkIndex, Override, Plan};
use cellway_testbed::{Capture, LinkChange, Testbed};
use cellway_units::{Rate, Span, Time};
use cellway_wire::ip::checksum::checksum;
use cellway_wire::ip::{Flow, Packet, VirtioNetHeader, ecn, recognise, set_ecn};
use etherparse::{Icmpv4Type, PacketBuilder, TcpHeader, icmpv4};

use super::{Behind, Due, EmulatedHost, Engine, HostIndex};
use crate::addresses::{Block, ipv6};
use crate::conversations::Limits;

/// Two packet lines around ATM, and a third host. On the ATM line a cell takes 10 us; its MTU is smaller.
const NET: &str = r#"version = 1
name = "net"
run = { duration = "1000 s" }
buffer = { size = "2000 cell", per = "port" }
multiplexing = { encapsulation = "vc-mux", channel = "per-conversation" }
tcp = { profile = "classic", variant = "sack", mss = "1000 B", window = "8 KiB" }
node = [
  { name = "near", kind = "router" },
  { name = "far", kind = "router" },
  { name = "client", kind = "host" },
  { name = "server", kind = "host" },
  { name = "third", kind = "host" },
]
link = [
  { between = ["client", "near"], rate = "100 Mbit/s", delay = "0 s", framing = "packet", mtu = "3000 B" },
  { name = "line", between = ["near", "far"], rate = "42.4 Mbit/s", delay = "5 ms", framing = "atm", mtu = "1400 B" },
  { between = ["far", "server"], rate = "100 Mbit/s", delay = "0 s", framing = "packet", mtu = "3000 B" },
  { between = ["third", "near"], rate = "100 Mbit/s", delay = "1 ms", framing = "packet", mtu = "3000 B" },
]

[[traffic]]
name = "bulk"
app = "bulk"
from = "client"
to = "server"
"#;

pub(crate) const CLIENT: HostIndex = HostIndex(0);
pub(crate) const SERVER: HostIndex = HostIndex(1);
pub(crate) const THIRD: HostIndex = HostIndex(2);

fn v4(host: HostIndex) -> Ipv4Addr {
    Block::default().host(host.0).unwrap()
}

fn engine(set: &[(&str, &str)], limits: Limits) -> Engine {
    engine_of(NET, set, limits)
}

fn engine_of(text: &str, set: &[(&str, &str)], limits: Limits) -> Engine {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let plan = Plan::parse_with(text, "t.toml", &set, None).unwrap_or_else(|e| panic!("{e}"));
    let testbed = Testbed::new(plan.base(), &Streams::new(1), cellway_record::Source::Emulate).unwrap();
    let names: Vec<&str> = testbed.hosts().map(|host| &host.name[..]).collect();
    assert_eq!(names, ["client", "server", "third"]);
    let hosts = testbed.hosts().enumerate();
    let hosts = hosts.map(|(place, host)| EmulatedHost::new(&testbed, host, v4(HostIndex(place)), Behind::Nothing));
    let hosts = hosts.collect();
    Engine::new(testbed, hosts, limits)
}

pub(crate) fn plain() -> Engine {
    engine(&[], Limits::default())
}

pub(crate) fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Returns a UDP datagram whose IP packet has `octets` octets, DF clear.
pub(crate) fn udp(from: HostIndex, to: HostIndex, ports: (u16, u16), octets: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4(v4(from).octets(), v4(to).octets(), 64).udp(ports.0, ports.1);
    let payload: Vec<u8> = (0..octets - 28).map(|i| (i * 7 + i / 251) as u8).collect();
    builder.write(&mut packet, &payload).unwrap();
    with(packet, |packet| packet[6] = 0)
}

/// Returns the same over IPv6.
fn udp_v6(from: HostIndex, to: HostIndex, octets: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv6(ipv6(v4(from)).octets(), ipv6(v4(to)).octets(), 64).udp(7, 8);
    builder.write(&mut packet, &vec![1; octets - 48]).unwrap();
    packet
}

/// Returns the packet with a change, and its header checksum updated.
fn with(mut packet: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut packet);
    let header = usize::from(packet[0] & 0xf) * 4;
    packet[10..12].copy_from_slice(&[0, 0]);
    let sum = checksum(&packet[..header]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

impl Engine {
    /// Sends `packet` from a host at `now`, in the form in which its device delivers it.
    fn send(&mut self, now: Time, from: HostIndex, packet: &[u8]) {
        self.advance(now).unwrap();
        let header = VirtioNetHeader::default().octets();
        self.receive(from, &[&header, packet].concat()).unwrap();
        self.serve();
    }

    /// Returns the packets that have arrived for the hosts by `until`.
    fn out(&mut self, until: Time) -> Vec<Due> {
        self.advance(until).unwrap();
        self.due().drain(..).collect()
    }

    fn refused(&self) -> Vec<(&'static str, u64)> {
        self.refusals().iter().collect()
    }

    /// Conversations that have a channel.
    fn channels(&self) -> usize {
        self.open.iter().flatten().count()
    }
}

/// Returns the delay of two lines of 80 ns for an octet, of the cells of AAL5 (a trailer of 8 octets) of 10 us each,
/// and of 5 ms of propagation.
pub(crate) fn nominal(octets: usize) -> Span {
    let cells = (octets + 8).div_ceil(48) as u64;
    Span::from_ns(2 * 80 * octets as u64) + Span::from_us(10 * cells) + Span::from_ms(5)
}

#[test]
fn the_delay_is_exact_and_one_hop_is_taken() {
    let mut engine = plain();
    let mut start = us(1);
    for octets in [28, 40, 41, 88, 89, 1000, 1400] {
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            let packet = udp(from, to, (5000, 5001), octets);
            engine.send(start, from, &packet);
            let early = engine.out(start + (nominal(octets) - Span::from_ps(1)));
            assert!(early.is_empty(), "{early:?}");
            let due = engine.out(start + Span::from_secs(1));
            assert_eq!(due.len(), 1);
            assert_eq!((due[0].host, due[0].at), (to, start + nominal(octets)), "{octets} octets");
            assert_eq!(due[0].octets, with(packet, |packet| packet[8] = 63));
            start += Span::from_secs(2);
        }
    }
    assert_eq!(engine.delays.count(), 14);
    assert!(engine.refused().is_empty());
}

/// Each packet of the last link arrives twice, the copy at the same instant; both are dropped by the kernel of the host, as
/// one bit of the transport is wrong, which the device must not vouch for.
#[test]
fn a_link_duplicates_and_corrupts_real_packets() {
    let all = "99.9999999 %";
    let mut engine =
        engine(&[("link.far-server.both.duplicate", all), ("link.far-server.both.corrupt", all)], Limits::default());
    for packet in [udp(CLIENT, SERVER, (1, 2), 1000), udp_v6(CLIENT, SERVER, 1001)] {
        let start = engine.now + Span::from_secs(1);
        engine.send(start, CLIENT, &packet);
        let due = engine.out(start + Span::from_secs(1));
        let at = start + nominal(packet.len());
        assert_eq!(due.iter().map(|due| (due.host, due.at, due.sound)).collect::<Vec<_>>(), [(SERVER, at, false); 2]);
        for due in due {
            let parsed = Packet::parse(&due.octets).unwrap();
            let header = parsed.header_len();
            let wrong: u32 = packet[header..].iter().zip(parsed.payload()).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(wrong, 1, "a bit of the transport");
        }
    }
}

#[test]
fn packets_queue_behind_each_other() {
    let mut engine = plain();
    for _ in 0..10 {
        engine.send(us(100), CLIENT, &udp(CLIENT, SERVER, (1, 2), 1000));
    }
    let at: Vec<Time> = engine.out(us(20_000)).iter().map(|due| due.at).collect();
    // 21 cells, 210 us; the first line is faster.
    let expected: Vec<Time> = (0..10).map(|n| us(100) + nominal(1000) + Span::from_us(210 * n)).collect();
    assert_eq!(at, expected);
}

#[test]
fn a_coalesced_segment_enters_as_packets_of_the_path() {
    let mut engine = plain();
    let mut packet = Vec::new();
    let header = TcpHeader { ack: true, ..TcpHeader::new(40_000, 80, 1, 1000) };
    let builder = PacketBuilder::ipv4(v4(CLIENT).octets(), v4(SERVER).octets(), 64).tcp_header(header);
    builder.write(&mut packet, &[9; 2500]).unwrap();
    // struct virtio_net_hdr: needs a checksum, GSO TCPv4, headers of 40 octets, segments of 1000, sum from 20 at 16.
    let offload = [1, 1, 40, 0, 0xe8, 3, 20, 0, 16, 0];
    engine.advance(us(1)).unwrap();
    engine.receive(CLIENT, &[&offload[..], &packet].concat()).unwrap();
    engine.serve();
    let due = engine.out(us(20_000));
    assert_eq!(due.iter().map(|due| due.octets.len()).collect::<Vec<_>>(), [1040, 1040, 540]);
    let sequence = |due: &Due| recognise(&due.octets).unwrap().segment.unwrap().seq;
    assert_eq!(due.iter().map(sequence).collect::<Vec<_>>(), [1, 1001, 2001]);
    assert_eq!(engine.channels(), 1);
}

/// Returns the ICMP errors that one packet causes: type, code and the word after the checksum.
fn answers(engine: &mut Engine, now: Time, packet: &[u8]) -> Vec<(u8, u8, u32)> {
    engine.send(now, CLIENT, packet);
    let due: Vec<Due> = engine.due().drain(..).collect();
    let answer = |due: &Due| {
        assert_eq!((due.host, due.at), (CLIENT, now), "the router is next to its host");
        let parsed = Packet::parse(&due.octets).unwrap();
        let payload = parsed.payload();
        let word = u32::from_be_bytes(payload[4..8].try_into().unwrap());
        let dummy = Ipv4Addr::new(192, 0, 0, 8);
        if parsed.is_v4() {
            assert_eq!((parsed.source(), checksum(payload)), (IpAddr::V4(dummy), 0));
            // It quotes the packet that it is about; only the time to live may differ.
            assert_eq!(payload[8 + 12..8 + 20], packet[12..20]);
        } else {
            assert_eq!(parsed.source(), IpAddr::V6(ipv6(dummy)));
        }
        (payload[0], payload[1], word)
    };
    due.iter().map(answer).collect()
}

#[test]
fn the_network_answers_as_a_router() {
    let mut engine = plain();
    let there = udp(CLIENT, SERVER, (1, 2), 1000);
    // Time exceeded, also if the packet is too large.
    for ttl in [0, 1] {
        let short = with(there.clone(), |packet| packet[8] = ttl);
        assert_eq!(answers(&mut engine, us(1), &short), [(11, 0, 0)]);
    }
    let large = udp(CLIENT, SERVER, (1, 2), 2000);
    let df = |packet: Vec<u8>| with(packet, |packet| packet[6] = 0x40);
    assert_eq!(answers(&mut engine, us(2), &with(df(large.clone()), |packet| packet[8] = 1)), [(11, 0, 0)]);
    assert_eq!(engine.refused(), [("time-exceeded", 3)]);
    // Fragmentation needed and DF set, with the MTU of the path: RFC 1191.
    assert_eq!(answers(&mut engine, us(3), &df(large)), [(3, 4, 1400)]);
    assert_eq!(answers(&mut engine, us(4), &udp_v6(CLIENT, SERVER, 2000)), [(2, 0, 1400)]);
    // No such network.
    let elsewhere = with(there.clone(), |packet| packet[16] = 9);
    assert_eq!(answers(&mut engine, us(5), &elsewhere), [(3, 0, 0)]);
    // Oneself is not behind the network.
    let own = with(there.clone(), |packet| packet[16..20].copy_from_slice(&v4(CLIENT).octets()));
    assert_eq!(answers(&mut engine, us(6), &own), [(3, 0, 0)]);
    // A packet to a group causes no answer.
    assert_eq!(answers(&mut engine, us(7), &with(there, |packet| packet[16] = 224)), []);
    assert_eq!(engine.refused(), [("multicast", 1), ("no-route", 2), ("time-exceeded", 3), ("too-big", 2)]);
    assert_eq!((engine.channels(), engine.out(us(1_000_000)).len()), (0, 0), "none of them went in");
}

#[test]
fn a_large_datagram_goes_in_fragments_on_one_channel() {
    let mut engine = plain();
    let whole = with(udp(CLIENT, SERVER, (1, 2), 3000), |packet| packet[4..6].copy_from_slice(&[0, 7]));
    engine.send(us(1), CLIENT, &whole);
    let due = engine.out(us(50_000));
    assert_eq!(due.iter().map(|due| due.octets.len()).collect::<Vec<_>>(), [1396, 1396, 248]);
    let mut payload = Vec::new();
    for due in &due {
        let packet = Packet::parse(&due.octets).unwrap();
        let fragment = packet.fragment().unwrap();
        assert_eq!((fragment.identification, fragment.offset as usize), (7, payload.len()));
        assert_eq!(due.octets[8], 63, "one hop, not one for each fragment");
        payload.extend_from_slice(packet.payload());
    }
    assert_eq!(payload, whole[20..]);
    assert!(matches!(recognise(&due[0].octets).unwrap().flow, Flow::FirstFragment(..)));
    assert_eq!(engine.channels(), 1);
}

#[test]
fn options_and_unknown_protocols_pass() {
    let mut engine = plain();
    // Record route (RFC 791), padded, as no router of today heeds it.
    let option = with(udp(CLIENT, SERVER, (1, 2), 100), |packet| {
        packet.splice(20..20, [7, 7, 4, 0, 0, 0, 0, 0]);
        packet[0] = 0x47;
        packet[3] += 8;
    });
    let unknown = with(udp(CLIENT, SERVER, (1, 2), 100), |packet| packet[9] = 253);
    let bad_udp = with(udp(CLIENT, SERVER, (1, 2), 100), |packet| packet[26] ^= 0xff);
    for packet in [option, unknown, bad_udp, udp_v6(CLIENT, SERVER, 1400)] {
        let now = engine.now + Span::from_ms(1);
        engine.send(now, CLIENT, &packet);
        let due = engine.out(now + Span::from_ms(10));
        let at = if packet[0] >> 4 == 4 { 20 } else { 8 };
        assert_eq!((due.len(), &due[0].octets[at..]), (1, &packet[at..]), "what is not the router's is as it was");
    }
    assert!(engine.refused().is_empty());
}

#[test]
fn malformed_packets_are_counted_by_reason() {
    let mut engine = plain();
    let good = udp(CLIENT, SERVER, (1, 2), 100);
    let changed = |at: usize, octet: u8| {
        let mut packet = good.clone();
        packet[at] = octet;
        packet
    };
    let fragment = with(good.clone(), |packet| packet[6..8].copy_from_slice(&[0x1f, 0xff]));
    let wrong = [
        ("truncated", vec![]),
        ("truncated", good[..19].to_vec()),
        ("version", changed(0, 0x55)),
        ("header-length", changed(0, 0x44)),
        ("header-checksum", changed(11, good[11] ^ 1)),
        ("total-length", good[..99].to_vec()),
        ("total-length", with(good.clone(), |packet| packet[2..4].copy_from_slice(&[0, 19]))),
        ("fragment-end", fragment),
    ];
    for (reason, packet) in wrong {
        let before = engine.refused().iter().find(|(known, _)| *known == reason).map_or(0, |(_, count)| *count);
        engine.send(us(1), CLIENT, &packet);
        assert!(engine.refused().contains(&(reason, before + 1)), "{reason}: {:?}", engine.refused());
    }
    // An offload that is none, and a read shorter than its header.
    engine.receive(CLIENT, &[&[0, 99, 0, 0, 0, 0, 0, 0, 0, 0], &good[..]].concat()).unwrap();
    engine.receive(CLIENT, &[0; 4]).unwrap();
    let gso = engine.refused().iter().any(|&(reason, count)| reason == "gso-type" && count == 1);
    assert!(gso && engine.refused().iter().map(|(_, count)| count).sum::<u64>() == 10, "{:?}", engine.refused());
    assert_eq!((engine.channels(), engine.out(us(1_000_000)).len()), (0, 0));
    // All is well for the next.
    let now = engine.now;
    engine.send(now, CLIENT, &good);
    assert_eq!(engine.out(now + Span::from_ms(10)).len(), 1);
}

#[test]
fn conversations_open_close_and_use_their_slots_again() {
    let limits = Limits { idle: Span::from_secs(10), ..Limits::default() };
    let mut engine = engine(&[], limits);
    for port in 0..50 {
        engine.send(us(1), CLIENT, &udp(CLIENT, SERVER, (1000 + port, 2), 100));
    }
    engine.send(us(2), SERVER, &udp(SERVER, CLIENT, (2, 1000), 100));
    engine.send(us(2), THIRD, &udp(THIRD, CLIENT, (2, 1000), 100));
    assert_eq!(engine.channels(), 51, "an answer has the channel of the conversation");
    assert_eq!(engine.out(us(5_000_000)).len(), 52);
    engine.send(us(5_000_000), CLIENT, &udp(CLIENT, SERVER, (1000, 2), 100));
    engine.advance(us(10_600_000)).unwrap();
    let view = engine.snapshot();
    assert_eq!((engine.channels(), view.conversations.len()), (1, 1));
    assert_eq!((&view.conversations[0].from[..], &view.conversations[0].to[..]), ("client:1000", "server:2"));
    assert!((view.conversations[0].idle - 5.6).abs() < 1e-9);
    for port in 0..50 {
        engine.send(us(10_600_000), CLIENT, &udp(CLIENT, SERVER, (2000 + port, 2), 100));
    }
    assert_eq!((engine.channels(), engine.open.len()), (51, 51), "nothing has grown");
    engine.advance(us(30_000_000)).unwrap();
    assert_eq!(engine.channels(), 0);
}

#[test]
fn a_replaced_conversation_closes_its_channel() {
    let mut engine = engine(&[], Limits { conversations: 2, ..Limits::default() });
    engine.send(us(1), CLIENT, &udp(CLIENT, SERVER, (1, 80), 100));
    engine.send(us(2), CLIENT, &udp(CLIENT, SERVER, (2, 80), 100));
    // All are busy: it shares the conversation of the two hosts, which is of no type, and so do others.
    for port in [3, 4] {
        engine.send(us(3), CLIENT, &udp(CLIENT, SERVER, (port, 80), 100));
    }
    assert_eq!(engine.channels(), 3);
    assert_eq!(engine.out(us(100_000)).len(), 4, "each of them arrives");
    engine.send(us(1_500_000), CLIENT, &udp(CLIENT, SERVER, (5, 80), 100));
    assert_eq!((engine.channels(), engine.open.len()), (3, 3));
    assert_eq!(engine.out(us(2_000_000)).len(), 1);
}

#[test]
fn a_flood_is_dropped_and_counted_and_the_line_goes_on() {
    let mut engine = plain();
    for ms in 0..1000 {
        // 80 Mbit/s into a line that takes 42.4 Mbit/s of cells, 38.1 Mbit/s of such packets.
        for _ in 0..10 {
            engine.send(us(1000 * ms), CLIENT, &udp(CLIENT, SERVER, (1, 2), 1000));
        }
    }
    let due = engine.out(us(10_000_000)).len() as u64;
    let dropped: u64 = engine.snapshot().ports.iter().map(|port| port.dropped).sum();
    assert_eq!(due + dropped, 10_000);
    // The packets sent in the second, and those that 2000 cells of buffer held at its end.
    let most = 1_000_000 / 210 + 2000 / 21 + 1;
    assert!((most - 10..=most).contains(&due), "{due} of {most}");
}

#[test]
fn a_host_with_a_slow_line_is_not_read_from_until_there_is_room() {
    let mut engine = engine(&[("link.client-near.rate", "\"1 Mbit/s\"")], Limits::default());
    let packet = udp(CLIENT, SERVER, (1, 2), 1000);
    let mut sent = 0;
    while engine.has_room(CLIENT) {
        engine.send(us(1), CLIENT, &packet);
        sent += 1;
        assert!(sent < 1000, "it is never full");
    }
    assert!(engine.has_room(SERVER), "others are not held up");
    // A packet takes 8 ms.
    assert_eq!(engine.deadline(), Some(us(1) + Span::from_ms(8)));
    engine.advance(us(8001)).unwrap();
    assert!(engine.has_room(CLIENT), "one is gone");
}

#[test]
fn a_change_of_a_rate_comes_at_its_instant() {
    let change = "[[change]]\nat = \"1 s\"\nlink = \"line\"\nrate = \"21.2 Mbit/s\"\n";
    let mut engine = engine_of(&(NET.to_owned() + change), &[], Limits::default());
    let mut delay = |at: Time| {
        engine.send(at, CLIENT, &udp(CLIENT, SERVER, (1, 2), 1000));
        engine.out(at + Span::from_ms(50))[0].at - at
    };
    assert_eq!(delay(us(500_000)), nominal(1000));
    // 21 cells, each twice as long.
    assert_eq!(delay(us(1_000_001)), nominal(1000) + Span::from_us(210));
}

#[test]
fn an_icmp_error_of_a_host_uses_the_channel_of_its_conversation() {
    let mut engine = plain();
    let packet = udp(CLIENT, SERVER, (1, 2), 100);
    engine.send(us(1), CLIENT, &packet);
    engine.out(us(10_000));
    let mut error = Vec::new();
    let unreachable = Icmpv4Type::DestinationUnreachable(icmpv4::DestUnreachableHeader::Port);
    let builder = PacketBuilder::ipv4(v4(SERVER).octets(), v4(CLIENT).octets(), 64).icmpv4(unreachable);
    builder.write(&mut error, &packet[..28]).unwrap();
    engine.send(us(10_000), SERVER, &error);
    assert_eq!((engine.out(us(20_000)).len(), engine.channels()), (1, 1));
}

/// The networks of these tests run in windows, but for what only a calendar can do; so no test compares a calendar with itself.
#[test]
fn an_emulation_runs_in_windows_unless_it_is_asked_not_to_or_cannot() {
    let change = "[[change]]\nat = \"1 s\"\nlink = \"line\"\nrate = \"21.2 Mbit/s\"\n";
    let duplicates = ("link.far-server.both.duplicate", "1 %");
    let mut all = Vec::new();
    for (set, is_in_windows) in [(None, true), (Some(("run.engine", "cells")), false), (Some(duplicates), false)] {
        let mut engine = engine_of(&(NET.to_owned() + change), set.as_slice(), Limits::default());
        let mut arrivals = Vec::new();
        // Conversations between all hosts open while others run, and a rate changes.
        for n in 0..60u16 {
            let (from, to) = [(CLIENT, SERVER), (SERVER, CLIENT), (THIRD, SERVER), (CLIENT, THIRD)][usize::from(n % 4)];
            let now = us(900_000 + 4_000 * u64::from(n));
            engine.send(now, from, &udp(from, to, (1000 + n / 8, 80), 200 + 20 * usize::from(n)));
            engine.advance(now + Span::from_us(100)).unwrap();
            assert_eq!(engine.testbed.fabric.has_windows(), is_in_windows, "{set:?} after packet {n}");
            arrivals.extend(engine.due().drain(..).map(|due| (due.host, due.at, due.octets.len())));
        }
        engine.change_link(LinkIndex(1), LinkDirection::Both, LinkChange::Rate(Rate::from_bps(1_000_000)));
        engine.send(us(1_200_000), CLIENT, &udp(CLIENT, SERVER, (7, 80), 1400));
        assert_eq!(engine.testbed.fabric.has_windows(), is_in_windows, "{set:?} after a change by the caller");
        arrivals.extend(engine.out(us(2_000_000)).iter().map(|due| (due.host, due.at, due.octets.len())));
        let last = arrivals.last().map(|&(host, at, _)| (host, at));
        // 30 cells of 424 us.
        let slow = Span::from_us(30 * 424 - 30 * 10);
        assert_eq!((arrivals.len(), last), (61, Some((SERVER, us(1_200_000) + nominal(1400) + slow))), "{set:?}");
        all.push(arrivals);
    }
    assert_eq!(all[0], all[1], "windows and the calendar agree");
}
