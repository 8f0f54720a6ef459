//! The table of conversations, with the packets of hosts.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use cellway_emu::conversations::{Conversations, Host, Id, Kind, Limits, Sighting};
use cellway_units::{Span, Time};
use cellway_wire::ip::{Fit, Packet, Trouble, fit, icmp_error, recognise};
use etherparse::{PacketBuilder, TcpHeader};
use proptest::prelude::*;

const A: Host = 1;
const B: Host = 2;
const C: Host = 3;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn address(host: Host) -> [u8; 4] {
    [10, 0, 0, host as u8]
}

fn header(ports: (u16, u16), seq: u32, ack: u32) -> TcpHeader {
    TcpHeader { ack: true, acknowledgment_number: ack, ..TcpHeader::new(ports.0, ports.1, seq, 1000) }
}

fn tcp(from: Host, to: Host, header: TcpHeader, payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4(address(from), address(to), 64).tcp_header(header);
    builder.write(&mut packet, &vec![0; payload]).unwrap();
    packet
}

fn data(from: Host, to: Host, ports: (u16, u16)) -> Vec<u8> {
    tcp(from, to, header(ports, 1, 1), 10)
}

/// Returns the fragments of a UDP datagram without DF.
fn fragments(from: Host, to: Host, identification: u16) -> Vec<Vec<u8>> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(address(from), address(to), 64).udp(7000, 7001).write(&mut packet, &[0; 3000]).unwrap();
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    packet[6] = 0;
    packet[10..12].copy_from_slice(&[0, 0]);
    let sum = cellway_wire::ip::checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let Fit::Fragments(fragments) = fit(&Packet::parse(&packet).unwrap(), 1500) else { panic!("not fragmented") };
    fragments.collect()
}

/// Returns the ICMP error of `router` about a packet.
fn error(router: Host, about: &[u8]) -> Vec<u8> {
    icmp_error(Trouble::HostUnreachable, address(router).into(), &Packet::parse(about).unwrap()).unwrap()
}

struct Bench {
    table: Conversations,
}

impl Bench {
    fn new(limits: Limits) -> Bench {
        Bench { table: Conversations::new(limits) }
    }
    fn see(&mut self, ms: u64, hosts: (Host, Host), packet: &[u8]) -> Sighting {
        self.table.see(at(ms), hosts, &recognise(packet).unwrap(), |_| false)
    }
    fn expired(&mut self, ms: u64) -> Vec<Id> {
        let mut ended = Vec::new();
        self.table.expired(at(ms), |id, _| {
            ended.push(id);
            true
        });
        ended
    }
}

fn bench() -> Bench {
    Bench::new(Limits::default())
}

#[test]
fn both_directions_are_one_conversation() {
    let mut bench = bench();
    let first = bench.see(5, (A, B), &data(A, B, (40_000, 21)));
    assert_eq!((first.new, first.forward, first.closed), (true, true, None));
    let back = bench.see(9, (B, A), &data(B, A, (21, 40_000)));
    assert_eq!((back.id, back.new, back.forward), (first.id, false, false));
    let again = bench.see(12, (A, B), &data(A, B, (40_000, 21)));
    assert_eq!((again.id, again.new, again.forward), (first.id, false, true));
    let other = bench.see(13, (A, B), &data(A, B, (40_001, 21)));
    assert!(other.new && other.id != first.id);
    let found = bench.table.get(first.id).unwrap();
    assert_eq!((found.from, found.to, found.kind), (A, B, Kind::Ftp));
    assert_eq!((found.opened, found.last, found.flow.unwrap().source_port), (at(5), at(12), 40_000));
}

#[test]
fn an_idle_one_ends_unless_packets_are_inside() {
    let mut bench = Bench::new(Limits { idle: Span::from_secs(10), ..Limits::default() });
    let one = bench.see(0, (A, B), &data(A, B, (1, 2))).id;
    let two = bench.see(1000, (A, B), &data(A, B, (3, 4))).id;
    bench.see(2000, (B, A), &data(B, A, (2, 1)));
    assert_eq!(bench.table.next_expiry(), Some(at(11_000)));
    assert_eq!(bench.expired(10_999), []);
    assert_eq!(bench.expired(11_000), [two]);
    assert_eq!((bench.table.get(two), bench.table.len()), (None, 1));
    let mut asked = 0;
    bench.table.expired(at(12_000), |id, _| {
        asked += 1;
        assert_eq!(id, one);
        false
    });
    // It is not idle yet; `may_end` is called again after the same idle time.
    assert_eq!((asked, bench.expired(21_999), bench.expired(22_000)), (1, vec![], vec![one]));
    assert_eq!((bench.table.is_empty(), bench.table.next_expiry()), (true, None));
    // Its slot is used again, under another name.
    let anew = bench.see(30_000, (A, B), &data(A, B, (1, 2)));
    assert!(anew.new && anew.id != one && anew.id.slot() < 2);
}

#[test]
fn a_closed_connection_ends_after_a_short_linger() {
    let mut bench = bench();
    let (there, back) = ((40_000, 80), (80, 40_000));
    let fin = |header: TcpHeader| TcpHeader { fin: true, ..header };
    let id = bench.see(0, (A, B), &tcp(A, B, fin(header(there, 100, 500)), 10)).id;
    bench.see(10, (B, A), &tcp(B, A, fin(header(back, 500, 111)), 0));
    assert_eq!(bench.expired(100_000), []);
    bench.see(100_000, (A, B), &tcp(A, B, header(there, 111, 501), 0));
    assert_eq!(bench.expired(101_999), []);
    assert_eq!(bench.expired(102_000), [id]);

    let id = bench.see(200_000, (A, B), &data(A, B, there)).id;
    bench.see(200_001, (B, A), &tcp(B, A, TcpHeader { rst: true, ..header(back, 1, 1) }, 0));
    // Used again: it lives on.
    let syn = TcpHeader { syn: true, ..TcpHeader::new(there.0, there.1, 9, 9) };
    assert_eq!(bench.see(201_000, (A, B), &tcp(A, B, syn, 0)).id, id);
    assert_eq!(bench.expired(300_000), []);
    bench.see(300_000, (A, B), &tcp(A, B, TcpHeader { rst: true, ..header(there, 1, 1) }, 0));
    assert_eq!(bench.expired(302_000), [id]);
}

#[test]
fn fragments_go_with_their_first() {
    let mut bench = bench();
    let all = fragments(A, B, 7);
    // The later one came before: addresses and protocol are all there is.
    let early = bench.see(0, (A, B), &all[1]);
    let found = bench.table.get(early.id).unwrap();
    assert_eq!((early.new, found.flow.unwrap().source_port, found.kind), (true, 0, Kind::Other));
    let first = bench.see(1, (A, B), &all[0]);
    assert!(first.new);
    for late in &all[1..] {
        let late = bench.see(2, (A, B), late);
        assert_eq!((late.id, late.new, late.forward), (first.id, false, true));
    }
    // Another packet's fragments, and those that another host sent, are others.
    assert_eq!(bench.see(3, (A, B), &fragments(A, B, 8)[1]).id, early.id);
    assert!(bench.see(3, (C, B), &all[1]).new);
    // An error about a later fragment is about the conversation of the first.
    let mut about = all[1].clone();
    about[6] &= 0x20;
    about[7] = 0;
    about[10..12].copy_from_slice(&[0, 0]);
    let sum = cellway_wire::ip::checksum::checksum(&about[..20]);
    about[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut report = error(B, &about);
    report[28 + 6..28 + 8].copy_from_slice(&all[1][6..8]);
    let seen = bench.see(4, (B, A), &report);
    assert_eq!((seen.id, seen.forward), (first.id, false));
    // 30 s after the first fragment it is forgotten.
    assert_eq!(bench.see(30_000, (A, B), &all[1]).id, first.id);
    assert_eq!(bench.see(30_001, (A, B), &all[1]).id, early.id);
}

#[test]
fn an_icmp_error_is_in_the_conversation_that_it_is_about() {
    let mut bench = bench();
    let packet = data(A, B, (40_000, 80));
    let id = bench.see(0, (A, B), &packet).id;
    let seen = bench.see(1, (B, A), &error(9, &packet));
    assert_eq!((seen.id, seen.new, seen.forward), (id, false, false));
    // From a host that is not at the other end: there is no channel of the conversation from there.
    let elsewhere = bench.see(2, (C, A), &error(C, &packet));
    assert!(elsewhere.new && elsewhere.id != id);
    // An error about an unknown packet is its own conversation.
    let unknown = bench.see(3, (B, A), &error(B, &data(A, B, (1, 2))));
    assert!(unknown.new);
    assert_eq!(bench.table.get(unknown.id).unwrap().flow.unwrap().protocol, 1);
}

#[test]
fn above_the_limit_the_idlest_is_replaced_or_the_new_one_shares() {
    let mut bench = Bench::new(Limits { conversations: 2, ..Limits::default() });
    let one = bench.see(0, (A, B), &data(A, B, (1, 9))).id;
    let two = bench.see(100, (A, C), &data(A, C, (2, 9))).id;
    // Both were active within a second.
    let shared = bench.see(1000, (A, B), &data(A, B, (3, 9)));
    assert_eq!((shared.new, shared.forward, shared.closed, bench.table.overflows()), (true, true, None, 1));
    let found = bench.table.get(shared.id).unwrap();
    assert_eq!((found.flow, found.kind, found.from, found.to), (None, Kind::Other, A, B));
    let back = bench.see(1000, (B, A), &data(B, A, (9, 4)));
    assert_eq!((back.id, back.new, back.forward), (shared.id, false, false));
    let other = bench.see(1000, (C, A), &data(C, A, (9, 5)));
    assert!(other.new && other.id != shared.id);
    assert_eq!((bench.table.len(), bench.table.overflows()), (2, 2));
    // The first is idle for more than a second, but a packet of it is still inside; then the second is.
    let packet = data(A, B, (3, 9));
    let mut asked = Vec::new();
    let seen = bench.table.see(at(1101), (A, B), &recognise(&packet).unwrap(), |id| {
        asked.push(id);
        id == one
    });
    assert_eq!((asked, seen.new, seen.closed), (vec![one, two], true, Some(two)));
    assert_eq!((bench.table.get(two), bench.table.len()), (None, 2));
    // It has its own from now on.
    assert_eq!(bench.see(1102, (B, A), &data(B, A, (9, 3))).id, seen.id);
    assert_eq!(bench.see(1103, (B, A), &data(B, A, (9, 4))).id, shared.id);
    // The overflow conversations end when they are idle.
    let ended = bench.expired(302_000);
    assert!(ended.contains(&shared.id) && ended.contains(&other.id) && bench.table.overflows() == 0);
}

#[test]
fn a_table_without_room_shares_everything() {
    let mut bench = Bench::new(Limits { conversations: 0, fragments: 0, ..Limits::default() });
    let first = bench.see(0, (A, B), &fragments(A, B, 1)[0]).id;
    assert_eq!(bench.see(10_000, (A, B), &fragments(A, B, 1)[1]).id, first);
    assert_eq!((bench.table.len(), bench.table.overflows()), (0, 1));
}

proptest! {
    /// For any packets: the number is bounded, each sighting names a live conversation, ends are reported once, and the
    /// same packets give the same results.
    #[test]
    fn counters_of_the_table_are_consistent(
        limit in 0usize..6,
        steps in prop::collection::vec((0u64..3000, 1u16..4, 1u16..4, 1u16..6, 0u8..8), 1..200),
    ) {
        let limits = Limits {
            conversations: limit, idle: Span::from_secs(20), fragments: 3, ..Limits::default()
        };
        let mut tables = [Conversations::new(limits), Conversations::new(limits)];
        let mut live = BTreeMap::new();
        let mut ms = 0;
        for (wait, from, to, port, what) in steps {
            ms += wait;
            let flags = header((port, 80), 100, 100);
            let packet = match what {
                0 => fragments(from, to, port)[1].clone(),
                1 => fragments(from, to, port)[0].clone(),
                2 => error(from, &data(to, from, (port, 80))),
                3 => tcp(from, to, TcpHeader { rst: true, ..flags }, 0),
                4 => tcp(from, to, TcpHeader { syn: true, ack: false, ..flags }, 0),
                _ => data(from, to, (port, 80)),
            };
            let packet = recognise(&packet).unwrap();
            let [seen, twin] =
                tables.each_mut().map(|table| table.see(at(ms), (from, to), &packet, |id| id.slot() % 4 == 3));
            prop_assert_eq!(seen, twin);
            if let Some(closed) = seen.closed {
                prop_assert!(seen.new && live.remove(&closed).is_some());
            }
            prop_assert_eq!(live.insert(seen.id, ()).is_none(), seen.new);
            prop_assert!(tables[0].get(seen.id).is_some() && tables[0].len() <= limit);
            let [ended, twin] = tables.each_mut().map(|table| {
                let mut ended = Vec::new();
                table.expired(at(ms), |id, _| {
                    let ends = what != 7;
                    if ends {
                        ended.push(id);
                    }
                    ends
                });
                ended
            });
            prop_assert_eq!(&ended, &twin);
            ended.iter().for_each(|id| assert!(live.remove(id).is_some()));
            prop_assert_eq!(live.len(), tables[0].len() + tables[0].overflows());
            prop_assert!(live.keys().all(|id| tables[0].get(*id).is_some()));
        }
        // All of them end in the end.
        let mut left = 0;
        tables[0].expired(at(ms + 20_000), |_, _| { left += 1; true });
        prop_assert_eq!((left, tables[0].next_expiry()), (live.len(), None));
    }
}
