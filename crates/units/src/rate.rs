//! Bit rates and the exact time that bits take on a line.

use std::fmt;
use std::str::FromStr;

use crate::parse::{self, ParseError, Scale};
use crate::{Bits, CELL_BITS, Span};

/// The rate at which a line clocks out cells or packets, in bit/s: without the physical overhead (149.76 Mbit/s on
/// OC-3c, of 155.52 on the fibre).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Rate(u64);

impl Rate {
    /// Creates a rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// Returns the rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Returns the cells per second, a ratio that is rarely whole; for output only.
    pub fn cells_per_sec(self) -> f64 {
        self.0 as f64 / CELL_BITS.0 as f64
    }
    /// Returns the time that `bits` take, with the remainder of the division: exactly `span + remainder / rate`
    /// picoseconds, `carry` of an earlier call included. Passing each remainder to the next call keeps the long-run
    /// rate exact.
    pub const fn time_for(self, bits: Bits, carry: u64) -> (Span, u64) {
        const PS_PER_SEC: u64 = 1_000_000_000_000;
        // Up to 2 MB the division takes one instruction; a division of 128 bits is a call of about a hundred, and where
        // there are no words of 128 bits (WebAssembly) so is their product.
        if bits.0 <= u64::MAX / PS_PER_SEC
            && let Some(ps) = (bits.0 * PS_PER_SEC).checked_add(carry)
        {
            return (Span::from_ps(ps / self.0), ps % self.0);
        }
        let ps = bits.0 as u128 * PS_PER_SEC as u128 + carry as u128;
        let rate = self.0 as u128;
        (Span::from_ps((ps / rate) as u64), (ps % rate) as u64)
    }
}

const UNITS: &[Scale] = &[
    Scale::new("bit/s", 1),
    Scale::new("kbit/s", 1_000),
    Scale::new("Mbit/s", 1_000_000),
    Scale::new("Gbit/s", 1_000_000_000),
];

/// A rate in cells of 53 octets, for texts that may also count cells: "36000 cell/s" is 15.264 Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellRate(pub Rate);

const CELL_UNITS: &[Scale] = &[UNITS[0], UNITS[1], UNITS[2], UNITS[3], Scale::new("cell/s", CELL_BITS.0)];

impl FromStr for CellRate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<CellRate, ParseError> {
        parse::quantity(text, CELL_UNITS, "\"36000 cell/s\"").map(|bps| CellRate(Rate(bps)))
    }
}
impl fmt::Display for CellRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        parse::quantity(text, UNITS, "\"1.5 Mbit/s\"").map(Rate)
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::print(f, self.0, UNITS)
    }
}
