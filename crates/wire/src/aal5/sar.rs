//! Segmentation and reassembly: frames to cell payloads and back.

use super::{Aal5Error, MAX_SDU, Pdu, parse, pdu_len};
use crate::cell::PAYLOAD;
use crate::{CellHeader, CellView, Channel};
use cellway_units::Bytes;

/// Returns the cells of a frame on `channel`; the last one is marked as the end.
pub fn segment(pdu: &[u8], channel: Channel) -> Result<impl Iterator<Item = [u8; 53]> + '_, Aal5Error> {
    let (payloads, rest) = pdu.as_chunks::<PAYLOAD>();
    if payloads.is_empty() || !rest.is_empty() {
        return Err(Aal5Error::NotCells { len: pdu.len() });
    }
    let end = payloads.len() - 1;
    let cell = move |(i, payload)| CellView::build(&CellHeader::user(channel, i == end), payload);
    Ok(payloads.iter().enumerate().map(cell))
}

/// Reassembles the cells of one channel. A frame that lost a cell fails its check and is dropped; one that lost its
/// last cell is joined with the next, and both are dropped.
#[derive(Clone, Debug)]
pub struct Reassembler {
    pdu: Vec<u8>,
    limit: usize,
    complete: bool,
    overrun: bool,
}

impl Default for Reassembler {
    fn default() -> Reassembler {
        Reassembler::new(MAX_SDU)
    }
}

impl Reassembler {
    /// Creates a reassembler for frames of an SDU of up to `max_sdu` octets; it holds no more cells than that.
    pub fn new(max_sdu: usize) -> Reassembler {
        let limit = pdu_len(Bytes(max_sdu.min(MAX_SDU) as u64)).0 as usize;
        Reassembler { pdu: Vec::new(), limit, complete: false, overrun: false }
    }

    /// Adds the payload of the next cell. At the end of a frame returns it, or the error.
    pub fn push(&mut self, payload: &[u8; PAYLOAD], last: bool) -> Option<Result<Pdu<'_>, Aal5Error>> {
        if std::mem::take(&mut self.complete) {
            self.pdu.clear();
        }
        if self.pdu.len() == self.limit {
            self.overrun = true;
        } else {
            self.pdu.extend_from_slice(payload);
        }
        if !last {
            return None;
        }
        self.complete = true;
        if std::mem::take(&mut self.overrun) {
            return Some(Err(Aal5Error::Overrun { limit: self.limit }));
        }
        Some(parse(&self.pdu))
    }

    /// Returns the octets held of an incomplete frame.
    pub fn pending(&self) -> usize {
        if self.complete { 0 } else { self.pdu.len() }
    }
}
