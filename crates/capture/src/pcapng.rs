//! The format pcapng: <https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/>.
//!
//! Blocks other than those of sections, interfaces and packets are skipped without being kept, so their length has no
//! limit.

use crate::fault::Cause;
use crate::link::Link;
use crate::octets::Octets;
use crate::pcap::Order;
use crate::reader::{MAX_RECORD, Record};

/// The types of blocks. The first is the same in both orders of octets.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// The byte-order magic of a section.
const MAGIC: u32 = 0x1a2b_3c4d;
/// Octets of the type and the length of a block, and of a block without a body.
const FRONT: usize = 8;
const EMPTY: u32 = 12;
/// The most octets of a description of an interface, which has a few short options.
const MAX_INTERFACE: u32 = 1 << 20;
/// The most interfaces of a section.
const MAX_INTERFACES: usize = 1 << 16;

/// The latest time, in ns: in the year 2116, a little later than that of pcap. Sums of two times do not overflow.
const LATEST: u64 = 1 << 62;

/// The options of an interface: resolution and offset of its times.
const TSRESOL: u16 = 9;
const TSOFFSET: u16 = 14;

/// An interface of a section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    /// `None` if its link type is not read.
    link: Option<Link>,
    /// The most octets that are kept of a packet; 0 if there is no limit.
    snap_len: u32,
    resolution: Resolution,
    /// Seconds that are added to its times.
    offset: i64,
}

/// The unit of the times of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// Ten to the negative power of this number of seconds.
    Decimal(u32),
    /// Two to the negative power of this number of seconds.
    Binary(u32),
}

impl Resolution {
    fn from_octet(octet: u8) -> Resolution {
        let exponent = u32::from(octet & 0x7f);
        if octet & 0x80 == 0 { Resolution::Decimal(exponent) } else { Resolution::Binary(exponent) }
    }

    /// Returns nanoseconds, truncated, and the largest number where they are more.
    fn nanoseconds(self, ticks: u64) -> u64 {
        let wide = u128::from(ticks);
        let exact = match self {
            Resolution::Decimal(exponent @ 0..=9) => wide * 10u128.pow(9 - exponent),
            Resolution::Decimal(exponent) => 10u128.checked_pow(exponent - 9).map_or(0, |scale| wide / scale),
            Resolution::Binary(exponent) => (wide * 1_000_000_000).checked_shr(exponent).unwrap_or(0),
        };
        u64::try_from(exact).unwrap_or(u64::MAX)
    }
}

impl Interface {
    fn time(&self, high: u32, low: u32) -> u64 {
        let time = self.resolution.nanoseconds(u64::from(high) << 32 | u64::from(low));
        let offset = self.offset.unsigned_abs().saturating_mul(1_000_000_000);
        let time = if self.offset < 0 { time.saturating_sub(offset) } else { time.saturating_add(offset) };
        time.min(LATEST)
    }
}

/// The state of reading a file in this format.
#[derive(Debug)]
pub(crate) struct NextGeneration {
    order: Order,
    interfaces: Vec<Interface>,
    /// The offset at which the last block begins, in octets.
    block: u64,
}

/// The octets of a block that remain after its packet: padding, options and the second length.
fn end(from: &mut Octets, order: Order, length: u32, body_read: usize) -> Result<(), Cause> {
    from.skip(u64::from(length) - FRONT as u64 - body_read as u64 - 4, "a block")?;
    let back = order.u32(from.exactly(4, "a block")?, 0);
    if back != length {
        return Err(Cause::Lengths { front: length, back });
    }
    from.consume(4);
    Ok(())
}

impl NextGeneration {
    /// Returns true if a file that begins with these octets is in this format.
    pub(crate) fn is_magic(first: &[u8]) -> bool {
        first.len() >= 4 && Order::Big.u32(first, 0) == SECTION
    }

    /// Reads the header of the first section.
    pub(crate) fn begin(from: &mut Octets) -> Result<NextGeneration, Cause> {
        let mut format = NextGeneration { order: Order::Little, interfaces: Vec::new(), block: 0 };
        format.section(from)?;
        Ok(format)
    }

    fn section(&mut self, from: &mut Octets) -> Result<(), Cause> {
        let header = from.exactly(28, "the header of a section")?;
        self.order = match Order::Big.u32(header, 8) {
            MAGIC => Order::Big,
            found if found.swap_bytes() == MAGIC => Order::Little,
            found => return Err(Cause::ByteOrder { found }),
        };
        let length = self.order.u32(header, 4);
        if length < 28 || !length.is_multiple_of(4) {
            let accepted = "a multiple of 4, at least 28";
            return Err(Cause::Length { what: "the header of a section", found: length.into(), accepted });
        }
        let [major, minor] = [12, 14].map(|at| self.order.u16(header, at));
        if major != 1 {
            return Err(Cause::Version { format: "pcapng", found: format!("{major}.{minor}"), accepted: "1.x" });
        }
        self.interfaces.clear();
        from.consume(24);
        end(from, self.order, length, 16)
    }

    fn interface(&mut self, from: &mut Octets, length: u32) -> Result<(), Cause> {
        if !(20..=MAX_INTERFACE).contains(&length) {
            let accepted = "from 20 to 1048576";
            return Err(Cause::Length { what: "the description of an interface", found: length.into(), accepted });
        }
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(Cause::Interfaces { limit: MAX_INTERFACES });
        }
        let order = self.order;
        let body = &from.exactly(length as usize - 4, "the description of an interface")?[FRONT..];
        let number = u32::from(order.u16(body, 0));
        let mut interface = Interface {
            link: Link::from_number(number),
            snap_len: order.u32(body, 4),
            resolution: Resolution::Decimal(6),
            offset: 0,
        };
        let mut options = body.get(8..).unwrap_or_default();
        while options.len() >= 4 {
            let (code, size) = (order.u16(options, 0), usize::from(order.u16(options, 2)));
            let Some(value) = options.get(4..4 + size).filter(|_| code != 0) else { break };
            match (code, value) {
                (TSRESOL, [octet, ..]) => interface.resolution = Resolution::from_octet(*octet),
                (TSOFFSET, seconds) if seconds.len() == 8 => {
                    let (first, second) = (u64::from(order.u32(seconds, 0)), u64::from(order.u32(seconds, 4)));
                    let bits = match order {
                        Order::Little => second << 32 | first,
                        Order::Big => first << 32 | second,
                    };
                    interface.offset = bits.cast_signed();
                }
                _ => {}
            }
            options = options.get(4 + size.next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(interface);
        let read = body.len();
        from.consume(FRONT + read);
        end(from, order, length, read)
    }

    /// Returns the offset of the last block that was read, in octets.
    pub(crate) fn block(&self) -> u64 {
        self.block
    }

    /// Reads the next record; `None` at the end of the file.
    pub(crate) fn next<'a>(&mut self, from: &'a mut Octets) -> Result<Option<Record<'a>>, Cause> {
        loop {
            self.block = from.offset();
            if from.peek(FRONT)?.is_empty() {
                return Ok(None);
            }
            let front = from.exactly(FRONT, "the header of a block")?;
            if NextGeneration::is_magic(front) {
                self.section(from)?;
                continue;
            }
            let [kind, length] = [0, 4].map(|at| self.order.u32(front, at));
            if length < EMPTY || !length.is_multiple_of(4) {
                let accepted = "a multiple of 4, at least 12";
                return Err(Cause::Length { what: "a block", found: length.into(), accepted });
            }
            let fixed = match kind {
                INTERFACE => {
                    self.interface(from, length)?;
                    continue;
                }
                SIMPLE_PACKET => 4,
                OLD_PACKET | ENHANCED_PACKET => 20,
                _ => {
                    from.consume(FRONT);
                    end(from, self.order, length, 0)?;
                    continue;
                }
            };
            return self.packet(from, kind, length, fixed).map(Some);
        }
    }

    /// Reads a block with a packet, of which `fixed` octets are before the octets of the packet.
    fn packet<'a>(&self, from: &'a mut Octets, kind: u32, length: u32, fixed: usize) -> Result<Record<'a>, Cause> {
        let order = self.order;
        let room = u64::from(length - EMPTY);
        let body = &from.exactly(FRONT + fixed, "a packet block")?[FRONT..];
        let [id, high, low, kept, wire] = match kind {
            SIMPLE_PACKET => [0, 0, 0, u32::MAX, order.u32(body, 0)],
            OLD_PACKET => [
                order.u16(body, 0).into(),
                order.u32(body, 4),
                order.u32(body, 8),
                order.u32(body, 12),
                order.u32(body, 16),
            ],
            _ => [0, 4, 8, 12, 16].map(|at| order.u32(body, at)),
        };
        let known = self.interfaces.len();
        let interface = self.interfaces.get(id as usize).ok_or(Cause::Interface { found: id, known })?;
        let kept = if kind == SIMPLE_PACKET {
            // The length is not written: that of the packet, of the limit, or what the block has room for.
            let limit = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
            wire.min(limit).min(length.saturating_sub(EMPTY + 4))
        } else {
            kept
        };
        if kept as usize > MAX_RECORD {
            let (found, limit) = (kept.into(), MAX_RECORD as u64);
            return Err(Cause::TooLong { what: "a packet block", found, limit });
        }
        if fixed as u64 + u64::from(kept).next_multiple_of(4) > room {
            let accepted = "at most what its block has room for";
            return Err(Cause::Length { what: "a packet", found: kept.into(), accepted });
        }
        let time = (kind != SIMPLE_PACKET).then(|| interface.time(high, low));
        let link = interface.link;
        let read = fixed + kept as usize;
        // Options are short: the whole block is kept if it is as long as a packet may be, so that no octet moves.
        if length as usize <= MAX_RECORD + EMPTY as usize + fixed {
            let back = order.u32(from.exactly(length as usize, "a packet block")?, length as usize - 4);
            if back != length {
                return Err(Cause::Lengths { front: length, back });
            }
            from.consume(length as usize);
            let block = from.consumed(length as usize);
            let octets = &block[FRONT + fixed..FRONT + read];
            return Ok(Record { time, link, wire: wire.max(kept), octets });
        }
        let (found, limit) = (length.into(), MAX_RECORD as u64);
        Err(Cause::TooLong { what: "a packet block with its options", found, limit })
    }
}
