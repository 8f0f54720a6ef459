//! Traffic groups: who talks, from where to where.

use cellway_units::{Bytes, Span};

use crate::check::Check;
use crate::check::network::Network;
use crate::file::{AccessFile, AppKind, TcpFile, TrafficFile, WorkloadFile};
use crate::found::Found;
use crate::model::{
    Access, App, Attachment, Channel, DataConnection, Draw, NodeIndex, NodeKind, Run, Spike, Tables, Traffic,
};
use crate::quantity::{Quantity, RttSpan};
use crate::route;
use crate::tree::at;

/// Channel numbers that a link has: 16 bits of VCI, of which 0 to 31 are reserved. ITU-T I.361.
const MAX_CHANNELS: u64 = 65_535 - 31;

/// The most that one transfer may be (bytes): 1 PiB, which no link here carries within the longest run.
const MAX_TRANSFER: u64 = 1 << 50;

/// A group whose start still waits for the round trip.
pub(super) struct Group {
    pub(super) traffic: Traffic,
    start: Option<Quantity<RttSpan>>,
    stagger: Option<Quantity<RttSpan>>,
}

impl Check<'_> {
    pub(super) fn traffic(
        &mut self,
        groups: &[TrafficFile],
        defaults: &TcpFile,
        network: Option<&Network>,
    ) -> Option<Vec<Group>> {
        let names: Vec<Option<String>> = groups
            .iter()
            .enumerate()
            .map(|(i, group)| self.name(&at!["traffic", i, "name"], group.name.as_deref()).map(str::to_owned))
            .collect();
        self.unique("traffic", &names, "a name of its own");
        self.slot_names(&names);
        let checked: Vec<Option<Group>> = groups
            .iter()
            .enumerate()
            .map(|(i, group)| {
                let app = self.app(i, group);
                let tcp = self.tcp(i, group.tcp.as_ref(), defaults);
                let access = self.access(i, group.access.as_ref());
                let path = network.and_then(|network| self.path(i, group, network));
                let (from, to, route) = path?;
                let access = access?;
                self.access_fits(i, [from, to], access);
                let bottleneck = self.bottleneck(i, network?, &route)?;
                let count = match group.count {
                    None if self.is_bad(&at!["traffic", i, "count"]) => return None,
                    count => count.unwrap_or(1),
                };
                let traffic = Traffic {
                    name: names[i].clone()?,
                    app: app?,
                    count,
                    from,
                    host: crate::model::HostSpec::default(),
                    jitter: Span::ZERO,
                    repeat: true,
                    service: crate::model::Service::Ubr { pcr: None },
                    gateways: None,
                    gateway_tcp: [tcp?; 2],
                    mtu: Bytes(9180),
                    to,
                    access,
                    start: Span::ZERO,
                    stagger: Span::ZERO,
                    tcp: tcp?,
                    route,
                    bottleneck,
                };
                Some(Group { traffic, start: group.start, stagger: group.stagger })
            })
            .collect();
        checked.into_iter().collect()
    }

    /// Slots and groups stand side by side in results: "ftp-1" must mean one of them only.
    fn slot_names(&mut self, names: &[Option<String>]) {
        for (i, name) in names.iter().enumerate() {
            let Some(name) = name else { continue };
            if name == "network" {
                self.refuse(
                    &at!["traffic", i, "name"],
                    "\"network\" means the whole network in results",
                    "another name",
                );
            }
            let Some((group, number)) = name.rsplit_once('-') else { continue };
            let is_slot = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
            if is_slot && names.iter().flatten().any(|other| other == group) {
                let message = format!("{name:?} could also be a conversation of the group {group:?}");
                self.refuse(&at!["traffic", i, "name"], message, "a name that is not another's with a number");
            }
        }
    }

    fn path(
        &mut self,
        i: usize,
        group: &TrafficFile,
        network: &Network,
    ) -> Option<(Attachment, Attachment, Vec<crate::model::LinkIndex>)> {
        let from = self.attachment(i, "from", group.from.as_deref(), network);
        let to = self.attachment(i, "to", group.to.as_deref(), network);
        let (from, to) = (from?, to?);
        let [a, b] = [from, to].map(|end| &network.nodes[end.node().0].name);
        if from == to {
            self.refuse(&at!["traffic", i, "to"], format!("both from and to are {a:?}"), "another node than from");
            return None;
        }
        let route = route::route(&network.nodes, &network.links, from.node(), to.node());
        if route.is_none() {
            let message = format!("no route leads from {a:?} to {b:?}");
            self.refuse(&at!["traffic", i, "to"], message, "two nodes that links connect");
        }
        Some((from, to, route?))
    }

    fn attachment(&mut self, i: usize, key: &str, name: Option<&str>, network: &Network) -> Option<Attachment> {
        let name = name?;
        let path = at!["traffic", i, key];
        let names: Vec<Option<String>> = network.nodes.iter().map(|n| Some(n.name.clone())).collect();
        let node = self.node_named(&path, name, &names)?;
        match network.nodes[node].kind {
            NodeKind::Router | NodeKind::Gateway => Some(Attachment::Router(NodeIndex(node))),
            NodeKind::Host => Some(Attachment::Host(NodeIndex(node))),
            NodeKind::Switch => {
                self.refuse(
                    &path,
                    format!("{name:?} is a switch: no conversation can end there"),
                    "a router or a host",
                );
                None
            }
        }
    }

    /// `Some(None)` if there is none, `None` if it was refused.
    fn access(&mut self, i: usize, access: Option<&AccessFile>) -> Option<Option<Access>> {
        let Some(access) = access else {
            return (!self.is_bad(&at!["traffic", i, "access"])).then_some(None);
        };
        let rate = self.rate(&at!["traffic", i, "access", "rate"], access.rate?.0)?;
        Some(Some(Access { rate, delay: access.delay?.0, framing: crate::model::Framing::Packet, mtu: Bytes(65_535) }))
    }

    fn access_fits(&mut self, i: usize, ends: [Attachment; 2], access: Option<Access>) {
        let at_router = ends.iter().any(|end| matches!(end, Attachment::Router(_)));
        let path = at!["traffic", i, "access"];
        if at_router && access.is_none() {
            let message = "is missing: from or to is a router, so each conversation has hosts of its own there";
            self.refuse(&path, message, "access = { rate = \"10 Mbit/s\", delay = \"0 s\" }, with your values");
        } else if !at_router && access.is_some() {
            let message = "has no use: both ends are hosts, which have links of their own";
            self.refuse(&path, message, "no access here");
        }
    }

    fn bottleneck(
        &mut self,
        i: usize,
        network: &Network,
        route: &[crate::model::LinkIndex],
    ) -> Option<cellway_units::Rate> {
        let bottleneck = route::bottleneck(&network.links, route);
        if bottleneck.is_none() {
            self.refuse(&at!["traffic", i, "to"], "the path crosses no ATM link", "a node behind another router");
        }
        bottleneck
    }

    fn app(&mut self, i: usize, group: &TrafficFile) -> Option<App> {
        let kind = group.app?;
        let none = WorkloadFile::default();
        let options = group.workload.as_ref().unwrap_or(&none);
        let before = self.found.len();
        self.only_options_of(i, kind, options);
        let bad = self
            .tree
            .find(&at!["traffic", i, "workload"])
            .and_then(|w| w.table())
            .is_some_and(|workload| workload.entries.iter().any(|e| e.node.value == crate::tree::Value::Bad));
        let tables = Tables { draw: options.draw.unwrap_or(Draw::Tcplib), folder: options.tables.clone() };
        let handshake = options.handshake.unwrap_or(1);
        let app = match kind {
            AppKind::Ftp => {
                let spike = match &options.spike {
                    Some(spike) => Some(self.spike(i, spike.size?.0, spike.weight?)),
                    None => None,
                };
                let data_connection = options.data_connection.unwrap_or(DataConnection::Shared);
                App::Ftp { tables, spike, data_connection, handshake }
            }
            AppKind::Nntp => App::Nntp { tables, handshake },
            AppKind::Smtp => App::Smtp { tables, handshake },
            AppKind::Telnet => App::Telnet { tables, echo: options.echo.unwrap_or(true) },
            AppKind::Bulk => App::Bulk { size: options.size.map(|q| q.0), write: None, write_cost: Span::ZERO },
        };
        if let App::Bulk { size: Some(size), .. } = app {
            let path = at!["traffic", i, "workload", "size"];
            if size.0 == 0 {
                self.refuse_value(&path, "is zero", "more than 0, or no size: without end");
            }
            self.size_limit(&path, size, MAX_TRANSFER);
        }
        (self.found.len() == before && !bad).then_some(app)
    }

    fn spike(&mut self, i: usize, size: Bytes, weight: f64) -> Spike {
        let path = at!["traffic", i, "workload", "spike", "size"];
        if size.0 == 0 {
            self.refuse_value(&path, "is zero", "at least 1 B");
        }
        self.size_limit(&path, size, MAX_TRANSFER);
        Spike { size, weight }
    }

    fn only_options_of(&mut self, i: usize, kind: AppKind, options: &WorkloadFile) {
        use AppKind::{Bulk, Ftp, Nntp, Smtp, Telnet};
        let tcplib: &[AppKind] = &[Ftp, Nntp, Smtp, Telnet];
        let given: [(&str, bool, &[AppKind]); 7] = [
            ("draw", options.draw.is_some(), tcplib),
            ("tables", options.tables.is_some(), tcplib),
            ("spike", options.spike.is_some(), &[Ftp]),
            ("data-connection", options.data_connection.is_some(), &[Ftp]),
            ("handshake", options.handshake.is_some(), &[Ftp, Nntp, Smtp]),
            ("echo", options.echo.is_some(), &[Telnet]),
            ("size", options.size.is_some(), &[Bulk]),
        ];
        let own: Vec<&str> = given.iter().filter(|(.., apps)| apps.contains(&kind)).map(|(key, ..)| *key).collect();
        for (key, is_given, apps) in &given {
            if *is_given && !apps.contains(&kind) {
                let app = format!("{kind:?}").to_lowercase();
                let path = at!["traffic", i, "workload", *key];
                let found = Found::in_tree(self.tree, &path, format!("is not an option of {app}"));
                self.push(found.accepted(own.join(", ")));
            }
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
                let start = self.span(&at!["traffic", i, "start"], group.start, rtt, 0);
                let stagger = self.span(&at!["traffic", i, "stagger"], group.stagger, rtt, 0);
                let traffic = Traffic { start: start?, stagger: stagger?, ..group.traffic };
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
        let (key, start) = match traffic.start >= duration {
            true => ("start", traffic.start),
            false => ("stagger", traffic.slot_start(last)),
        };
        if start >= duration {
            let slot = if key == "start" { traffic.slot(1) } else { traffic.slot(last) };
            let message = format!("{slot} would start at {start}, the run ends at {duration}");
            self.refuse(&at!["traffic", i, key], message, "a start within run.duration");
        }
    }

    /// Whether every conversation can have its channel.
    pub(super) fn channels(&mut self, policy: Channel, traffic: Option<&[Traffic]>) {
        let Some(traffic) = traffic else { return };
        let conversations: u64 = traffic.iter().map(|t| u64::from(t.count)).sum();
        if policy == Channel::PerConversation && conversations > MAX_CHANNELS {
            let largest = (0..traffic.len()).max_by_key(|&i| (traffic[i].count, usize::MAX - i)).unwrap_or(0);
            let message = format!("{conversations} conversations need as many channels; a link has {MAX_CHANNELS}");
            let accepted = "fewer conversations, or another multiplexing.channel";
            self.refuse(&at!["traffic", largest, "count"], message, accepted);
        }
    }
}
