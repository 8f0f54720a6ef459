//! Buffer memory in blocks, from a pool that reuses them and returns unused ones to the kernel.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use cellway_sys::Page;
use cellway_units::Span;

/// Bytes of a block.
pub(crate) const BLOCK: usize = Page::SIZE;
/// Blocks that are mapped by one call.
const AT_ONCE: usize = 64;
/// Most unused blocks that keep their memory.
const KEPT: usize = 1024;
/// The time for which a block must have been unused before its memory is returned.
const UNUSED: Span = Span::from_secs(1);
/// Most blocks that are returned in one step, as each takes a system call.
const AT_A_TIME: usize = 256;
/// The interval between two steps.
const STEP: Span = Span::from_ms(5);

thread_local! {
    /// The pool of the data thread.
    static POOL: RefCell<Pool> = const { RefCell::new(Pool::new()) };
}

/// Unused blocks.
#[derive(Debug)]
struct Pool {
    /// Blocks that hold memory, the most recently used last.
    free: Vec<Page>,
    /// Blocks without memory until they are written to.
    discarded: Vec<Page>,
    /// The minimum of `free.len()` since it was last set.
    least: usize,
    /// True if a call of [`give_back`] is scheduled.
    scheduled: bool,
}

impl Pool {
    const fn new() -> Pool {
        Pool { free: Vec::new(), discarded: Vec::new(), least: 0, scheduled: false }
    }
    fn take(&mut self) -> Page {
        if let Some(page) = self.free.pop() {
            self.least = self.least.min(self.free.len());
            return page;
        }
        self.least = 0;
        if self.discarded.is_empty() && Page::map(AT_ONCE, &mut self.discarded).is_err() {
            handle_alloc_error(Layout::new::<[u8; BLOCK]>());
        }
        self.discarded.pop().unwrap_or_else(|| handle_alloc_error(Layout::new::<[u8; BLOCK]>()))
    }
    /// Returns true if more than [`KEPT`] blocks are unused and no call of [`Pool::give_back`] is scheduled; the
    /// caller schedules it.
    fn schedule(&mut self) -> bool {
        let excess = self.free.len() > KEPT && !self.scheduled;
        if excess {
            (self.least, self.scheduled) = (self.free.len(), true);
        }
        excess
    }
    /// Discards the memory of blocks beyond [`KEPT`] that have been unused since the last call. Returns the time until
    /// the next call, if one is needed.
    fn give_back(&mut self) -> Option<Span> {
        let more = self.least.saturating_sub(KEPT);
        let now = more.min(AT_A_TIME);
        // From the front: the last ones are reused first.
        self.discarded.extend(self.free.drain(..now).map(|mut page| {
            page.discard();
            page
        }));
        if more > now {
            self.least -= now;
            return Some(STEP);
        }
        self.least = self.free.len();
        self.scheduled = self.free.len() > KEPT;
        self.scheduled.then_some(UNUSED)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // In the order of addresses: unmapping a page in the middle splits a mapping in two.
        self.free.append(&mut self.discarded);
        self.free.sort_unstable_by_key(|page| page.as_ptr());
    }
}

/// A block of memory, with the contents of its last use. Dropping it returns it to the pool.
#[derive(Debug)]
pub(crate) struct Block(Option<Page>);

impl Block {
    pub(crate) fn take() -> Block {
        Block(Some(POOL.with_borrow_mut(Pool::take)))
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let page = self.0.take();
        // The pool no longer exists when the thread ends; then the page is unmapped.
        let _ = POOL.try_with(|pool| pool.borrow_mut().free.extend(page));
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().map_or(&[], |page| page)
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().map_or(&mut [], |page| page)
    }
}

/// Returns the time until [`give_back`] is to be called, if there are too many unused blocks and it is not scheduled.
pub(crate) fn schedule() -> Option<Span> {
    POOL.with_borrow_mut(Pool::schedule).then_some(UNUSED)
}
/// Returns unused blocks to the kernel; returns the time until the next call, if one is needed.
pub(crate) fn give_back() -> Option<Span> {
    POOL.with_borrow_mut(Pool::give_back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_were_unused_for_a_while_are_returned() {
        let mut pool = Pool::new();
        let used: Vec<Page> = (0..4 * KEPT).map(|_| pool.take()).collect();
        assert!(!pool.schedule() && pool.free.is_empty());
        pool.free.extend(used);
        assert!(pool.schedule() && !pool.schedule());
        // Half of them are used before the call.
        let some: Vec<Page> = (0..2 * KEPT).map(|_| pool.take()).collect();
        pool.free.extend(some);
        let mut steps = 1;
        while pool.give_back() == Some(STEP) {
            steps += 1;
        }
        assert_eq!((steps, pool.free.len(), pool.discarded.len()), (KEPT / AT_A_TIME, 3 * KEPT, KEPT));
        // None was used since.
        while pool.give_back().is_some() {}
        assert_eq!((pool.free.len(), pool.discarded.len()), (KEPT, 3 * KEPT));
        // Discarded blocks are reused before new ones are mapped.
        let all: Vec<Page> = (0..4 * KEPT).map(|_| pool.take()).collect();
        assert!(pool.free.is_empty() && pool.discarded.is_empty());
        drop(all);
    }
}
