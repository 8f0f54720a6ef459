//! Findings about this machine: requirements of a valid configuration that it does not meet.

use std::path::Path;

use cellway_units::Bytes;
use ipnet::IpNet;

use crate::config::Config;
use crate::intercept::{absent, hindrances, obstacles};

/// The findings about the machine.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Requirements without which the gateway will not work here as configured.
    pub(super) serious: Vec<String>,
    /// Remarks that need no action before the gateway runs.
    pub(super) notes: Vec<String>,
}

/// Compares the configuration with this machine.
pub(super) fn find(config: &Config) -> Findings {
    let mut found = Findings::default();
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    found.serious.extend(memory.and_then(|total| too_much(config.limits.memory, total)));
    if let Some(folder) = config.control.socket.as_deref().and_then(Path::parent).filter(|path| !is_folder(path)) {
        // Folders in /run are deleted at each boot; they are made again when the service starts.
        let what = format!(
            "there is no folder {} for control.socket: `mkdir {}`, or start the service, which makes it with \
             RuntimeDirectory=",
            folder.display(),
            folder.display()
        );
        let of_run = folder.parent() == Some(Path::new("/run"));
        if of_run { found.notes.push(what) } else { found.serious.push(what) }
    }
    let Some(intercept) = &config.intercept else { return found };
    let networks = || config.local.iter().chain(config.peers.iter().flat_map(|peer| &peer.prefixes));
    let (v4, v6) =
        (networks().any(|net| matches!(net, IpNet::V4(_))), networks().any(|net| matches!(net, IpNet::V6(_))));
    let cannot = obstacles(intercept, v4, v6).into_iter().map(|what| format!("this machine cannot intercept: {what}"));
    found.serious.extend(cannot);
    found.serious.extend(absent(&intercept.interfaces).into_iter().map(|name| {
        format!(
            "there is no device \"{name}\" here, which intercept.interfaces names: nothing that comes in through it is \
             intercepted until there is one (`ip link` lists them)"
        )
    }));
    found.notes.extend(hindrances());
    found
}

fn is_folder(path: &Path) -> bool {
    // The folder of a bare file name is the empty path.
    path.as_os_str().is_empty() || path.is_dir()
}

/// Returns the memory of this machine from the text of `/proc/meminfo` (proc(5)).
fn total(text: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib << 10))
}

fn too_much(limit: Bytes, total: Bytes) -> Option<String> {
    let rounded = Bytes(total.0 >> 20 << 20);
    (limit > total).then(|| {
        format!("limits.memory = \"{limit}\" is more than this machine has ({rounded}): it bounds nothing, and the kernel ends the gateway when memory is used up")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_machine_is_read() {
        let text = "MemTotal:        2048000 kB\nMemFree:  1 kB\n";
        assert_eq!(total(text), Some(Bytes(2_048_000 << 10)));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(too_much(Bytes(2_048_000 << 10), Bytes(2_048_000 << 10)), None);
        let found = too_much(Bytes(100_000 << 30), Bytes(2_048_000 << 10)).unwrap();
        assert!(found.contains("100000 GiB") && found.contains("2000 MiB"), "{found}");
    }
}
