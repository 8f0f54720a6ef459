//! Transport stacks of others, which drive traffic groups in place of the built-in TCP.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use cellway_apps::Family;
use cellway_units::{Ecn, Time};

/// One host's end of a transport stack, without I/O, and the application above it.
///
/// The simulation calls [`Stack::wake`] at the start of the flow and at each [`Stack::deadline`], and
/// [`Stack::receive`] for each datagram that arrives. After each of these calls it calls [`Stack::transmit`] until that
/// returns `None`, and then asks for the next deadline. All times are those of the simulated clock: an implementation
/// that reads another clock, or draws random numbers from another source than [`Setup::seed`], makes runs that cannot
/// be repeated.
pub trait Stack {
    /// Processes a datagram that has arrived; `ecn` is the ECN field of its IP header.
    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn);

    /// Writes the next datagram to send into `buffer`, which is empty. Returns the ECN field of its IP header, or
    /// `None` if there is nothing to send now.
    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Ecn>;

    /// Returns the time at which [`Stack::wake`] must be called next, if any. One that has passed means now.
    fn deadline(&mut self) -> Option<Time>;

    /// Processes the start of the flow, or all timers that are due.
    fn wake(&mut self, now: Time);

    /// Returns the bytes that this end has delivered to its application, in order, since the start. Never decreases.
    fn delivered(&self) -> u64;

    /// Returns the packets or segments that this end has sent again since the start, if it counts them.
    fn retransmissions(&self) -> Option<u64> {
        None
    }

    /// Returns the reason for which this end cannot go on; it ends the run.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// The protocol that carries the datagrams of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A datagram is the payload of UDP. Packets get an IP and a UDP header.
    Udp,
    /// A datagram is the payload of IP, such as a TCP segment with its header. Packets get an IP header.
    Ip {
        /// The protocol number in the IP header: 6 for TCP.
        protocol: u8,
    },
}

impl Payload {
    /// Returns the octets of the headers before a datagram.
    pub const fn headers(self, family: Family) -> u64 {
        match self {
            Payload::Udp => family.udp_headers(),
            Payload::Ip { .. } => family.ip_header(),
        }
    }
}

/// The properties of a flow whose two ends a factory creates.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The name of the flow: that of its traffic group and its number, from 1, such as `quic-1`.
    pub name: &'a str,
    /// The instant at which the flow starts.
    pub start: Time,
    /// The version of IP.
    pub family: Family,
    /// The addresses of the originator and the responder; captures show them.
    pub addresses: [IpAddr; 2],
    /// The octets of the longest datagram that every link of the path takes.
    pub max_datagram: usize,
    /// Random octets, a function of the run's seed and the flow's name.
    pub seed: [u8; 32],
}

/// The two ends of a flow, originator and responder; or the reason for which there are none.
pub type Ends = Result<[Box<dyn Stack>; 2], String>;

/// Creates the two ends of each flow of a group.
pub(crate) type Factory = Arc<dyn Fn(&Setup<'_>) -> Ends + Send + Sync>;

/// The traffic groups that stacks of others drive, by name.
#[derive(Clone, Default)]
pub struct Stacks {
    groups: BTreeMap<String, (Payload, Factory)>,
}

impl Stacks {
    /// Creates an empty table: the built-in TCP drives all groups.
    pub fn new() -> Stacks {
        Stacks::default()
    }

    /// Adds the stack of the traffic group `group`, in place of an earlier one. `factory` creates the two ends of each
    /// flow of the group, at the instant at which it starts.
    #[must_use]
    pub fn with(
        mut self,
        group: &str,
        payload: Payload,
        factory: impl Fn(&Setup<'_>) -> Ends + Send + Sync + 'static,
    ) -> Stacks {
        self.groups.insert(group.to_owned(), (payload, Arc::new(factory)));
        self
    }

    /// Returns the names of the groups.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// Returns the entry of a group.
    pub(crate) fn get(&self, group: &str) -> Option<(Payload, Factory)> {
        self.groups.get(group).cloned()
    }
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
