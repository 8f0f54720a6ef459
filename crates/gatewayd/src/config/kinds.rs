//! The kinds of values: quantities with units, addresses, networks, names, words and counts.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use cellway_units::{Bytes, ParseError, Rate, Span, meant};
use ipnet::IpNet;
use serde_json::{Value, json};

use super::leaf::{Kind, Refusal};
use super::{Connect, PeerDown, RateGuard, Source, TransportChoice};
use cellway_settings::found::one_of;
use cellway_settings::problem::nearest;

fn text(value: &Value) -> Result<&str, Refusal> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(Refusal::new(format!("{other} is not a text in quotes"))),
    }
}

/// A quantity with a unit.
trait Quantity: std::str::FromStr<Err = ParseError> {
    const UNITS: &'static [&'static str];
    const EXAMPLE: &'static str;
}

impl Quantity for Rate {
    const UNITS: &'static [&'static str] = &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
    const EXAMPLE: &'static str = "30 Mbit/s";
}
impl Quantity for Span {
    const UNITS: &'static [&'static str] = &["ms", "s", "min", "h"];
    const EXAMPLE: &'static str = "60 s";
}
impl Quantity for Bytes {
    const UNITS: &'static [&'static str] = &["B", "kB", "KiB", "MB", "MiB", "GB", "GiB"];
    const EXAMPLE: &'static str = "64 MiB";
}

fn quantity<T: Quantity>(value: &Value) -> Result<T, Refusal> {
    if let Value::Number(number) = value {
        return Err(Refusal::new(format!("{number} has no unit")));
    }
    let text = text(value)?;
    text.parse().map_err(|error| match error {
        ParseError::NoNumber { .. } => Refusal::new(format!("{text:?} does not start with a number")),
        ParseError::NoUnit { .. } => Refusal::new(format!("{text:?} has no unit")),
        ParseError::Negative { .. } => Refusal::new(format!("{text:?} is negative")),
        ParseError::WrongUnit { unit, .. } => {
            let suggestion = meant(text, T::UNITS).map(|meant| format!("\"{meant}\""));
            Refusal { suggestion, ..Refusal::new(format!("{unit:?} in {text:?} is not a unit that fits here")) }
        }
        ParseError::Exponent { .. } => {
            let suggestion = meant(text, T::UNITS).map(|meant| format!("\"{meant}\""));
            Refusal { suggestion, ..Refusal::new(format!("{text:?} has an exponent, which quantities do not have")) }
        }
        other => Refusal::new(other.to_string()),
    })
}

fn quantity_accepted<T: Quantity>() -> String {
    format!("a number and one of {}, like \"{}\"", T::UNITS.join(", "), T::EXAMPLE)
}

fn quantity_pattern<T: Quantity>() -> String {
    format!("[0-9][0-9_]*(\\.[0-9_]+)? *({})", T::UNITS.join("|"))
}

impl<T: Quantity> Kind for T {
    fn read(value: &Value) -> Result<T, Refusal> {
        quantity(value)
    }
    fn accepted() -> String {
        quantity_accepted::<T>()
    }
    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{}$", quantity_pattern::<T>()), "examples": [T::EXAMPLE] })
    }
}

/// A rate, or `None` for "auto".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateOrAuto(pub(super) Option<Rate>);

impl Kind for RateOrAuto {
    fn read(value: &Value) -> Result<RateOrAuto, Refusal> {
        if let Some(word) = value.as_str().filter(|text| !text.starts_with(|c: char| c.is_ascii_digit() || c == '-')) {
            let other = || {
                let refusal = Refusal::new(format!("{word:?} is neither \"auto\" nor a number with a unit"));
                Refusal { suggestion: nearest(word, ["auto"]).map(|w| format!("\"{w}\"")), ..refusal }
            };
            return if word == "auto" { Ok(RateOrAuto(None)) } else { Err(other()) };
        }
        quantity(value).map(|rate| RateOrAuto(Some(rate)))
    }
    fn accepted() -> String {
        format!("\"auto\", or {}", quantity_accepted::<Rate>())
    }
    fn schema() -> Value {
        let pattern = format!("^(auto|{})$", quantity_pattern::<Rate>());
        json!({ "type": "string", "pattern": pattern, "examples": [Rate::EXAMPLE, "auto"] })
    }
}

/// The name of a gateway: a name that a certificate can carry (RFC 5280, section 4.2.1.6) and a file can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) String);

impl Name {
    /// Checks a name.
    pub(super) fn new(name: &str) -> Result<Name, Refusal> {
        let fits = |name: &str| {
            (1..=63).contains(&name.len())
                && name.split('.').all(|label| {
                    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
                    !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(inner)
                })
        };
        if fits(name) {
            return Ok(Name(name.to_owned()));
        }
        let refusal = Refusal::new(format!("{name:?} is no name for a gateway"));
        let lower = name.trim().to_lowercase().replace(['_', ' '], "-");
        Err(if fits(&lower) { refusal.suggest(format!("\"{lower}\"")) } else { refusal })
    }
}

impl Kind for Name {
    fn read(value: &Value) -> Result<Name, Refusal> {
        Name::new(text(value)?)
    }
    fn accepted() -> String {
        "up to 63 small letters, digits, - and ., like \"tokyo\"".to_owned()
    }
    fn schema() -> Value {
        let label = "[a-z0-9]([a-z0-9-]*[a-z0-9])?";
        json!({ "type": "string", "maxLength": 63, "pattern": format!("^{label}(\\.{label})*$"), "examples": ["tokyo"] })
    }
}

/// The name of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClassName(pub(super) String);

impl Kind for ClassName {
    fn read(value: &Value) -> Result<ClassName, Refusal> {
        let text = text(value)?;
        let fits = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        let refusal = || Refusal::new(format!("{text:?} is not a name for a class"));
        ((1..=63).contains(&text.len()) && fits(text)).then(|| ClassName(text.to_owned())).ok_or_else(refusal)
    }
    fn accepted() -> String {
        "1 to 63 letters, digits, -, _ and ., like \"customer-a\"".to_owned()
    }
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,63}$", "examples": ["customer-a"] })
    }
}

/// A port, or a range of ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ports(pub(super) RangeInclusive<u16>);

impl Kind for Ports {
    fn read(value: &Value) -> Result<Ports, Refusal> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|&port| port > 0);
        let (first, last) = text.split_once('-').unwrap_or((&text, &text));
        match (port(first), port(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Ports(first..=last)),
            (Some(first), Some(last)) => {
                let refusal = Refusal::new(format!("{text:?} ends before it begins"));
                Err(refusal.suggest(format!("\"{last}-{first}\"")))
            }
            _ => Err(Refusal::new(format!("{value} is not a port or a range of ports"))),
        }
    }
    fn accepted() -> String {
        "a port from 1 to 65535, like 80, or a range of ports, like \"8000-8099\"".to_owned()
    }
    fn schema() -> Value {
        json!({
            "type": ["integer", "string"], "minimum": 1, "maximum": 65_535, "pattern": "^[0-9]{1,5}(-[0-9]{1,5})?$",
            "examples": [80, "8000-8099"]
        })
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

/// An address or a name, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPort(pub(super) String);

impl Kind for HostPort {
    fn read(value: &Value) -> Result<HostPort, Refusal> {
        let text = text(value)?;
        let wrong = |what: &str| Refusal::new(format!("{text:?} {what}"));
        if let Ok(IpAddr::V6(_)) = text.parse::<IpAddr>() {
            return Err(wrong("has no port, and needs brackets"));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| wrong("has no port"))?;
        if !port.parse::<u16>().is_ok_and(|port| port > 0) {
            return Err(wrong("does not end with a port from 1 to 65535"));
        }
        let name = |host: &str| {
            !host.is_empty()
                && host.len() <= 253
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        };
        match name(host) || text.parse::<SocketAddr>().is_ok() {
            true => Ok(HostPort(text.to_owned())),
            false => Err(wrong("does not start with an address or a name")),
        }
    }
    fn accepted() -> String {
        "an address or a name, and a port, like \"gateway.example.net:4433\" or \"[2001:db8::1]:4433\"".to_owned()
    }
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^ ]+:[0-9]{1,5}$", "examples": ["gateway.example.net:4433"] })
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

/// The name of a network device (Linux: below `IFNAMSIZ`, 16 octets).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device(pub(super) String);

fn is_device(text: &str) -> bool {
    (1..=15).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@".contains(&b))
        && text != "."
        && text != ".."
}

impl Kind for Device {
    fn read(value: &Value) -> Result<Device, Refusal> {
        let text = text(value)?;
        let refusal = || Refusal::new(format!("{text:?} is no name of a device"));
        is_device(text).then(|| Device(text.to_owned())).ok_or_else(refusal)
    }
    fn accepted() -> String {
        "1 to 15 letters, digits, -, _, . and @, like \"cellway0\"".to_owned()
    }
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9_.@-]{1,15}$", "examples": ["cellway0"] })
    }
}

/// The name of a network device, or how names begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Devices(pub(super) String);

impl Kind for Devices {
    fn read(value: &Value) -> Result<Devices, Refusal> {
        let text = text(value)?;
        let refusal = || Refusal::new(format!("{text:?} is no name of a device"));
        is_device(text.strip_suffix('*').unwrap_or(text)).then(|| Devices(text.to_owned())).ok_or_else(refusal)
    }
    fn accepted() -> String {
        "the name of a device, like \"eth0\", or how names begin, like \"ppp*\"".to_owned()
    }
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9_.@-]{1,15}[*]?$", "examples": ["eth0", "ppp*"] })
    }
}

/// A count of at least 1 that fits `T`, the largest left out (the next one up must exist where marks,
/// tables and ports are concerned).
/// A number from 1 to `$most`.
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
// `intercept.mark` and `intercept.table` use the next number, too.
count!(u32, u32::MAX - 1);

/// How the octets on a line are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Framing {
    #[default]
    Packet,
    Atm,
}

/// A kind that is one of some words, each with what it means.
macro_rules! words {
    ($type:ty { $($word:literal => $value:expr, $meaning:literal;)* }) => {
        impl Kind for $type {
            fn read(value: &Value) -> Result<$type, Refusal> {
                match text(value)? {
                    $($word => Ok($value),)*
                    other => {
                        let suggestion = nearest(other, [$($word),*]).map(|w| format!("\"{w}\""));
                        Err(Refusal { suggestion, ..Refusal::new(format!("{other:?} is not known here")) })
                    }
                }
            }
            fn accepted() -> String {
                one_of([$($word),*])
            }
            fn schema() -> Value {
                json!({ "type": "string", "oneOf": [$({ "const": $word, "description": $meaning }),*] })
            }
        }
    };
}
words!(Framing {
    "packet" => Framing::Packet, "The octets of IP packets count.";
    "atm" => Framing::Atm, "Whole cells of AAL5 frames count (53 octets for 48).";
});
words!(RateGuard {
    "on" => RateGuard::On, "It is reported, and less is sent: until the queue is gone, and then as much as fits. The rate is tried again after 10 s, and ever more seldom.";
    "off" => RateGuard::Off, "It is reported.";
});
words!(TransportChoice {
    "auto" => TransportChoice::Auto, "QUIC, and TLS over TCP where UDP does not get through.";
    "quic" => TransportChoice::Quic, "QUIC only.";
    "tls" => TransportChoice::Tls, "TLS over TCP only.";
});
words!(Connect {
    "late" => Connect::Late, "When the server has answered: the client sees what it would see without gateways.";
    "early" => Connect::Early, "At once: one round trip less, but a refused port is a reset after the connection.";
});
words!(PeerDown {
    "direct" => PeerDown::Direct, "They pass this gateway untouched.";
    "refuse" => PeerDown::Refuse, "They are refused, also when this gateway has died.";
});
words!(Source {
    "client" => Source::Client, "The client's, and its port where that is free.";
    "gateway" => Source::Gateway, "This gateway's own.";
});
