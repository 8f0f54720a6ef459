//! Bytes of one direction of a connection, by their place since its start.

use std::collections::VecDeque;

/// Up to this much memory stays with an empty ring (bytes).
const KEPT: usize = 16 * 1024;

/// A run of bytes whose front is let go and whose end grows. Empty, it holds next to no memory.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    base: u64,
    bytes: VecDeque<u8>,
}

impl Ring {
    /// The place of the first byte held.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }
    /// The place after the last byte held.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
    /// How many bytes are held.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds bytes at the end.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }
    /// Puts bytes at `offset`; what lies before the base is left out, a gap is filled with zeros
    /// until its bytes come.
    pub(crate) fn place(&mut self, offset: u64, bytes: &[u8]) {
        let skip = self.base.saturating_sub(offset);
        if skip >= bytes.len() as u64 {
            return;
        }
        let (offset, bytes) = (offset + skip, &bytes[skip as usize..]);
        let at = (offset - self.base) as usize;
        let len = self.bytes.len();
        if at >= len {
            self.bytes.resize(at, 0);
            self.bytes.extend(bytes);
            return;
        }
        let (over, beyond) = bytes.split_at(bytes.len().min(len - at));
        let (front, back) = self.bytes.as_mut_slices();
        if at < front.len() {
            let here = over.len().min(front.len() - at);
            front[at..at + here].copy_from_slice(&over[..here]);
            back[..over.len() - here].copy_from_slice(&over[here..]);
        } else {
            let at = at - front.len();
            back[at..at + over.len()].copy_from_slice(over);
        }
        self.bytes.extend(beyond);
    }
    /// Appends `len` bytes from `offset` on to `out`; whether all of them are held.
    pub(crate) fn copy(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> bool {
        if offset < self.base || offset + len as u64 > self.end() {
            return false;
        }
        let at = (offset - self.base) as usize;
        let (front, back) = self.bytes.as_slices();
        if at < front.len() {
            let here = len.min(front.len() - at);
            out.extend_from_slice(&front[at..at + here]);
            out.extend_from_slice(&back[..len - here]);
        } else {
            let at = at - front.len();
            out.extend_from_slice(&back[at..at + len]);
        }
        true
    }
    /// The first `len` bytes, in two parts.
    pub(crate) fn front(&self, len: usize) -> [&[u8]; 2] {
        let (front, back) = self.bytes.as_slices();
        let here = len.min(front.len());
        [&front[..here], &back[..(len - here).min(back.len())]]
    }
    /// Lets the first `len` bytes go.
    pub(crate) fn release(&mut self, len: u64) {
        let len = len.min(self.bytes.len() as u64);
        self.base += len;
        self.bytes.drain(..len as usize);
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            self.bytes = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_placed_in_any_order_comes_out_in_order(
            data in prop::collection::vec(any::<u8>(), 1..400),
            cuts in prop::collection::vec((0usize..400, 1usize..80), 1..60),
            takes in prop::collection::vec(0u64..60, 1..60),
        ) {
            let (mut ring, mut there) = (Ring::default(), vec![false; data.len()]);
            let mut out = Vec::new();
            for ((start, len), take) in cuts.into_iter().zip(takes) {
                let (start, end) = (start.min(data.len()), (start + len).min(data.len()));
                ring.place(start as u64, &data[start..end]);
                there[start..end].fill(true);
                let ready = there[out.len()..].iter().take_while(|&&t| t).count().min(take as usize);
                let parts = ring.front(ready);
                prop_assert_eq!(parts[0].len() + parts[1].len(), ready);
                let mut copy = Vec::new();
                prop_assert!(ring.copy(ring.base(), ready, &mut copy));
                prop_assert_eq!(&copy, &parts.concat());
                out.extend(copy);
                ring.release(ready as u64);
                prop_assert_eq!(ring.base(), out.len() as u64);
            }
            prop_assert_eq!(&out[..], &data[..out.len()]);
        }
    }

    #[test]
    fn what_is_not_held_is_not_copied() {
        let mut ring = Ring::default();
        ring.push(b"abcdef");
        ring.release(2);
        let mut out = Vec::new();
        assert!(!ring.copy(1, 2, &mut out) && !ring.copy(4, 3, &mut out) && out.is_empty());
        assert!(ring.copy(2, 4, &mut out));
        assert_eq!((&out[..], ring.end(), ring.len()), (&b"cdef"[..], 6, 4));
    }
}
