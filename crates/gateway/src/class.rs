//! Classes of flows: the flows of each, and its share of the rate.

use std::num::NonZeroU16;
use std::ops::RangeInclusive;
use std::sync::Arc;

use cellway_units::{Bits, Rate, Span};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::request::{Request, Server};

/// Most classes of a gateway, the one of all other flows included.
pub const MAX_CLASSES: usize = 64;
/// The name of the class of all other flows, unless one is configured.
pub const DEFAULT_CLASS: &str = "default";

/// A class of flows. The classes that have data to send divide the rate in proportion to their shares (deficit round
/// robin), and the flows of a class divide its part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Its name, unique among the classes of a gateway.
    pub name: Arc<str>,
    /// Networks of clients; if empty, any client, and flows without the address of one.
    pub clients: Vec<IpNet>,
    /// Ports of servers; any if empty.
    pub ports: Vec<RangeInclusive<u16>>,
    /// Its weight relative to the other classes.
    pub share: NonZeroU16,
    /// The highest rate at which it sends, counted as the configuration's `wire` says; it applies also if the others
    /// send nothing.
    pub ceiling: Option<Rate>,
}

impl Class {
    /// Creates a class of all flows, with the share 1 and without a ceiling.
    pub fn new(name: &str) -> Class {
        Class { name: name.into(), clients: Vec::new(), ports: Vec::new(), share: NonZeroU16::MIN, ceiling: None }
    }
    /// Returns true if it matches every flow.
    pub fn takes_all(&self) -> bool {
        self.clients.is_empty() && self.ports.is_empty()
    }
    fn takes(&self, request: &Request) -> bool {
        let client = request.client.map(|address| address.ip().to_canonical());
        let port = match &request.server {
            Server::Address(address) => address.port(),
            Server::Name(_, port) => *port,
        };
        (self.clients.is_empty() || client.is_some_and(|ip| self.clients.iter().any(|net| net.contains(&ip))))
            && (self.ports.is_empty() || self.ports.iter().any(|ports| ports.contains(&port)))
    }
}

/// The classes of a gateway in the order in which a flow is compared with them. The last one matches every flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Class>")]
pub struct Classes(Vec<Class>);

impl TryFrom<Vec<Class>> for Classes {
    type Error = ClassError;

    fn try_from(classes: Vec<Class>) -> Result<Classes, ClassError> {
        Classes::new(classes)
    }
}

/// A set of classes that is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClassError {
    /// More than [`MAX_CLASSES`].
    #[error("there are {count} classes, with that of all other connections; at most {MAX_CLASSES} are possible")]
    TooMany {
        /// The number of classes.
        count: usize,
    },
    /// Two classes have one name.
    #[error("there are two classes \"{name}\"; each needs a name of its own")]
    Name {
        /// The name.
        name: Arc<str>,
    },
    /// Two classes match every flow.
    #[error("the classes \"{first}\" and \"{second}\" both take every connection; at most one can")]
    TwoOfAll {
        /// The name of the first one.
        first: Arc<str>,
        /// The name of the second one.
        second: Arc<str>,
    },
    /// A class with the ceiling 0 could send nothing.
    #[error("the ceiling of class \"{name}\" is 0 bit/s; it must be more")]
    Ceiling {
        /// The name of the class.
        name: Arc<str>,
    },
}

impl Default for Classes {
    /// Creates one class of all flows.
    fn default() -> Classes {
        Classes(vec![Class::new(DEFAULT_CLASS)])
    }
}

impl Classes {
    /// Creates the classes of a gateway: a flow is in the first that matches it. A class that matches all flows is
    /// compared last; if there is none, [`Class::new`] is added under the name [`DEFAULT_CLASS`].
    pub fn new(mut classes: Vec<Class>) -> Result<Classes, ClassError> {
        let mut all = classes.iter().filter(|class| class.takes_all());
        if let (Some(first), Some(second)) = (all.next(), all.next()) {
            return Err(ClassError::TwoOfAll { first: first.name.clone(), second: second.name.clone() });
        }
        let last = classes.iter().position(Class::takes_all);
        let last = last.map_or_else(|| Class::new(DEFAULT_CLASS), |place| classes.remove(place));
        classes.push(last);
        if classes.len() > MAX_CLASSES {
            return Err(ClassError::TooMany { count: classes.len() });
        }
        for (place, Class { name, ceiling, .. }) in classes.iter().enumerate() {
            if classes[..place].iter().any(|other| other.name == *name) {
                return Err(ClassError::Name { name: name.clone() });
            }
            if ceiling.is_some_and(|ceiling| ceiling.as_bps() == 0) {
                return Err(ClassError::Ceiling { name: name.clone() });
            }
        }
        Ok(Classes(classes))
    }
    /// Returns the classes, that of all other flows last.
    pub fn as_slice(&self) -> &[Class] {
        &self.0
    }
    /// Returns the class of a flow.
    pub(crate) fn of(&self, request: &Request) -> ClassId {
        let last = self.0.len() - 1;
        ClassId(self.0[..last].iter().position(|class| class.takes(request)).unwrap_or(last))
    }
}

/// The index of a class among those of its gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClassId(pub(crate) usize);

/// The counters of one class, of the data frames that a gateway sends to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassStats {
    /// Flows that have not ended.
    pub flows: u64,
    /// Data frames sent.
    pub frames: u64,
    /// Bytes of flows in them, each time they were sent.
    pub data_bytes: u64,
    /// The bits of these frames on the link, counted as the configuration's `wire` says: each with the headers of a
    /// packet of its own, without the acknowledgements and control frames in that packet.
    pub line: Bits,
    /// The time in which it had data to send and its ceiling allowed none.
    pub at_ceiling: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(client: Option<&str>, server: Server) -> Request {
        Request { client: client.map(|client| client.parse().unwrap()), server, early: false }
    }
    fn port(port: u16) -> Server {
        Server::Address(([192, 0, 2, 1], port).into())
    }

    #[test]
    fn a_flow_is_in_the_first_class_that_matches_it() {
        let net = |net: &str| vec![net.parse().unwrap()];
        let classes = Classes::new(vec![
            Class::new("rest"),
            Class { clients: net("10.1.0.0/16"), ports: vec![80..=80, 8000..=8099], ..Class::new("web of a") },
            Class { clients: net("10.0.0.0/8"), ..Class::new("ten") },
            Class { ports: vec![80..=80], ..Class::new("web") },
        ]);
        let classes = classes.unwrap();
        let of = |client, server| &*classes.as_slice()[classes.of(&request(client, server)).0].name;
        assert_eq!(of(Some("10.1.2.3:9"), port(80)), "web of a");
        assert_eq!(of(Some("10.1.2.3:9"), port(8099)), "web of a");
        assert_eq!(of(Some("10.1.2.3:9"), port(8100)), "ten");
        assert_eq!(of(Some("[::ffff:10.2.3.4]:9"), port(80)), "ten");
        assert_eq!(of(None, port(80)), "web", "no address is in no network");
        assert_eq!(of(None, Server::Name("host".into(), 80)), "web");
        assert_eq!(of(Some("192.0.2.9:9"), port(443)), "rest");
        assert_eq!(Classes::default().of(&Request::UNNAMED), ClassId(0));
    }

    #[test]
    fn classes_are_checked_where_they_are_read() {
        let read = |classes: &[Class]| {
            let mut bytes = Vec::new();
            ciborium::into_writer(classes, &mut bytes).unwrap();
            ciborium::from_reader::<Classes, _>(&bytes[..]).map_err(|error| error.to_string())
        };
        let web = Class { ports: vec![80..=80], ..Class::new("web") };
        let classes = Classes::new(vec![web.clone()]).unwrap();
        assert_eq!(read(classes.as_slice()), Ok(classes.clone()));
        assert_eq!(read(std::slice::from_ref(&web)), Ok(classes), "that of all other flows is added");
        assert_eq!(read(&[]), Ok(Classes::default()));
        let twice = read(&[web.clone(), web]).unwrap_err();
        assert!(twice.contains("there are two classes"), "{twice}");
    }

    #[test]
    fn classes_that_make_no_sense_are_refused() {
        let refused = |classes| Classes::new(classes).unwrap_err().to_string();
        let web = |name: &str| Class { ports: vec![80..=80], ..Class::new(name) };
        assert_eq!(refused(vec![web("a"), web("a")]), "there are two classes \"a\"; each needs a name of its own");
        assert_eq!(
            refused(vec![web("default")]),
            "there are two classes \"default\"; each needs a name of its own",
            "that of all other flows has this name"
        );
        assert_eq!(
            refused(vec![Class::new("a"), Class::new("b")]),
            "the classes \"a\" and \"b\" both take every connection; at most one can"
        );
        let stopped = Class { ceiling: Some(Rate::from_bps(0)), ..web("a") };
        assert_eq!(refused(vec![stopped]), "the ceiling of class \"a\" is 0 bit/s; it must be more");
        let many = |n: usize| (0..n).map(|n| web(&n.to_string())).collect::<Vec<_>>();
        assert!(Classes::new(many(MAX_CLASSES - 1)).is_ok());
        assert_eq!(
            refused(many(MAX_CLASSES)),
            "there are 65 classes, with that of all other connections; at most 64 are possible"
        );
    }
}
