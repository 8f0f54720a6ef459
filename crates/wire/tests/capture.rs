//! Captures: the octets of the file, and their interpretation by tshark.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::Command;

use cellway_units::{Ecn, Span, Time};
use cellway_wire::pcap::{AtmCell, AtmFrame, Direction, Error, LinkType, Writer};
use cellway_wire::{CellHeader, Channel, Ipv4Tcp, SduFormat, TcpFlags, TcpOptions, aal5};

const LLC: Channel = Channel { vpi: 0, vci: 32 };
const VC_MUX: Channel = Channel { vpi: 7, vci: 40_000 };

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn segment(seq: u32, flags: &str, options: TcpOptions, payload_len: u32) -> Vec<u8> {
    let on = |flag| flags.contains(flag);
    let flags = TcpFlags { syn: on('S'), ack: on('A'), psh: on('P'), fin: on('F'), ..TcpFlags::default() };
    let packet = Ipv4Tcp {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        source_port: 30_001,
        destination_port: 30_002,
        identification: 1,
        ttl: 64,
        ecn: Ecn::NotEct,
        seq,
        ack: if flags.ack { 9_000 } else { 0 },
        flags,
        window: 8192,
        options,
        payload_len,
    };
    packet.octets().unwrap()
}

fn frame(packet: &[u8], encapsulation: SduFormat) -> Vec<u8> {
    aal5::build(&encapsulation.wrap(packet), 0, 0).unwrap()
}

#[test]
fn the_file_is_laid_out_as_the_formats_say() {
    let mut writer = Writer::new(Vec::new(), LinkType::RawIp).unwrap();
    let time = Time::from_ps(3_000_000_004_999);
    writer.packet(time, Direction::Sent, &[1, 2, 3]).unwrap();
    assert_eq!(writer.records(), 1);
    let file = writer.finish().unwrap();
    assert_eq!(file[..4], [0x4d, 0x3c, 0xb2, 0xa1], "nanoseconds, little endian");
    assert_eq!(file[20..24], [101, 0, 0, 0]);
    assert_eq!(file[24..], [3, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3]);

    let mut writer = Writer::new(Vec::new(), LinkType::Erf).unwrap();
    let cell = AtmCell {
        time: Time::from_ps(1_500_000_000_000),
        direction: Direction::Received,
        header: CellHeader::user(Channel { vpi: 0x12, vci: 0x3456 }, true),
        payload: &[9; 48],
    };
    writer.cell(&cell).unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(file[20..24], [197, 0, 0, 0]);
    let erf = &file[40..];
    assert_eq!(erf[..8], [0, 0, 0, 0x80, 1, 0, 0, 0], "1.5 s in 2^-32 s, little endian");
    assert_eq!(erf[8..16], [3, 0x05, 0, 68, 0, 0, 0, 52], "cell, interface 1, 68 octets, 52 on the wire");
    assert_eq!(erf[16..20], [0x01, 0x23, 0x45, 0x62]);
    assert_eq!(erf[20..], [9; 48]);
}

#[test]
fn a_frame_past_the_record_length_is_cut_and_marked() {
    let pdu = aal5::build(&vec![5; 65_535], 0, 0).unwrap();
    let mut writer = Writer::new(Vec::new(), LinkType::Erf).unwrap();
    let record = AtmFrame { time: at(1), direction: Direction::Sent, channel: LLC, pdu: &pdu };
    writer.frame(&record).unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(file.len(), 24 + 16 + 65_535);
    assert_eq!(file[32..36], 65_535u32.to_le_bytes());
    assert_eq!(file[36..40], (16 + 4 + pdu.len() as u32).to_le_bytes());
    assert_eq!((file[40 + 9] & 0x08, &file[50..52]), (0x08, &[0xff, 0xff][..]));
}

#[test]
fn a_capture_of_ip_packets_refuses_cells() {
    let mut writer = Writer::new(Vec::new(), LinkType::RawIp).unwrap();
    let record = AtmFrame { time: at(1), direction: Direction::Sent, channel: LLC, pdu: &[0; 48] };
    assert!(matches!(writer.frame(&record), Err(Error::WrongLink)));
    assert_eq!(writer.records(), 0);
}

/// Runs tshark on `file`; without tshark prints a message and returns `None`.
fn tshark(file: &[u8], arguments: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.pcap");
    std::fs::write(&path, file).unwrap();
    let options = ["-o", "erf.aal5_type:Unspecified", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    match Command::new("tshark").args(options).args(arguments).arg("-r").arg(&path).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "tshark: {errors}");
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(_) => {
            // Not by the print macros, whose text the test harness captures.
            std::io::stderr().write_all(b"skipped: tshark is not installed\n").unwrap();
            None
        }
    }
}

/// Returns a capture of a handshake, data, an acknowledgement with SACK and a close, each in both encapsulations.
fn conversation() -> Vec<u8> {
    let timestamps = Some((70_000, 0));
    let syn =
        TcpOptions { mss: Some(512), window_scale: Some(2), sack_permitted: true, timestamps, ..TcpOptions::default() };
    let timestamps = Some((70_123, 4_000_000_000));
    let sack = TcpOptions { sack: vec![(2_000, 2_512), (3_000, 3_512)], timestamps, ..TcpOptions::default() };
    let packets = [
        segment(1_000, "S", syn, 0),
        segment(1_001, "PA", TcpOptions::default(), 512),
        segment(1_513, "PA", TcpOptions::default(), 1),
        segment(1_514, "A", sack, 0),
        segment(1_514, "FA", TcpOptions::default(), 0),
    ];
    let mut writer = Writer::new(Vec::new(), LinkType::Erf).unwrap();
    for (i, packet) in packets.iter().enumerate() {
        let time = at(10 * i as u64);
        for (direction, channel, encapsulation) in
            [(Direction::Sent, LLC, SduFormat::LlcSnap), (Direction::Received, VC_MUX, SduFormat::VcMux)]
        {
            let pdu = frame(packet, encapsulation);
            writer.frame(&AtmFrame { time, direction, channel, pdu: &pdu }).unwrap();
        }
        writer.packet(time, Direction::Sent, packet).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn tshark_finds_every_aal5_crc_correct() {
    let Some(text) = tshark(&conversation(), &["-V"]) else { return };
    let crcs: Vec<&str> = text.lines().filter(|l| l.contains("AAL5 CRC:")).collect();
    assert_eq!(crcs.len(), 10);
    assert!(crcs.iter().all(|l| l.ends_with("(correct)")), "{crcs:?}");
    assert!(!text.contains("Malformed"), "{text}");
}

#[test]
fn tshark_reads_ip_and_tcp_with_good_checksums() {
    let fields =
        "frame.time_epoch erf.flags.cap atm.vpi atm.vci ip.src ip.dst ip.checksum.status tcp.checksum.status tcp.len";
    let mut arguments = vec!["-T", "fields"];
    fields.split(' ').for_each(|f| arguments.extend(["-e", f]));
    let Some(text) = tshark(&conversation(), &arguments) else { return };
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split('\t').collect()).collect();
    assert_eq!(rows.len(), 15);
    for (i, row) in rows.iter().enumerate() {
        let time = format!("0.0{}0000000", i / 3);
        let (interface, vpi, vci) = [("0", "0", "32"), ("1", "7", "40000"), ("0", "", "")][i % 3];
        let len = ["0", "512", "1", "0", "0"][i / 3];
        // Status 1 is "good".
        assert_eq!(row[..], [&time, interface, vpi, vci, "10.0.0.1", "10.0.0.2", "1", "1", len], "row {i}");
    }
}

#[test]
fn tshark_reads_the_options() {
    let fields = [
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
        "tcp.options.timestamp.tsval",
        "tcp.options.timestamp.tsecr",
        "tcp.options.sack_le",
    ];
    let mut arguments = vec!["-o", "tcp.relative_sequence_numbers:FALSE", "-T", "fields"];
    fields.iter().for_each(|f| arguments.extend(["-e", f]));
    let Some(text) = tshark(&conversation(), &arguments) else { return };
    let rows: Vec<&str> = text.lines().collect();
    let syn: Vec<&str> = rows[0].split('\t').collect();
    assert_eq!(syn[..2], ["512", "2"]);
    assert!(!syn[2].is_empty(), "SACK permitted");
    assert_eq!(syn[3..5], ["70000", "0"]);
    assert!(rows[9].ends_with("\t70123\t4000000000\t2000,3000"), "{}", rows[9]);
}

/// The check of the check: tshark detects a damaged frame.
#[test]
fn tshark_sees_a_wrong_bit() {
    let mut pdu = frame(&segment(1, "PA", TcpOptions::default(), 100), SduFormat::LlcSnap);
    pdu[90] ^= 1;
    let mut writer = Writer::new(Vec::new(), LinkType::Erf).unwrap();
    let record = AtmFrame { time: at(1), direction: Direction::Sent, channel: LLC, pdu: &pdu };
    writer.frame(&record).unwrap();
    let Some(text) = tshark(&writer.finish().unwrap(), &["-V"]) else { return };
    assert!(text.lines().any(|l| l.contains("AAL5 CRC:") && l.ends_with("(incorrect)")), "{text}");
}

#[test]
fn tshark_shows_single_cells() {
    let pdu = frame(&segment(1, "PA", TcpOptions::default(), 100), SduFormat::LlcSnap);
    let mut writer = Writer::new(Vec::new(), LinkType::Erf).unwrap();
    for cell in aal5::segment(&pdu, VC_MUX).unwrap() {
        let view = cellway_wire::CellView::new(&cell).unwrap();
        let (time, direction) = (at(1), Direction::Sent);
        writer.cell(&AtmCell { time, direction, header: view.header(), payload: view.payload() }).unwrap();
    }
    let fields = ["-T", "fields", "-e", "atm.vpi", "-e", "atm.vci", "-e", "atm.payload_type", "-e", "data.len"];
    let Some(text) = tshark(&writer.finish().unwrap(), &fields) else { return };
    let rows: Vec<&str> = text.lines().collect();
    let (last, others) = rows.split_last().unwrap();
    assert_eq!((*last, others.len()), ("7\t40000\t1\t48", pdu.len() / 48 - 1));
    assert!(others.iter().all(|row| *row == "7\t40000\t0\t48"), "{rows:?}");
}
