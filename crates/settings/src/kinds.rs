//! Texts that are no quantities: addresses, networks and paths.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use ipnet::IpNet;

use crate::quantity::{Error, Refusal, Text};
use crate::settings;

impl Text for IpNet {
    const FORMAT: &'static str = "network";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["192.0.2.0/24", "2001:db8:1::/48"];
    fn read(text: &str) -> Result<IpNet, Error> {
        if let Ok(address) = text.parse::<IpAddr>() {
            let refusal = Refusal::new(format!("{text:?} has no length"));
            return Err(refusal.suggest(format!("\"{}\"", IpNet::from(address))).into());
        }
        let net: IpNet = text.parse().map_err(|_| Refusal::new(format!("{text:?} is not a network")))?;
        if net.trunc() != net {
            let refusal = Refusal::new(format!("{text:?} has bits set beyond its length"));
            return Err(refusal.suggest(format!("\"{}\"", net.trunc())).into());
        }
        if let Some(net) = of_mapped(net) {
            let refusal = Refusal::new(format!("{text:?} is a network of IPv4-mapped addresses, which no packet has"));
            return Err(refusal.suggest(format!("\"{net}\"")).into());
        }
        Ok(net)
    }
    fn accepted(_: &str) -> String {
        "a network with its length, like \"192.0.2.0/24\" or \"2001:db8:1::/48\"".to_owned()
    }
    fn pattern() -> String {
        "^[0-9a-fA-F.:]+/[0-9]{1,3}$".to_owned()
    }
}

/// Returns the network of IPv4 whose addresses are mapped in `net` (RFC 4291, section 2.5.5.2).
fn of_mapped(net: IpNet) -> Option<IpNet> {
    let IpNet::V6(net) = net else { return None };
    let address = net.addr().to_ipv4_mapped()?;
    IpNet::new(address.into(), net.prefix_len().checked_sub(96)?).ok()
}

impl Text for SocketAddr {
    const FORMAT: &'static str = "address-and-port";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["127.0.0.1:8080", "[::]:4433"];
    fn read(text: &str) -> Result<SocketAddr, Error> {
        let address: SocketAddr = text.parse().map_err(|_| match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => Refusal::new(format!("{text:?} has no port")),
            Ok(IpAddr::V6(_)) => Refusal::new(format!("{text:?} has no port, and needs brackets")),
            Err(_) => match text.strip_prefix(':').and_then(|port| port.parse::<u16>().ok()) {
                Some(port) => Refusal::new(format!("{text:?} has no address")).suggest(format!("\"[::]:{port}\"")),
                None => Refusal::new(format!("{text:?} is not an address and a port")),
            },
        })?;
        match address.port() {
            0 => Err(Refusal::new(format!("{text:?} has port 0")).into()),
            _ => Ok(address),
        }
    }
    fn accepted(_: &str) -> String {
        "an address and a port, like \"192.0.2.1:4433\" or \"[::]:4433\" (all addresses, IPv4 too)".to_owned()
    }
    fn pattern() -> String {
        "^[^ ]+:[0-9]{1,5}$".to_owned()
    }
}

/// The path of a file. In a file of settings it starts at the folder of that file if it is relative.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(pub PathBuf);

impl Text for FilePath {
    const FORMAT: &'static str = "path";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &[];
    fn read(text: &str) -> Result<FilePath, Error> {
        match text {
            "" => Err(Refusal::new("is empty").into()),
            text if text.contains('\0') => Err(Refusal::new(format!("{text:?} has a NUL character")).into()),
            text => Ok(FilePath(PathBuf::from(text))),
        }
    }
    fn accepted(_: &str) -> String {
        "a path; a relative path starts at the folder of this file".to_owned()
    }
    fn pattern() -> String {
        "^.+$".to_owned()
    }
}

impl Deref for FilePath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

settings!(SocketAddr, FilePath);
