//! The kinds of values that only this file has: names, ports and devices.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use cellway_settings::choice;
use cellway_settings::kinds::text;
use cellway_settings::leaf::{Kind, Refusal};
use cellway_settings::quantity::{Error, Text};
use cellway_units::{Bytes, Rate, Span};
use serde_json::{Value, json};

/// A rate, or `None` for "auto".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateOrAuto(pub(super) Option<Rate>);

impl Text for RateOrAuto {
    const FORMAT: &'static str = "rate-or-auto";
    const UNITS: &'static [&'static str] = Rate::UNITS;
    const EXAMPLES: &'static [&'static str] = &["30 Mbit/s", "auto"];
    const WORDS: &'static [&'static str] = &["auto"];
    fn read(text: &str) -> Result<RateOrAuto, Error> {
        if text == "auto" { Ok(RateOrAuto(None)) } else { Ok(RateOrAuto(Some(text.parse()?))) }
    }
}

/// A time of `LEAST` to `MOST` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait<const LEAST: u64, const MOST: u64>(pub(super) Span);

impl<const LEAST: u64, const MOST: u64> Kind for Wait<LEAST, MOST> {
    fn read(value: &Value) -> Result<Wait<LEAST, MOST>, Refusal> {
        let span = <Span as Kind>::read(value)?;
        let fits = (Span::from_secs(LEAST)..=Span::from_secs(MOST)).contains(&span);
        fits.then_some(Wait(span)).ok_or_else(|| Refusal::new(format!("{span} is out of range")))
    }
    fn accepted() -> String {
        format!("a time from \"{}\" to \"{}\"", Span::from_secs(LEAST), Span::from_secs(MOST))
    }
    fn schema() -> Value {
        json!({ "type": "string", "format": Span::FORMAT, "pattern": Span::pattern(), "examples": ["60 s"] })
    }
}

/// Memory of at least `LEAST` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory<const LEAST: u64>(pub(super) Bytes);

impl<const LEAST: u64> Kind for Memory<LEAST> {
    fn read(value: &Value) -> Result<Memory<LEAST>, Refusal> {
        let bytes = <Bytes as Kind>::read(value)?;
        (bytes.0 >= LEAST).then_some(Memory(bytes)).ok_or_else(|| Refusal::new(format!("{bytes} is too little")))
    }
    fn accepted() -> String {
        format!("at least \"{}\", in {}", Bytes(LEAST), Bytes::UNITS.join(", "))
    }
    fn schema() -> Value {
        json!({ "type": "string", "format": Bytes::FORMAT, "pattern": Bytes::pattern(), "examples": ["64 MiB"] })
    }
}

/// The name of a gateway: a DNS name in a certificate (RFC 5280, section 4.2.1.6), and valid as a file name.
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

/// The name of a network device, or a prefix of names.
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

choice! {
    /// The unit of the octets on a link.
    #[derive(Default)]
    pub enum Framing {
        /// The octets of IP packets count.
        #[default]
        Packet = "packet",
        /// Full cells of AAL5 frames count (53 octets for 48).
        Atm = "atm",
    }
}
