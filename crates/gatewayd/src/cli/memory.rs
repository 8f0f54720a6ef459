//! How the memory of the process is kept.
#![allow(unsafe_code)]

/// Blocks of at least so many bytes are the kernel's own, and go back to it when they are freed.
#[cfg(target_env = "gnu")]
const OWN: libc::c_int = 128 << 10;

/// Lets tables that were large go back to the machine when they are freed. Left alone, glibc raises its threshold to the
/// largest block that was freed, up to 32 MiB, and keeps smaller ones between those still in use (mallopt(3)). The bytes of
/// connections are none of the heap's: `daemon/block.rs`.
pub(super) fn give_back() {
    // SAFETY: it takes two numbers, and no other thread is running yet that could allocate meanwhile.
    #[cfg(target_env = "gnu")]
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, OWN) };
}
