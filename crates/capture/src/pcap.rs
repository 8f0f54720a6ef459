//! The classic format of captures: <https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/>.
//!
//! Every file in it, and every one in pcapng, is read here and not by a library: the libraries that there are report a
//! damaged file without the place or in terms of their parser, and a report needs both in words.

use crate::fault::Cause;
use crate::link::Link;
use crate::octets::Octets;
use crate::reader::{MAX_RECORD, Record};

/// Octets of the header of a file and of a record.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// The magic numbers of files with microseconds and with nanoseconds.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// The order of the octets of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    /// Reads a number of two octets at an offset; 0 beyond the end.
    pub(crate) fn u16(self, octets: &[u8], at: usize) -> u16 {
        let pair = octets.get(at..at + 2).map_or([0; 2], |pair| [pair[0], pair[1]]);
        match self {
            Order::Little => u16::from_le_bytes(pair),
            Order::Big => u16::from_be_bytes(pair),
        }
    }

    /// Reads a number of four octets at an offset; 0 beyond the end.
    pub(crate) fn u32(self, octets: &[u8], at: usize) -> u32 {
        let four = octets.get(at..at + 4).map_or([0; 4], |four| [four[0], four[1], four[2], four[3]]);
        match self {
            Order::Little => u32::from_le_bytes(four),
            Order::Big => u32::from_be_bytes(four),
        }
    }
}

/// The state of reading a classic file.
#[derive(Debug)]
pub(crate) struct Classic {
    order: Order,
    /// Nanoseconds of a unit of the fraction of a second.
    unit: u64,
    link: Link,
}

impl Classic {
    /// Returns true if a file that begins with these octets is in this format.
    pub(crate) fn is_magic(first: &[u8]) -> bool {
        Classic::magic(first).is_some()
    }

    fn magic(first: &[u8]) -> Option<(Order, u64)> {
        if first.len() < 4 {
            return None;
        }
        [Order::Little, Order::Big].into_iter().find_map(|order| match order.u32(first, 0) {
            MICROSECONDS => Some((order, 1_000)),
            NANOSECONDS => Some((order, 1)),
            _ => None,
        })
    }

    /// Reads the header of a file.
    pub(crate) fn begin(from: &mut Octets) -> Result<Classic, Cause> {
        let header = from.exactly(FILE_HEADER, "the header of the file")?;
        let (order, unit) = Classic::magic(header).ok_or(Cause::NoCapture { first: header[..4].to_vec() })?;
        let [major, minor] = [4, 6].map(|at| order.u16(header, at));
        if (major, minor) != (2, 4) {
            return Err(Cause::Version { format: "pcap", found: format!("{major}.{minor}"), accepted: "2.4" });
        }
        // The upper half has the length of a frame check sequence, which the lengths of IP leave out.
        let number = order.u32(header, 20) & 0xffff;
        let link = Link::from_number(number).ok_or(Cause::LinkType { found: number })?;
        from.consume(FILE_HEADER);
        Ok(Classic { order, unit, link })
    }

    /// Reads the next record; `None` at the end of the file.
    pub(crate) fn next<'a>(&mut self, from: &'a mut Octets) -> Result<Option<Record<'a>>, Cause> {
        if from.peek(RECORD_HEADER)?.is_empty() {
            return Ok(None);
        }
        let header = from.exactly(RECORD_HEADER, "the header of a record")?;
        let [seconds, fraction, kept, wire] = [0, 4, 8, 12].map(|at| self.order.u32(header, at));
        if kept as usize > MAX_RECORD {
            let (found, limit) = (kept.into(), MAX_RECORD as u64);
            return Err(Cause::TooLong { what: "a record", found, limit });
        }
        let whole = RECORD_HEADER + kept as usize;
        from.exactly(whole, "a record")?;
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        from.consume(whole);
        let octets = from.consumed(kept as usize);
        Ok(Some(Record { time: Some(time), link: Some(self.link), wire: wire.max(kept), octets }))
    }
}
