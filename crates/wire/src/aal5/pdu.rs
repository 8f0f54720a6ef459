//! The AAL5 frame: payload, padding and the trailer of eight octets.

use cellway_units::{AAL5_TRAILER_OCTETS, Bytes, CELL_PAYLOAD_OCTETS, aal5_cells};

use super::{Aal5Error, crc32};
use crate::cell::PAYLOAD;

/// Octets of the trailer: UU, CPI, Length, CRC-32.
pub const TRAILER: usize = AAL5_TRAILER_OCTETS as usize;
/// Most octets of an SDU.
pub const MAX_SDU: usize = u16::MAX as usize;

/// Returns the octets of the frame around an SDU of `sdu`, padding and trailer included.
pub const fn pdu_len(sdu: Bytes) -> Bytes {
    Bytes(aal5_cells(sdu).0 * CELL_PAYLOAD_OCTETS)
}

/// Builds the frame around `sdu`. `uu` is carried from user to user; `cpi` is 0 in ordinary use.
pub fn build(sdu: &[u8], uu: u8, cpi: u8) -> Result<Vec<u8>, Aal5Error> {
    if sdu.is_empty() {
        return Err(Aal5Error::Empty);
    }
    let length = u16::try_from(sdu.len()).map_err(|_| Aal5Error::TooLong { len: sdu.len() })?;
    let len = pdu_len(Bytes(sdu.len() as u64)).0 as usize;
    let mut pdu = Vec::with_capacity(len);
    pdu.extend_from_slice(sdu);
    pdu.resize(len - TRAILER, 0);
    pdu.extend_from_slice(&[uu, cpi]);
    pdu.extend_from_slice(&length.to_be_bytes());
    let crc = crc32(&pdu);
    pdu.extend_from_slice(&crc.to_be_bytes());
    Ok(pdu)
}

/// A valid frame, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu<'a> {
    /// The payload.
    pub sdu: &'a [u8],
    /// The user-to-user octet.
    pub uu: u8,
    /// The common part indicator.
    pub cpi: u8,
    /// The CRC.
    pub crc: u32,
}

/// Parses a frame and checks its CRC, then its length. The content of the padding is ignored. ITU-T I.363.5, section
/// 9.2.1.2.
pub fn parse(pdu: &[u8]) -> Result<Pdu<'_>, Aal5Error> {
    let not_cells = Aal5Error::NotCells { len: pdu.len() };
    if !pdu.len().is_multiple_of(PAYLOAD) {
        return Err(not_cells);
    }
    let (body, &[uu, cpi, high, low, a, b, c, d]) = pdu.split_last_chunk::<TRAILER>().ok_or(not_cells)?;
    let (found, computed) = (u32::from_be_bytes([a, b, c, d]), crc32(&pdu[..pdu.len() - 4]));
    if found != computed {
        return Err(Aal5Error::Crc { found, computed });
    }
    let length = u16::from_be_bytes([high, low]);
    if length == 0 {
        return Err(Aal5Error::Aborted);
    }
    let sdu = body.get(..usize::from(length)).filter(|_| pdu_len(Bytes(u64::from(length))).0 == pdu.len() as u64);
    let sdu = sdu.ok_or(Aal5Error::Length { length, cells: pdu.len() / PAYLOAD })?;
    Ok(Pdu { sdu, uu, cpi, crc: found })
}
