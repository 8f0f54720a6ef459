//! The network of this machine, and of whatever it reaches, behind the far end of a path.
//!
//! ```text
//!   program ── cell0 ── path ── device "cw..." ── routes of this machine ── masquerade ── other devices
//!                                   │
//!                                   └── look-ups at the far end: forwarder ── resolver of this machine alone
//! ```

mod forwarder;
mod probe;
mod resolver;
mod rules;
mod survey;

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::addresses::Block;
use crate::session::RESOLVER;
use crate::sys::{Tun, run_tool};

use forwarder::Forwarder;
use resolver::Resolver;
use rules::{FORWARDED, LOOKED_UP, Path, Rules};
pub(crate) use survey::{DEVICES, Ipv6, Survey, routes};

/// The time that the kernel has to forward a packet of the test.
const PATIENCE: Duration = Duration::from_millis(500);

/// The reason for which a path cannot be joined to the network of this machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InternetError {
    /// A program or the kernel refuses something.
    #[error("cannot join the path to the network of this machine: {0}")]
    Refused(#[source] io::Error),
    /// A firewall drops the packets of the path.
    #[error(
        "a firewall of this machine drops {what} on the device {device} of the path{policies}. Let packets from the \
         devices cw* pass, and answers to them: with Docker `iptables -I DOCKER-USER -i cw+ -j ACCEPT` and `iptables -I \
         DOCKER-USER -o cw+ -j ACCEPT`; with other iptables the same for FORWARD, and `iptables -I INPUT -i cw+ -j \
         ACCEPT`; with firewalld `firewall-cmd --zone=trusted --add-interface={device}`"
    )]
    Firewall {
        /// The dropped packets.
        what: &'static str,
        /// The device of the path in the namespace of this machine.
        device: String,
        /// The chains that drop by default.
        policies: Policies,
    },
}

impl From<io::Error> for InternetError {
    fn from(error: io::Error) -> InternetError {
        InternetError::Refused(error)
    }
}

/// Chains of nftables that drop what no rule of theirs accepts.
#[derive(Debug, PartialEq, Eq)]
pub struct Policies(Vec<String>);

impl fmt::Display for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " (policy drop: {})", self.0.join(", ")) }
    }
}

/// A path that is joined to the network of this machine. Dropping it separates them.
#[derive(Debug)]
pub(crate) struct Internet {
    ipv6: Ipv6,
    /// The content of `resolv.conf` behind the path, if it is another one than that of this machine.
    resolver: Option<String>,
    _rules: Rules,
    _forwarder: Option<Forwarder>,
}

impl Internet {
    /// Joins the device of the far end of a path. `client` and `far` are the addresses of its ends.
    pub(crate) fn join(
        device: &Tun,
        block: Block,
        [client, far]: [Ipv4Addr; 2],
        survey: Survey,
    ) -> Result<Internet, InternetError> {
        let Survey { switches, ipv6, has_default } = survey;
        let file = std::fs::read_to_string(RESOLVER).unwrap_or_default();
        let resolver = Resolver::of(&file, ipv6 == Ipv6::Forwarded);
        let forwarder = match resolver {
            Resolver::Local(to) => Some(Forwarder::start(far, block, to)?),
            Resolver::AsNamed | Resolver::Through(_) => None,
        };
        let dns = forwarder.as_ref().map(|forwarder| [forwarder.udp(), forwarder.tcp()]);
        let path = Path { device: device.name(), block, far, ipv6: ipv6 == Ipv6::Forwarded, dns };
        let rules = Rules::set(path, switches)?;
        let blocked = |what, hook| {
            let listed = run_tool("nft", &["list", "chains"], "").unwrap_or_default();
            InternetError::Firewall { what, device: device.name().to_owned(), policies: policies(&listed, hook) }
        };
        if has_default && !passes(device, &probe::connection(client)?, &rules, FORWARDED)? {
            return Err(blocked("what it should forward", "forward"));
        }
        if dns.is_some() && !passes(device, &probe::look_up(client, far)?, &rules, LOOKED_UP)? {
            return Err(blocked("look-ups of names", "input"));
        }
        Ok(Internet { ipv6, resolver: resolver.file(&file, far), _rules: rules, _forwarder: forwarder })
    }

    /// Returns the content of `resolv.conf` for programs behind the path; `None` if that of this machine holds there.
    pub(crate) fn resolver(&self) -> Option<&str> {
        self.resolver.as_deref()
    }

    /// Returns what is reached, for the reader of the results.
    pub(crate) fn reached(&self) -> String {
        match self.ipv6 {
            Ipv6::Forwarded => "IPv4 and IPv6".to_owned(),
            Ipv6::Absent(why) => format!("IPv4, without IPv6: {why}"),
        }
    }
}

/// Sends a packet from the path, and returns true if the rules have counted it.
fn passes(device: &Tun, packet: &[u8], rules: &Rules, counter: &str) -> io::Result<bool> {
    device.write(packet)?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if rules.count(counter)? > 0 {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(false)
}

/// Returns the chains at a hook whose policy is to drop, from the output of `nft list chains`.
fn policies(listed: &str, hook: &str) -> Policies {
    let mut found = Vec::new();
    let (mut table, mut chain) = ("", "");
    for line in listed.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("table ") {
            table = name.trim_end_matches([' ', '{']);
        } else if let Some(name) = line.strip_prefix("chain ") {
            chain = name.trim_end_matches([' ', '{']);
        } else if line.contains(&format!(" hook {hook} ")) && line.contains("policy drop") {
            found.push(format!("chain {chain} of table {table}"));
        }
    }
    Policies(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_that_drop_are_named() {
        let listed = "table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n\
                      \tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n\
                      \tchain DOCKER-USER {\n\t}\n}\ntable inet mine {\n\tchain f {\n\t\ttype filter hook forward \
                      priority 10; policy accept;\n\t}\n}\n";
        let found = policies(listed, "forward");
        assert_eq!(found.to_string(), " (policy drop: chain FORWARD of table ip filter)");
        assert_eq!(policies(listed, "output").to_string(), "");
    }
}
