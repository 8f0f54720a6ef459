//! Kinds of values: addresses, networks, paths and counts.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use serde_json::{Value, json};

use crate::leaf::{Kind, Refusal};

/// Returns a string.
///
/// # Errors
/// The value is none.
pub fn text(value: &Value) -> Result<&str, Refusal> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(Refusal::new(format!("{other} is not a string in quotes"))),
    }
}

impl Kind for IpNet {
    fn read(value: &Value) -> Result<IpNet, Refusal> {
        let text = text(value)?;
        if let Ok(address) = text.parse::<IpAddr>() {
            return Err(
                Refusal::new(format!("{text:?} has no length")).suggest(format!("\"{}\"", IpNet::from(address)))
            );
        }
        let net: IpNet = text.parse().map_err(|_| Refusal::new(format!("{text:?} is not a network")))?;
        if net.trunc() != net {
            let refusal = Refusal::new(format!("{text:?} has bits set beyond its length"));
            return Err(refusal.suggest(format!("\"{}\"", net.trunc())));
        }
        if let Some(net) = of_mapped(net) {
            let refusal = Refusal::new(format!("{text:?} is a network of IPv4-mapped addresses, which no packet has"));
            return Err(refusal.suggest(format!("\"{net}\"")));
        }
        Ok(net)
    }
    fn accepted() -> String {
        "a network with its length, like \"192.0.2.0/24\" or \"2001:db8:1::/48\"".to_owned()
    }
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9a-fA-F.:]+/[0-9]{1,3}$", "examples": ["192.0.2.0/24", "2001:db8:1::/48"] })
    }
}

/// Returns the network of IPv4 whose addresses are mapped in `net` (RFC 4291, section 2.5.5.2).
fn of_mapped(net: IpNet) -> Option<IpNet> {
    let IpNet::V6(net) = net else { return None };
    let address = net.addr().to_ipv4_mapped()?;
    IpNet::new(address.into(), net.prefix_len().checked_sub(96)?).ok()
}

impl Kind for SocketAddr {
    fn read(value: &Value) -> Result<SocketAddr, Refusal> {
        let text = text(value)?;
        let address = text.parse().map_err(|_| match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => Refusal::new(format!("{text:?} has no port")),
            Ok(IpAddr::V6(_)) => Refusal::new(format!("{text:?} has no port, and needs brackets")),
            Err(_) => match text.strip_prefix(':').and_then(|port| port.parse::<u16>().ok()) {
                Some(port) => Refusal::new(format!("{text:?} has no address")).suggest(format!("\"[::]:{port}\"")),
                None => Refusal::new(format!("{text:?} is not an address and a port")),
            },
        })?;
        Some(address).filter(|a: &SocketAddr| a.port() > 0).ok_or_else(|| Refusal::new(format!("{text:?} has port 0")))
    }
    fn accepted() -> String {
        "an address and a port, like \"192.0.2.1:4433\" or \"[::]:4433\" (all addresses, IPv4 too)".to_owned()
    }
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^ ]+:[0-9]{1,5}$", "examples": ["[::]:4433", "127.0.0.1:8080"] })
    }
}

impl Kind for PathBuf {
    fn read(value: &Value) -> Result<PathBuf, Refusal> {
        match text(value)? {
            "" => Err(Refusal::new("is empty")),
            text => Ok(PathBuf::from(text)),
        }
    }
    fn accepted() -> String {
        "a path, from the folder of this file if it is relative".to_owned()
    }
    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// Counts from 1 to `$most`.
macro_rules! count {
    ($type:ty, $most:expr) => {
        impl Kind for $type {
            fn read(value: &Value) -> Result<$type, Refusal> {
                let number = value.as_i64().ok_or_else(|| Refusal::new(format!("{value} is not a whole number")))?;
                let inside = <$type>::try_from(number).ok().filter(|n| (1..=$most).contains(n));
                inside.ok_or_else(|| Refusal::new(format!("{number} is out of range")))
            }
            fn accepted() -> String {
                format!("a whole number from 1 to {}", $most)
            }
            fn schema() -> Value {
                json!({ "type": "integer", "minimum": 1, "maximum": $most })
            }
        }
    };
}
count!(u16, u16::MAX);
// The next number exists: a packet mark or a routing table can use it, too.
count!(u32, u32::MAX - 1);
