//! Kernel settings of a new namespace (Linux `Documentation/networking/ip-sysctl.rst`).

use super::{Namespace, SysError};

/// The largest TCP buffer, in bytes: a window at 622 Mbit/s and 800 ms.
const TCP_BUFFER: &str = "67108864";

/// Required settings: otherwise the network is not the one that was requested.
const NEEDED: [(&str, &str); 3] = [
    // Either alone would drop packets whose answer takes another route; the larger of both counts.
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/ip_forward", "1"),
];

/// The same for IPv6, if the kernel has it.
const NEEDED_V6: [(&str, &str); 3] = [
    // An address is tentative during duplicate address detection, and the first packets fail.
    ("net/ipv6/conf/all/accept_dad", "0"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/all/forwarding", "1"),
];

/// The kernel sends no packets of its own.
const WISHED_V6: [(&str, &str); 6] = [
    // Only `all` enables forwarding. The device of a router joins the group of all routers and reports that to its
    // network.
    ("net/ipv6/conf/default/forwarding", "0"),
    ("net/ipv6/conf/default/dad_transmits", "0"),
    ("net/ipv6/conf/default/router_solicitations", "0"),
    ("net/ipv6/conf/default/accept_ra", "0"),
    ("net/ipv6/conf/default/autoconf", "0"),
    ("net/ipv6/conf/default/addr_gen_mode", "1"),
];

/// Sets up `namespace`. Returns messages about optional settings that were refused.
pub(super) fn prepare(namespace: &Namespace) -> Result<Vec<String>, SysError> {
    let mut refused = Vec::new();
    let mut wish = |key: &str, value: &str| {
        let result = namespace.set(key, value);
        if let Err(e) = &result {
            refused.push(e.to_string());
        }
        result.is_ok()
    };
    for (key, value) in NEEDED {
        namespace.set(key, value)?;
    }
    if namespace.get("net/ipv6/conf/all/forwarding").is_ok() {
        for (key, value) in NEEDED_V6 {
            namespace.set(key, value)?;
        }
        for (key, value) in WISHED_V6 {
            wish(key, value);
        }
    }
    // Any group may use ping's sockets; in a user namespace only those that are mapped can be named.
    if namespace.set("net/ipv4/ping_group_range", "0 2147483647").is_err() {
        let own = rustix::process::getegid().as_raw();
        wish("net/ipv4/ping_group_range", &format!("{own} {own}"));
    }
    for key in ["net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"] {
        // Minimum and initial size do not change: they are the kernel's own.
        let now = namespace.get(key).unwrap_or_default();
        let mut sizes = now.split_ascii_whitespace();
        if let (Some(least), Some(first)) = (sizes.next(), sizes.next()) {
            wish(key, &format!("{least} {first} {TCP_BUFFER}"));
        }
    }
    Ok(refused)
}
