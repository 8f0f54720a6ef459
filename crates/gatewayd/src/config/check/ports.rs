//! Two listeners cannot use one TCP port.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::config::Intercept;
use crate::config::file::{ControlFile, ForwardFile, InterceptFile, ListenFile, SocksFile};
use cellway_settings::found::Found;
use cellway_settings::leaf::Leaf;

/// Returns true if two listeners cannot coexist; `[::]` includes IPv4.
fn clash(a: SocketAddr, b: SocketAddr) -> bool {
    let all = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let wide = |one: IpAddr, other: IpAddr| one == all || (one.is_unspecified() && one.is_ipv4() == other.is_ipv4());
    a.port() == b.port() && (a.ip() == b.ip() || wide(a.ip(), b.ip()) || wide(b.ip(), a.ip()))
}

/// Reports every address that is in use.
pub(super) fn check(
    listen: Option<&ListenFile>,
    intercept: Option<&InterceptFile>,
    forwards: &[ForwardFile],
    socks: Option<&SocksFile>,
    control: Option<&ControlFile>,
    found: &mut Vec<Found>,
) {
    let mut seen: Vec<(SocketAddr, String)> = Vec::new();
    if let Some(file) = intercept {
        let port = file.port.as_ref().and_then(Leaf::get).copied().unwrap_or(Intercept::default().port);
        seen.push((SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)), "intercept.port".to_owned()));
    }
    let leaves = [listen.and_then(|file| file.address.as_ref())].into_iter();
    let leaves = leaves.chain(forwards.iter().map(|file| file.listen.as_ref()));
    let leaves = leaves.chain([socks.and_then(|file| file.listen.as_ref())]);
    let leaves = leaves.chain([control.and_then(|file| file.metrics.as_ref())]);
    for leaf in leaves.flatten() {
        let Some(address) = leaf.get() else { continue };
        if let Some((other, key)) = seen.iter().find(|(other, _)| clash(*other, *address)) {
            let message = format!("{address} is taken: {key} listens on {other}");
            found.push(leaf.wrong(message).accepted("another port"));
        }
        seen.push((*address, leaf.key.clone()));
    }
}
