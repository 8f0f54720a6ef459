//! Time, rate and size as exact integers with units.
//!
//! The clock ticks in picoseconds: a nanosecond clock misstates the cell time of OC-12c by 284 ppm, enough to grow
//! queues that do not exist. Every quantity parses from and prints to text with its unit; a number without a unit is
//! refused with the accepted units.
//!
//! ```
//! use cellway_units::{Bytes, Rate, Span};
//!
//! let rate: Rate = "10 Mbit/s".parse()?;
//! let packet: Bytes = "1500 B".parse()?;
//! let (time, remainder) = rate.time_for(packet.bits(), 0);
//! assert_eq!((time, remainder), (Span::from_us(1200), 0));
//! assert_eq!(time.to_string(), "1.2 ms");
//! let refused = "10".parse::<Rate>().unwrap_err().to_string();
//! assert_eq!(refused, "\"10\" has no unit; add one of bit/s, kbit/s, Mbit/s, Gbit/s, like \"1.5 Mbit/s\"");
//! # Ok::<(), cellway_units::ParseError>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod columns;
mod distributions;
mod ecn;
mod framing;
mod line;
mod meant;
mod parse;
mod printable;
mod probability;
mod rate;
mod size;
mod sketch;
mod time;

pub use columns::{Columns, ColumnsError};
pub use distributions::{standard_normal, uniform};
pub use ecn::Ecn;
pub use framing::{AAL5_TRAILER_OCTETS, LLC_SNAP_OCTETS, aal5_cells, bare_cells, ethernet_octets, fddi_octets};
pub use line::Line;
pub use meant::meant;
pub use parse::{ParseError, split_quantity};
pub use printable::{printable, printable_json};
pub use probability::Probability;
pub use rate::{CellRate, Rate};
pub use size::{Bits, Bytes, Cells, Packets};
pub use sketch::{Sketch, rank};
pub use time::{Span, Time};

/// Octets of one ATM cell on the wire, header included. ITU-T I.361.
pub const CELL_OCTETS: u64 = 53;
/// Octets of payload in one ATM cell. ITU-T I.361.
pub const CELL_PAYLOAD_OCTETS: u64 = 48;
/// One ATM cell on the wire, in bits.
pub const CELL_BITS: Bits = Bits(CELL_OCTETS * 8);
