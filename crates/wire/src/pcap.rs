//! Captures that Wireshark and tshark open: classic pcap with nanoseconds.
//!
//! ATM goes into ERF records (link type 197), because they hold all traffic of a node of a cell network in one file:
//! single cells, AAL5 frames with their trailer, and IP packets. Of the ATM link types it is the one whose AAL5 CRC
//! Wireshark verifies; with SunATM (123) it ignores the trailer. Wireshark does not reassemble single cells under any
//! link type: so a whole frame is written at the instant of its last cell, and cells may be written in addition.
//!
//! ```text
//! tshark -o erf.aal5_type:Unspecified -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -r FILE
//! ```
//!
//! The first option matters for VC multiplexing: without it Wireshark assumes LAN emulation if there is no LLC header.

use std::io::{self, Write};

use cellway_units::Time;

use crate::{CellHeader, Channel};

/// The magic number of a pcap file with nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Most octets of a record, as announced in the file header.
const SNAP_LEN: u32 = 1 << 18;
/// Octets of an ERF record header.
const ERF_HEADER: usize = 16;
/// ERF record types.
const ERF_ATM: u8 = 3;
const ERF_AAL5: u8 = 4;
const ERF_IPV4: u8 = 22;
const ERF_IPV6: u8 = 23;

/// The content of the records of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Only IP packets: LINKTYPE_RAW. Every tool supports it.
    RawIp,
    /// Cells, AAL5 frames and IP packets in ERF records: LINKTYPE_ERF.
    Erf,
}

impl LinkType {
    const fn number(self) -> u32 {
        match self {
            LinkType::RawIp => 101,
            LinkType::Erf => 197,
        }
    }
}

/// The direction of a record at the node that captures. Wireshark shows it as the capture interface (`erf.flags.cap`)
/// and, for ATM, as the channel DTE->DCE (sent) or DCE->DTE (received).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Out of the node: capture interface 0.
    Sent,
    /// Into the node: capture interface 1.
    Received,
}

/// An AAL5 frame at the time of its last cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtmFrame<'a> {
    /// The time of the last bit of the last cell.
    pub time: Time,
    /// The direction.
    pub direction: Direction,
    /// The channel.
    pub channel: Channel,
    /// The frame with padding and trailer, as [`crate::aal5::build`] makes it.
    pub pdu: &'a [u8],
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtmCell<'a> {
    /// The time of its last bit.
    pub time: Time,
    /// The direction.
    pub direction: Direction,
    /// Its header; the record omits the error control.
    pub header: CellHeader,
    /// Its payload.
    pub payload: &'a [u8; 48],
}

/// The reason for which a record was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A cell or an AAL5 frame for a file of IP packets.
    #[error("a capture of IP packets (link type 101) takes no ATM; use LinkType::Erf")]
    WrongLink,
    /// Writing failed.
    #[error("cannot write the capture: {0}")]
    Io(#[from] io::Error),
}

/// Writes a capture. The start of the run is written as 1970-01-01 00:00:00 UTC; picoseconds are truncated to
/// nanoseconds (in ERF records also to 2^-32 s, 233 ps).
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    link: LinkType,
    records: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a capture. `to` should be buffered: each record is two or three small writes.
    pub fn new(mut to: W, link: LinkType) -> Result<Writer<W>, Error> {
        let mut header = Vec::with_capacity(24);
        header.extend_from_slice(&MAGIC.to_le_bytes());
        header.extend_from_slice(&2u16.to_le_bytes());
        header.extend_from_slice(&4u16.to_le_bytes());
        header.extend_from_slice(&[0; 8]);
        header.extend_from_slice(&SNAP_LEN.to_le_bytes());
        header.extend_from_slice(&link.number().to_le_bytes());
        to.write_all(&header)?;
        Ok(Writer { to, link, records: 0 })
    }

    /// Writes an IP packet that passed at `time`.
    pub fn packet(&mut self, time: Time, direction: Direction, packet: &[u8]) -> Result<(), Error> {
        match self.link {
            LinkType::RawIp => self.record(time, &[], packet, packet.len()),
            LinkType::Erf => {
                let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
                self.erf(time, direction, if is_v6 { ERF_IPV6 } else { ERF_IPV4 }, &[], packet)
            }
        }
    }

    /// Writes an AAL5 frame.
    pub fn frame(&mut self, frame: &AtmFrame<'_>) -> Result<(), Error> {
        let header = CellHeader::user(frame.channel, true).word();
        self.atm(frame.time, frame.direction, ERF_AAL5, &header, frame.pdu)
    }

    /// Writes a cell.
    pub fn cell(&mut self, cell: &AtmCell<'_>) -> Result<(), Error> {
        self.atm(cell.time, cell.direction, ERF_ATM, &cell.header.word(), cell.payload)
    }

    fn atm(&mut self, time: Time, way: Direction, kind: u8, header: &[u8; 4], content: &[u8]) -> Result<(), Error> {
        match self.link {
            LinkType::RawIp => Err(Error::WrongLink),
            LinkType::Erf => self.erf(time, way, kind, header, content),
        }
    }

    /// Writes an ERF record: timestamp in 2^-32 s (little endian), type, flags, record length, loss counter, wire
    /// length.
    fn erf(&mut self, time: Time, way: Direction, kind: u8, header: &[u8], content: &[u8]) -> Result<(), Error> {
        const VARYING_LENGTH: u8 = 0x04;
        const TRUNCATED: u8 = 0x08;
        let wire = header.len() + content.len();
        // The record length has 16 bits: the few longer frames are truncated, and marked so.
        let kept = wire.min(usize::from(u16::MAX) - ERF_HEADER);
        let interface = match way {
            Direction::Sent => 0,
            Direction::Received => 1,
        };
        let ps = u128::from(time.as_ps());
        let stamp = (ps << 32) / 1_000_000_000_000;
        let flags = interface | VARYING_LENGTH | if kept < wire { TRUNCATED } else { 0 };
        let mut front = Vec::with_capacity(ERF_HEADER + header.len());
        front.extend_from_slice(&(stamp as u64).to_le_bytes());
        front.extend_from_slice(&[kind, flags]);
        front.extend_from_slice(&((ERF_HEADER + kept) as u16).to_be_bytes());
        front.extend_from_slice(&[0; 2]);
        front.extend_from_slice(&u16::try_from(wire).unwrap_or(u16::MAX).to_be_bytes());
        front.extend_from_slice(header);
        self.record(time, &front, &content[..kept - header.len()], ERF_HEADER + wire)
    }

    fn record(&mut self, time: Time, front: &[u8], content: &[u8], wire: usize) -> Result<(), Error> {
        let ns = time.as_ps() / 1_000;
        let kept = front.len() + content.len();
        let fields = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, kept as u32, wire as u32];
        let mut header = [0; 16];
        header.chunks_exact_mut(4).zip(fields).for_each(|(to, field)| to.copy_from_slice(&field.to_le_bytes()));
        self.to.write_all(&header)?;
        self.to.write_all(front)?;
        self.to.write_all(content)?;
        self.records += 1;
        Ok(())
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Flushes, and returns the underlying writer.
    pub fn finish(mut self) -> Result<W, Error> {
        self.to.flush()?;
        Ok(self.to)
    }
}
