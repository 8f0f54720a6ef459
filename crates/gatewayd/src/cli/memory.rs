//! How the memory of the process is kept.
#![allow(unsafe_code)]

/// Blocks of at least so many bytes are the kernel's own, and go back to it when they are freed.
#[cfg(target_env = "gnu")]
const OWN: libc::c_int = 128 << 10;

/// Lets the bytes of connections that have ended go back to the machine. Left alone, glibc raises its threshold to the
/// largest block that was freed, up to 32 MiB, and keeps smaller ones between those still in use (mallopt(3)): what a
/// crowd has taken would stay with the process.
pub(super) fn give_back() {
    // SAFETY: it takes two numbers, and no other thread is running yet that could allocate meanwhile.
    #[cfg(target_env = "gnu")]
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, OWN) };
}
