//! The capabilities of an ordinary user inside a user namespace (`capabilities(7)`, `user_namespaces(7)`).
//!
//! The user keeps its number in the namespace, because some programs refuse to run as root (PostgreSQL, Chromium). A
//! user other than root loses all capabilities on `execve` unless they are ambient, so they are made ambient. None of
//! them has an effect outside the user namespace.

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities};

/// The capabilities of a program in a host of an emulation: those over the network of its namespace, for `ping`,
/// `tcpdump` and servers on low ports, and that over namespaces, for a path inside this one. It loses those that
/// override the permissions of files.
const OF_PROGRAMS: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_ADMIN);

/// Makes all capabilities of this thread ambient, so that programs that it executes keep them. Between fork and exec
/// this makes system calls only.
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

/// Restricts the capabilities that programs keep to those of programs in hosts. Root keeps all. Between fork and exec
/// this makes system calls only.
pub(super) fn pass_on_to_program() -> Result<(), Errno> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut sets = capabilities(None)?;
    sets.inheritable = sets.inheritable.intersection(OF_PROGRAMS);
    // A capability must be inheritable to be ambient.
    set_capabilities(None, sets)
}
