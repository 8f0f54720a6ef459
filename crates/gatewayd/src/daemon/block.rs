//! The memory of bytes on their way: blocks that are used again.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 4096;
/// Most blocks that are kept while nobody uses them.
const KEPT: usize = 1024;

thread_local! {
    /// Blocks for the next use, of the thread that moves all bytes.
    static FREE: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// A block; what it held before is still in it. It goes back to the others when it is dropped.
pub(crate) struct Block(Box<[u8]>);

impl Block {
    pub(crate) fn take() -> Block {
        let kept = FREE.with_borrow_mut(Vec::pop);
        Block(kept.unwrap_or_else(|| vec![0; BLOCK].into_boxed_slice()))
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let block = std::mem::take(&mut self.0);
        // Where the thread ends there is no list any more, and the block is freed.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < KEPT {
                free.push(block);
            }
        });
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Block")
    }
}
