//! Segmentation and reassembly: frames to cell payloads and back.

use super::{Aal5Error, MAX_SDU, Pdu, parse, pdu_len};
use crate::cell::PAYLOAD;
use crate::{CellHeader, CellView, Channel};
use cellway_units::Bytes;

/// The cells of a frame on `channel`: the last one carries the mark of the end.
pub fn segment(pdu: &[u8], channel: Channel) -> Result<impl Iterator<Item = [u8; 53]> + '_, Aal5Error> {
    let (payloads, rest) = pdu.as_chunks::<PAYLOAD>();
    if payloads.is_empty() || !rest.is_empty() {
        return Err(Aal5Error::NotCells { len: pdu.len() });
    }
    let end = payloads.len() - 1;
    let cell = move |(i, payload)| CellView::build(&CellHeader::user(channel, i == end), payload);
    Ok(payloads.iter().enumerate().map(cell))
}

/// Puts the cells of one channel together. A frame that lost a cell fails its check and is given up whole;
/// one that lost its last cell runs into the next, and both are given up.
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
    /// A reassembler that takes frames of as many cells as an SDU of `max_sdu` octets needs, and holds no more.
    pub fn new(max_sdu: usize) -> Reassembler {
        let limit = pdu_len(Bytes(max_sdu.min(MAX_SDU) as u64)).0 as usize;
        Reassembler { pdu: Vec::new(), limit, complete: false, overrun: false }
    }

    /// Takes the payload of the next cell. At the end of a frame returns it, or why there is none.
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

    /// Octets held of a frame that is not complete.
    pub fn pending(&self) -> usize {
        if self.complete { 0 } else { self.pdu.len() }
    }
}
