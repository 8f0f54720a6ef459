//! From a checked scenario to a network with conversation slots.

use std::collections::BTreeMap;

use cellway_apps as apps;
use cellway_apps::random::Streams;
use cellway_net as net;
use cellway_net::{ConversationSpec, Fabric, NodeId, PortId};
use cellway_scenario as file;
use cellway_scenario::{App, Attachment, NodeIndex, Scenario, Traffic};
use cellway_tcp::{Config, RtoConfig, Variant};
use cellway_units::{Bits, Bytes, Time};

use crate::error::Error;
use crate::meter::{Meter, Pace, PortMeter, SlotMeter};
use crate::slot::{Slot, SlotPlan};

/// What a packet carries: a segment of one connection of its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub(crate) serial: u32,
    /// The connection's number in its conversation.
    pub(crate) conn: u32,
    /// The packet's number in the run.
    pub(crate) number: u64,
    pub(crate) segment: cellway_tcp::Segment,
}

pub(crate) struct Built {
    pub(crate) fabric: Fabric<Body>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) meter: Meter,
    /// Node of each name, the implicit hosts included: "ftp-1" and "ftp-1-sink".
    pub(crate) names: BTreeMap<String, NodeId>,
}

/// The ports of a link, in the directions a to b and b to a.
type LinkPorts = [PortId; 2];

/// Builds the network of `scenario`.
pub(crate) fn build(scenario: &Scenario, streams: &Streams) -> Result<Built, Error> {
    let mut fabric = Fabric::new(multiplexing(scenario), encapsulation(scenario));
    let mut names = BTreeMap::new();
    let mut nodes = Vec::new();
    for node in &scenario.nodes {
        let id = fabric.add_node(node_kind(node.kind));
        names.insert(node.name.clone(), id);
        nodes.push(id);
    }
    let buffer = |node: NodeIndex| (scenario.nodes[node.0].kind != file::NodeKind::Host).then(|| buffer(scenario));
    let mut ports = Vec::new();
    let mut port_meters = Vec::new();
    for link in &scenario.links {
        let ends = [nodes[link.a.0], nodes[link.b.0]];
        let pair: LinkPorts =
            fabric.add_link(ends, link.rate, link.delay, framing(link.framing), [buffer(link.a), buffer(link.b)]);
        let [a, b] = [link.a, link.b].map(|node| &scenario.nodes[node.0].name);
        if link.framing == file::Framing::Atm {
            port_meters.push(PortMeter::new(format!("{a}>{b}"), pair[0]));
            port_meters.push(PortMeter::new(format!("{b}>{a}"), pair[1]));
        }
        ports.push(pair);
    }
    let mut slots = Vec::new();
    let mut slot_meters = Vec::new();
    for (group, traffic) in scenario.traffic.iter().enumerate() {
        let tcp = tcp_config(traffic)?;
        let paths = atm_paths(scenario, traffic, &ports);
        for number in 1..=traffic.count {
            let name = traffic.slot(number);
            let hosts =
                [(traffic.from, name.clone()), (traffic.to, format!("{name}-sink"))].map(
                    |(end, host_name)| match end {
                        Attachment::Host(node) => nodes[node.0],
                        Attachment::Router(router) => {
                            let host = fabric.add_node(net::NodeKind::Host);
                            let access =
                                traffic.access.expect("a checked scenario gives implicit hosts their access link");
                            let ends = [host, nodes[router.0]];
                            let buffers = [None, Some(self::buffer(scenario))];
                            fabric.add_link(ends, access.rate, access.delay, net::Framing::Packet, buffers);
                            names.insert(host_name, host);
                            host
                        }
                    },
                );
            let conversation = slots.len() as u32;
            let kind = type_number(&traffic.app);
            fabric.open(ConversationSpec { conversation, kind, hosts, paths: [&paths[0], &paths[1]] })?;
            let traced = scenario.observe.trace.contains(&file::Slot { traffic: group, number });
            let interactive = matches!(traffic.app, App::Telnet { .. });
            slot_meters.push(SlotMeter::new(&name, group, traffic.bottleneck, interactive, traced));
            let start = Time::ZERO + traffic.slot_start(number);
            let port = well_known_port(&traffic.app);
            slots.push(Slot::new(SlotPlan { name, group, hosts, port, start, tcp }, streams));
        }
    }
    let routers = scenario.nodes.iter().zip(&nodes).filter(|(n, _)| n.kind == file::NodeKind::Router);
    let meter = Meter::new(
        port_meters,
        slot_meters,
        scenario.traffic.iter().map(|t| t.name.clone()).collect(),
        routers.map(|(_, &id)| id).collect(),
        Pace {
            rtt: scenario.run.rtt,
            warmup: scenario.run.warmup,
            bin: scenario.observe.interval,
            fairness: scenario.observe.fairness_window,
            series: scenario.observe.series,
        },
    );
    Ok(Built { fabric, slots, meter, names })
}

/// The nodes of `scenario` that a [`crate::Capture`] may name: those of the file and the implicit hosts,
/// in the order of their names.
pub fn node_names(scenario: &Scenario) -> Result<Vec<String>, Error> {
    Ok(build(scenario, &Streams::new(0))?.names.into_keys().collect())
}

/// The ATM ports of a group's route, there and back.
fn atm_paths(scenario: &Scenario, traffic: &Traffic, ports: &[LinkPorts]) -> [Vec<PortId>; 2] {
    let mut here = traffic.from.node();
    let mut paths = [Vec::new(), Vec::new()];
    for &index in &traffic.route {
        let link = &scenario.links[index.0];
        let [ab, ba] = ports[index.0];
        let (there, back) = if link.a == here { (ab, ba) } else { (ba, ab) };
        here = link.other(here).expect("the links of a route are joined");
        if link.framing == file::Framing::Atm {
            paths[0].push(there);
            paths[1].insert(0, back);
        }
    }
    paths
}

/// Equal for conversations of the same application: what a channel per type tells apart.
fn type_number(app: &App) -> u32 {
    apps::AppKind::ALL.iter().position(|kind| kind.name() == app.name()).expect("every application is of a kind") as u32
}

/// The port that responders listen on. RFC 959, 854, 821 and 977; that of ttcp for bulk transfers.
fn well_known_port(app: &App) -> u16 {
    match app {
        App::Ftp { .. } => 21,
        App::Telnet { .. } => 23,
        App::Smtp { .. } => 25,
        App::Nntp { .. } => 119,
        App::Bulk { .. } => 5001,
    }
}

/// The workload of a traffic group, with the distributions built into the program; `tables` are those
/// read from the folder that the group names, if it does.
///
/// Refuses TCP options that contradict each other, too: a study is to end before it begins, not half-way.
pub fn workload(traffic: &Traffic, tables: Option<apps::Tables>) -> Result<apps::Workload, Error> {
    tcp_config(traffic)?;
    let tables = tables.unwrap_or_else(apps::Tables::shipped);
    let draw = |t: &file::Tables| match t.draw {
        file::Draw::Tcplib => apps::Draw::Tcplib,
        file::Draw::Continuous => apps::Draw::Continuous,
    };
    let kind = apps::AppKind::ALL[type_number(&traffic.app) as usize];
    let mut workload = apps::Workload::new(kind);
    match (&mut workload, &traffic.app) {
        (apps::Workload::Ftp(ftp), App::Ftp { tables: source, spike, data_connection, handshake }) => {
            (ftp.tables, ftp.draw) = (tables, draw(source));
            ftp.spike = spike.map(|s| apps::Spike { size: s.size, weight: s.weight });
            ftp.handshakes.per_item = *handshake;
            ftp.data_connection = match data_connection {
                file::DataConnection::Shared => apps::DataConnection::Shared,
                file::DataConnection::PerItem => apps::DataConnection::PerItem,
            };
        }
        (apps::Workload::Nntp(nntp), App::Nntp { tables: source, handshake }) => {
            (nntp.tables, nntp.draw) = (tables, draw(source));
            nntp.handshakes.per_item = *handshake;
        }
        (apps::Workload::Smtp(smtp), App::Smtp { tables: source, handshake }) => {
            (smtp.tables, smtp.draw) = (tables, draw(source));
            smtp.handshakes.per_item = *handshake;
        }
        (apps::Workload::Telnet(telnet), App::Telnet { tables: source, echo }) => {
            (telnet.tables, telnet.draw, telnet.echo) = (tables, draw(source), *echo);
        }
        (apps::Workload::Bulk(bulk), App::Bulk { size }) => {
            bulk.size = *size;
            // One write must cover a window, or the transfer would wait for its application.
            bulk.write = Bytes(bulk.write.0.max(2 * traffic.tcp.send_buffer.0));
        }
        _ => unreachable!("the workload is made of the same kind"),
    }
    let refused = |e: apps::WorkloadError| Error::Workload { traffic: traffic.name.clone(), message: e.to_string() };
    workload.validate().map_err(refused)?;
    Ok(workload)
}

fn tcp_config(traffic: &Traffic) -> Result<Config, Error> {
    let t = &traffic.tcp;
    let config = Config {
        variant: match t.variant {
            file::TcpVariant::Tahoe => Variant::Tahoe,
            file::TcpVariant::Reno => Variant::Reno,
            file::TcpVariant::NewReno => Variant::NewReno,
            file::TcpVariant::Sack => Variant::Sack,
        },
        mss: t.mss.0 as u32,
        receive_window: t.window.0,
        send_buffer: t.send_buffer.0,
        window_scaling: t.window_scaling,
        delayed_ack: t.delayed_ack,
        nagle: t.nagle,
        initial_window: t.initial_window,
        duplicate_threshold: t.duplicate_threshold,
        rto: RtoConfig { initial: t.rto_initial, min: t.rto_min, max: t.rto_max, granularity: t.timer_granularity },
        max_retransmissions: t.max_retransmissions,
        time_wait: t.time_wait,
        ..Config::default()
    };
    config.validate().map_err(|source| Error::Tcp { traffic: traffic.name.clone(), source })?;
    Ok(config)
}

fn buffer(scenario: &Scenario) -> net::BufferSpec {
    let b = &scenario.buffer;
    net::BufferSpec {
        size: match b.size {
            file::BufferSize::Cells(cells) => cells.bits(),
            file::BufferSize::Bytes(bytes) => Bits(bytes.0.saturating_mul(8)),
        },
        whole_port: b.per == file::BufferPer::Port,
        sharing: match b.sharing {
            file::BufferSharing::Pool => net::Sharing::Pool,
            file::BufferSharing::Channel => net::Sharing::Channel,
            file::BufferSharing::Conversation => net::Sharing::Conversation,
        },
        charge: match b.count {
            file::BufferCount::Cell => net::Charge::Cell,
            file::BufferCount::Packet => net::Charge::Packet,
        },
        discard: match b.discard {
            file::Discard::Frame => net::Discard::Frame,
            file::Discard::Cell => net::Discard::Cell,
        },
    }
}

fn multiplexing(scenario: &Scenario) -> net::Multiplexing {
    match scenario.multiplexing.channel {
        file::Channel::PerConversation => net::Multiplexing::PerConversation,
        file::Channel::PerType => net::Multiplexing::PerType,
        file::Channel::PerDestination => net::Multiplexing::PerDestination,
    }
}

pub(crate) fn encapsulation(scenario: &Scenario) -> net::Encapsulation {
    match scenario.multiplexing.encapsulation {
        file::Encapsulation::VcMux => net::Encapsulation::VcMultiplexed,
        file::Encapsulation::LlcSnap => net::Encapsulation::LlcSnap,
    }
}

fn node_kind(kind: file::NodeKind) -> net::NodeKind {
    match kind {
        file::NodeKind::Router => net::NodeKind::Router,
        file::NodeKind::Switch => net::NodeKind::Switch,
        file::NodeKind::Host => net::NodeKind::Host,
    }
}

fn framing(framing: file::Framing) -> net::Framing {
    match framing {
        file::Framing::Atm => net::Framing::Atm,
        file::Framing::Packet => net::Framing::Packet,
    }
}
