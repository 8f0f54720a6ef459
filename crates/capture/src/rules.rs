//! Rules for the classes of conversations: a file in TOML.
//!
//! ```toml
//! [[class]]
//! name = "intranet"
//! ports = [80, "8000-8099"]
//! networks = ["10.0.0.0/8", "fd00::/8"]
//! ```

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use serde::Deserialize;

use crate::conversations::Protocol;
use crate::packet::Endpoint;

/// The most rules of a file.
const MAX_RULES: usize = 64;

/// The rules of a file. The first that applies to a conversation names its class.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    name: String,
    protocol: Protocol,
    /// First and last port; of the responder. Any port if empty.
    ports: Vec<(u16, u16)>,
    /// Networks of one of both sides. Any network if empty.
    networks: Vec<IpNet>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    class: Vec<FileRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRule {
    name: String,
    #[serde(default)]
    transport: Transport,
    #[serde(default)]
    ports: Vec<Port>,
    #[serde(default)]
    networks: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    #[default]
    Tcp,
    Udp,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Port {
    One(i64),
    Range(String),
}

impl Port {
    fn range(&self) -> Result<(u16, u16), String> {
        let accepted = "accepted: a number from 0 to 65535, or a range like \"8000-8099\"";
        match self {
            Port::One(port) => match u16::try_from(*port) {
                Ok(port) => Ok((port, port)),
                Err(_) => Err(format!("port {port} is out of range; {accepted}")),
            },
            Port::Range(text) => {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                match (first.trim().parse(), last.trim().parse()) {
                    (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
                    _ => Err(format!("{text:?} is no range of ports; {accepted}")),
                }
            }
        }
    }
}

impl Rules {
    /// Parses the text of a file, which is called `name` in errors.
    ///
    /// # Errors
    /// The fault, with the rule that has it.
    pub fn parse(text: &str, name: &str) -> Result<Rules, String> {
        let file: File = toml::from_str(text).map_err(|error| format!("{name}: {}", error.to_string().trim_end()))?;
        if file.class.is_empty() || file.class.len() > MAX_RULES {
            let found = file.class.len();
            return Err(format!("{name}: {found} rules; accepted: 1 to {MAX_RULES} tables [[class]]"));
        }
        let mut rules: Vec<Rule> = Vec::new();
        for (at, FileRule { name: class, transport, ports, networks }) in file.class.into_iter().enumerate() {
            let refused = |message: String| format!("{name}: class {} ({class:?}): {message}", at + 1);
            let is_printable = class.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            if class.is_empty() || class.len() > 64 || !is_printable {
                return Err(refused(
                    "the name is not accepted; accepted: 1 to 64 letters, digits, hyphens, underscores and dots".into(),
                ));
            }
            let protocol = match transport {
                Transport::Tcp => Protocol::Tcp,
                Transport::Udp => Protocol::Udp,
            };
            if rules.iter().any(|rule| rule.name == class && rule.protocol != protocol) {
                return Err(refused("the name is already that of a class of the other transport".into()));
            }
            let ports = ports.iter().map(Port::range).collect::<Result<_, _>>().map_err(refused)?;
            let network = |text: &String| {
                text.parse::<IpNet>()
                    .or_else(|error| text.parse::<IpAddr>().map(IpNet::from).map_err(|_| error))
                    .map_err(|_| format!("{text:?} is no network; accepted: like \"10.0.0.0/8\" or \"2001:db8::/32\""))
            };
            let networks = networks.iter().map(network).collect::<Result<_, _>>().map_err(refused)?;
            rules.push(Rule { name: class, protocol, ports, networks });
        }
        Ok(Rules { rules })
    }

    /// Returns the name of the class of a conversation, if a rule applies.
    pub(crate) fn class(&self, protocol: Protocol, originator: Endpoint, responder: Endpoint) -> Option<&str> {
        let applies = |rule: &&Rule| {
            let address = |end: Endpoint| Ipv6Addr::from(end.address).to_canonical();
            let is_within = |end: Endpoint| rule.networks.iter().any(|network| network.contains(&address(end)));
            rule.protocol == protocol
                && (rule.ports.is_empty()
                    || rule.ports.iter().any(|(first, last)| (*first..=*last).contains(&responder.port)))
                && (rule.networks.is_empty() || is_within(responder) || is_within(originator))
        };
        self.rules.iter().find(applies).map(|rule| &rule.name[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(address: &str, port: u16) -> Endpoint {
        let address: IpAddr = address.parse().unwrap();
        let six = match address {
            IpAddr::V4(four) => four.to_ipv6_mapped(),
            IpAddr::V6(six) => six,
        };
        Endpoint { address: six.into(), port }
    }

    #[test]
    fn the_first_rule_that_applies_names_the_class() {
        let text = "[[class]]\nname = \"local\"\nports = [80, \"8000-8099\"]\nnetworks = [\"10.0.0.0/8\", \"fd00::/8\"]\n\
                    [[class]]\nname = \"web\"\nports = [80]\n[[class]]\nname = \"names\"\ntransport = \"udp\"\n";
        let rules = Rules::parse(text, "rules.toml").unwrap();
        let class = |protocol, from: &str, to: &str, port| rules.class(protocol, end(from, 40_000), end(to, port));
        assert_eq!(class(Protocol::Tcp, "192.0.2.1", "10.1.2.3", 8_050), Some("local"));
        assert_eq!(class(Protocol::Tcp, "fd00::7", "2001:db8::1", 80), Some("local"));
        assert_eq!(class(Protocol::Tcp, "192.0.2.1", "192.0.2.2", 80), Some("web"));
        assert_eq!(class(Protocol::Tcp, "192.0.2.1", "192.0.2.2", 81), None);
        assert_eq!(class(Protocol::Udp, "192.0.2.1", "192.0.2.2", 81), Some("names"));
    }

    #[test]
    fn wrong_rules_are_refused_in_words() {
        for (text, fault) in [
            ("", "missing field `class`"),
            ("class = []", "0 rules; accepted: 1 to 64"),
            ("[[class]]\nname = \"a b\"", "the name is not accepted"),
            ("[[class]]\nname = \"a\"\nport = [1]", "unknown field `port`"),
            ("[[class]]\nname = \"a\"\nports = [70000]", "port 70000 is out of range; accepted"),
            ("[[class]]\nname = \"a\"\nports = [\"9-7\"]", "\"9-7\" is no range of ports"),
            ("[[class]]\nname = \"a\"\nnetworks = [\"10/8\"]", "\"10/8\" is no network; accepted"),
            ("[[class]]\nname = \"a\"\n[[class]]\nname = \"a\"\ntransport = \"udp\"", "of the other transport"),
        ] {
            let refused = Rules::parse(text, "rules.toml").unwrap_err();
            assert!(refused.starts_with("rules.toml: ") && refused.contains(fault), "{refused}");
        }
    }
}
