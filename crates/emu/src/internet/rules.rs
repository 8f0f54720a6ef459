//! The rules of the kernel that join a path to the network of this machine: a table of nftables, and settings of
//! devices that are restored when the run has ended, however it ended.
//!
//! The table is named after the device of the path, of which there is one at a time, and this process. Its sets hold the
//! devices whose settings are to be restored, so that a later run can do it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;
use std::net::Ipv4Addr;

use super::survey::{DEVICES, Switch, SwitchKind};
use crate::addresses::Block;
use crate::sys::{AtEnd, run_tool};

/// The beginning of the names of tables.
const TABLES: &str = "cellway-";
/// Removes the table `$2` with the program `$1`, and switches the settings that follow, as `ipv4/forwarding/eth0`, off.
/// A setting that another run uses stays. Another run may begin between the check and the write: it then finds its
/// setting on again, because its table is there before it writes.
const RESTORE: &str = r#"
nft=$1
table=$2
shift 2
"$nft" delete table inet "$table"
is_used() {
    for other in $("$nft" list tables inet | sed -n 's/^table inet \(cellway-cw[^ ]*\).*/\1/p'); do
        "$nft" list set inet "$other" "${family}_$key" | grep -qF "\"$device\"" && return 0
    done
    return 1
}
for switch; do
    family=${switch%%/*}
    key=${switch#*/}
    device=${key#*/}
    key=${key%%/*}
    # Since then everything forwards, for another reason.
    test "$(cat /proc/sys/net/$family/conf/all/$key)" = 1 && continue
    is_used && continue
    echo 0 > "/proc/sys/net/$family/conf/$device/$key"
    is_used && echo 1 > "/proc/sys/net/$family/conf/$device/$key"
done
"#;

/// The counters of packets that test the firewalls of the machine.
pub(super) const FORWARDED: &str = "forwarded";
pub(super) const LOOKED_UP: &str = "looked_up";

/// A path and its device on this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a> {
    pub(super) device: &'a str,
    pub(super) block: Block,
    /// The address of this machine on the path.
    pub(super) far: Ipv4Addr,
    pub(super) ipv6: bool,
    /// The ports, of UDP and of TCP, to which look-ups at `far` go.
    pub(super) dns: Option<[u16; 2]>,
}

/// The rules while they are in force. Dropping it removes them.
#[derive(Debug)]
pub(super) struct Rules {
    table: String,
    _end: AtEnd,
}

impl Rules {
    /// Sets the rules, and removes those of runs that left theirs behind.
    pub(super) fn set(path: Path<'_>, mut switches: BTreeSet<Switch>) -> io::Result<Rules> {
        let table = format!("{TABLES}{}-{}", path.device, std::process::id());
        let nft = find_nft()?;
        // What another run has switched on is off without it.
        let others = tables(&run_tool("nft", &["list", "sets", "inet"], "")?);
        switches.extend(others.iter().flat_map(|(_, switches)| switches.clone()));
        for (name, switches) in others {
            if is_left(&name, path.device) {
                AtEnd::new(RESTORE, &arguments(&nft, &name, &switches))?;
            }
        }
        // Before there is anything to restore.
        let end = AtEnd::new(RESTORE, &arguments(&nft, &table, &switches))?;
        run_tool("nft", &["-f", "-"], &text(&table, path, &switches))?;
        let own = SwitchKind::ALL.map(|kind| kind.on(path.device)).into_iter().filter(Switch::is_off);
        for switch in switches.iter().cloned().chain(own) {
            match std::fs::write(switch.path(), "1") {
                // The device has gone meanwhile.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(io::Error::new(e.kind(), format!("cannot set {} to 1: {e}", switch.path()))),
                Ok(()) => {}
            }
        }
        Ok(Rules { table, _end: end })
    }

    /// Returns the packets that a counter has counted.
    pub(super) fn count(&self, counter: &str) -> io::Result<u64> {
        let said = run_tool("nft", &["list", "counter", "inet", &self.table, counter], "")?;
        let mut words = said.split_ascii_whitespace().skip_while(|&word| word != "packets");
        words.nth(1).and_then(|count| count.parse().ok()).ok_or_else(|| io::Error::other(format!("no count: {said}")))
    }
}

fn find_nft() -> io::Result<String> {
    // Reports a missing program as `run_tool` does.
    run_tool("nft", &["--version"], "")?;
    let path = crate::sys::find_program("nft").unwrap_or_default();
    Ok(path.to_string_lossy().into_owned())
}

fn arguments(nft: &str, table: &str, switches: &BTreeSet<Switch>) -> Vec<String> {
    let word = |switch: &Switch| {
        let (family, key) = switch.kind.names();
        format!("{family}/{key}/{}", switch.device)
    };
    [nft.to_owned(), table.to_owned()].into_iter().chain(switches.iter().map(word)).collect()
}

/// Returns true if the table of another run is left behind by it: its device is gone, or is now `ours`.
fn is_left(table: &str, ours: &str) -> bool {
    let named = table.strip_prefix(TABLES).and_then(|rest| rest.rsplit_once('-'));
    named.is_some_and(|(device, _)| {
        device.starts_with(DEVICES)
            && (device == ours || std::fs::exists(format!("/proc/sys/net/ipv4/conf/{device}")).is_ok_and(|is| !is))
    })
}

/// Returns the tables of runs, with the settings in their sets, from the output of `nft list sets`.
fn tables(listed: &str) -> Vec<(String, BTreeSet<Switch>)> {
    let mut tables: Vec<(String, BTreeSet<Switch>)> = Vec::new();
    let mut kind = None;
    for line in listed.lines().map(str::trim) {
        let word = |start: &str| line.strip_prefix(start).and_then(|rest| rest.split_ascii_whitespace().next());
        if let Some(name) = word("table inet ") {
            kind = None;
            tables.push((name.to_owned(), BTreeSet::new()));
        } else if let Some(set) = word("set ") {
            kind = SwitchKind::ALL.into_iter().find(|kind| kind.set() == set);
        } else if let (Some(kind), Some((_, switches))) = (kind, tables.last_mut()) {
            switches.extend(line.split('"').skip(1).step_by(2).map(|device| kind.on(device)));
        }
    }
    tables.retain(|(name, _)| name.starts_with(&format!("{TABLES}{DEVICES}")));
    tables
}

/// Returns the table for `nft -f`.
fn text(table: &str, path: Path<'_>, switches: &BTreeSet<Switch>) -> String {
    let Path { device, block, far, ipv6, dns } = path;
    let mut text = format!("create table inet {table}\ntable inet {table} {{\n");
    for kind in SwitchKind::ALL {
        let of_kind = switches.iter().filter(|switch| switch.kind == kind);
        let devices: Vec<String> = of_kind.map(|switch| format!("\"{}\"", switch.device)).collect();
        let elements =
            if devices.is_empty() { String::new() } else { format!("elements = {{ {} }}; ", devices.join(", ")) };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "set {} {{ type ifname; {elements}}}", kind.set());
    }
    let _ = writeln!(text, "counter {FORWARDED} {{ }}\ncounter {LOOKED_UP} {{ }}");
    let _ = writeln!(text, "chain translate {{ type nat hook postrouting priority srcnat;");
    let _ = writeln!(text, "oifname != \"{DEVICES}*\" ip saddr {} masquerade", block.network());
    if ipv6 {
        let _ = writeln!(text, "oifname != \"{DEVICES}*\" ip6 saddr {} masquerade", block.ipv6_network());
    }
    // Other machines reach neither the path nor, through devices that were switched on for it, each other. The MTU of
    // the machine's routes may be smaller than that of the path.
    let _ = writeln!(
        text,
        "}}\nchain guard {{ type filter hook forward priority filter;\n\
         tcp flags syn iifname \"{device}\" tcp option maxseg size set rt mtu\n\
         oifname \"{device}\" ct state != {{ established, related }} drop\n\
         oifname != \"{DEVICES}*\" meta nfproto ipv4 iifname @{} drop\n\
         oifname != \"{DEVICES}*\" meta nfproto ipv6 iifname @{} drop\n}}",
        SwitchKind::V4.set(),
        SwitchKind::V6.set()
    );
    let probe = super::probe::MATCH;
    let _ = writeln!(
        text,
        "chain probe {{ type filter hook postrouting priority raw;\n\
         ip saddr {} ip daddr {} {probe} counter name {FORWARDED} drop\n}}",
        block.network(),
        super::probe::NOWHERE
    );
    if let Some([udp, tcp]) = dns {
        let _ = writeln!(
            text,
            "chain look_up {{ type nat hook prerouting priority dstnat;\n\
             iifname \"{device}\" ip daddr {far} udp dport 53 redirect to :{udp}\n\
             iifname \"{device}\" ip daddr {far} tcp dport 53 redirect to :{tcp}\n}}\n\
             chain probe_look_up {{ type filter hook input priority 300;\n\
             iifname \"{device}\" {probe} counter name {LOOKED_UP} drop\n}}"
        );
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_other_runs_are_read() {
        let listed = "table inet filter {\n\tset ipv4_forwarding {\n\t\ttype ifname\n\t\telements = { \"no\" }\n\t}\n}\n\
                      table inet cellway-cw64440000-12 {\n\tset ipv4_forwarding {\n\t\ttype ifname\n\t\telements = { \
                      \"eth0\",\n\t\t\t     \"eth1.100\" }\n\t}\n\n\tset ipv6_force_forwarding {\n\t\ttype \
                      ifname\n\t}\n}\n";
        let [v4, v6] = SwitchKind::ALL;
        let expected = BTreeSet::from([v4.on("eth0"), v4.on("eth1.100")]);
        assert_eq!(tables(listed), [("cellway-cw64440000-12".to_owned(), expected.clone())]);
        let words = ["nft", "t", "ipv4/forwarding/eth0", "ipv4/forwarding/eth1.100", "ipv6/force_forwarding/eth0"];
        let all = expected.into_iter().chain([v6.on("eth0")]).collect();
        assert_eq!(arguments("nft", "t", &all), words);
        assert!(is_left("cellway-cw64440000-12", "cw64440000") && is_left("cellway-cw00000000-1", "cw64440000"));
        assert!(!is_left("cellway-lo-1", "cw64440000") && !is_left("cellway-gateway", "cw64440000"));
    }
}
