//! The gateways of a run: daemons, each in the namespace of its node, configured by the scenario.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cellway_gatewayd::{
    Config, Control, Daemon, Handle, Identity, Intercept, Limits, LineRate, Listen, Peer, PeerDown, RateGuard, Snapshot,
};
use cellway_net::{Framing, NodeId};
use cellway_record::Rows;
use cellway_record::metric::gateway as metric;
use cellway_scenario::{NodeIndex, Scenario};
use cellway_testbed::{Host, OTHER_KIND, PathSegment, Testbed};
use cellway_units::Span;
use tempfile::TempDir;

use super::network::{Names, Network};
use crate::addresses::ipv6;
use crate::clock::thread_time;
use crate::engine::Datagram;
use crate::error::Error;
use crate::sys::NamespaceHandle;

/// The port of a gateway, for QUIC and for TLS.
const PORT: u16 = 4433;
/// The time within which gateways must reach each other.
const PATIENCE: Duration = Duration::from_secs(10);
/// The interval of checks.
const TICK: Duration = Duration::from_millis(10);
/// The time after which an unresponsive peer causes resets of its connections: the daemon's default.
const OUTAGE: Span = Span::from_secs(60);

/// The daemons of a run. They end when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Gateways {
    running: Vec<Running>,
}

/// A daemon on its own thread.
#[derive(Debug)]
struct Running {
    name: String,
    handle: Handle,
    /// Returns its processor time.
    thread: Option<JoinHandle<Result<Span, cellway_gatewayd::Error>>>,
}

impl Gateways {
    /// Starts the daemons of all pairs that split connections; none if the scenario does not use them, or no host does.
    pub(crate) fn start(scenario: &Scenario, network: &Network) -> Result<Gateways, Error> {
        let mut gateways = Gateways::default();
        let pairs = if scenario.emulate.gateways { pairs(scenario, network) } else { Vec::new() };
        if pairs.is_empty() {
            return Ok(gateways);
        }
        check_programs()?;
        if !scenario.classes.is_empty() {
            return Err(Error::Classes);
        }
        // Keys of this run alone, read as the daemons start.
        let folder = TempDir::with_prefix("cellway-").map_err(Error::Identity)?;
        for config in configs(scenario, &network.names, &pairs, folder.path())? {
            let place = network.names.place(&config.name).expect("a gateway has a namespace");
            gateways.running.push(Running::start(config, &network.namespaces[place].handle())?);
        }
        Ok(gateways)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Waits until all have reached their peers, and for packets then in flight: `rtt` for a round trip.
    pub(crate) fn wait(&self, rtt: Span) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            let Some((gateway, peer, why)) = self.running.iter().find_map(Running::apart) else {
                std::thread::sleep(Duration::from_secs_f64(rtt.as_secs_f64()));
                return Ok(());
            };
            if begun.elapsed() > PATIENCE || self.running.iter().any(Running::has_ended) {
                return Err(Error::GatewaysApart { gateway, peer, seconds: PATIENCE.as_secs(), why });
            }
            std::thread::sleep(TICK);
        }
    }

    /// Ends them, and adds the counts of each to `rows`.
    pub(crate) fn finish(mut self, notes: &mut Vec<String>, rows: &mut Rows) {
        // First all figures, then the ends: the end of one is a loss for its peer.
        let last: Vec<Option<Snapshot>> = self.running.iter().map(|running| running.handle.snapshot(false)).collect();
        for (mut running, snapshot) in std::mem::take(&mut self.running).into_iter().zip(last) {
            let subject: Arc<str> = running.name.as_str().into();
            match snapshot {
                Some(snapshot) => report(&snapshot, &subject, rows),
                None => notes.push(format!("gateway {:?} did not return its counters", running.name)),
            }
            match running.end() {
                Ok(cpu) => rows.put(&subject, &metric::GATEWAY_CPU, cpu.as_secs_f64()),
                Err(why) => notes.push(format!("gateway {:?} was aborted: {why}", running.name)),
            }
        }
    }
}

impl Running {
    fn start(config: Config, namespace: &NamespaceHandle) -> Result<Running, Error> {
        let name = config.name.clone();
        let failed = |error| Error::Gateway { gateway: name.clone(), source: Box::new(error) };
        let (sender, receiver) = channel();
        // A thread is in the network namespace of the one that starts it.
        let thread = namespace.run(move || {
            std::thread::Builder::new().name("gateway".to_owned()).spawn(move || {
                let made = cellway_gatewayd::apply_rules(&config).and_then(|()| Daemon::new(config));
                let mut daemon = match made {
                    Ok(daemon) => daemon,
                    Err(error) => {
                        // Whoever started it waits for this.
                        let _ = sender.send(Err(error));
                        return Ok(Span::ZERO);
                    }
                };
                let _ = sender.send(Ok(daemon.handle()));
                daemon.run()?;
                Ok(thread_time())
            })
        });
        let thread = Some(thread.map_err(Error::Thread)?);
        let handle = receiver.recv().map_err(|_| Error::Driver)?.map_err(failed)?;
        Ok(Running { name, handle, thread })
    }

    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns a peer that it has not reached, and the reason.
    fn apart(&self) -> Option<(String, String, String)> {
        let Some(snapshot) = self.handle.snapshot(false) else {
            return Some((self.name.clone(), "its peer".to_owned(), "it does not answer".to_owned()));
        };
        let peer = snapshot.peers.into_iter().find(|peer| !peer.up)?;
        Some((self.name.clone(), peer.name, peer.why_down))
    }

    fn end(&mut self) -> Result<Span, String> {
        self.handle.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended.map_err(|error| error.to_string()),
            Some(Err(_)) | None => Err("it panicked".to_owned()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Errors cannot be reported here.
            let _ = self.end();
        }
    }
}

/// Adds the counters of a daemon to the rows of its gateway.
fn report(snapshot: &Snapshot, subject: &Arc<str>, rows: &mut Rows) {
    let sum = |of: fn(&cellway_gatewayd::PeerStatus) -> u64| snapshot.peers.iter().map(of).sum::<u64>() as f64;
    let all = |counts: &std::collections::BTreeMap<String, u64>| counts.values().sum::<u64>() as f64;
    rows.put(subject, &metric::GATEWAY_FLOWS, all(&snapshot.counters.opened));
    rows.put(subject, &metric::GATEWAY_FLOWS_OPEN, sum(|peer| peer.connections + peer.opening));
    rows.put(subject, &metric::GATEWAY_REFUSED, all(&snapshot.counters.refused));
    rows.put(subject, &metric::GATEWAY_SENT, sum(|peer| peer.sent_bytes));
    rows.put(subject, &metric::GATEWAY_RESENT, sum(|peer| peer.resent_bytes));
    rows.put(subject, &metric::GATEWAY_LOST, sum(|peer| peer.packets_lost));
    rows.put(subject, &metric::GATEWAY_LINE, sum(|peer| peer.line_octets));
    rows.put(subject, &metric::GATEWAY_DOWNS, sum(|peer| peer.downs));
}

/// Checks that this computer has the programs that the gateways of a scenario need, besides those of every emulation.
///
/// # Errors
///
/// A program is missing.
pub fn check_gateways(scenario: &Scenario) -> Result<(), Error> {
    let has_gateways = scenario.nodes.iter().any(|node| node.gateway.is_some());
    if has_gateways && scenario.emulate.gateways { check_programs() } else { Ok(()) }
}

fn check_programs() -> Result<(), Error> {
    for (program, package) in [("nft", "nftables"), ("ip", "iproute2")] {
        crate::sys::find_program(program).ok_or(Error::NoProgram { program, package })?;
    }
    Ok(())
}

/// Two gateways between which connections are carried.
struct Pair {
    nodes: [NodeIndex; 2],
    /// The hosts behind each whose connections are split.
    behind: [Vec<IpAddr>; 2],
    /// True if a line between them carries cells.
    atm: bool,
}

/// Returns the pairs that have hosts on both sides whose connections they split.
fn pairs(scenario: &Scenario, network: &Network) -> Vec<Pair> {
    let testbed = &network.engine.testbed;
    let mut pairs = Vec::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        let Some(peer) = node.gateway.as_ref().map(|gateway| gateway.peer).filter(|peer| peer.0 > index) else {
            continue;
        };
        let nodes = [NodeIndex(index), peer];
        let inner = nodes.map(|node| {
            let name = &scenario.nodes[node.0].name;
            testbed.gateways().find(|gateway| *gateway.name == **name).map(|gateway| gateway.node)
        });
        let [Some(a), Some(b)] = inner else { continue };
        let Ok(between) = testbed.segments([a, b], OTHER_KIND) else { continue };
        let carries_cells = |port: &_| testbed.fabric.framing(*port) == Framing::Atm;
        let atm = between.iter().flat_map(PathSegment::there).any(carries_cells);
        let behind = [(a, b), (b, a)].map(|(own, other)| {
            let hosts = testbed.hosts().enumerate();
            let hosts =
                hosts.filter(|(_, host)| is_behind(testbed, host, own, other) && is_split(scenario, testbed, host));
            hosts.flat_map(|(place, host)| network.addresses(place, host)).collect::<Vec<IpAddr>>()
        });
        if behind.iter().all(|hosts| !hosts.is_empty()) {
            pairs.push(Pair { nodes, behind, atm });
        }
    }
    pairs
}

/// Returns true if packets of a host pass the gateway `own` on their path to its peer.
fn is_behind(testbed: &Testbed<Datagram>, host: &Host, own: NodeId, other: NodeId) -> bool {
    let segments = testbed.segments([host.node, other], OTHER_KIND).unwrap_or_default();
    segments.iter().any(|segment| segment.hosts.contains(&own))
}

/// Returns true if connections of a host are split. They are not if all its groups whose path crosses gateways bypass
/// them.
fn is_split(scenario: &Scenario, testbed: &Testbed<Datagram>, host: &Host) -> bool {
    let own = testbed.slots().iter().filter(|slot| slot.hosts.contains(&host.node));
    let crossing = |group: &usize| {
        let traffic = &scenario.traffic[*group];
        let visited = scenario.visited(traffic.from.node(), &traffic.route);
        visited.iter().any(|node| scenario.nodes[node.0].gateway.as_ref().is_some_and(|g| visited.contains(&g.peer)))
    };
    let mut groups = own.map(|slot| slot.group).filter(crossing).peekable();
    groups.peek().is_none() || groups.any(|group| scenario.traffic[group].gateways().is_some())
}

/// Returns the configurations of the daemons.
fn configs(scenario: &Scenario, names: &Names, pairs: &[Pair], folder: &Path) -> Result<Vec<Config>, Error> {
    let ends: Vec<(&Pair, usize)> = pairs.iter().flat_map(|pair| [(pair, 0), (pair, 1)]).collect();
    let name = |node: NodeIndex| scenario.nodes[node.0].name.clone();
    let all: Vec<String> = ends.iter().map(|(pair, which)| name(pair.nodes[*which])).collect();
    let identities = cellway_gatewayd::make_identities(folder, &all).map_err(Error::Identity)?;
    let config = |((pair, which), identity): ((&Pair, usize), Identity)| {
        let spec = scenario.nodes[pair.nodes[which].0].gateway.as_ref().expect("a checked gateway says what it is");
        let [own, other] = [which, 1 - which].map(|which| name(pair.nodes[which]));
        let address = |name: &str| names.address(names.place(name).expect("a gateway has an address"));
        let prefixes = |which: usize| pair.behind[which].iter().map(|&address| address.into()).collect();
        let peer = Peer {
            address: Some(format!("{}:{PORT}", address(&other))),
            prefixes: prefixes(1 - which),
            rate: LineRate::Fixed { rate: spec.rate, atm: pair.atm },
            // A simulated gateway keeps its rate.
            rate_guard: RateGuard::Off,
            classes: cellway_gatewayd::Classes::default(),
            transport: scenario.emulate.gateway.transport,
            connect: scenario.emulate.gateway.connect,
            down: PeerDown::Direct,
            outage: OUTAGE,
            name: other,
        };
        Config {
            identity,
            listen: Some(Listen { address: (address(&own), PORT).into() }),
            local: prefixes(which),
            peers: vec![peer],
            intercept: Some(Intercept::default()),
            forwards: Vec::new(),
            socks: None,
            limits: Limits { window: Some(spec.window), memory: spec.total_buffer, ..Limits::default() },
            control: Control::default(),
            name: own,
        }
    };
    Ok(ends.into_iter().zip(identities).map(config).collect())
}

impl Network {
    /// Returns all addresses of a host.
    fn addresses(&self, place: usize, host: &Host) -> impl Iterator<Item = IpAddr> + use<> {
        let v4 = self.names.address(place);
        let v6 = super::network::has_ipv6(host.mtu.0).then(|| IpAddr::V6(ipv6(v4)));
        [Some(IpAddr::V4(v4)), v6].into_iter().flatten()
    }
}
