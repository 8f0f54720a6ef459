//! The ATM cell and its five octets of header.

use std::fmt;

use cellway_units::{CELL_OCTETS, CELL_PAYLOAD_OCTETS};

/// Octets of the header. ITU-T I.361.
pub(crate) const HEADER: usize = 5;
/// Octets of the payload. ITU-T I.361.
pub(crate) const PAYLOAD: usize = CELL_PAYLOAD_OCTETS as usize;
/// Octets of a cell. ITU-T I.361.
pub(crate) const CELL: usize = CELL_OCTETS as usize;

/// A virtual channel: the two identifiers that the header of a cell has at the user-network interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// Virtual path identifier.
    pub vpi: u8,
    /// Virtual channel identifier.
    pub vci: u16,
}

impl Channel {
    /// The lowest VCI for user traffic; those below are reserved in every path (signalling, management). ITU-T I.361.
    pub const FIRST_VCI: u16 = 32;

    /// Returns user channel `number`, from 0, of path `vpi`; `None` past the 65 504 that a path has.
    pub fn user(vpi: u8, number: u32) -> Option<Channel> {
        let vci = number.checked_add(u32::from(Channel::FIRST_VCI))?;
        Some(Channel { vpi, vci: u16::try_from(vci).ok()? })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.vpi, self.vci)
    }
}

/// The three bits of payload type. ITU-T I.361.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PayloadType(u8);

impl PayloadType {
    /// A cell of user data that does not end an AAL5 frame and has met no congestion.
    pub const USER: PayloadType = PayloadType(0);
    /// A cell of user data that ends an AAL5 frame and has met no congestion.
    pub const USER_LAST: PayloadType = PayloadType(1);

    /// Returns the payload type of the low three bits of `bits`.
    pub const fn new(bits: u8) -> PayloadType {
        PayloadType(bits & 7)
    }
    /// Returns the three bits.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// Returns true if the cell carries user data, and not management.
    pub const fn is_user_data(self) -> bool {
        self.0 & 4 == 0
    }
    /// Returns true if the cell ends an AAL5 frame: user data with the ATM-user-to-user bit set.
    pub const fn ends_frame(self) -> bool {
        self.0 & 5 == 1
    }
    /// Returns true if a switch marked congestion (EFCI).
    pub const fn congestion(self) -> bool {
        self.0 & 6 == 2
    }
}

/// The header of a cell at the user-network interface. ITU-T I.361.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CellHeader {
    /// Generic flow control, four bits; zero when not used.
    pub gfc: u8,
    /// The channel.
    pub channel: Channel,
    /// The payload type.
    pub payload_type: PayloadType,
    /// Cell loss priority: such a cell is dropped first.
    pub clp: bool,
}

/// The error for five octets that are no header, or a slice that is no cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Not the length of a cell.
    #[error("{len} octets are not a cell, which has {CELL}")]
    Length {
        /// The number of octets.
        len: usize,
    },
    /// The header error control does not match.
    #[error("the header error control is {found:#04x}; the header gives {computed:#04x}")]
    Hec {
        /// The fifth octet.
        found: u8,
        /// The value for the first four.
        computed: u8,
    },
}

impl CellHeader {
    /// Creates the header of a user cell of `channel`; `last` for the last cell of a frame.
    pub const fn user(channel: Channel, last: bool) -> CellHeader {
        let payload_type = if last { PayloadType::USER_LAST } else { PayloadType::USER };
        CellHeader { gfc: 0, channel, payload_type, clp: false }
    }

    /// Returns the first four octets, without the header error control.
    pub const fn word(&self) -> [u8; 4] {
        let word = ((self.gfc as u32 & 0xf) << 28)
            | ((self.channel.vpi as u32) << 20)
            | ((self.channel.vci as u32) << 4)
            | ((self.payload_type.0 as u32) << 1)
            | self.clp as u32;
        word.to_be_bytes()
    }

    /// Returns the five octets.
    pub const fn octets(&self) -> [u8; HEADER] {
        let [a, b, c, d] = self.word();
        [a, b, c, d, hec([a, b, c, d])]
    }

    /// Parses a header and checks its error control.
    pub const fn parse(octets: [u8; HEADER]) -> Result<CellHeader, HeaderError> {
        let [a, b, c, d, found] = octets;
        let computed = hec([a, b, c, d]);
        if found != computed {
            return Err(HeaderError::Hec { found, computed });
        }
        let word = u32::from_be_bytes([a, b, c, d]);
        Ok(CellHeader {
            gfc: (word >> 28) as u8,
            channel: Channel { vpi: (word >> 20) as u8, vci: (word >> 4) as u16 },
            payload_type: PayloadType::new((word >> 1) as u8),
            clp: word & 1 == 1,
        })
    }
}

/// A cell in a buffer, whose header is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellView<'a> {
    header: CellHeader,
    payload: &'a [u8; PAYLOAD],
}

impl<'a> CellView<'a> {
    /// Parses exactly one cell.
    pub fn new(octets: &'a [u8]) -> Result<CellView<'a>, HeaderError> {
        let wrong = HeaderError::Length { len: octets.len() };
        let (header, payload) = octets.split_first_chunk::<HEADER>().ok_or(wrong)?;
        let payload = payload.try_into().map_err(|_| wrong)?;
        Ok(CellView { header: CellHeader::parse(*header)?, payload })
    }
    /// Returns the header.
    pub const fn header(&self) -> CellHeader {
        self.header
    }
    /// Returns the payload.
    pub const fn payload(&self) -> &'a [u8; PAYLOAD] {
        self.payload
    }
    /// Builds a cell from its parts.
    pub fn build(header: &CellHeader, payload: &[u8; PAYLOAD]) -> [u8; CELL] {
        let mut octets = [0; CELL];
        octets[..HEADER].copy_from_slice(&header.octets());
        octets[HEADER..].copy_from_slice(payload);
        octets
    }
}

/// Returns the header error control of four octets: their CRC with x^8 + x^2 + x + 1, plus 01010101. ITU-T I.432.1,
/// section 4.3.2.
pub const fn hec(header: [u8; 4]) -> u8 {
    let mut crc = 0u8;
    let mut i = 0;
    while i < header.len() {
        crc ^= header[i];
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x80 == 0 { crc << 1 } else { (crc << 1) ^ 0x07 };
            bit += 1;
        }
        i += 1;
    }
    crc ^ 0x55
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The unassigned and the idle cell.
    #[test]
    fn published_check_values() {
        assert_eq!(hec([0, 0, 0, 0]), 0x55);
        assert_eq!(hec([0, 0, 0, 1]), 0x52);
    }

    /// GFC 1010, VPI 0x5c, VCI 0x1234, payload type 011, CLP 1, written out bit by bit.
    #[test]
    fn fields_lie_where_the_standard_puts_them() {
        let header = CellHeader {
            gfc: 0b1010,
            channel: Channel { vpi: 0x5c, vci: 0x1234 },
            payload_type: PayloadType::new(0b011),
            clp: true,
        };
        assert_eq!(header.word(), [0xa5, 0xc1, 0x23, 0b0100_0111]);
        assert_eq!(CellHeader::parse(header.octets()), Ok(header));
    }

    #[test]
    fn payload_types() {
        let ends: Vec<u8> = (0..8).filter(|&b| PayloadType::new(b).ends_frame()).collect();
        let marked: Vec<u8> = (0..8).filter(|&b| PayloadType::new(b).congestion()).collect();
        let user: Vec<u8> = (0..8).filter(|&b| PayloadType::new(b).is_user_data()).collect();
        assert_eq!((ends, marked, user), (vec![1, 3], vec![2, 3], vec![0, 1, 2, 3]));
    }

    #[test]
    fn user_channels_start_above_the_reserved_ones() {
        assert_eq!(Channel::user(3, 0), Some(Channel { vpi: 3, vci: 32 }));
        assert_eq!(Channel::user(0, 65_503), Some(Channel { vpi: 0, vci: 65_535 }));
        assert_eq!((Channel::user(0, 65_504), Channel::user(0, u32::MAX)), (None, None));
    }
}
