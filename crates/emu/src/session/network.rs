//! The hosts of a scenario as namespaces with a device each, around its network.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cellway_apps::random::Streams;
use cellway_record::Source;
use cellway_scenario::Scenario;
use cellway_testbed::{Capture, Host, OTHER_KIND, Testbed};
use cellway_units::{Span, Time};
use cellway_wire::ip::protocol;

use super::{Foreground, Here, Reach};
use crate::addresses::{Block, ipv6};
use crate::clock::Clock;
use crate::conversations::{Limits, kind};
use crate::engine::{Behind, Datagram, EmulatedHost, Engine};
use crate::error::Error;
use crate::internet::{DEVICES, Internet, InternetError, Ipv6, Survey};
use crate::pump::{Pump, Watch};
use crate::sys::{Namespace, Prefix, Tun, TunConfig};

/// The device of a host.
const DEVICE: &str = "cell0";
/// The least MTU of IPv6 (RFC 8200, section 5).
const IPV6_MTU: u64 = 1280;

/// A network and its hosts.
pub(crate) struct Network {
    pub(crate) engine: Engine,
    /// The devices of the hosts, then of the gateways, in their order; so are the namespaces.
    pub(crate) tuns: Vec<Tun>,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) names: Names,
    /// The network of this machine behind the path.
    pub(crate) internet: Option<Internet>,
    /// Messages for the reader of the results.
    pub(crate) notes: Vec<String>,
}

/// Names and addresses of the hosts and, behind them, of the gateways.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    hosts: Vec<(String, Ipv4Addr)>,
}

impl Names {
    /// Returns the index of a host.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|(known, _)| known == name)
    }

    pub(crate) fn address(&self, place: usize) -> Ipv4Addr {
        self.hosts[place].1
    }

    /// Returns all names with their addresses.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Ipv4Addr)> {
        self.hosts.iter().map(|(name, address)| (name.as_str(), *address))
    }

    /// Returns the environment of programs: the addresses of the hosts.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.hosts.iter().map(|(name, address)| (cellway_scenario::host_variable(name), address.to_string()))
    }
}

impl Network {
    /// Makes all hosts.
    pub(crate) fn build(scenario: &Scenario, seed: u64, foreground: Option<&Foreground>) -> Result<Network, Error> {
        let mut testbed: Testbed<Datagram> = Testbed::new(scenario, &Streams::new(seed), Source::Emulate)?;
        let notes = check_groups(&mut testbed)?;
        let block = foreground.map_or_else(Block::default, |wanted| wanted.block);
        let here = foreground.and_then(|wanted| wanted.here.as_ref());
        let mut hosts = Vec::new();
        let (mut tuns, mut namespaces, mut names) = (Vec::new(), Vec::new(), Names::default());
        let ends: Vec<&Host> = testbed.hosts().chain(testbed.gateways()).collect();
        let survey = match here {
            Some(Here { reach: Reach::Internet, .. }) => {
                let mtu = ends.iter().map(|host| host.mtu.0).min().unwrap_or_default();
                Some(Survey::here(mtu).map_err(InternetError::from)?)
            }
            _ => None,
        };
        let is_v4_only = survey.as_ref().is_some_and(|survey| survey.ipv6 != Ipv6::Forwarded);
        for (place, host) in ends.iter().enumerate() {
            let address = block.host(place).ok_or(Error::TooManyHosts { hosts: ends.len(), block })?;
            let is_here = here.is_some_and(|here| *here.host == *host.name);
            let namespace = if is_here { Namespace::here()? } else { Namespace::new(&host.name)? };
            if place >= testbed.hosts().len() {
                set_forwarding(&namespace)?;
            }
            let mtu = host.mtu.0.min(u64::from(u16::MAX)) as u32;
            tuns.push(Tun::open(
                &namespace,
                &device(address, mtu, is_here.then_some(block), is_v4_only.then_some(block))
                    .offload(scenario.emulate.offload),
            )?);
            namespaces.push(namespace);
            names.hosts.push((host.name.to_string(), address));
            let behind = match (here, is_here) {
                (Some(_), true) => Behind::Everything,
                _ if foreground.is_some_and(|wanted| *wanted.host == *host.name) => Behind::Block(block),
                _ => Behind::Nothing,
            };
            hosts.push(EmulatedHost::new(&testbed, host, address, behind));
        }
        for (place, gateway) in testbed.gateways().enumerate().map(|(n, gateway)| (testbed.hosts().len() + n, gateway))
        {
            namespaces[place].configure(&routes(&testbed, gateway, &names))?;
        }
        let internet = match (here, foreground, survey) {
            (Some(here), Some(wanted), Some(survey)) => {
                let [far, client] = [&here.host, &wanted.host].map(|host| names.place(host));
                let no_host = |name: &String| Error::NoSuchHost { name: name.clone() };
                let (far, client) =
                    (far.ok_or_else(|| no_host(&here.host))?, client.ok_or_else(|| no_host(&wanted.host))?);
                let ends = [client, far].map(|place| names.address(place));
                Some(Internet::join(&tuns[far], block, ends, survey)?)
            }
            _ => None,
        };
        let engine = Engine::new(testbed, hosts, limits(scenario));
        Ok(Network { engine, tuns, namespaces, names, internet, notes })
    }

    /// Forwards packets while `work` is done, before the time of the run begins: through a network like this one, of
    /// which nothing is recorded.
    pub(crate) fn open_while<T>(
        &mut self,
        scenario: &Scenario,
        seed: u64,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let testbed = Testbed::new(scenario, &Streams::new(seed), Source::Emulate)?;
        let engine = Engine::new(testbed, self.engine.hosts().to_vec(), limits(scenario));
        let tuns = std::mem::take(&mut self.tuns);
        let mut pump = Pump::new(engine, tuns, Clock::start(), scenario.emulate.lateness_limit);
        pump.joins = scenario.emulate.offload;
        let stop = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            stop: stop.clone(),
            end: Time::MAX,
            view: None,
            observed: Arc::default(),
            changes: Arc::default(),
            capture: None,
        };
        let (worked, ended) = std::thread::scope(|scope| {
            let driver = std::thread::Builder::new().name("emulation".to_owned());
            let driver = driver.spawn_scoped(scope, || pump.run(watch)).map_err(Error::Thread)?;
            let worked = work();
            stop.store(true, Ordering::Relaxed);
            Ok::<_, Error>((worked, driver.join().unwrap_or(Err(Error::Driver))))
        })?;
        self.tuns = pump.devices;
        ended?;
        worked
    }

    /// Captures the packets that pass a node.
    pub(crate) fn tap(&mut self, capture: &mut Capture<'_>) -> Result<(), Error> {
        Ok(capture.begin(&mut self.engine.testbed)?)
    }
}

fn limits(scenario: &Scenario) -> Limits {
    Limits {
        conversations: scenario.emulate.conversations as usize,
        idle: scenario.emulate.idle,
        linger: scenario.emulate.idle.min(Span::from_secs(2)),
        ..Limits::default()
    }
}

/// Configures a namespace as a gateway. A gateway forwards packets through the device that they came from, which must
/// cause no redirects; and it answers each packet whose time to live has expired, as the network itself does.
fn set_forwarding(namespace: &Namespace) -> Result<(), Error> {
    for key in ["conf/all/send_redirects", "conf/default/send_redirects", "icmp_ratelimit"] {
        namespace.set(&format!("net/ipv4/{key}"), "0")?;
    }
    Ok(())
}

/// Returns the routes of a gateway to all other hosts, with the MTU of the first segment of each path: its lines
/// differ, and it has one device.
fn routes(testbed: &Testbed<Datagram>, gateway: &Host, names: &Names) -> String {
    let mut lines = String::new();
    let others = testbed.hosts().chain(testbed.gateways()).enumerate();
    for (place, other) in others.filter(|(_, other)| other.node != gateway.node) {
        // A destination without a route is refused when a program tries it.
        let Ok(segments) = testbed.segments([gateway.node, other.node], OTHER_KIND) else { continue };
        let mtu = segments[0].mtu.0;
        let address = names.address(place);
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "route add {address}/32 dev {DEVICE} mtu {mtu}");
        if has_ipv6(mtu) {
            let _ = writeln!(lines, "route add {}/128 dev {DEVICE} mtu {mtu}", ipv6(address));
        }
    }
    lines
}

/// Opens a conversation of each slot and closes them again: contradictions between the services of groups on one
/// channel are refused now, and not when the first packet arrives. Returns the groups whose conversations are assigned
/// to another group, because both are between the same hosts and of one type.
fn check_groups(testbed: &mut Testbed<Datagram>) -> Result<Vec<String>, Error> {
    let mut opened = Vec::new();
    let mut notes = Vec::new();
    for slot in testbed.slots().to_vec() {
        let kind = match slot.tcp() {
            Some(tcp) => kind(protocol::TCP, u16::MAX, tcp.well_known_ports[0]),
            None => kind(protocol::UDP, u16::MAX, slot.datagram_port()),
        };
        let kind = kind.number();
        let segments = testbed.segments(slot.hosts, kind)?;
        for segment in &segments {
            opened.push(testbed.open(Time::ZERO, segment, kind)?);
        }
        // The first segment belongs to the group, whatever gateways do after it.
        if let Some(group) = segments[0].group.filter(|&group| group != slot.group) {
            let name = |group: usize| &testbed.scenario().traffic[group].name;
            let (own, other) = (name(slot.group), name(group));
            let note = format!(
                "conversations of traffic {own:?} get the route, service, shapers and policers of traffic {other:?}: both \
                 are between the same hosts, and their packets do not distinguish them"
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    for hosts in testbed.pairs().iter().map(|pair| pair.hosts).collect::<Vec<_>>() {
        for segment in testbed.segments(hosts, OTHER_KIND)? {
            opened.push(testbed.open(Time::ZERO, &segment, OTHER_KIND)?);
        }
    }
    for conversation in opened {
        // No packet was sent on it.
        testbed.close(conversation);
    }
    Ok(notes)
}

/// Returns true if a line with this MTU can carry IPv6.
pub(super) fn has_ipv6(mtu: u64) -> bool {
    mtu >= IPV6_MTU
}

/// Returns the device of a host: everything is reached through it; from the present namespace only `here`, and over IPv6
/// only `v6` if that is given.
fn device(address: Ipv4Addr, mtu: u32, here: Option<Block>, v6: Option<Block>) -> TunConfig {
    let prefix = |address: IpAddr, length| Prefix { address, length };
    let name = here.map_or(DEVICE.to_owned(), |block| format!("{DEVICES}{:08x}", block.base()));
    let mut config = TunConfig::new(&name, mtu).address(prefix(address.into(), 32));
    if has_ipv6(mtu.into()) {
        config = config.address(prefix(ipv6(address).into(), 128));
    }
    let v4 = here.map_or(prefix(Ipv4Addr::UNSPECIFIED.into(), 0), Block::network);
    let v6 = here.or(v6).map_or(prefix(Ipv6Addr::UNSPECIFIED.into(), 0), Block::ipv6_network);
    config = config.route(v4, None);
    if has_ipv6(mtu.into()) { config.route(v6, None) } else { config }
}
