//! Amounts of data: bits, bytes, cells and packets.

use std::fmt;
use std::str::FromStr;

use crate::parse::{self, ParseError, Scale};

/// An amount of data in bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Bits(pub u64);

/// An amount of data in bytes (octets).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Bytes(pub u64);

/// A number of ATM cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cells(pub u64);

/// A number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packets(pub u64);

impl Bytes {
    /// Returns the same amount in bits.
    pub const fn bits(self) -> Bits {
        Bits(self.0 * 8)
    }
}

impl Cells {
    /// Returns the size of the cells on the wire, headers included, in bits.
    pub const fn bits(self) -> Bits {
        Bits(self.0 * crate::CELL_BITS.0)
    }
}

const BYTES: &[Scale] = &[
    Scale::new("B", 1),
    Scale::new("kB", 1_000),
    Scale::new("KiB", 1 << 10),
    Scale::new("MB", 1_000_000),
    Scale::new("MiB", 1 << 20),
    Scale::new("GB", 1_000_000_000),
    Scale::new("GiB", 1 << 30),
];
const BITS: &[Scale] = &[
    Scale::new("bit", 1),
    Scale::new("kbit", 1_000),
    Scale::new("Mbit", 1_000_000),
    Scale::new("Gbit", 1_000_000_000),
];
const CELLS: &[Scale] = &[Scale::new("cell", 1), Scale::new("cells", 1)];
const PACKETS: &[Scale] = &[Scale::new("packets", 1), Scale::new("packet", 1)];

macro_rules! text {
    ($type:ident, $units:expr, $print:expr, $example:literal) => {
        impl FromStr for $type {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<$type, ParseError> {
                parse::quantity(text, $units, $example).map($type)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                parse::print(f, self.0, $print)
            }
        }
    };
}
text!(Bytes, BYTES, &[BYTES[0], BYTES[2], BYTES[4], BYTES[6]], "\"8 KiB\"");
text!(Bits, BITS, BITS, "\"424 bit\"");
text!(Cells, CELLS, &[CELLS[0]], "\"256 cell\"");
text!(Packets, PACKETS, &[PACKETS[1]], "\"5 packet\"");
