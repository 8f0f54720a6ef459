//! Bytes of one direction of a connection, by their offset in the stream.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};

use bytes::{BufMut, Bytes};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::block::{BLOCK, Block};

/// Most blocks of one call to the kernel.
const PARTS: usize = 32;

/// The largest capacity (blocks) that the queue of blocks keeps when it is empty: most rings are short.
const CAPACITY: usize = 64;

/// The contents of a gap.
static ZEROS: [u8; BLOCK] = [0; BLOCK];

/// A FIFO of bytes in blocks. Growing copies no bytes, and an empty ring holds no block. Neither does a gap before bytes that
/// were placed: it can be as long as the window, and a peer makes one with a packet.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    base: u64,
    len: usize,
    /// The position of the first byte in the first block.
    skip: usize,
    blocks: VecDeque<Option<Block>>,
}

impl Ring {
    /// Returns the offset of the first byte held.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }
    /// Returns the offset after the last byte held.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.len as u64
    }
    /// Returns the number of bytes held.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds up to `most` bytes at the end, which `read` puts into the buffers given; returns their number. Nothing is added
    /// if it fails.
    pub(crate) fn fill(
        &mut self,
        most: usize,
        read: impl FnOnce(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let start = self.skip + self.len;
        let most = most.min(PARTS * BLOCK - start % BLOCK);
        self.reserve(most);
        let (first, offset) = (start / BLOCK, start % BLOCK);
        let mut parts: [IoSliceMut<'_>; PARTS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        let (mut used, mut left) = (0, most);
        for (part, block) in parts.iter_mut().zip(self.blocks.range_mut(first..)) {
            let from = if used == 0 { offset } else { 0 };
            let take = left.min(BLOCK - from);
            *part = IoSliceMut::new(&mut held(block)[from..from + take]);
            (used, left) = (used + 1, left - take);
        }
        let count = read(&mut parts[..used]);
        self.len += count.as_ref().map_or(0, |&count| count.min(most));
        self.trim();
        count
    }
    /// Puts bytes at `offset`; bytes before the base are left out, a gap reads as zeros until its bytes arrive.
    pub(crate) fn place(&mut self, offset: u64, bytes: &[u8]) {
        let before = self.base.saturating_sub(offset);
        if before >= bytes.len() as u64 {
            return;
        }
        let (offset, mut bytes) = (offset + before, &bytes[before as usize..]);
        let at = (offset - self.base) as usize;
        let (end, gap) = (at + bytes.len(), at.saturating_sub(self.len));
        if gap > 0 {
            // Blocks that lie in the gap as a whole hold nothing; of those at its two ends a part is in it.
            let (first, last) = (self.skip + self.len, self.skip + at);
            self.each(self.len, gap.min(first.next_multiple_of(BLOCK) - first), |part| part.fill(0));
            self.blocks.resize_with(self.blocks.len().max(last / BLOCK), || None);
            self.len = at;
            self.reserve(bytes.len());
            let before = gap.min(last % BLOCK);
            self.each(at - before, before, |part| part.fill(0));
        }
        self.reserve(end.saturating_sub(self.len));
        self.each(at, bytes.len(), |part| {
            let (now, later) = bytes.split_at(part.len());
            part.copy_from_slice(now);
            bytes = later;
        });
        self.len = self.len.max(end);
    }
    /// Appends `len` bytes from `offset` on to `out`; returns true if all of them are held.
    pub(crate) fn copy(&self, offset: u64, len: usize, out: &mut impl BufMut) -> bool {
        if offset < self.base || offset + len as u64 > self.end() {
            return false;
        }
        self.parts((offset - self.base) as usize, len).for_each(|part| out.put_slice(part));
        true
    }
    /// Returns the first `len` bytes, or as many as one call accepts, in up to [`PARTS`] parts, and the number of parts.
    pub(crate) fn front(&self, len: usize) -> ([IoSlice<'_>; PARTS], usize) {
        let mut parts = [IoSlice::new(&[]); PARTS];
        let mut used = 0;
        for (slot, part) in parts.iter_mut().zip(self.parts(0, len.min(self.len))) {
            *slot = IoSlice::new(part);
            used += 1;
        }
        (parts, used)
    }
    /// Drops the first `len` bytes.
    pub(crate) fn release(&mut self, len: u64) {
        let len = len.min(self.len as u64);
        self.base += len;
        self.len -= len as usize;
        self.skip += len as usize;
        let over = self.skip / BLOCK;
        self.blocks.drain(..over);
        self.skip -= over * BLOCK;
        self.trim();
    }

    /// Makes room for `more` bytes at the end.
    fn reserve(&mut self, more: usize) {
        let blocks = (self.skip + self.len + more).div_ceil(BLOCK);
        while self.blocks.len() < blocks {
            self.blocks.push_back(Some(Block::take()));
        }
    }
    /// Drops the bytes from `end` on.
    pub(crate) fn truncate(&mut self, end: u64) {
        self.len = self.len.min(end.saturating_sub(self.base) as usize);
        self.trim();
    }
    /// Returns the memory of its blocks (bytes).
    pub(crate) fn memory(&self) -> u64 {
        (self.blocks.iter().flatten().count() * BLOCK) as u64
    }

    /// Drops blocks without bytes, and shrinks the queue of blocks if its capacity is far too large.
    fn trim(&mut self) {
        if self.len == 0 {
            self.skip = 0;
        }
        self.blocks.truncate((self.skip + self.len).div_ceil(BLOCK));
        let most = self.blocks.len().max(CAPACITY / 4) * 4;
        if self.blocks.capacity() > most {
            self.blocks.shrink_to(most / 2);
        }
    }
    /// Returns the parts of `len` bytes, from `at` bytes after the first.
    fn parts(&self, at: usize, len: usize) -> impl Iterator<Item = &[u8]> {
        let (start, end) = (self.skip + at, self.skip + at + len);
        let blocks = start / BLOCK..end.div_ceil(BLOCK).max(start / BLOCK);
        blocks.filter_map(move |n| {
            let part = start.saturating_sub(n * BLOCK)..(end - n * BLOCK).min(BLOCK);
            (!part.is_empty())
                .then(|| self.blocks[n].as_ref().map_or(&ZEROS[..], |block| &block[..]).get(part))
                .flatten()
        })
    }
    /// Calls `what` with each part of `len` bytes, from `at` bytes after the first, for which there are blocks or gaps.
    fn each(&mut self, at: usize, len: usize, mut what: impl FnMut(&mut [u8])) {
        let (mut start, mut left) = (self.skip + at, len);
        while left > 0 {
            let from = start % BLOCK;
            let take = left.min(BLOCK - from);
            what(&mut held(&mut self.blocks[start / BLOCK])[from..from + take]);
            (start, left) = (start + take, left - take);
        }
    }
}

/// The base, the offset after the last byte, and the bytes of each block with their offset.
impl Serialize for Ring {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = |(n, block): (usize, &Option<Block>)| {
            let (from, to) = ((n * BLOCK).max(self.skip), ((n + 1) * BLOCK).min(self.skip + self.len));
            let bytes = block.as_ref()?.get(from - n * BLOCK..to - n * BLOCK)?;
            Some((self.base + (from - self.skip) as u64, Bytes::copy_from_slice(bytes)))
        };
        let parts: Vec<(u64, Bytes)> = self.blocks.iter().enumerate().filter_map(part).collect();
        (self.base, self.end(), parts).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Ring {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ring, D::Error> {
        let (base, end, parts) = <(u64, u64, Vec<(u64, Bytes)>)>::deserialize(deserializer)?;
        let mut ring = Ring { base, ..Ring::default() };
        parts.iter().for_each(|(offset, bytes)| ring.place(*offset, bytes));
        if ring.end() < end {
            // It ends with a gap.
            ring.place(end - 1, &[0]);
        }
        Ok(ring)
    }
}

/// Returns the block; if there was a gap it holds zeros.
fn held(block: &mut Option<Block>) -> &mut Block {
    block.get_or_insert_with(|| {
        let mut block = Block::take();
        block.fill(0);
        block
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill(ring: &mut Ring, bytes: &[u8]) {
        let count = ring.fill(bytes.len(), |parts| {
            let mut left = bytes;
            parts.iter_mut().for_each(|part| {
                let (now, later) = left.split_at(part.len());
                part.copy_from_slice(now);
                left = later;
            });
            Ok(bytes.len() - left.len())
        });
        assert_eq!(count.unwrap(), bytes.len());
    }

    proptest! {
        #[test]
        fn bytes_written_in_any_order_are_read_in_order(
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
                let (parts, used) = ring.front(ready);
                let front: Vec<u8> = parts[..used].iter().flat_map(|part| part.to_vec()).collect();
                let mut copy = Vec::new();
                prop_assert!(ring.copy(ring.base(), ready, &mut copy));
                prop_assert_eq!(&copy, &front);
                out.extend(copy);
                ring.release(ready as u64);
                prop_assert_eq!(ring.base(), out.len() as u64);
            }
            prop_assert_eq!(&out[..], &data[..out.len()]);
        }
    }

    #[test]
    fn bytes_that_are_not_held_are_not_copied() {
        let mut ring = Ring::default();
        fill(&mut ring, b"abcdef");
        ring.release(2);
        let mut out = Vec::new();
        assert!(!ring.copy(1, 2, &mut out) && !ring.copy(4, 3, &mut out) && out.is_empty());
        assert!(ring.copy(2, 4, &mut out));
        assert_eq!((&out[..], ring.end(), ring.len()), (&b"cdef"[..], 6, 4));
    }

    #[test]
    fn bytes_are_unchanged_across_blocks() {
        let bytes: Vec<u8> = (0..5 * BLOCK as u32 + 77).map(|n| (n * 7 / 3) as u8).collect();
        let mut ring = Ring::default();
        let mut out = Vec::new();
        for (n, piece) in bytes.chunks(BLOCK / 2 + 13).enumerate() {
            if n % 2 == 0 {
                fill(&mut ring, piece)
            } else {
                ring.place(ring.end(), piece)
            }
            let take = ring.len() * 2 / 3;
            assert!(ring.copy(ring.base(), take, &mut out));
            ring.release(take as u64);
        }
        assert!(ring.copy(ring.base(), ring.len(), &mut out));
        assert_eq!(out, bytes);
        ring.release(ring.len() as u64);
        assert_eq!((ring.blocks.len(), ring.base()), (0, bytes.len() as u64));
    }

    #[test]
    fn a_read_that_brings_less_or_fails_keeps_no_block() {
        let mut ring = Ring::default();
        assert!(ring.fill(3 * BLOCK, |_| Err(io::ErrorKind::WouldBlock.into())).is_err());
        assert_eq!((ring.len(), ring.blocks.len()), (0, 0));
        assert_eq!(ring.fill(3 * BLOCK, |parts| Ok(parts[0].len().min(5))).unwrap(), 5);
        assert_eq!((ring.len(), ring.blocks.len()), (5, 1));
        // One call accepts no more bytes than its parts hold.
        let most = |parts: &mut [IoSliceMut<'_>]| Ok(parts.iter().map(|part| part.len()).sum());
        assert_eq!(ring.fill(usize::MAX / 2, most).unwrap(), PARTS * BLOCK - 5);
        assert_eq!(ring.len(), PARTS * BLOCK);
    }

    #[test]
    fn truncated_bytes_take_no_memory() {
        let mut ring = Ring::default();
        fill(&mut ring, &[7; 9 * BLOCK]);
        ring.release(BLOCK as u64 + 5);
        ring.truncate(3 * BLOCK as u64 + 1);
        assert_eq!(
            (ring.base(), ring.end(), ring.memory()),
            (BLOCK as u64 + 5, 3 * BLOCK as u64 + 1, 3 * BLOCK as u64)
        );
        ring.truncate(0);
        assert_eq!((ring.base(), ring.len(), ring.memory()), (BLOCK as u64 + 5, 0, 0));
    }

    #[test]
    fn an_empty_ring_keeps_a_small_capacity() {
        let mut ring = Ring::default();
        ring.place(4096 * BLOCK as u64, b"x");
        assert!(ring.blocks.capacity() > 4096);
        ring.release(u64::MAX);
        assert!(ring.blocks.capacity() <= CAPACITY, "{}", ring.blocks.capacity());
    }

    #[test]
    fn gaps_hold_zeros() {
        let mut ring = Ring::default();
        fill(&mut ring, &[7; 3 * BLOCK]);
        ring.release(3 * BLOCK as u64);
        ring.place(ring.base() + BLOCK as u64 + 3, b"x");
        let mut out = Vec::new();
        assert!(ring.copy(ring.base(), BLOCK + 4, &mut out));
        assert!(out[..BLOCK + 3].iter().all(|&byte| byte == 0) && out[BLOCK + 3] == b'x');
    }

    proptest! {
        #[test]
        fn gaps_across_blocks_read_as_zeros(
            pieces in prop::collection::vec((0u64..40_000, 1usize..3_000, 0u64..9_000), 1..30),
        ) {
            let (mut ring, mut all, mut base) = (Ring::default(), Vec::<u8>::new(), 0);
            for (n, (offset, len, take)) in (1u8..).zip(pieces) {
                ring.place(base + offset, &vec![n; len]);
                let end = offset as usize + len;
                all.resize(all.len().max(end), 0);
                all[offset as usize..end].fill(n);
                let mut out = Vec::new();
                prop_assert!(ring.copy(base, all.len(), &mut out));
                prop_assert!(out == all, "after piece {}", n);
                let take = take.min(all.len() as u64);
                ring.release(take);
                all.drain(..take as usize);
                base += take;
                prop_assert_eq!((ring.base(), ring.len()), (base, all.len()));
            }
        }
    }

    /// Regression: a gap as long as the window took as much memory, and the time to fill it with zeros, for each packet
    /// that made one.
    #[test]
    fn a_gap_takes_no_memory() {
        const FAR: u64 = 64 << 20;
        let mut ring = Ring::default();
        ring.place(0, &[1; 100]);
        ring.place(FAR, &[2; 10]);
        assert_eq!((ring.memory(), ring.end()), (2 * BLOCK as u64, FAR + 10));
        // It reads as zeros until its bytes arrive.
        let mut out = Vec::new();
        assert!(ring.copy(90, 2 * BLOCK, &mut out));
        assert!(out[..10] == [1; 10] && out[10..].iter().all(|&octet| octet == 0));
        ring.place(BLOCK as u64 * 3 + 7, &[3; 5]);
        out.clear();
        assert!(ring.copy(BLOCK as u64 * 3, 20, &mut out));
        assert_eq!(out, [[0; 7].as_slice(), &[3; 5], &[0; 8]].concat());
        assert_eq!(ring.memory(), 3 * BLOCK as u64);
        ring.release(FAR);
        assert_eq!((ring.memory(), ring.len()), (BLOCK as u64, 10));
    }
}
