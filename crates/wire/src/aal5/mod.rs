//! AAL5: a frame (CPCS-PDU) with length and CRC, segmented into cells and reassembled. ITU-T I.363.5.

mod crc;
mod pdu;
mod sar;

pub use crc::{RESIDUE, crc32, residue};
pub use pdu::{MAX_SDU, Pdu, TRAILER, build, parse, pdu_len};
pub use sar::{Reassembler, segment};

/// The error for cells or octets that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Aal5Error {
    /// An SDU of no octets: its length field would mean that the sender aborted the frame.
    #[error("an AAL5 frame carries at least 1 octet")]
    Empty,
    /// An SDU past the 16-bit length field.
    #[error("{len} octets do not fit one AAL5 frame, which carries at most {MAX_SDU}")]
    TooLong {
        /// The number of octets.
        len: usize,
    },
    /// Not a multiple of 48 octets.
    #[error("{len} octets are not whole cells of 48 octets")]
    NotCells {
        /// The number of octets.
        len: usize,
    },
    /// The CRC does not match: a bit was damaged, or a cell was lost or inserted.
    #[error("the AAL5 CRC is {found:#010x}; the frame gives {computed:#010x}")]
    Crc {
        /// The CRC in the trailer.
        found: u32,
        /// The CRC of the octets before it.
        computed: u32,
    },
    /// The length field does not match the number of cells.
    #[error("the AAL5 length field says {length} octets, which do not take the {cells} cells of the frame")]
    Length {
        /// The length field.
        length: u16,
        /// Cells of the frame.
        cells: usize,
    },
    /// The sender aborted the frame: the length field is 0.
    #[error("the sender aborted the AAL5 frame (length field 0)")]
    Aborted,
    /// More cells without an end than the longest frame has: the end of a frame was lost.
    #[error("more than {limit} octets came without the end of an AAL5 frame")]
    Overrun {
        /// Octets of the longest accepted PDU.
        limit: usize,
    },
}
