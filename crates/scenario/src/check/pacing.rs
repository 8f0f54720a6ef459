//! One pacer at most for the cells of a channel at a port: the service of its groups, a gateway, or a shaper.

use std::collections::BTreeMap;
use std::ops::Range;

use cellway_spec::Multiplexing;

use crate::check::Check;
use crate::check::network::Network;
use crate::file::ServiceClass;
use crate::model::{
    Access, AppKind, Attachment, Framing, Link, LinkIndex, NodeIndex, Policer, Service, Shaper, Traffic,
};
use crate::route;
use crate::tree::at;

/// An output port: a node, and the link that it sends on.
type Port = (NodeIndex, LinkIndex);

/// A link of the path in one direction.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// `None` for the link of a host that only one conversation uses.
    port: Option<Port>,
    /// The node at its end, if the file names it.
    to: Option<NodeIndex>,
    framing: Framing,
}

/// The traffic that shares channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Users {
    /// All conversations.
    All,
    /// Those of one application; `None` for datagrams.
    App(Option<AppKind>),
    /// The conversations of one group: each has a channel of its own.
    Group(usize),
    /// The packets between a gateway and its peer.
    Gateways([NodeIndex; 2]),
}

/// A channel, or several that differ only in their conversation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Channel {
    /// Its ports in order, with `None` for those of hosts that only one conversation uses.
    ports: Vec<Option<Port>>,
    class: ServiceClass,
    users: Users,
}

/// The pacer of a channel at a port.
#[derive(Clone, Copy, Debug)]
enum Pacer {
    /// The service of a group.
    Service(usize),
    /// A gateway: the rate to its peer.
    Gateway(NodeIndex),
}

/// The channels of a group, and their pacers.
struct Paced {
    channel: Channel,
    /// The port at which it is paced, and by which pacer.
    by: Option<(Port, Pacer)>,
}

impl Check<'_> {
    /// Refuses groups that share a channel and pace it by different services, and shapers where cells are paced already:
    /// one pacer would silently replace the other.
    pub(super) fn paced_once(
        &mut self,
        network: &Network,
        traffic: &[Traffic],
        (shapers, policers): (&[Shaper], &[Policer]),
        multiplexing: Multiplexing,
    ) {
        let channels: Vec<Vec<Paced>> =
            (0..traffic.len()).map(|group| channels(&network.links, traffic, group, multiplexing)).collect();
        let mut pacers: BTreeMap<(Port, &Channel), Pacer> = BTreeMap::new();
        let mut services: BTreeMap<&Channel, usize> = BTreeMap::new();
        for paced in channels.iter().flatten() {
            let Some((port, pacer)) = paced.by else { continue };
            pacers.entry((port, &paced.channel)).or_insert(pacer);
            let Pacer::Service(second) = pacer else { continue };
            let first = *services.entry(&paced.channel).or_insert(second);
            if !traffic[first].service.is_same(&traffic[second].service) {
                self.two_services(traffic, first, second);
            }
        }
        let shaped = shapers.iter().map(|shaper| ((shaper.at, shaper.link), &shaper.traffic[..])).collect::<Vec<_>>();
        let policed =
            policers.iter().map(|policer| ((policer.at, policer.link), &policer.traffic[..])).collect::<Vec<_>>();
        for (i, &(port, groups)) in shaped.iter().enumerate() {
            if let Some(pacer) = at_port(&channels, port, groups).find_map(|channel| pacers.get(&(port, channel))) {
                self.shaped_twice(i, *pacer, network, traffic);
            }
        }
        for (array, places) in [("shaper", shaped), ("policer", policed)] {
            self.one_for_a_channel(array, &places, &channels);
        }
    }

    /// Refuses shapers, or policers, of several groups on one channel at a port: only the last would act.
    fn one_for_a_channel(&mut self, array: &str, places: &[(Port, &[usize])], channels: &[Vec<Paced>]) {
        let mut seen: BTreeMap<(Port, &Channel), usize> = BTreeMap::new();
        for (i, &(port, groups)) in places.iter().enumerate() {
            let earlier: Vec<usize> =
                at_port(channels, port, groups).map(|channel| *seen.entry((port, channel)).or_insert(i)).collect();
            // Two of one group are refused as such.
            let of_others = |first: &usize| *first != i && !groups.iter().any(|group| places[*first].1.contains(group));
            if let Some(first) = earlier.into_iter().find(of_others) {
                let name = self.tree.display(&at![array, first]);
                let message = format!("{name} acts on the same channel at this port");
                self.refuse(&at![array, i], message, format!("one {array} for all groups that share a channel"));
            }
        }
    }

    fn two_services(&mut self, traffic: &[Traffic], first: usize, second: usize) {
        let message = format!(
            "{:?} shares a channel with traffic {:?}, but not its service",
            traffic[second].name, traffic[first].name
        );
        let accepted = "the same service in both, or multiplexing.channel = \"per-conversation\"";
        self.refuse(&at!["traffic", second, "service"], message, accepted);
    }

    fn shaped_twice(&mut self, i: usize, pacer: Pacer, network: &Network, traffic: &[Traffic]) {
        let (by, accepted) = match pacer {
            Pacer::Service(group) => (
                format!("the service of traffic {:?}", traffic[group].name),
                "a port farther on, the traffic of others, or a service that does not pace",
            ),
            Pacer::Gateway(node) => (
                format!("gateway {:?}", network.nodes[node.0].name),
                "a port farther on, or a lower gateway.rate in place of the shaper",
            ),
        };
        self.refuse(&at!["shaper", i], format!("{by} paces the same cells at this port already"), accepted);
    }
}

/// Returns the channels of a group in both directions, those between its gateways included.
fn channels(links: &[Link], traffic: &[Traffic], group: usize, multiplexing: Multiplexing) -> Vec<Paced> {
    let own = &traffic[group];
    let between = route::between_gateways(links, own);
    let nodes = route::visited(links, own.from.node(), &own.route);
    // Without gateways the second part is the whole route. An empty part has at most access links, which no other group
    // shares.
    let parts = [0..between.start, between.end..own.route.len()].into_iter().filter(|part| !part.is_empty());
    let mut all = Vec::new();
    // A group without conversations opens no channels; gateways open theirs at the start.
    for part in parts.filter(|_| own.count > 0) {
        for hops in directions(links, own, &nodes, &part, own.access) {
            all.extend(hops.chunk_by(same_framing).filter(|run| run[0].framing == Framing::Atm).map(|run| {
                let channel = Channel {
                    ports: run.iter().map(|hop| hop.port).collect(),
                    class: class(&own.service),
                    users: users(run, own, group, multiplexing),
                };
                Paced { channel, by: paced_at(run, &own.service).map(|port| (port, Pacer::Service(group))) }
            }));
        }
    }
    if let Some(gateways) = own.gateways() {
        for (hops, node) in directions(links, own, &nodes, &between, None).into_iter().zip(gateways) {
            all.extend(hops.chunk_by(same_framing).filter(|run| run[0].framing == Framing::Atm).map(|run| {
                let ports = run.iter().map(|hop| hop.port).collect();
                let channel = Channel { ports, class: ServiceClass::Cbr, users: Users::Gateways(gateways) };
                Paced { channel, by: run[0].port.map(|port| (port, Pacer::Gateway(node))) }
            }));
        }
    }
    all
}

/// Returns the channels of `groups` that pass a port.
fn at_port<'c>(channels: &'c [Vec<Paced>], port: Port, groups: &'c [usize]) -> impl Iterator<Item = &'c Channel> {
    let all = groups.iter().flat_map(|&group| &channels[group]).map(|paced| &paced.channel);
    all.filter(move |channel| channel.ports.contains(&Some(port)))
}

fn same_framing(a: &Hop, b: &Hop) -> bool {
    (a.framing == Framing::Atm) == (b.framing == Framing::Atm)
}

/// Returns the hops of a part of a group's route in both directions, with the `access` links of hosts of its own at the
/// ends of the route.
fn directions(
    links: &[Link],
    traffic: &Traffic,
    nodes: &[NodeIndex],
    part: &Range<usize>,
    access: Option<Access>,
) -> [Vec<Hop>; 2] {
    let access = |end: Attachment, is_there: bool| -> Option<Access> {
        access.filter(|_| is_there && matches!(end, Attachment::Router(_)))
    };
    let first = access(traffic.from, part.start == 0);
    let last = access(traffic.to, part.end == traffic.route.len());
    let hop = |place: usize, from: NodeIndex, to: NodeIndex| {
        let link = traffic.route[place];
        Hop { port: Some((from, link)), to: Some(to), framing: links[link.0].framing }
    };
    let own = |access: Access, to: Option<NodeIndex>| Hop { port: None, to, framing: access.framing };
    let (near, far) = (nodes[part.start], nodes[part.end]);
    let there = first.map(|access| own(access, Some(near))).into_iter();
    let there = there.chain(part.clone().map(|place| hop(place, nodes[place], nodes[place + 1])));
    let back = last.map(|access| own(access, Some(far))).into_iter();
    let back = back.chain(part.clone().rev().map(|place| hop(place, nodes[place + 1], nodes[place])));
    [
        there.chain(last.map(|access| own(access, None))).collect(),
        back.chain(first.map(|access| own(access, None))).collect(),
    ]
}

/// Returns the port at which a service paces the cells of a run of ATM links; `None` also for the link of a host that
/// only one conversation uses.
fn paced_at(run: &[Hop], service: &Service) -> Option<Port> {
    match service {
        Service::Ubr { pcr: None } | Service::Vbr { shape: false, .. } => None,
        Service::Ubr { pcr: Some(_) } | Service::Cbr { .. } | Service::Vbr { shape: true, .. } => run[0].port,
        Service::Abr(spec) => {
            let Some([a, b]) = spec.between else { return run[0].port };
            // The loop of the other direction begins at the other end.
            [[a, b], [b, a]].into_iter().find_map(|[from, to]| {
                let first = run.iter().position(|hop| hop.port.is_some_and(|(node, _)| node == from))?;
                let last = run.iter().position(|hop| hop.to == Some(to))?;
                (first <= last).then(|| run[first].port)?
            })
        }
    }
}

/// Returns the traffic that shares the channel of a run of ATM links.
fn users(run: &[Hop], traffic: &Traffic, group: usize, multiplexing: Multiplexing) -> Users {
    // The link of a host that only one conversation uses is part of no other channel.
    if run.iter().any(|hop| hop.port.is_none()) {
        return Users::Group(group);
    }
    match multiplexing {
        Multiplexing::PerConversation => Users::Group(group),
        Multiplexing::PerType => Users::App(traffic.app().map(|app| app.kind())),
        Multiplexing::PerDestination => Users::All,
    }
}

const fn class(service: &Service) -> ServiceClass {
    match service {
        Service::Cbr { .. } => ServiceClass::Cbr,
        Service::Vbr { .. } => ServiceClass::VbrNrt,
        Service::Abr(_) => ServiceClass::Abr,
        Service::Ubr { .. } => ServiceClass::Ubr,
    }
}
