//! Cell headers, LLC/SNAP, IP and TCP: round trips, and damaged input.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr};

use cellway_units::Ecn;
use cellway_wire::{
    AccEcn, CellHeader, CellView, Channel, HeaderError, Ipv4Tcp, LlcError, PacketError, PayloadType, SduFormat,
    TcpFlags, TcpOptions, payload_octet,
};
use proptest::prelude::*;

fn header() -> impl Strategy<Value = CellHeader> {
    (0u8..16, any::<u8>(), any::<u16>(), 0u8..8, any::<bool>()).prop_map(|(gfc, vpi, vci, bits, clp)| CellHeader {
        gfc,
        channel: Channel { vpi, vci },
        payload_type: PayloadType::new(bits),
        clp,
    })
}

fn options() -> impl Strategy<Value = TcpOptions> {
    let stamps = || any::<Option<(u32, u32)>>();
    let syn = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), stamps());
    let syn = syn.prop_map(|(mss, window_scale, sack_permitted, timestamps)| TcpOptions {
        mss,
        window_scale,
        sack_permitted,
        sack: Vec::new(),
        timestamps,
        acc_ecn: None,
    });
    let sack = prop::collection::vec(any::<(u32, u32)>(), 0..=4);
    let sack = (sack, stamps()).prop_map(|(mut sack, timestamps)| {
        // With timestamps there is room for three.
        sack.truncate(if timestamps.is_some() { 3 } else { 4 });
        TcpOptions { sack, timestamps, ..TcpOptions::default() }
    });
    let counts = prop::collection::vec(0u32..1 << 24, 0..=3);
    // With timestamps there is room for one block beside three counts.
    let acc_ecn = (any::<bool>(), counts, prop::collection::vec(any::<(u32, u32)>(), 0..=1), stamps());
    let acc_ecn = acc_ecn.prop_map(|(ect1_first, fields, sack, timestamps)| TcpOptions {
        acc_ecn: Some(AccEcn { ect1_first, fields }),
        sack,
        timestamps,
        ..TcpOptions::default()
    });
    prop_oneof![syn, sack, acc_ecn]
}

fn flags() -> impl Strategy<Value = TcpFlags> {
    any::<[bool; 9]>().prop_map(|[fin, syn, rst, psh, ack, urg, ece, cwr, ae]| TcpFlags {
        fin,
        syn,
        rst,
        psh,
        ack,
        urg,
        ece,
        cwr,
        ae,
    })
}

prop_compose! {
    fn packet()(
        (source, destination) in any::<(u32, u32)>(),
        (source_port, destination_port, identification, ttl) in any::<(u16, u16, u16, u8)>(),
        ecn in (0u8..4).prop_map(Ecn::from_traffic_class),
        (seq, ack, window) in any::<(u32, u32, u16)>(),
        flags in flags(),
        options in options(),
        payload_len in 0u32..1500,
    ) -> Ipv4Tcp {
        let (source, destination) = (Ipv4Addr::from(source), Ipv4Addr::from(destination));
        Ipv4Tcp {
            source, destination, source_port, destination_port, identification, ttl, ecn,
            seq, ack, flags, window, options, payload_len,
        }
    }
}

proptest! {
    #[test]
    fn cells_come_back(header in header(), payload in any::<[u8; 32]>()) {
        let mut whole = [0; 48];
        whole[16..].copy_from_slice(&payload);
        let cell = CellView::build(&header, &whole);
        let view = CellView::new(&cell).unwrap();
        prop_assert_eq!((view.header(), view.payload()), (header, &whole));
    }

    /// The code has distance 4: one, two and three wrong bits are all detected.
    #[test]
    fn up_to_three_wrong_bits_of_a_header_are_seen(header in header(), bits in prop::collection::btree_set(0usize..40, 1..=3)) {
        let mut octets = header.octets();
        bits.iter().for_each(|bit| octets[bit / 8] ^= 0x80 >> (bit % 8));
        let seen = matches!(CellHeader::parse(octets), Err(HeaderError::Hec { .. }));
        prop_assert!(seen);
    }

    #[test]
    fn packets_come_back(packet in packet()) {
        let octets = packet.octets().unwrap();
        let (parsed, payload) = Ipv4Tcp::parse(&octets).unwrap();
        prop_assert_eq!(&parsed, &packet);
        let expected: Vec<u8> = (0..packet.payload_len).map(|i| payload_octet(packet.seq.wrapping_add(i))).collect();
        prop_assert_eq!(payload, expected);
        prop_assert_eq!(u16::from_be_bytes([octets[2], octets[3]]) as usize, octets.len());
    }

    /// A packet with one wrong bit is never accepted as the packet that was sent. Each bit of the headers is flipped in
    /// turn, reserved ones too, and one bit of the payload.
    #[test]
    fn a_wrong_bit_is_seen(packet in packet(), at in any::<prop::sample::Index>()) {
        let mut octets = packet.octets().unwrap();
        let headers = (octets.len() - packet.payload_len as usize) * 8;
        for bit in (0..headers).chain([at.index(octets.len() * 8)]) {
            octets[bit / 8] ^= 0x80 >> (bit % 8);
            prop_assert!(Ipv4Tcp::parse(&octets).is_err(), "bit {bit}");
            octets[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }

    #[test]
    fn no_octets_make_parsing_panic(octets in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Ipv4Tcp::parse(&octets);
        let _ = SduFormat::LlcSnap.unwrap(&octets);
    }
}

fn bare() -> Ipv4Tcp {
    Ipv4Tcp {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        source_port: 1025,
        destination_port: 21,
        identification: 1,
        ttl: 64,
        ecn: Ecn::NotEct,
        seq: 0,
        ack: 0,
        flags: TcpFlags { ack: true, ..TcpFlags::default() },
        window: 8192,
        options: TcpOptions::default(),
        payload_len: 0,
    }
}

/// Header lengths are those of TCP: 20 octets and the options, padded to four.
#[test]
fn lengths() {
    let len = |options: TcpOptions| Ipv4Tcp { options, ..bare() }.octets().unwrap().len();
    assert_eq!(len(TcpOptions::default()), 40);
    assert_eq!(len(TcpOptions { mss: Some(512), ..TcpOptions::default() }), 44);
    let syn = TcpOptions { mss: Some(512), window_scale: Some(3), sack_permitted: true, ..TcpOptions::default() };
    assert_eq!(len(syn.clone()), 40 + 12, "4 + 3 + 2 octets, padded");
    assert_eq!(len(TcpOptions { sack: vec![(1, 2); 3], ..TcpOptions::default() }), 40 + 28, "2 + 24 octets, padded");
    let stamped = |options: TcpOptions| len(TcpOptions { timestamps: Some((1, 2)), ..options }) - 40;
    assert_eq!(stamped(TcpOptions::default()), 12);
    assert_eq!(stamped(syn), 20, "4 + 2 + 10 + 3 octets, padded: as Linux sends it");
    assert_eq!(
        stamped(TcpOptions { sack: vec![(1, 2); 3], ..TcpOptions::default() }),
        40,
        "12 + 2 + 24 octets, padded"
    );
}

#[test]
fn oversized_input_is_refused() {
    let too_long = Ipv4Tcp { payload_len: 65_496, ..bare() };
    assert_eq!(too_long.octets(), Err(PacketError::TooLong { len: 65_536 }));
    assert_eq!(Ipv4Tcp { payload_len: 65_495, ..bare() }.octets().unwrap().len(), 65_535);
    let five = TcpOptions { sack: vec![(1, 2); 5], ..TcpOptions::default() };
    assert!(matches!(Ipv4Tcp { options: five, ..bare() }.octets(), Err(PacketError::Options { .. })));
    let both = TcpOptions {
        mss: Some(1),
        window_scale: Some(1),
        sack_permitted: true,
        sack: vec![(1, 2); 4],
        ..TcpOptions::default()
    };
    assert!(matches!(Ipv4Tcp { options: both, ..bare() }.octets(), Err(PacketError::Options { .. })));
}

/// A retransmission with other boundaries carries the same octets at the same sequence numbers, past the wrap as well.
#[test]
fn the_stream_depends_on_the_sequence_number_alone() {
    let whole = Ipv4Tcp { seq: u32::MAX - 9, payload_len: 20, ..bare() }.octets().unwrap();
    let tail = Ipv4Tcp { seq: 5, payload_len: 5, ..bare() }.octets().unwrap();
    assert_eq!(whole[40 + 15..], tail[40..]);
    assert_eq!(&whole[50..58], b"cellway\n");
}

#[test]
fn encapsulations() {
    let packet = bare().octets().unwrap();
    assert_eq!(SduFormat::VcMux.wrap(&packet), packet);
    let sdu = SduFormat::LlcSnap.wrap(&packet);
    let six = [0x60, 0, 0, 0];
    let sdu_of_six = SduFormat::LlcSnap.wrap(&six);
    assert_eq!(sdu_of_six, [0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd, 0x60, 0, 0, 0]);
    assert_eq!(SduFormat::LlcSnap.unwrap(&sdu_of_six), Ok(&six[..]));
    assert!(SduFormat::VcMux.unwrap(&sdu_of_six).is_ok_and(|all| all == sdu_of_six));
    assert_eq!(sdu[..10], [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00, 0x45, 0x00]);
    assert_eq!(SduFormat::LlcSnap.unwrap(&sdu), Ok(&packet[..]));
    let found = [0xaa, 0xaa, 0x03, 0, 0, 0, 0, 0];
    assert_eq!(SduFormat::LlcSnap.unwrap(&[0xaa, 0xaa, 0x03]), Err(LlcError::Header { found }));
}

#[test]
fn a_packet_of_another_protocol_has_its_length_and_a_right_checksum() {
    let hosts = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
    let opaque = |octets: usize| cellway_wire::ip_packet(hosts, 253, Ecn::NotEct, 7, 64, &vec![0; octets]);
    let packet = opaque(1480).unwrap();
    assert_eq!((packet.len(), packet[9], &packet[2..4]), (1500, 253, &1500u16.to_be_bytes()[..]));
    let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "RFC 1071: the sum of the header is all ones");
    assert!(opaque(70_000).is_err());
}

/// The octets of RFC 9768, figure 4, and the AE bit beside the data offset (figure 2).
#[test]
fn accurate_ecn_is_written_as_the_rfc_draws_it() {
    let octets = |ect1_first, fields: &[u32]| {
        let acc_ecn = Some(AccEcn { ect1_first, fields: fields.to_vec() });
        let flags = TcpFlags { ae: true, ack: true, ..TcpFlags::default() };
        let packet = Ipv4Tcp { options: TcpOptions { acc_ecn, ..TcpOptions::default() }, flags, ..bare() };
        packet.octets().unwrap()[32..].to_vec()
    };
    let whole = octets(false, &[0x01_0203, 0x04_0506, 0xff_0809]);
    assert_eq!(whole[..2], [8 << 4 | 1, 0b01_0000]);
    assert_eq!(whole[8..], [172, 11, 1, 2, 3, 4, 5, 6, 255, 8, 9, 0]);
    assert_eq!(octets(true, &[7])[8..], [174, 5, 0, 0, 7, 0, 0, 0]);
    assert_eq!(octets(true, &[])[8..], [174, 2, 0, 0]);
    let four = TcpOptions { acc_ecn: Some(AccEcn { ect1_first: false, fields: vec![0; 4] }), ..TcpOptions::default() };
    assert!(matches!(Ipv4Tcp { options: four, ..bare() }.octets(), Err(PacketError::Options { .. })));
}
