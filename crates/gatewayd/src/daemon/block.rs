//! The memory of bytes on their way: blocks that are used again, and go back to the machine when they are not.

use std::alloc::{Layout, handle_alloc_error};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use cellway_sys::Page;

use super::Daemon;
use super::timers::Due;

/// Bytes of a block.
pub(crate) const BLOCK: usize = Page::SIZE;
/// How many blocks the kernel is asked for at once.
const AT_ONCE: usize = 64;
/// Most blocks that are kept while nobody uses them.
const KEPT: usize = 1024;
/// For how long a block must have been one too many to go back (ns).
const UNUSED: u64 = 1_000_000_000;
/// Most blocks that go back before everything else has its turn, and how long that is (ns): each takes a system call.
const AT_A_TIME: usize = 256;
const TURN: u64 = 5_000_000;

thread_local! {
    /// Blocks for the next use, of the thread that moves all bytes.
    static POOL: RefCell<Pool> = const { RefCell::new(Pool::new()) };
}

/// Blocks that nobody uses.
#[derive(Debug)]
struct Pool {
    /// Those that take memory, and those that take none until they are written to.
    free: Vec<Page>,
    gone: Vec<Page>,
    /// The fewest that were free since this was last set.
    least: usize,
    /// There is a time set to look at them.
    watched: bool,
}

impl Pool {
    const fn new() -> Pool {
        Pool { free: Vec::new(), gone: Vec::new(), least: 0, watched: false }
    }
    fn take(&mut self) -> Page {
        if let Some(page) = self.free.pop() {
            self.least = self.least.min(self.free.len());
            return page;
        }
        self.least = 0;
        if self.gone.is_empty() && Page::map(AT_ONCE, &mut self.gone).is_err() {
            handle_alloc_error(Layout::new::<[u8; BLOCK]>());
        }
        self.gone.pop().unwrap_or_else(|| handle_alloc_error(Layout::new::<[u8; BLOCK]>()))
    }
    /// Whether there are more than are kept, and no time is set to look at them; now there is.
    fn begins(&mut self) -> bool {
        let begins = self.free.len() > KEPT && !self.watched;
        if begins {
            (self.least, self.watched) = (self.free.len(), true);
        }
        begins
    }
    /// Lets blocks go that were free all the time since this was last done and are more than are kept. How long until it
    /// is to be done again, if it is (ns).
    fn give_back(&mut self) -> Option<u64> {
        let more = self.least.saturating_sub(KEPT);
        let now = more.min(AT_A_TIME);
        // The last that were used are the first to be used again.
        self.gone.extend(self.free.drain(..now).map(|mut page| {
            page.discard();
            page
        }));
        if more > now {
            self.least -= now;
            return Some(TURN);
        }
        self.least = self.free.len();
        self.watched = self.free.len() > KEPT;
        self.watched.then_some(UNUSED)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // From the lowest on: a mapping that loses a page in its middle is two.
        self.free.append(&mut self.gone);
        self.free.sort_unstable_by_key(|page| page.as_ptr());
    }
}

/// A block; what it held before is still in it. It goes back to the others when it is dropped.
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
        // Where the thread ends there is no pool any more, and the kernel gets it.
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

impl Daemon {
    /// Sets a time to look at blocks that nobody uses, if there are more than are kept.
    pub(crate) fn watch_blocks(&mut self) {
        let begins = POOL.with_borrow_mut(|pool| pool.begins());
        if begins {
            self.timers.add(self.now + UNUSED, Due::Blocks);
        }
    }
    /// That time has come.
    pub(crate) fn give_back_blocks(&mut self) {
        if let Some(wait) = POOL.with_borrow_mut(Pool::give_back) {
            self.timers.add(self.now + wait, Due::Blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_were_not_needed_for_a_while_go_back() {
        let mut pool = Pool::new();
        let used: Vec<Page> = (0..4 * KEPT).map(|_| pool.take()).collect();
        assert!(!pool.begins() && pool.free.is_empty());
        pool.free.extend(used);
        assert!(pool.begins() && !pool.begins());
        // They were needed in the time that ends, all but so many.
        let some: Vec<Page> = (0..2 * KEPT).map(|_| pool.take()).collect();
        pool.free.extend(some);
        let mut looks = 1;
        while pool.give_back() == Some(TURN) {
            looks += 1;
        }
        assert_eq!((looks, pool.free.len(), pool.gone.len()), (KEPT / AT_A_TIME, 3 * KEPT, KEPT));
        // None was needed since.
        while pool.give_back().is_some() {}
        assert_eq!((pool.free.len(), pool.gone.len()), (KEPT, 3 * KEPT));
        // Those that are gone come again before the kernel is asked for more.
        let all: Vec<Page> = (0..4 * KEPT).map(|_| pool.take()).collect();
        assert!(pool.free.is_empty() && pool.gone.is_empty());
        drop(all);
    }
}
