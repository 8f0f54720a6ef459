//! The capabilities of an ordinary user inside a user namespace (`capabilities(7)`, `user_namespaces(7)`).
//!
//! The user keeps the own number there, since some programs refuse to run as root (PostgreSQL, Chromium). A user other
//! than root loses all capabilities with the next program unless they are ambient, so they are made ambient. None of
//! them reaches beyond the user namespace.

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities};

/// What a program in a host of an emulation keeps: rights over the network of its namespace, as `ping`, `tcpdump` and
/// servers on low ports need them, and over namespaces, as a path inside this one needs them. It loses those that let
/// root pass by the permissions of files.
const OF_PROGRAMS: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_ADMIN);

/// Passes all capabilities of this thread on to the programs that it executes. Between fork and exec this makes system
/// calls only.
pub(super) fn pass_on_all() -> Result<(), Errno> {
    let mut sets = capabilities(None)?;
    sets.inheritable = sets.permitted;
    set_capabilities(None, sets)?;
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if sets.permitted.contains(one) {
            configure_capability_in_ambient_set(one, true)?;
        }
    }
    Ok(())
}

/// Passes on what programs in hosts keep, and no more. Root passes on everything, as ever. Between fork and exec this
/// makes system calls only.
pub(super) fn pass_on_to_program() -> Result<(), Errno> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut sets = capabilities(None)?;
    sets.inheritable = sets.inheritable.intersection(OF_PROGRAMS);
    // A capability must be inheritable to be ambient.
    set_capabilities(None, sets)
}
