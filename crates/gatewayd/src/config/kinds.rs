//! The texts that only this file has: names, ports and devices.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::{Deref, RangeInclusive};

use cellway_settings::quantity::{Compare, Error, Refusal, Text};
use cellway_settings::{choice, settings};
use cellway_units::Rate;

/// A rate, or `None` for "auto".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateOrAuto(pub(super) Option<Rate>);

impl Text for RateOrAuto {
    const FORMAT: &'static str = "rate-or-auto";
    const UNITS: &'static [&'static str] = Rate::UNITS;
    const EXAMPLES: &'static [&'static str] = &["30 Mbit/s", "auto"];
    const WORDS: &'static [&'static str] = &["auto"];
    const COMPARE: Compare<RateOrAuto> = |rate, other| Some(rate.0?.cmp(&other.0?));
    fn read(text: &str) -> Result<RateOrAuto, Error> {
        if text == "auto" { Ok(RateOrAuto(None)) } else { Ok(RateOrAuto(Some(text.parse()?))) }
    }
}

impl fmt::Display for RateOrAuto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => rate.fmt(f),
            None => f.write_str("auto"),
        }
    }
}

/// The name of a gateway: a DNS name in a certificate (RFC 5280, section 4.2.1.6), and valid as a file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) String);

impl Text for Name {
    const FORMAT: &'static str = "gateway-name";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["tokyo"];
    fn read(name: &str) -> Result<Name, Error> {
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
        Err(if fits(&lower) { refusal.suggest(format!("\"{lower}\"")) } else { refusal }.into())
    }
    fn accepted(_: &str) -> String {
        "up to 63 small letters, digits, - and ., like \"tokyo\"".to_owned()
    }
    fn pattern() -> String {
        let label = "[a-z0-9]([a-z0-9-]*[a-z0-9])?";
        format!("^{label}(\\.{label})*$")
    }
}

/// The name of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClassName(pub(super) String);

impl Text for ClassName {
    const FORMAT: &'static str = "class-name";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["customer-a"];
    fn read(text: &str) -> Result<ClassName, Error> {
        let fits = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        match (1..=63).contains(&text.len()) && fits(text) {
            true => Ok(ClassName(text.to_owned())),
            false => Err(Refusal::new(format!("{text:?} is not a name for a class")).into()),
        }
    }
    fn accepted(_: &str) -> String {
        "1 to 63 letters, digits, -, _ and ., like \"customer-a\"".to_owned()
    }
    fn pattern() -> String {
        "^[A-Za-z0-9_.-]{1,63}$".to_owned()
    }
}

/// A port, or a range of ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ports(pub(super) RangeInclusive<u16>);

impl Text for Ports {
    const FORMAT: &'static str = "ports";
    const UNITS: &'static [&'static str] = &[];
    const NUMBERS: bool = true;
    const EXAMPLES: &'static [&'static str] = &["80", "8000-8099"];
    fn read(text: &str) -> Result<Ports, Error> {
        let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|&port| port > 0 && is_number(text.trim()));
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (port(first), port(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Ports(first..=last)),
            (Some(first), Some(last)) => {
                let refusal = Refusal::new(format!("{text:?} ends before it begins"));
                Err(refusal.suggest(format!("\"{last}-{first}\"")).into())
            }
            _ => Err(Refusal::new(format!("{text:?} is not a port or a range of ports")).into()),
        }
    }
    fn accepted(_: &str) -> String {
        "a port from 1 to 65535, like 80, or a range of ports, like \"8000-8099\"".to_owned()
    }
    fn pattern() -> String {
        "^[0-9]{1,5}(-[0-9]{1,5})?$".to_owned()
    }
}

/// An address or a name, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPort(pub(super) String);

impl Text for HostPort {
    const FORMAT: &'static str = "host-and-port";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["gateway.example.net:4433"];
    fn read(text: &str) -> Result<HostPort, Error> {
        let wrong = |what: &str| Refusal::new(format!("{text:?} {what}"));
        if let Ok(IpAddr::V6(_)) = text.parse::<IpAddr>() {
            return Err(wrong("has no port, and needs brackets").into());
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| wrong("has no port"))?;
        let is_number = port.bytes().all(|b| b.is_ascii_digit());
        if !(is_number && port.parse::<u16>().is_ok_and(|port| port > 0)) {
            return Err(wrong("does not end with a port from 1 to 65535").into());
        }
        let name = |host: &str| {
            !host.is_empty()
                && host.len() <= 253
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
        };
        match name(host) || text.parse::<SocketAddr>().is_ok() {
            true => Ok(HostPort(text.to_owned())),
            false => Err(wrong("does not start with an address or a name").into()),
        }
    }
    fn accepted(_: &str) -> String {
        "an address or a name, and a port, like \"gateway.example.net:4433\" or \"[2001:db8::1]:4433\"".to_owned()
    }
    fn pattern() -> String {
        "^[^ ]+:[0-9]{1,5}$".to_owned()
    }
}

/// The name of a network device (Linux: below `IFNAMSIZ`, 16 octets).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device(pub String);

/// The name of a network device, or the first letters of several names with `*` behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceNames(pub String);

/// Returns `name` if it may be one of a device.
fn device<'a>(text: &str, name: &'a str) -> Result<&'a str, Refusal> {
    let fits = (1..=15).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@".contains(&b))
        && name != "."
        && name != "..";
    fits.then_some(name).ok_or_else(|| Refusal::new(format!("{text:?} is no name of a device")))
}

impl Text for Device {
    const FORMAT: &'static str = "device";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["cellway0"];
    fn read(text: &str) -> Result<Device, Error> {
        Ok(Device(device(text, text)?.to_owned()))
    }
    fn accepted(_: &str) -> String {
        "1 to 15 letters, digits, -, _, . and @, like \"cellway0\"".to_owned()
    }
    fn pattern() -> String {
        "^[A-Za-z0-9_.@-]{1,15}$".to_owned()
    }
}

impl Text for DeviceNames {
    const FORMAT: &'static str = "devices";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["eth0", "ppp*"];
    fn read(text: &str) -> Result<DeviceNames, Error> {
        device(text, text.strip_suffix('*').unwrap_or(text))?;
        Ok(DeviceNames(text.to_owned()))
    }
    fn accepted(_: &str) -> String {
        "the name of a device, like \"eth0\", or how names begin, like \"ppp*\"".to_owned()
    }
    fn pattern() -> String {
        "^[A-Za-z0-9_.@-]{1,15}[*]?$".to_owned()
    }
}

/// Implements the use of a name as a string.
macro_rules! strings {
    ($($name:ty),+) => {
        $(impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        })+
    };
}
strings!(Device, DeviceNames);
settings!(Device);

choice! {
    /// The unit of the octets on a link.
    pub enum Framing {
        /// The octets of IP packets count.
        Packet = "packet",
        /// Full cells of AAL5 frames count (53 octets for 48).
        Atm = "atm",
    }
}
