//! Converts the settings of a scenario to those of network, TCP and applications.

use std::sync::Arc;

use cellway_apps as apps;
use cellway_gateway::{Class, ClassError, Classes, DATA_OVERHEAD, GatewayConfig, Transport, Window, Wire};
use cellway_net as net;
use cellway_scenario as file;
use cellway_scenario::{
    App, BufferSize, FlowPace, FlowSizes, FlowSource, FlowSpec, Protocol, Scenario, TcpTraffic, Traffic,
};
use cellway_units::{Bytes, Span};

use crate::error::Error;
use crate::plan::class_port;

/// Returns a number that is equal for conversations of the same application, and for the datagrams of all groups: it
/// distinguishes the channels per type.
pub fn type_number(traffic: &Traffic) -> u32 {
    traffic.app().map_or(UDP_KIND, |app| app.kind() as u32)
}

/// The type of conversations that are of no application of a scenario.
pub const OTHER_KIND: u32 = apps::AppKind::ALL.len() as u32;

/// The type of the datagrams of a scenario.
pub const UDP_KIND: u32 = OTHER_KIND + 1;

/// The port of the responders of datagrams: that of RTP. RFC 3551 section 8.
pub const UDP_PORT: u16 = 5004;

/// The port of the responders of flows: that of HTTP as an alternative. IANA, Service Name and Transport Protocol Port
/// Number Registry.
pub const FLOWS_PORT: u16 = 8080;

/// The port of the responders of requests: that of netperf. IANA, the same registry.
pub const REQUESTS_PORT: u16 = 12_865;

/// The least mean time between the flows of a slot.
const LEAST_INTERVAL: Span = Span::from_us(1);

/// FTP's data connections. RFC 959 section 5.2.
const FTP_DATA_PORT: u16 = 20;

/// Returns the well-known ports of a conversation's first connection and of its others. RFC 959, 854, 821, 977 and
/// 1945; those of ttcp and of X displays.
pub fn well_known_ports(app: &App) -> [u16; 2] {
    match app {
        App::Ftp { .. } | App::FtpGet { .. } => [21, FTP_DATA_PORT],
        App::Telnet { .. } => [23; 2],
        App::Smtp { .. } => [25; 2],
        App::Nntp { .. } => [119; 2],
        App::Bulk { .. } | App::Ttcp { .. } => [5001; 2],
        App::Www { .. } => [80; 2],
        App::Animation { .. } => [6000; 2],
        App::Flows(_) => [FLOWS_PORT; 2],
        App::RequestResponse { .. } => [REQUESTS_PORT; 2],
    }
}

/// The content of the file that the flows of a group name.
#[derive(Clone, Debug)]
pub enum FlowFile {
    /// A distribution of sizes.
    Sizes(Arc<apps::SizeTable>),
    /// Times and sizes.
    Trace(Arc<[apps::TraceFlow]>),
}

/// Returns the workload of a traffic group, with the distributions built into the program; `tables` are those read from
/// the folder that the group names, if it does. A group whose flows need a file has [`flow_workload`].
pub fn workload(traffic: &Traffic, tables: Option<apps::Tables>) -> Result<apps::GroupWorkload, Error> {
    match &traffic.protocol {
        Protocol::Tcp(tcp) => match &tcp.app {
            App::Flows(_) => flow_workload(traffic, None),
            _ => Ok(apps::GroupWorkload::Conversations(application(traffic, tcp, tables)?)),
        },
        Protocol::Udp(source) => Ok(apps::GroupWorkload::Datagrams(*source)),
    }
}

/// Returns the workload of a group over TCP.
fn application(traffic: &Traffic, tcp: &TcpTraffic, tables: Option<apps::Tables>) -> Result<apps::Workload, Error> {
    let tables = tables.unwrap_or_else(apps::Tables::shipped);
    let mut workload = apps::Workload::new(tcp.app.kind());
    match (&mut workload, &tcp.app) {
        (apps::Workload::Ftp(ftp), App::Ftp { tables: source, spike, data_connection, handshake }) => {
            (ftp.tables, ftp.draw) = (tables, source.draw);
            ftp.spike = *spike;
            ftp.handshakes.per_item = *handshake;
            ftp.data_connection = *data_connection;
        }
        (apps::Workload::Nntp(nntp), App::Nntp { tables: source, handshake }) => {
            (nntp.tables, nntp.draw) = (tables, source.draw);
            nntp.handshakes.per_item = *handshake;
        }
        (apps::Workload::Smtp(smtp), App::Smtp { tables: source, handshake }) => {
            (smtp.tables, smtp.draw) = (tables, source.draw);
            smtp.handshakes.per_item = *handshake;
        }
        (apps::Workload::Telnet(telnet), App::Telnet { tables: source, echo }) => {
            (telnet.tables, telnet.draw, telnet.echo) = (tables, source.draw, *echo);
        }
        (apps::Workload::Bulk(bulk), App::Bulk { size, write, write_cost }) => {
            bulk.size = *size;
            match write {
                // One write must cover a window, or the transfer would wait for its application.
                None => bulk.write = Bytes(bulk.write.0.max(2 * tcp.tcp.send_buffer.0)),
                Some(write) => (bulk.write, bulk.blocking) = (*write, Some(*write_cost)),
            }
        }
        (apps::Workload::Ttcp(ttcp), App::Ttcp { write, buffers, write_cost }) => {
            (ttcp.write, ttcp.buffers, ttcp.write_cost) = (*write, *buffers, *write_cost);
        }
        (apps::Workload::FtpGet(get), App::FtpGet { size, disk_rate, handshake }) => {
            (get.size, get.disk_rate, get.handshake) = (*size, *disk_rate, *handshake);
        }
        (apps::Workload::Www(www), App::Www { sizes, request, display_rate }) => {
            (www.sizes, www.request, www.display_rate) = (sizes.clone(), *request, *display_rate);
        }
        (apps::Workload::Animation(animation), App::Animation { frame, rate, duration }) => {
            (animation.frame, animation.rate, animation.duration) = (*frame, *rate, *duration);
        }
        (apps::Workload::RequestResponse(requests), &App::RequestResponse { request, response, think, duration }) => {
            *requests = apps::RequestResponseWorkload { request, response, think, duration };
        }
        _ => unreachable!("the workload is made of the same kind"),
    }
    valid(traffic, workload)
}

/// Returns the workload of a group whose flows arrive by themselves; `file` is the content of the file that it names, if
/// it does.
pub fn flow_workload(traffic: &Traffic, file: Option<FlowFile>) -> Result<apps::GroupWorkload, Error> {
    let refused = |message: &str| Error::Workload { traffic: traffic.name.clone(), message: message.to_owned() };
    let Some(App::Flows(spec)) = traffic.app() else { return Err(refused("has no flows")) };
    let law = |sizes: &FlowSizes| match (sizes, &file) {
        (FlowSizes::WebSearch, _) => Ok(apps::SizeLaw::Table(Arc::new(apps::SizeTable::web_search()))),
        (FlowSizes::DataMining, _) => Ok(apps::SizeLaw::Table(Arc::new(apps::SizeTable::data_mining()))),
        (FlowSizes::Fixed(size), _) => Ok(apps::SizeLaw::Fixed(*size)),
        (FlowSizes::LogNormal { median, sigma }, _) => Ok(apps::SizeLaw::LogNormal { median: *median, sigma: *sigma }),
        (FlowSizes::Pareto { shape, minimum, maximum }, _) => {
            Ok(apps::SizeLaw::Pareto { shape: *shape, minimum: *minimum, maximum: *maximum })
        }
        (FlowSizes::Table { .. }, Some(FlowFile::Sizes(table))) => Ok(apps::SizeLaw::Table(table.clone())),
        (FlowSizes::Table { .. }, _) => Err(refused("the file of the sizes has not been read")),
    };
    let process = match &spec.source {
        FlowSource::Trace { .. } => match &file {
            Some(FlowFile::Trace(flows)) => apps::FlowProcess::Trace(flows.clone()),
            _ => return Err(refused("the trace of the flows has not been read")),
        },
        FlowSource::Poisson { pace, sizes } => {
            let sizes = law(sizes)?;
            apps::FlowProcess::Poisson { interval: interval(traffic, *pace, &sizes).map_err(|e| refused(&e))?, sizes }
        }
        FlowSource::Periodic { pace, sizes } => {
            let sizes = law(sizes)?;
            apps::FlowProcess::Periodic { interval: interval(traffic, *pace, &sizes).map_err(|e| refused(&e))?, sizes }
        }
    };
    let FlowSpec { count, duration, limit, .. } = *spec;
    let workload = apps::Workload::Flows(apps::FlowsWorkload { process, count, duration, limit });
    Ok(apps::GroupWorkload::Conversations(valid(traffic, workload)?))
}

/// Returns the mean time between the flows of a slot, or the reason for which there is none.
fn interval(traffic: &Traffic, pace: FlowPace, sizes: &apps::SizeLaw) -> Result<Span, String> {
    let interval = match pace {
        FlowPace::Interval(interval) => interval,
        FlowPace::Load(load) => {
            let mean = sizes.mean().ok_or("load needs a mean size, which these sizes do not have")?;
            let slots = f64::from(traffic.count.max(1));
            Span::from_secs_f64(mean * 8.0 * slots / (load * traffic.bottleneck.as_bps() as f64))
        }
    };
    if interval < LEAST_INTERVAL {
        return Err(format!("flows arrive every {interval}; at least {LEAST_INTERVAL} is accepted, with a lower load"));
    }
    Ok(interval)
}

/// Returns a workload unless its settings are refused.
fn valid(traffic: &Traffic, workload: apps::Workload) -> Result<apps::Workload, Error> {
    let refused = |e: apps::WorkloadError| Error::Workload { traffic: traffic.name.clone(), message: e.to_string() };
    workload.validate().map_err(refused)?;
    Ok(workload)
}

pub(crate) fn buffer(b: &file::Buffer) -> net::BufferSpec {
    net::BufferSpec {
        size: b.size.bits(),
        threshold: b.threshold.map(BufferSize::bits),
        clp_threshold: b.clp_threshold.map(BufferSize::bits),
        whole_port: b.per == file::BufferPer::Port,
        sharing: b.sharing,
        charge: b.count,
        discard: b.discard,
    }
}

pub(crate) fn class(service: &file::Service) -> net::Class {
    match service {
        file::Service::Cbr { .. } => net::Class::Cbr,
        file::Service::Vbr { .. } => net::Class::Vbr,
        file::Service::Abr(_) => net::Class::Abr,
        file::Service::Ubr { .. } => net::Class::Ubr,
    }
}

// The values by which scenarios are checked and predicted are those of the gateways.
const _: () = {
    const fn headers(transport: Transport) -> u64 {
        (transport.overhead() + DATA_OVERHEAD) as u64
    }
    assert!(file::Carrier::Ip.header_octets() == headers(Transport::Ip));
    assert!(file::Carrier::Quic.header_octets() == headers(Transport::Quic { v6: false }));
};

pub(crate) fn gateway(scenario: &Scenario, spec: &file::GatewaySpec, on_atm: bool, mtu: Bytes) -> GatewayConfig {
    let wire = match (on_atm, scenario.multiplexing.encapsulation) {
        (false, _) => Wire::Packet,
        (true, file::Encapsulation::VcMux) => Wire::Atm { llc: false },
        (true, file::Encapsulation::LlcSnap) => Wire::Atm { llc: true },
        (true, file::Encapsulation::None) => Wire::BareCells,
    };
    GatewayConfig {
        window: Window::Fixed(spec.window),
        floor: spec.window,
        total_buffer: spec.total_buffer,
        payload: spec.packet,
        transport: match spec.transport {
            file::Carrier::Ip => Transport::Ip,
            file::Carrier::Quic => Transport::Quic { v6: false },
        },
        mtu,
        wire,
        ..GatewayConfig::new(spec.rate)
    }
}

/// Returns the classes of a scenario, if it has any.
pub(crate) fn classes(scenario: &Scenario) -> Result<Option<Classes>, ClassError> {
    let class = |class: &file::Class| Class {
        ports: class.traffic.iter().flatten().map(|&group| class_port(group)..=class_port(group)).collect(),
        share: class.share,
        ceiling: class.ceiling,
        ..Class::new(&class.name)
    };
    if scenario.classes.is_empty() {
        return Ok(None);
    }
    Classes::new(scenario.classes.iter().map(class).collect()).map(Some)
}

pub(crate) fn abr_switch(abr: &file::AbrSwitch) -> net::AbrSwitchSpec {
    match abr.marking {
        file::Marking::Efci => net::AbrSwitchSpec::Efci { threshold: abr.threshold },
        file::Marking::Erica => {
            // The share of the line that is given out, to a millionth.
            let target = net::Fraction::new((abr.target * 1e6).round() as u32, 1_000_000);
            let target = target.expect("a checked target lies above 0 and at most at 1");
            net::AbrSwitchSpec::Erica { target, interval: abr.interval }
        }
    }
}
