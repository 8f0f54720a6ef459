//! How the memory of the process is kept.
#![allow(unsafe_code)]

/// Blocks of at least so many bytes are the kernel's own, and go back to it when they are freed.
#[cfg(target_env = "gnu")]
const OWN: libc::c_int = 128 << 10;

/// Makes the C library return large allocations, such as tables, to the kernel when they are freed. By default glibc
/// raises the threshold to the size of the largest freed block, up to 32 MiB, and keeps smaller ones (mallopt(3)). The
/// buffers of connections are not on the heap, see `daemon/block.rs`.
pub(super) fn give_back() {
    // SAFETY: it takes two numbers, and no other thread is running yet that could allocate meanwhile.
    #[cfg(target_env = "gnu")]
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, OWN) };
}
