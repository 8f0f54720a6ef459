//! The hosts of an emulation: their addresses and their place in the network.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Index;

use cellway_net::{Framing, NodeId, PortId};
use cellway_testbed::{Host, Testbed};
use cellway_units::CELL_PAYLOAD_OCTETS;

use crate::addresses::{Block, ipv6};

/// The place of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HostIndex(pub(crate) usize);

/// A host at the edge of the network.
#[derive(Clone, Debug)]
pub(crate) struct EmulatedHost {
    pub(crate) name: String,
    pub(crate) node: NodeId,
    /// Its IPv4 address; the IPv6 address follows from it.
    pub(crate) address: Ipv4Addr,
    /// The first port of its packets, and the octets of each unit that waits there: a cell's payload or a packet.
    pub(crate) line: PortId,
    pub(crate) unit_octets: u64,
    /// Other addresses that are behind it.
    pub(crate) behind: Behind,
    /// It forwards packets of others.
    pub(crate) is_gateway: bool,
}

impl EmulatedHost {
    /// Creates a host of `testbed` with an address.
    pub(crate) fn new<B: Clone>(testbed: &Testbed<B>, host: &Host, address: Ipv4Addr, behind: Behind) -> EmulatedHost {
        let unit_octets = match testbed.fabric.framing(host.line) {
            Framing::Atm => CELL_PAYLOAD_OCTETS,
            _ => host.mtu.0,
        };
        let is_gateway = testbed.gateways().any(|gateway| gateway.node == host.node);
        EmulatedHost {
            name: host.name.to_string(),
            node: host.node,
            address,
            line: host.line,
            unit_octets,
            behind,
            is_gateway,
        }
    }
}

/// The addresses behind a host, besides its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    Nothing,
    /// Paths inside this path.
    Block(Block),
    /// All other addresses.
    Everything,
}

/// All hosts, and the index of their addresses.
#[derive(Debug)]
pub(crate) struct Hosts {
    hosts: Vec<EmulatedHost>,
    by_address: BTreeMap<IpAddr, HostIndex>,
    by_node: BTreeMap<NodeId, HostIndex>,
}

impl Hosts {
    pub(crate) fn new(hosts: Vec<EmulatedHost>) -> Hosts {
        let mut by_address = BTreeMap::new();
        let mut by_node = BTreeMap::new();
        for (place, host) in hosts.iter().enumerate() {
            by_address.insert(IpAddr::V4(host.address), HostIndex(place));
            by_address.insert(IpAddr::V6(ipv6(host.address)), HostIndex(place));
            by_node.insert(host.node, HostIndex(place));
        }
        Hosts { hosts, by_address, by_node }
    }

    pub(crate) fn all(&self) -> &[EmulatedHost] {
        &self.hosts
    }

    pub(crate) fn of_node(&self, node: NodeId) -> Option<HostIndex> {
        self.by_node.get(&node).copied()
    }

    /// Returns the destination host of a packet of `from` to `address`.
    pub(crate) fn at(&self, from: HostIndex, address: IpAddr) -> Option<HostIndex> {
        let found = self.by_address.get(&address).copied().or_else(|| self.behind(address));
        found.filter(|&host| host != from)
    }

    fn behind(&self, address: IpAddr) -> Option<HostIndex> {
        let place = |found: &dyn Fn(&EmulatedHost) -> bool| self.hosts.iter().position(found).map(HostIndex);
        let inside = |host: &EmulatedHost| matches!(host.behind, Behind::Block(block) if block.contains(address));
        place(&inside).or_else(|| place(&|host| host.behind == Behind::Everything))
    }

    /// Returns the source address of packets of the network itself: the dummy of a router that has none (RFC 7600,
    /// section 4.8), or its counterpart in IPv6.
    pub(crate) fn router(&self, v4: bool) -> IpAddr {
        let dummy = Ipv4Addr::new(192, 0, 0, 8);
        if v4 { dummy.into() } else { ipv6(dummy).into() }
    }
}

impl Index<HostIndex> for Hosts {
    type Output = EmulatedHost;

    fn index(&self, at: HostIndex) -> &EmulatedHost {
        &self.hosts[at.0]
    }
}
