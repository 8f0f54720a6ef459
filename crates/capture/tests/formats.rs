//! Files in each format, octet by octet, and damaged ones.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::Write;

use cellway_capture::{Error, MAX_RECORD, Reader};
use common::{Order, block, enhanced, interface, pcap, read, section};

const SECOND: u64 = 1_000_000_000;
const BOTH: [Order; 2] = [Order::Little, Order::Big];

fn packets() -> Vec<(u64, Vec<u8>)> {
    (0..5u64).map(|n| (1_600_000_000 * SECOND + n * 1_000_001_000, vec![n as u8; 10 + n as usize])).collect()
}

#[test]
fn pcap_in_both_orders_and_units() {
    for order in BOTH {
        for is_nano in [false, true] {
            let (records, fault) = read(&pcap(order, is_nano, 101, &packets()));
            assert!(fault.is_none(), "{fault:?}");
            let expected: Vec<_> =
                packets().into_iter().map(|(time, octets)| (Some(time), octets.len() as u32, octets)).collect();
            assert_eq!(records, expected, "{order:?}, nanoseconds: {is_nano}");
        }
    }
}

#[test]
fn pcapng_in_both_orders_with_sections_and_interfaces() {
    for order in BOTH {
        let other = if order == Order::Little { Order::Big } else { Order::Little };
        let file = [
            section(order),
            block(order, 4, &[0; 40]),
            interface(order, 101, 0, &[]),
            // Nanoseconds, and an hour later.
            interface(order, 101, 0, &[(2, b"eth0".to_vec()), (9, vec![9]), (14, order.u64(3600).to_vec())]),
            // A unit of 2^-20 s, an hour earlier.
            interface(order, 101, 0, &[(9, vec![0x80 | 20]), (14, order.u64((-3600i64) as u64).to_vec())]),
            enhanced(order, 0, 1_500_000, &[1; 21], 21),
            enhanced(order, 1, 2_500_000_001, &[2; 20], 1500),
            enhanced(order, 2, 3601 << 20 | 1 << 19, &[3; 20], 20),
            // Of the next section the order and the interfaces are other ones.
            section(other),
            interface(other, 1, 0, &[(9, vec![3])]),
            enhanced(other, 0, 7_001, &[4; 60], 60),
        ]
        .concat();
        let (records, fault) = read(&file);
        assert!(fault.is_none(), "{fault:?}");
        let found: Vec<_> = records.iter().map(|(time, wire, octets)| (time.unwrap(), *wire, octets.len())).collect();
        let second = SECOND;
        assert_eq!(
            found,
            [
                (second * 3 / 2, 21, 21),
                (3602 * second + 500_000_001, 1500, 20),
                (second * 3 / 2, 20, 20),
                (7_001_000_000, 60, 60)
            ],
            "{order:?}"
        );
    }
}

#[test]
fn old_and_simple_packets_of_pcapng() {
    for order in BOTH {
        let old: Vec<u8> = [
            &order.u16(0)[..],
            &order.u16(7),
            &order.u32(0),
            &order.u32(2_000_000),
            &order.u32(5),
            &order.u32(9),
            &[1, 2, 3, 4, 5],
        ]
        .concat();
        let simple = [&order.u32(90)[..], &[8; 64]].concat();
        let file =
            [section(order), interface(order, 101, 64, &[]), block(order, 2, &old), block(order, 3, &simple)].concat();
        let (records, fault) = read(&file);
        assert!(fault.is_none(), "{fault:?}");
        assert_eq!(records[0], (Some(2 * SECOND), 9, vec![1, 2, 3, 4, 5]));
        assert_eq!(records[1], (None, 90, vec![8; 64]), "no time, and the length that the interface keeps");
    }
}

#[test]
fn compressed_files_are_recognised() {
    let plain = pcap(Order::Little, true, 101, &packets());
    let folder = tempfile::tempdir().unwrap();
    let gzip = |octets: &[u8]| {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        to.write_all(octets).unwrap();
        to.finish().unwrap()
    };
    // Two members, as of files that were joined.
    let parts = [gzip(&plain[..50]), gzip(&plain[50..])].concat();
    for (name, octets) in [
        ("plain", plain.clone()),
        ("gzip", gzip(&plain)),
        ("members", parts),
        ("zstd", zstd::stream::encode_all(&plain[..], 3).unwrap()),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, &octets).unwrap();
        let (mut reader, size) = Reader::open(&path).unwrap();
        assert_eq!(size, octets.len() as u64);
        let mut count = 0;
        while let Some(record) = reader.read().unwrap() {
            assert_eq!(record.time, Some(packets()[count].0), "{name}");
            count += 1;
        }
        assert_eq!((count, reader.read_from_file()), (5, octets.len() as u64), "{name}");
        // Cut off: a block of zstd gives nothing before its end.
        std::fs::write(&path, &octets[..octets.len() - 3]).unwrap();
        let (mut reader, _) = match Reader::open(&path) {
            Err(Error::Open { source, .. }) if name == "zstd" => {
                assert_eq!(source.kind(), std::io::ErrorKind::UnexpectedEof);
                continue;
            }
            opened => opened.unwrap(),
        };
        let fault = loop {
            match reader.read() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{name}: no fault"),
                Err(fault) => break fault,
            }
        };
        assert!(fault.offset <= plain.len() as u64, "{fault}");
        assert!(reader.read().unwrap().is_none(), "nothing is read after a fault");
    }
}

/// Cuts a file at each octet: the whole records before the cut are read, and the fault names the start of the next one.
#[test]
fn a_file_that_ends_anywhere_counts_up_to_there() {
    let order = Order::Big;
    let ng = [section(order), interface(order, 101, 0, &[])].concat();
    let ng: Vec<Vec<u8>> =
        [ng].into_iter().chain((0..3u8).map(|n| enhanced(order, 0, u64::from(n), &[n; 9], 9))).collect();
    let classic: Vec<Vec<u8>> = [24usize, 26, 27, 28, 29, 30]
        .iter()
        .scan(0, |at, length| {
            let part = pcap(Order::Little, false, 101, &packets())[*at..*at + length].to_vec();
            *at += length;
            Some(part)
        })
        .collect();
    for parts in [classic, ng] {
        let file = parts.concat();
        let ends: Vec<usize> = parts
            .iter()
            .scan(0, |at, part| {
                *at += part.len();
                Some(*at)
            })
            .collect();
        for cut in 0..=file.len() {
            let (records, fault) = read(&file[..cut]);
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(records.len(), whole.saturating_sub(1), "cut at {cut}");
            match fault {
                None => assert!(ends.contains(&cut) || cut == 28, "cut at {cut}"),
                Some(fault) if whole > 0 => {
                    assert_eq!(fault.offset, ends[whole - 1] as u64, "cut at {cut}");
                    assert!(fault.to_string().contains("ends within"), "{fault}");
                }
                Some(_) => {}
            }
        }
    }
}

#[test]
fn damage_is_reported_with_its_place_and_nothing_before_is_lost() {
    let good = pcap(Order::Little, false, 101, &packets());
    let changed = |at: usize, octets: &[u8]| {
        let mut file = good.clone();
        file[at..at + octets.len()].copy_from_slice(octets);
        file
    };
    let ng = |blocks: &[Vec<u8>]| {
        [&[section(Order::Little), interface(Order::Little, 101, 0, &[])][..], blocks].concat().concat()
    };
    let start = 28 + 20;
    let packet = enhanced(Order::Little, 0, 1, &[1; 8], 8);
    let mut other_end = packet.clone();
    *other_end.last_mut().unwrap() = 1;
    let mut too_long = packet.clone();
    too_long[20..24].copy_from_slice(&200u32.to_le_bytes());
    let mut huge = packet.clone();
    huge[20..24].copy_from_slice(&(MAX_RECORD as u32 + 1).to_le_bytes());
    for (file, records, offset, fault) in [
        (vec![], 0, 0, "the file is empty; accepted: a capture in pcap or pcapng"),
        (b"hello world, this is no capture".to_vec(), 0, 0, "no capture begins with the octets [68, 65, 6c, 6c]"),
        (vec![0x1f, 0x8b, 8, 0, 0], 0, 0, "the capture is compressed twice, or comes compressed from a pipe"),
        (changed(4, &[3]), 0, 0, "pcap version 3.4 is not supported; accepted: 2.4"),
        (changed(20, &[105]), 0, 0, "link type 105 is not supported; accepted: Ethernet (1)"),
        (
            changed(24 + 26 + 8, &(MAX_RECORD as u32 + 1).to_le_bytes()),
            1,
            24 + 26,
            "a record claims 1048577 octets, more than 1048576",
        ),
        (ng(&[packet.clone(), vec![6, 0, 0, 0, 13, 0, 0, 0]]), 1, start + packet.len(), "length of 13 octets"),
        (ng(&[packet.clone(), other_end]), 1, start + packet.len(), "begins with a length of"),
        (ng(&[too_long]), 0, start, "a packet has a length of 200 octets"),
        (ng(&[huge]), 0, start, "a packet block claims 1048577 octets"),
        (ng(&[enhanced(Order::Little, 1, 1, &[1; 8], 8)]), 0, start, "from interface 1, but the section describes 1"),
    ] {
        let (found, at) = read(&file);
        let at = at.unwrap_or_else(|| panic!("no fault: {fault}"));
        assert_eq!((found.len(), at.offset), (records, offset as u64), "{at}");
        assert!(at.to_string().contains(fault), "{at}");
    }
}

/// A block of another kind may be as long as it likes, as it is not kept.
#[test]
fn long_blocks_that_are_no_packets_are_skipped() {
    let order = Order::Little;
    let file = [
        section(order),
        interface(order, 101, 0, &[]),
        block(order, 0x0bad, &vec![0; 3 << 20]),
        enhanced(order, 0, 1, &[1; 8], 8),
    ]
    .concat();
    let (records, fault) = read(&file);
    assert!(fault.is_none() && records.len() == 1, "{fault:?}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.pcap");
    let Err(Error::Open { .. }) = Reader::open(&path) else { panic!("opened") };
    std::fs::write(&path, "x").unwrap();
    let Err(error) = Reader::open(&path) else { panic!("opened") };
    assert!(error.to_string().contains("none.pcap: at octet 0: no capture begins with"), "{error}");
}
