//! Settings of the C library's allocator.
#![allow(unsafe_code)]

#[cfg(target_env = "gnu")]
use std::fs;

/// Blocks of at least this size (bytes) are mapped one by one, and returned to the kernel when they are freed.
#[cfg(target_env = "gnu")]
const OWN: libc::c_int = 128 << 10;
/// Free memory (bytes) at the end of the heap that is not returned. With the default, 128 KiB, a process that queues
/// packets requests and returns memory thousands of times a minute, with a page fault for every 4 KiB.
#[cfg(target_env = "gnu")]
const KEPT: libc::c_int = 8 << 20;

/// Makes the C library return large allocations, such as tables, to the kernel when they are freed. By default glibc
/// raises the threshold to the size of the largest freed block, up to 32 MiB, and keeps smaller ones (mallopt(3)). Up
/// to 8 MiB of freed small allocations are kept until [`return_free_memory`]. To be called before the process has a
/// second thread: later it has no effect, nor has it with another C library.
pub fn return_large_blocks() {
    #[cfg(target_env = "gnu")]
    if is_only_thread() {
        for (setting, bytes) in [(libc::M_MMAP_THRESHOLD, OWN), (libc::M_TRIM_THRESHOLD, KEPT)] {
            // SAFETY: it takes two numbers, and there is no other thread that could allocate meanwhile.
            let _ = unsafe { libc::mallopt(setting, bytes) };
        }
    }
}

/// Returns free memory of the allocator to the kernel, wherever in the heap it is (malloc_trim(3)). By default glibc
/// returns only the end of the heap, so that a long-lived small allocation retains all free memory below it. The call
/// takes longer the more of the heap is free.
pub fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number, and may be called at any time by any thread.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Returns true if the process is known to have no thread but the calling one (`/proc/pid/task`, proc(5)).
#[cfg(target_env = "gnu")]
fn is_only_thread() -> bool {
    fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}
