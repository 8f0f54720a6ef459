//! Memory in pages that are returned to the kernel one by one.
#![allow(unsafe_code)]

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::param::page_size;

/// Octets of a page.
const SIZE: usize = 4096;

/// An owned page of anonymous memory. Dropping it unmaps it, if the pages of the kernel have this size.
#[derive(Debug)]
pub struct Page(NonNull<[u8; SIZE]>);

// SAFETY: it owns the memory that it points to, as a box does.
unsafe impl Send for Page {}
// SAFETY: the same.
unsafe impl Sync for Page {}

impl Page {
    /// Octets of a page.
    pub const SIZE: usize = SIZE;

    /// Maps `count` adjacent pages and appends them to `pages`. They hold zeros, and take no memory until they are
    /// written to.
    ///
    /// # Errors
    /// The kernel has no memory left.
    pub fn map(count: usize, pages: &mut Vec<Page>) -> io::Result<()> {
        let len = count * SIZE;
        pages.reserve(count);
        // SAFETY: the kernel chooses an unused address.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?.cast::<u8>()
        };
        // A write to one page would otherwise allocate a huge page. The call fails on kernels without huge pages.
        // SAFETY: the advice changes no contents.
        let _ = unsafe { madvise(start.cast(), len, Advice::LinuxNoHugepage) };
        // SAFETY: each is within the mapping, which does not begin at 0.
        pages.extend((0..count).map(|n| Page(unsafe { NonNull::new_unchecked(start.add(n * SIZE)) }.cast())));
        Ok(())
    }

    /// Returns its memory to the kernel, if the pages of the kernel have this size. After that it holds zeros;
    /// otherwise it keeps its contents.
    pub fn discard(&mut self) {
        if is_whole() {
            // SAFETY: it is a page of an anonymous mapping, borrowed exclusively, so no reference sees the contents
            // change.
            let _ = unsafe { madvise(self.0.as_ptr().cast(), SIZE, Advice::LinuxDontNeed) };
        }
    }
}

/// Returns true if the kernel's pages have this size. Larger ones are shared by several [`Page`]s and are never
/// returned.
fn is_whole() -> bool {
    page_size() == SIZE
}

impl Drop for Page {
    fn drop(&mut self) {
        if is_whole() {
            // SAFETY: it is mapped and owned, and no borrow outlives it.
            let _ = unsafe { munmap(self.0.as_ptr().cast(), SIZE) };
        }
    }
}

impl Deref for Page {
    type Target = [u8; SIZE];

    fn deref(&self) -> &[u8; SIZE] {
        // SAFETY: it is mapped, any octets are valid, and the reference borrows `self`.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for Page {
    fn deref_mut(&mut self) -> &mut [u8; SIZE] {
        // SAFETY: the same; the borrow is exclusive.
        unsafe { self.0.as_mut() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the resident memory of this process (octets); proc_pid_statm(5).
    fn resident() -> usize {
        let text = fs::read_to_string("/proc/self/statm").unwrap();
        text.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * page_size()
    }

    #[test]
    fn pages_are_returned_one_by_one_and_can_be_reused() {
        const COUNT: usize = 16_384;
        let mut pages = Vec::new();
        let before = resident();
        Page::map(COUNT, &mut pages).unwrap();
        assert_eq!(pages.len(), COUNT);
        pages.iter_mut().zip(0u8..=255).for_each(|(page, value)| page.fill(value));
        pages.iter_mut().for_each(|page| page[7] = 1);
        // Half of the size, as other tests of this process allocate meanwhile.
        assert!(resident() > before + COUNT * SIZE / 2);
        // All but every 64th: a page in use does not keep adjacent ones.
        pages.iter_mut().enumerate().filter(|(n, _)| n % 64 != 0).for_each(|(_, page)| page.discard());
        assert!(resident() < before + COUNT * SIZE / 2);
        assert_eq!((pages[64][0], pages[64][7]), (64, 1));
        assert_eq!((pages[65][0], pages[65][7]), (0, 0));
        pages[65].fill(9);
        assert_eq!((pages[64][4095], pages[65][0], pages[66][0]), (64, 9, 0));
        drop(pages);
        assert!(resident() < before + COUNT * SIZE / 2);
    }
}
