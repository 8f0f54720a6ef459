//! The class of a conversation: by the port of its responder, by rules, or by assignment.

use std::collections::BTreeMap;

use crate::conversations::Protocol;
use crate::packet::Endpoint;
use crate::rules::Rules;
use crate::services::service;

/// The most ports that are classes by their number, for each protocol.
const MAX_PORTS: usize = 16;
/// The first port of those that systems give to originators by themselves: that of Linux.
const EPHEMERAL: u16 = 32_768;

/// The way in which conversations are divided into classes.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum By {
    /// By the port of the responder: services by their names, other ports by their numbers.
    #[default]
    Port,
    /// By the rules of a file.
    Rules(Rules),
    /// By the sizes of their exchanges, in this number of classes for each protocol.
    Cluster(usize),
}

/// The names of classes, each with an index.
#[derive(Debug)]
pub(crate) struct Classes {
    by: Naming,
    names: Vec<(String, Protocol)>,
    index: BTreeMap<(String, Protocol), u16>,
    /// Ports that are classes by their number, for each protocol.
    ports: BTreeMap<(Protocol, u16), ()>,
}

#[derive(Debug)]
pub(crate) enum Naming {
    Port,
    Rules(Rules),
    /// The cluster of each conversation, by its number. Conversations without one are in a class of their own.
    Assigned(Vec<u8>),
}

/// The cluster of a conversation that has none.
pub(crate) const UNASSIGNED: u8 = u8::MAX;

fn other(protocol: Protocol) -> String {
    match protocol {
        Protocol::Tcp => "other-tcp".to_owned(),
        Protocol::Udp => "other-udp".to_owned(),
    }
}

impl Classes {
    pub(crate) fn new(by: Naming) -> Classes {
        Classes { by, names: Vec::new(), index: BTreeMap::new(), ports: BTreeMap::new() }
    }

    /// Returns the name and the protocol of a class.
    pub(crate) fn name(&self, class: u16) -> Option<&(String, Protocol)> {
        self.names.get(usize::from(class))
    }

    /// Returns the class of a conversation.
    pub(crate) fn of(&mut self, id: u64, protocol: Protocol, originator: Endpoint, responder: Endpoint) -> u16 {
        let name = match &self.by {
            Naming::Rules(rules) => match rules.class(protocol, originator, responder) {
                Some(name) => name.to_owned(),
                None => other(protocol),
            },
            Naming::Assigned(clusters) => {
                let cluster = usize::try_from(id).ok().and_then(|id| clusters.get(id)).copied();
                match (cluster.filter(|cluster| *cluster != UNASSIGNED), protocol) {
                    (Some(cluster), Protocol::Tcp) => format!("tcp-cluster-{}", cluster + 1),
                    (Some(cluster), Protocol::Udp) => format!("udp-cluster-{}", cluster + 1),
                    (None, protocol) => other(protocol),
                }
            }
            Naming::Port => match self.by_port(protocol, originator.port, responder.port) {
                Ok(name) => name.to_owned(),
                Err(port) => self.numbered(protocol, port),
            },
        };
        let key = (name, protocol);
        if let Some(&class) = self.index.get(&key) {
            return class;
        }
        let class = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
        self.names.push(key.clone());
        self.index.insert(key, class);
        class
    }

    /// Returns the name of the service, or the port that has none.
    fn by_port(&self, protocol: Protocol, originator: u16, responder: u16) -> Result<&'static str, u16> {
        // The server of FTP opens the data connections, from port 20.
        let is_data = protocol == Protocol::Tcp && originator == 20 && responder != 20;
        let port = if is_data { originator } else { responder };
        service(protocol, port).ok_or(port)
    }

    fn numbered(&mut self, protocol: Protocol, port: u16) -> String {
        let count = self.ports.keys().filter(|(of, _)| *of == protocol).count();
        let is_known = self.ports.contains_key(&(protocol, port));
        if !is_known && (port >= EPHEMERAL || count >= MAX_PORTS) {
            return other(protocol);
        }
        self.ports.insert((protocol, port), ());
        match protocol {
            Protocol::Tcp => format!("tcp-{port}"),
            Protocol::Udp => format!("udp-{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(port: u16) -> Endpoint {
        Endpoint { address: 1, port }
    }

    #[test]
    fn services_have_names_and_few_other_ports_have_numbers() {
        let mut classes = Classes::new(Naming::Port);
        let mut name = |originator, responder, protocol| {
            let class = classes.of(0, protocol, end(originator), end(responder));
            classes.name(class).unwrap().0.clone()
        };
        assert_eq!(name(40_000, 80, Protocol::Tcp), "http");
        assert_eq!(name(40_000, 443, Protocol::Udp), "quic");
        assert_eq!(name(20, 40_000, Protocol::Tcp), "ftp-data");
        assert_eq!(name(1, 40_000, Protocol::Tcp), "other-tcp");
        let numbered = (7_000..7_100).filter(|port| name(9, *port, Protocol::Udp) != "other-udp").count();
        assert_eq!(numbered, MAX_PORTS);
        assert_eq!(name(9, 7_000, Protocol::Udp), "udp-7000");
    }
}
