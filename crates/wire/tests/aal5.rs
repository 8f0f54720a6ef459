//! AAL5 against published values, and against damage.
#![allow(clippy::unwrap_used)]

use cellway_units::{Bytes, Cells, Rate, aal5_cells};
use cellway_wire::aal5::{self, Aal5Error, Reassembler};
use cellway_wire::{CellView, Channel, SduFormat};
use proptest::prelude::*;

const CHANNEL: Channel = Channel { vpi: 1, vci: 42 };

/// The examples of ITU-T I.363 and one of A. Tso with UU and CPI: 40 octets in one cell.
#[test]
fn published_crc_values() {
    let rising: Vec<u8> = (0x01..=0x28).collect();
    let cases = [
        (vec![0x00; 40], 0, 0, 0x864d_7f99),
        (vec![0xff; 40], 0, 0, 0xc55e_457a),
        (rising.clone(), 0, 0, 0xbf67_1ed0),
        (rising, 0x11, 0x22, 0xacba_602a),
    ];
    for (sdu, uu, cpi, crc) in cases {
        let pdu = aal5::build(&sdu, uu, cpi).unwrap();
        assert_eq!(pdu.len(), 48);
        assert_eq!(pdu[44..], u32::to_be_bytes(crc));
        assert_eq!(aal5::residue(&pdu), aal5::RESIDUE);
        assert_eq!(aal5::parse(&pdu), Ok(aal5::Pdu { sdu: &sdu, uu, cpi, crc }));
    }
}

/// TCP payload over octets on the wire with LLC/SNAP, for the segment sizes that the literature uses.
#[test]
fn efficiency_table() {
    let table = [
        (1, 41, 2, 0.0094, 0.0142, 1.41),
        (472, 512, 11, 0.8096, 1.2144, 121.25),
        (512, 552, 12, 0.8050, 1.2075, 120.56),
        (536, 576, 13, 0.7779, 1.1669, 116.50),
        (1460, 1500, 32, 0.8608, 1.2913, 128.92),
        (4312, 4352, 91, 0.8940, 1.3411, 133.89),
        (9140, 9180, 192, 0.8982, 1.3473, 134.51),
    ];
    let near = |value: f64, printed: f64, digit: f64| (value - printed).abs() <= 0.5001 * digit;
    for (mss, ip, cells, efficiency, on_t1, on_oc3) in table {
        let packet = Bytes(mss + 40);
        let sdu = Bytes(packet.0 + SduFormat::LlcSnap.overhead().0);
        let found = aal5_cells(sdu);
        assert_eq!((packet, found), (Bytes(ip), Cells(cells)));
        let share = Bytes(mss).bits().0 as f64 / found.bits().0 as f64;
        let mbit = |rate: &str| share * rate.parse::<Rate>().unwrap().as_bps() as f64 / 1e6;
        assert!(near(share, efficiency, 1e-4), "MSS {mss}: {share}");
        assert!(near(mbit("1.5 Mbit/s"), on_t1, 1e-4), "MSS {mss}: {}", mbit("1.5 Mbit/s"));
        assert!(near(mbit("149.76 Mbit/s"), on_oc3, 1e-2), "MSS {mss}: {}", mbit("149.76 Mbit/s"));
    }
    // A bare acknowledgement: one cell alone, two with LLC/SNAP.
    assert_eq!(aal5_cells(Bytes(40)), Cells(1));
    assert_eq!(aal5_cells(Bytes(48)), Cells(2));
}

#[test]
fn the_lengths_that_there_are() {
    assert_eq!(aal5::build(&[], 0, 0), Err(Aal5Error::Empty));
    assert_eq!(aal5::build(&vec![0; 65_536], 0, 0), Err(Aal5Error::TooLong { len: 65_536 }));
    let longest = aal5::build(&vec![7; 65_535], 0, 0).unwrap();
    assert_eq!(longest.len(), 1366 * 48);
    assert_eq!(aal5::parse(&longest).unwrap().sdu.len(), 65_535);
    assert_eq!(aal5::parse(&[]), Err(Aal5Error::NotCells { len: 0 }));
    assert_eq!(aal5::parse(&longest[..100]), Err(Aal5Error::NotCells { len: 100 }));
}

/// Returns a frame with a correct CRC whose length field is wrong.
fn with_length(cells: usize, length: u16) -> Vec<u8> {
    let mut pdu = vec![0; cells * 48 - 6];
    pdu.extend_from_slice(&length.to_be_bytes());
    let crc = aal5::crc32(&pdu);
    pdu.extend_from_slice(&crc.to_be_bytes());
    pdu
}

#[test]
fn a_length_field_that_does_not_go_with_the_cells() {
    for (length, good) in [(1, false), (40, false), (41, true), (88, true), (89, false), (65_535, false)] {
        let pdu = with_length(2, length);
        let expected = Err(Aal5Error::Length { length, cells: 2 });
        let found = aal5::parse(&pdu).map(|p| p.sdu.len());
        assert_eq!(found, if good { Ok(usize::from(length)) } else { expected }, "length {length}");
    }
    assert_eq!(aal5::parse(&with_length(2, 0)), Err(Aal5Error::Aborted));
}

#[test]
fn a_frame_without_an_end_is_dropped_and_the_next_is_valid() {
    let mut reassembler = Reassembler::new(100);
    for _ in 0..5000 {
        assert_eq!(reassembler.push(&[0; 48], false), None);
        assert!(reassembler.pending() <= 144);
    }
    assert_eq!(reassembler.push(&[0; 48], true), Some(Err(Aal5Error::Overrun { limit: 144 })));
    let pdu = aal5::build(b"next", 0, 0).unwrap();
    let found = reassembler.push(pdu.as_slice().try_into().unwrap(), true).unwrap();
    assert_eq!(found.unwrap().sdu, b"next");
    assert_eq!(reassembler.pending(), 0);
}

/// Reassembles cells; each frame that ends is either an SDU or an error.
fn reassemble(cells: &[[u8; 53]]) -> Vec<Result<Vec<u8>, Aal5Error>> {
    let mut reassembler = Reassembler::default();
    let mut frames = Vec::new();
    for cell in cells {
        let cell = CellView::new(cell).unwrap();
        assert_eq!(cell.header().channel, CHANNEL);
        let frame = reassembler.push(cell.payload(), cell.header().payload_type.ends_frame());
        frames.extend(frame.map(|f| f.map(|pdu| pdu.sdu.to_vec())));
    }
    frames
}

fn cells(sdu: &[u8]) -> Vec<[u8; 53]> {
    aal5::segment(&aal5::build(sdu, 0, 0).unwrap(), CHANNEL).unwrap().collect()
}

fn sdu(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..=longest)
}

proptest! {
    #[test]
    fn frames_come_back_from_their_cells(sdus in prop::collection::vec(sdu(2000), 1..4)) {
        let stream: Vec<_> = sdus.iter().flat_map(|s| cells(s)).collect();
        let count: u64 = sdus.iter().map(|s| aal5_cells(Bytes(s.len() as u64)).0).sum();
        prop_assert_eq!(stream.len() as u64, count);
        let frames: Result<Vec<_>, _> = reassemble(&stream).into_iter().collect();
        prop_assert_eq!(frames.unwrap(), sdus);
    }

    /// Any damage of up to 32 bits in a row is detected: a burst no longer than the CRC.
    #[test]
    fn damage_is_seen(sdu in sdu(500), at in any::<prop::sample::Index>(), burst in 1..=u32::MAX) {
        let mut pdu = aal5::build(&sdu, 0, 0).unwrap();
        let at = at.index(pdu.len() - 3);
        pdu[at..at + 4].iter_mut().zip(burst.to_be_bytes()).for_each(|(to, damage)| *to ^= damage);
        let seen = matches!(aal5::parse(&pdu), Err(Aal5Error::Crc { .. }));
        prop_assert!(seen);
    }

    #[test]
    fn a_single_bit_is_seen(sdu in sdu(500), at in any::<prop::sample::Index>()) {
        let mut pdu = aal5::build(&sdu, 0, 0).unwrap();
        let bit = at.index(pdu.len() * 8);
        pdu[bit / 8] ^= 0x80 >> (bit % 8);
        let seen = matches!(aal5::parse(&pdu), Err(Aal5Error::Crc { .. }));
        prop_assert!(seen);
    }

    /// A lost cell costs its frame, a lost last cell also the next; nothing wrong is ever delivered.
    #[test]
    fn a_lost_cell_is_seen(first in sdu(1000), second in sdu(1000), at in any::<prop::sample::Index>()) {
        let (before, after) = (cells(&first), cells(&second));
        let lost = at.index(before.len());
        let stream: Vec<_> =
            before.iter().enumerate().filter(|&(i, _)| i != lost).map(|(_, c)| *c).chain(after).collect();
        let frames = reassemble(&stream);
        if before.len() == 1 {
            prop_assert_eq!(frames, vec![Ok(second)]);
        } else if lost == before.len() - 1 {
            prop_assert_eq!(frames.len(), 1);
            prop_assert!(frames[0].is_err());
        } else {
            prop_assert!(frames[0].is_err());
            prop_assert_eq!(&frames[1..], &[Ok(second)][..]);
        }
    }

    #[test]
    fn no_octets_make_parsing_panic(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = aal5::parse(&octets);
        let _ = CellView::new(&octets);
    }
}
