//! The network of this machine before a path is joined to it: its routes, and the settings that let it forward.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use crate::sys::run_tool;

/// The beginning of the names of devices of paths.
pub(crate) const DEVICES: &str = "cw";

/// A setting that lets one device forward the packets that arrive at it (Linux
/// `Documentation/networking/ip-sysctl.rst`): it leaves the settings of the whole machine as they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Switch {
    pub(crate) kind: SwitchKind,
    pub(crate) device: String,
}

/// A version of IP, by its setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SwitchKind {
    /// `forwarding` of IPv4.
    V4,
    /// `force_forwarding` of IPv6, since Linux 6.17. The `forwarding` of IPv6 would stop router advertisements, and
    /// with them the default route of the machine.
    V6,
}

impl SwitchKind {
    pub(crate) const ALL: [SwitchKind; 2] = [SwitchKind::V4, SwitchKind::V6];

    /// Returns the family and the name of the setting.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            SwitchKind::V4 => ("ipv4", "forwarding"),
            SwitchKind::V6 => ("ipv6", "force_forwarding"),
        }
    }

    /// Returns the name of the set of a table that holds the devices.
    pub(crate) fn set(self) -> String {
        let (family, key) = self.names();
        format!("{family}_{key}")
    }

    pub(crate) fn on(self, device: &str) -> Switch {
        Switch { kind: self, device: device.to_owned() }
    }
}

impl Switch {
    /// Returns the path of the setting.
    pub(crate) fn path(&self) -> String {
        let (family, key) = self.kind.names();
        format!("/proc/sys/net/{family}/conf/{}/{key}", self.device)
    }

    /// Returns true if it is off. A device without the setting does not count.
    pub(crate) fn is_off(&self) -> bool {
        is(&self.path(), "0")
    }
}

/// IPv6 behind the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ipv6 {
    /// Forwarded, and translated.
    Forwarded,
    /// Not: the reason.
    Absent(&'static str),
}

/// The state of the network of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    /// Settings that are off and must be on.
    pub(crate) switches: BTreeSet<Switch>,
    pub(crate) ipv6: Ipv6,
    /// True if there is a default route for IPv4.
    pub(crate) has_default: bool,
}

impl Survey {
    /// Examines the network namespace of the calling thread. `mtu` is that of the path, in octets.
    ///
    /// # Errors
    /// `ip` fails.
    pub(crate) fn here(mtu: u64) -> io::Result<Survey> {
        let v4 = routes()?;
        let mut switches: BTreeSet<Switch> = devices(&v4).into_iter().map(|device| SwitchKind::V4.on(device)).collect();
        // Without IPv6 the program has no routes to list.
        let v6 = run_tool("ip", &["-6", "route", "show", "table", "all"], "").unwrap_or_default();
        let forwards = is("/proc/sys/net/ipv6/conf/all/forwarding", "1");
        let can_switch = fs::exists(SwitchKind::V6.on("all").path()).unwrap_or(false);
        let ipv6 = match () {
            () if !has_default(&v6) => Ipv6::Absent("this machine has no default route of IPv6"),
            () if mtu < 1280 => Ipv6::Absent("it needs an MTU of 1280 octets (RFC 8200, section 5)"),
            () if forwards => Ipv6::Forwarded,
            () if can_switch => {
                switches.extend(devices(&v6).into_iter().map(|device| SwitchKind::V6.on(device)));
                Ipv6::Forwarded
            }
            () => Ipv6::Absent(
                "net.ipv6.conf.all.forwarding is 0, and Linux has had it for one device only since 6.17 \
                 (net.ipv6.conf.DEVICE.force_forwarding)",
            ),
        };
        switches.retain(Switch::is_off);
        Ok(Survey { switches, ipv6, has_default: has_default(&v4) })
    }
}

/// Returns the routes of IPv4 of the calling thread's network namespace, in the words of `ip route`.
pub(crate) fn routes() -> io::Result<String> {
    run_tool("ip", &["-4", "route", "show", "table", "all"], "")
}

/// Returns the devices of routes that may lead elsewhere, without those of paths.
fn devices(routes: &str) -> BTreeSet<&str> {
    routes.lines().filter_map(device).filter(|device| *device != "lo" && !device.starts_with(DEVICES)).collect()
}

/// Returns the device of a route that is not to this machine itself.
fn device(route: &str) -> Option<&str> {
    let mut words = route.split_ascii_whitespace();
    let is_own = ["local", "broadcast", "anycast", "multicast"].contains(&words.next()?);
    words.skip_while(|&word| word != "dev").nth(1).filter(|_| !is_own)
}

/// Returns true if there is a default route.
fn has_default(routes: &str) -> bool {
    routes.lines().any(|line| line.starts_with("default"))
}

fn is(path: &str, value: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.trim() == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_lead_elsewhere_are_found() {
        let routes = "default via 192.0.2.1 dev eth0\n192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2\n\
                      10.8.0.0/16 via 10.1.0.1 dev eth1.100 table 52\nunreachable 10.9.0.0/16\n\
                      100.64.0.0/14 dev cw64400000 scope link\nlocal 172.17.0.1 dev docker0 table local\n\
                      broadcast 127.255.255.255 dev lo table local\n";
        assert_eq!(Vec::from_iter(devices(routes)), ["eth0", "eth1.100"]);
        assert!(has_default(routes) && !has_default("10.0.0.0/8 dev eth0\n"));
        assert_eq!(SwitchKind::V4.on("eth1.100").path(), "/proc/sys/net/ipv4/conf/eth1.100/forwarding");
        assert_eq!(SwitchKind::V6.set(), "ipv6_force_forwarding");
    }
}
