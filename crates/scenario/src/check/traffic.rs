//! Traffic groups: who talks, from where to where.

use std::collections::BTreeSet;

use cellway_spec::Family;
use cellway_units::{Rate, Span};

use crate::check::Check;
use crate::check::crossing::Path;
use crate::check::framing::access;
use crate::check::names::Names;
use crate::check::network::Network;
use crate::check::tcp::Layers;
use crate::check::timeline::direction;
use crate::file::{NodeFile, TrafficFile};
use crate::model::{
    Access, App, Attachment, Framing, Multiplexing, NodeKind, Protocol, Run, TcpKeys, TcpTraffic, Traffic,
};
use crate::quantity::RttSpan;
use crate::route;
use crate::tree::at;

/// Channel numbers that a link has: 16 bits of VCI, of which 0 to 31 are reserved. ITU-T I.361.
const MAX_CHANNELS: u64 = 65_535 - 31;

/// A group whose start still waits for the round trip.
pub(super) struct Group {
    pub(super) traffic: Traffic,
    start: Option<RttSpan>,
    stagger: Option<RttSpan>,
    jitter: Option<RttSpan>,
}

/// Returns the rate and the framing of each link of a path when the run starts, in the direction of the path.
fn lines(path: &Path, network: &Network) -> impl Iterator<Item = (Rate, Framing)> + Clone {
    path.route.iter().zip(&path.nodes).map(|(place, from)| {
        let link = &network.links[place.0];
        (network.rates[place.0][direction(link, *from)], link.framing)
    })
}

impl Check<'_> {
    pub(super) fn traffic(
        &mut self,
        groups: &[TrafficFile],
        defaults: &TcpKeys,
        nodes: &[NodeFile],
        network: Option<&Network>,
    ) -> Option<Vec<Group>> {
        let names = groups
            .iter()
            .enumerate()
            .map(|(i, group)| self.name(&at!["traffic", i, "name"], group.name.as_deref()).map(str::to_owned));
        let names = Names::new(names.collect());
        self.unique("traffic", &names, "a name of its own");
        self.slot_names(&names, groups.len());
        let switches: BTreeSet<&str> = nodes
            .iter()
            .filter(|node| node.kind == Some(NodeKind::Switch))
            .filter_map(|node| node.name.as_deref())
            .collect();
        let checked: Vec<Option<Group>> = groups
            .iter()
            .enumerate()
            .map(|(i, group)| {
                let ends = [&group.from, &group.to];
                let at_switch = ends.into_iter().flatten().any(|name| switches.contains(name.as_str()));
                let access = match group.access.as_ref() {
                    Some(Some(file)) => access(file, at_switch).map(Some),
                    Some(None) => Some(None),
                    None => None,
                };
                let host = self.host(&at!["traffic", i, "host"], group.host);
                let path = network.and_then(|network| self.path(i, group, access.flatten(), network));
                if let (Some(family), Some(path)) = (group.family, &path) {
                    self.family_fits(i, family, path);
                }
                let protocol = match &group.udp {
                    Some(Some(udp)) => {
                        self.only_keys_of_udp(i);
                        self.udp(i, udp, group.family?, path.as_ref()).map(Protocol::Udp)
                    }
                    Some(None) => {
                        let family = group.family?;
                        let layers = || Layers::of_group(i, group.tcp.flatten().as_ref(), defaults, family);
                        self.conversations(i, group, &layers, path.as_ref(), nodes)
                    }
                    None => None,
                };
                let (network, path) = (network?, path?);
                self.access_fits(i, &path, access?, network);
                self.host_fits(i, group, &path);
                let service = self.service(i, group.service.as_ref(), &path, network);
                let bottleneck = route::bottleneck(lines(&path, network), access?)?;
                let traffic = Traffic {
                    name: names.get(i)?.to_owned(),
                    protocol: protocol?,
                    count: group.count?,
                    from: path.ends[0],
                    to: path.ends[1],
                    access: access?,
                    host: host?,
                    start: Span::ZERO,
                    stagger: Span::ZERO,
                    jitter: Span::ZERO,
                    dscp: group.dscp?,
                    service: service?,
                    bottleneck: bottleneck.0,
                    bottleneck_framing: bottleneck.1,
                    mtu: path.mtu(),
                    route: path.route,
                };
                if let Some(pcr) = traffic.service.pcr() {
                    self.within_source_line(&at!["traffic", i, "service", "pcr"], pcr, &traffic, network);
                }
                Some(Group { traffic, start: group.start, stagger: group.stagger, jitter: group.jitter })
            })
            .collect();
        checked.into_iter().collect()
    }

    /// Returns the conversations of a group over TCP; `path` is absent if it is not known.
    fn conversations(
        &mut self,
        i: usize,
        group: &TrafficFile,
        layers: &dyn Fn() -> Layers,
        path: Option<&Path>,
        nodes: &[NodeFile],
    ) -> Option<Protocol> {
        if group.app == Some(None) && matches!(group.flows, Some(None)) {
            let accepted =
                "an application over TCP, like app = \"bulk\", or udp = { packet = \"200 B\", rate = \"80 kbit/s\" }";
            self.refuse(&at!["traffic", i, "app"], "is missing", accepted);
        }
        let app = match group.flows.as_ref()? {
            Some(flows) => self.flows(i, group.app.as_ref()?.as_ref(), flows).map(App::Flows),
            None => self.app(i, group),
        };
        let tcp = self.tcp(&layers(), path.map(Path::mtu));
        let (tcp, path) = (tcp?, path?);
        let gateway_tcp = self.split(layers, tcp, path, nodes);
        let gateways = path.gateways();
        // Those that arrive by themselves are one conversation for the slot, which ends when no more arrive.
        let repeat = group.repeat? && !app.as_ref().is_some_and(App::arrives_by_itself);
        let traffic = TcpTraffic { app: app?, family: group.family?, repeat, tcp, gateways, gateway_tcp: gateway_tcp? };
        Some(Protocol::Tcp(Box::new(traffic)))
    }

    /// Slots and groups stand side by side in results: "ftp-1" must mean one of them only.
    fn slot_names(&mut self, names: &Names, groups: usize) {
        for i in 0..groups {
            let Some(name) = names.get(i) else { continue };
            if let Some(meaning) = reserved(name) {
                let message = format!("{name:?} means {meaning} in results");
                self.refuse(&at!["traffic", i, "name"], message, "another name");
            }
            let Some((group, number)) = name.rsplit_once('-') else { continue };
            let is_slot = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
            if is_slot && names.place(group).is_some() {
                let message = format!("{name:?} could also be a conversation of the group {group:?}");
                let accepted = "a name that is not the name of another group followed by - and a number";
                self.refuse(&at!["traffic", i, "name"], message, accepted);
            }
        }
    }

    fn access_fits(&mut self, i: usize, path: &Path, access: Option<Access>, network: &Network) {
        let at = at!["traffic", i, "access"];
        match access {
            None if path.implicit() => {
                let kind = path.ends.iter().find(|end| matches!(end, Attachment::Router(_)));
                let kind = kind.map_or("router".to_owned(), |end| told(network.nodes[end.node().0].kind));
                let message =
                    format!("is missing: from or to is a {kind}, so each conversation has hosts of its own there");
                self.refuse(&at, message, "access = { rate = \"10 Mbit/s\", delay = \"0 s\" }, with your values");
            }
            Some(_) if !path.implicit() => {
                let message = "has no use: both ends are hosts, which have links of their own";
                self.refuse(&at, message, "no access here");
            }
            Some(access) if access.framing != Framing::Atm => {
                let switch = path.ends.iter().find(|end| network.nodes[end.node().0].kind == NodeKind::Switch);
                if let Some(switch) = switch {
                    let name = &network.nodes[switch.node().0].name;
                    let message = format!("is a link for packets at {name:?}, a switch, which forwards cells");
                    self.refuse(&at, message, "a line for cells like rate = \"oc3c\", or framing = \"atm\"");
                }
            }
            _ => {}
        }
    }

    /// Refuses links that take smaller packets than every link of the version of IP must.
    fn family_fits(&mut self, i: usize, family: Family, path: &Path) {
        if let Some((link, mtu)) = path.narrowest()
            && family == Family::Ipv6
            && mtu.0 < family.least_mtu()
        {
            let message =
                format!("\"ipv6\" needs links that take {} B; {link} takes {} B (mtu)", family.least_mtu(), mtu.0);
            self.refuse(&at!["traffic", i, "family"], message, "\"ipv4\", or a larger mtu there");
        }
    }

    fn host_fits(&mut self, i: usize, group: &TrafficFile, path: &Path) {
        if matches!(group.host, Some(Some(_))) && !path.implicit() {
            let message = "has no use: both ends are hosts of the file, which have costs of their own";
            self.refuse(&at!["traffic", i, "host"], message, "no host here, but at the nodes");
        }
    }

    pub(super) fn resolve_starts(
        &mut self,
        groups: Vec<Group>,
        rtt: Option<Span>,
        run: Option<&Run>,
    ) -> Option<Vec<Traffic>> {
        let checked: Vec<Option<Traffic>> = groups
            .into_iter()
            .enumerate()
            .map(|(i, group)| {
                let start = self.span(&at!["traffic", i, "start"], group.start, rtt);
                let stagger = self.span(&at!["traffic", i, "stagger"], group.stagger, rtt);
                let jitter = self.span(&at!["traffic", i, "jitter"], group.jitter, rtt);
                let traffic = Traffic { start: start?, stagger: stagger?, jitter: jitter?, ..group.traffic };
                if let Some(run) = run {
                    self.starts_within(i, &traffic, run.duration);
                }
                Some(traffic)
            })
            .collect();
        checked.into_iter().collect()
    }

    /// A slot that never starts is not what anybody means.
    fn starts_within(&mut self, i: usize, traffic: &Traffic, duration: Span) {
        let last = traffic.count.max(1);
        let [first_start, last_start] = [1, last].map(|slot| traffic.slot_start(slot));
        let (key, slot, start) = match (traffic.start >= duration, last_start >= duration) {
            (true, _) => ("start", 1, first_start),
            (_, true) => ("stagger", last, last_start),
            // Drawn below the jitter, so that equal is still within.
            _ => ("jitter", last, last_start + traffic.jitter),
        };
        if start > duration || key != "jitter" {
            let could = if key == "jitter" { "could" } else { "would" };
            let message = format!("{} {could} start at {start}, the run ends at {duration}", traffic.slot(slot));
            self.refuse(&at!["traffic", i, key], message, "a start within run.duration");
        }
    }

    /// Checks that every conversation can have its channel.
    pub(super) fn channels(&mut self, policy: Multiplexing, traffic: Option<&[Traffic]>) {
        let Some(traffic) = traffic else { return };
        let conversations: u64 = traffic.iter().map(|t| u64::from(t.count)).sum();
        if policy == Multiplexing::PerConversation && conversations > MAX_CHANNELS {
            let largest = (0..traffic.len()).max_by_key(|&i| (traffic[i].count, usize::MAX - i)).unwrap_or(0);
            let message = format!("{conversations} conversations need as many channels; a link has {MAX_CHANNELS}");
            let accepted = "fewer conversations, or another multiplexing.channel";
            self.refuse(&at!["traffic", largest, "count"], message, accepted);
        }
    }
}

/// Returns the meaning in results of a reserved name, which no group and no command may have.
pub(super) fn reserved(name: &str) -> Option<&'static str> {
    match name {
        "network" => Some("the whole network"),
        "emulation" => Some("the emulation itself"),
        _ => None,
    }
}

/// The word for a kind of node.
fn told(kind: NodeKind) -> String {
    format!("{kind:?}").to_lowercase()
}
