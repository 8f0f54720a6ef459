//! The hosts of a scenario as namespaces with a device each, around its network.

use std::net::{IpAddr, Ipv4Addr};

use cellway_apps::random::Streams;
use cellway_scenario::Scenario;
use cellway_testbed::{Capture, Testbed};
use cellway_units::{Span, Time};
use cellway_wire::ip::protocol;

use super::Foreground;
use crate::addresses::{Block, ipv6};
use crate::conversations::{Limits, kind};
use crate::engine::{Behind, Datagram, EmulatedHost, Engine};
use crate::error::Error;
use crate::sys::{Namespace, Prefix, Tun, TunConfig};

/// The device of a host.
const DEVICE: &str = "cell0";
/// The least MTU of IPv6 (RFC 8200, section 5).
const IPV6_MTU: u64 = 1280;

/// A network and its hosts.
pub(crate) struct Network {
    pub(crate) engine: Engine,
    /// The devices of the hosts, in their order.
    pub(crate) tuns: Vec<Tun>,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) names: Names,
    /// What a reader must know of it.
    pub(crate) notes: Vec<String>,
}

/// Names and addresses of the hosts, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    hosts: Vec<(String, Ipv4Addr)>,
}

impl Names {
    /// The place of a host.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|(known, _)| known == name)
    }

    pub(crate) fn address(&self, place: usize) -> Ipv4Addr {
        self.hosts[place].1
    }

    /// The environment of programs: where each host is.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.hosts.iter().map(|(name, address)| (cellway_scenario::host_variable(name), address.to_string()))
    }
}

impl Network {
    /// Makes all hosts.
    pub(crate) fn build(scenario: &Scenario, seed: u64, foreground: Option<&Foreground>) -> Result<Network, Error> {
        let mut testbed: Testbed<Datagram> = Testbed::new(scenario, &Streams::new(seed))?;
        testbed.refuse_gateways()?;
        let notes = check_groups(&mut testbed)?;
        let block = foreground.map_or_else(Block::default, |wanted| wanted.block);
        let here = foreground.and_then(|wanted| wanted.here.as_deref());
        let mut hosts = Vec::new();
        let (mut tuns, mut namespaces, mut names) = (Vec::new(), Vec::new(), Names::default());
        for (place, host) in testbed.hosts().iter().enumerate() {
            let address = block.host(place).ok_or(Error::TooManyHosts { hosts: testbed.hosts().len(), block })?;
            let is_here = here == Some(host.name.as_str());
            let namespace = if is_here { Namespace::here()? } else { Namespace::new(&host.name)? };
            let mtu = host.mtu.0.min(u64::from(u16::MAX)) as u32;
            tuns.push(Tun::open(&namespace, &device(address, mtu, is_here.then_some(block)))?);
            namespaces.push(namespace);
            names.hosts.push((host.name.clone(), address));
            let behind = match (here, is_here) {
                (Some(_), true) => Behind::Everything,
                _ if foreground.is_some_and(|wanted| wanted.host == host.name) => Behind::Block(block),
                _ => Behind::Nothing,
            };
            hosts.push(EmulatedHost::new(&testbed, host, address, behind));
        }
        let limits = Limits {
            conversations: scenario.emulate.conversations as usize,
            idle: scenario.emulate.idle,
            linger: scenario.emulate.idle.min(Span::from_secs(2)),
            ..Limits::default()
        };
        let engine = Engine::new(testbed, hosts, limits);
        Ok(Network { engine, tuns, namespaces, names, notes })
    }

    /// Captures what passes a node.
    pub(crate) fn tap(&mut self, capture: &mut Capture<'_>) -> Result<(), Error> {
        Ok(capture.begin(&mut self.engine.testbed)?)
    }
}

/// Opens a conversation of each slot and closes them again: what the services of groups on one channel contradict in is
/// refused now, and not when the packet comes that shows it. Returns the groups whose conversations are taken for
/// another group's, because both are between the same hosts and of one type.
fn check_groups(testbed: &mut Testbed<Datagram>) -> Result<Vec<String>, Error> {
    let mut opened = Vec::new();
    let mut notes = Vec::new();
    for slot in testbed.slots().to_vec() {
        let [first, _] = slot.well_known_ports;
        let kind = kind(protocol::TCP, u16::MAX, first).number();
        let way = testbed.way(slot.hosts, kind)?;
        opened.push(testbed.open(Time::ZERO, &way, kind)?);
        if let Some(group) = way.group.filter(|&group| group != slot.group) {
            let name = |group: usize| &testbed.scenario().traffic[group].name;
            let (own, other) = (name(slot.group), name(group));
            let note = format!(
                "conversations of traffic {own:?} get the route, service, shapers and policers of traffic {other:?}: both \
                 are between the same hosts, and their packets do not tell them apart"
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    for conversation in opened {
        // Nothing was sent on it.
        testbed.close(conversation);
    }
    Ok(notes)
}

/// The device of a host: everything is reached through it; from the present namespace only `block`.
fn device(address: Ipv4Addr, mtu: u32, block: Option<Block>) -> TunConfig {
    let prefix = |address: IpAddr, length| Prefix { address, length };
    let name = block.map_or(DEVICE.to_owned(), |block| format!("cw{:08x}", block.base()));
    let mut config = TunConfig::new(&name, mtu).address(prefix(address.into(), 32));
    let has_ipv6 = u64::from(mtu) >= IPV6_MTU;
    if has_ipv6 {
        config = config.address(prefix(ipv6(address).into(), 128));
    }
    let (v4, v6) = match block {
        Some(block) => (block.network(), block.ipv6_network()),
        None => (prefix(Ipv4Addr::UNSPECIFIED.into(), 0), prefix(std::net::Ipv6Addr::UNSPECIFIED.into(), 0)),
    };
    config = config.route(v4, None);
    if has_ipv6 { config.route(v6, None) } else { config }
}
