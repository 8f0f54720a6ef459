//! The missing requirements of interception on this machine, as messages.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use socket2::{Domain, Protocol, Socket, Type};

use super::{rules, tool};
use crate::config::{DeviceNames, Intercept};

/// Returns the obstacles to interception, each with a remedy; `v4` and `v6` are set if there are networks of these
/// versions. Changes nothing.
pub(crate) fn obstacles(intercept: &Intercept, v4: bool, v6: bool) -> Vec<String> {
    let mut missing = Vec::new();
    for (program, package) in [("nft", "nftables"), ("ip", "iproute2")] {
        if cellway_sys::find_program(program).is_none() {
            missing.push(format!("the program `{program}` is missing: install the package {package}"));
        }
    }
    if !Path::new("/dev/net/tun").exists() {
        missing.push("/dev/net/tun is missing: `modprobe tun`, or in a container pass the device on".into());
    }
    let forwarding = [("net/ipv4/ip_forward", "IPv4", v4), ("net/ipv6/conf/all/forwarding", "IPv6", v6)];
    for (key, version, _) in forwarding.into_iter().filter(|(.., used)| *used) {
        if setting(key).as_deref() == Some("0") && (version == "IPv4" || tool::has_ipv6()) {
            let name = key.replace('/', ".");
            missing.push(format!("{version} packets are not forwarded: `sysctl -w {name}=1`"));
        }
    }
    match transparent() {
        Ok(()) => missing.extend(rules_refused(intercept)),
        Err(e) => {
            missing.push(format!("no permission for transparent sockets ({e}): run as root or with CAP_NET_ADMIN"))
        }
    }
    if let Err(e) = raw() {
        missing.push(format!(
            "no permission for raw sockets, to refuse connections ({e}): run as root or with CAP_NET_RAW"
        ));
    }
    missing
}

/// Returns the settings of this machine with which interception works badly, each with a remedy.
pub(crate) fn hindrances() -> Vec<String> {
    // A packet that finds a socket before it is routed is dropped where it would be forwarded (ip_forward). A SYN finds
    // one if the last connection from the same port is in TIME-WAIT here.
    let early = setting("net/ipv4/tcp_early_demux").as_deref() == Some("1");
    let what = "a client that connects from the same port again within a minute is not answered before that is over: \
                `sysctl -w net.ipv4.tcp_early_demux=0` (good for routers anyway)";
    early.then(|| what.to_owned()).into_iter().collect()
}

/// Returns the devices that `interfaces` names and that do not exist. One may be added later.
pub(crate) fn absent(interfaces: &[DeviceNames]) -> Vec<String> {
    // Of the network namespace of this thread; /sys shows another one.
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let is_there = |name: &str| devices.lines().any(|line| line.trim_start().starts_with(&format!("{name}:")));
    let named = interfaces.iter().filter(|name| !name.ends_with('*'));
    named.filter(|name| !is_there(name)).map(DeviceNames::to_string).collect()
}

fn setting(key: &str) -> Option<String> {
    std::fs::read_to_string(format!("/proc/sys/{key}")).ok().map(|text| text.trim().to_owned())
}

/// Returns the reason for which the kernel refuses the rules, if it does.
fn rules_refused(intercept: &Intercept) -> Option<String> {
    cellway_sys::find_program("nft")?;
    let said = rules::would(intercept).err()?.to_string();
    // nft reports features that the kernel lacks as not found.
    Some(if said.contains("No such file or directory") || said.contains("not supported") {
        format!(
            "the kernel lacks a part that the rules need: nft_tproxy, nft_socket, nft_fib_inet or nft_reject_inet \
             (CONFIG_NFT_TPROXY and so on; `modprobe` them, or take another kernel): {said}"
        )
    } else {
        format!("nft refuses the rules: {said}")
    })
}

fn transparent() -> std::io::Result<()> {
    let socket = Socket::new(Domain::for_address(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))), Type::STREAM, None)?;
    socket.set_ip_transparent_v4(true)
}

fn raw() -> std::io::Result<()> {
    Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).map(drop)
}
