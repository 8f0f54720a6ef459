//! Two listeners cannot use one TCP port.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use cellway_settings::tree::{Step, at};

use super::Check;
use crate::config::file::{ForwardFile, ListenFile, SocksFile};
use crate::config::{ControlKeys, Intercept, InterceptKeys};

/// Returns true if two listeners cannot coexist; `[::]` includes IPv4.
fn clash(a: SocketAddr, b: SocketAddr) -> bool {
    let all = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let wide = |one: IpAddr, other: IpAddr| one == all || (one.is_unspecified() && one.is_ipv4() == other.is_ipv4());
    a.port() == b.port() && (a.ip() == b.ip() || wide(a.ip(), b.ip()) || wide(b.ip(), a.ip()))
}

impl Check<'_> {
    /// Reports every address that is in use.
    pub(super) fn ports(
        &mut self,
        listen: Option<&ListenFile>,
        intercept: Option<&InterceptKeys>,
        forwards: &[ForwardFile],
        socks: Option<&SocksFile>,
        control: &ControlKeys,
    ) {
        let mut seen: Vec<(SocketAddr, String)> = Vec::new();
        if let Some(keys) = intercept {
            let port = keys.port.unwrap_or(Intercept::default().port);
            seen.push((SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)), "intercept.port".to_owned()));
        }
        let mut all: Vec<(Vec<Step>, Option<SocketAddr>)> = Vec::new();
        all.extend(listen.map(|file| (at!["listen", "address"].to_vec(), file.address)));
        all.extend(forwards.iter().enumerate().map(|(i, file)| (at!["forward", i, "listen"].to_vec(), file.listen)));
        all.extend(socks.map(|file| (at!["socks", "listen"].to_vec(), file.listen)));
        all.push((at!["control", "metrics"].to_vec(), control.metrics));
        for (path, address) in all.into_iter().filter_map(|(path, address)| Some((path, address?))) {
            if let Some((other, key)) = seen.iter().find(|(other, _)| clash(*other, address)) {
                let message = format!("{address} is taken: {key} listens on {other}");
                self.refuse(&path, message, Some("another port"));
            }
            seen.push((address, self.tree.display(&path)));
        }
    }
}
