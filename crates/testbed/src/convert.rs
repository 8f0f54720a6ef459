//! Converts the settings of a scenario to those of network, TCP and applications.

use std::sync::Arc;

use cellway_apps as apps;
use cellway_gateway::{Class, ClassError, Classes, DATA_OVERHEAD, GatewayConfig, Transport, Window, Wire};
use cellway_net as net;
use cellway_scenario as file;
use cellway_scenario::{
    App, BufferSize, ConversationPace, ConversationUse, FlowPace, FlowSizes, FlowSource, FlowSpec, PageSpec, Protocol,
    Scenario, TcpTraffic, Traffic, WorkloadSpec,
};
use cellway_units::{Bytes, Span};

use crate::error::Error;
use crate::plan::class_port;

/// Returns a number that is equal for conversations of the same application, those of measured classes of either
/// protocol among them, and for the datagrams of sources: it distinguishes the channels per type.
pub fn type_number(traffic: &Traffic) -> u32 {
    match &traffic.protocol {
        Protocol::Tcp(tcp) => tcp.app.kind() as u32,
        Protocol::Udp(_) => UDP_KIND,
        // As its group is checked, before the file says that the class is of UDP.
        Protocol::Class(_) => apps::AppKind::Workload as u32,
    }
}

/// The type of conversations that are of no application of a scenario.
pub const OTHER_KIND: u32 = apps::AppKind::ALL.len() as u32;

/// The type of the datagrams of sources.
pub const UDP_KIND: u32 = OTHER_KIND + 1;

/// The port of the responders of the datagrams of sources: that of RTP. RFC 3551 section 8.
pub const UDP_PORT: u16 = 5004;

/// The port of the responders of flows: that of HTTP as an alternative. IANA, Service Name and Transport Protocol Port
/// Number Registry.
pub const FLOWS_PORT: u16 = 8080;

/// The port of the responders of requests: that of netperf. IANA, the same registry.
pub const REQUESTS_PORT: u16 = 12_865;

/// The port of the responders of measured conversations, over TCP and UDP: another alternative of HTTP. IANA, the same registry.
pub const MEASURED_PORT: u16 = 8008;

/// The least mean time between the flows of a slot.
const LEAST_INTERVAL: Span = Span::from_us(1);

/// FTP's data connections. RFC 959 section 5.2.
const FTP_DATA_PORT: u16 = 20;

/// Returns the well-known ports of a conversation's first connection and of its others. RFC 959, 854, 821, 977, 1945
/// and 9110; those of ttcp and of X displays.
pub fn well_known_ports(app: &App) -> [u16; 2] {
    match app {
        App::Ftp { .. } | App::FtpGet { .. } => [21, FTP_DATA_PORT],
        App::Telnet { .. } => [23; 2],
        App::Smtp { .. } => [25; 2],
        App::Nntp { .. } => [119; 2],
        App::Bulk { .. } | App::Ttcp { .. } => [5001; 2],
        App::Www { .. } | App::Page(_) => [80; 2],
        App::Animation { .. } => [6000; 2],
        App::Flows(_) => [FLOWS_PORT; 2],
        App::RequestResponse { .. } => [REQUESTS_PORT; 2],
        App::Workload(_) => [MEASURED_PORT; 2],
    }
}

/// The content of the files that the application of a group names.
#[derive(Clone, Debug)]
pub enum Input {
    /// The tables of a folder.
    Tables(apps::Tables),
    /// A distribution of sizes.
    Sizes(Arc<apps::SizeTable>),
    /// Times and sizes of flows.
    Trace(Arc<[apps::TraceFlow]>),
    /// A class of a workload file.
    Class(Arc<apps::ExchangeModel>),
    /// A class of a workload file that is of UDP.
    Datagrams(Arc<apps::DatagramModel>),
}

/// Returns the workload of a traffic group, with the distributions built into the program. `input` is the content of the files
/// that the group names, if it does.
pub fn workload(traffic: &Traffic, input: Option<Input>) -> Result<apps::GroupWorkload, Error> {
    match &traffic.protocol {
        Protocol::Tcp(tcp) => Ok(apps::GroupWorkload::Conversations(application(traffic, tcp, input)?)),
        Protocol::Udp(source) => Ok(apps::GroupWorkload::Datagrams(*source)),
        Protocol::Class(class) => {
            let workload = datagrams_of(traffic, &class.spec, input.as_ref())?;
            Ok(apps::GroupWorkload::MeasuredDatagrams(Box::new(workload)))
        }
    }
}

/// Returns the workload of a group over TCP.
fn application(traffic: &Traffic, tcp: &TcpTraffic, input: Option<Input>) -> Result<apps::Workload, Error> {
    let mut workload = apps::Workload::new(tcp.app.kind());
    let tables = || match &input {
        Some(Input::Tables(tables)) => Ok(tables.clone()),
        None => Ok(apps::Tables::shipped()),
        Some(Input::Sizes(_) | Input::Trace(_) | Input::Class(_) | Input::Datagrams(_)) => {
            Err(refused(traffic, "the tables have not been read"))
        }
    };
    match (&mut workload, &tcp.app) {
        (apps::Workload::Ftp(ftp), App::Ftp { tables: source, spike, data_connection, handshake }) => {
            (ftp.tables, ftp.draw) = (tables()?, source.draw);
            ftp.spike = *spike;
            ftp.handshakes.per_item = *handshake;
            ftp.data_connection = *data_connection;
        }
        (apps::Workload::Nntp(nntp), App::Nntp { tables: source, handshake }) => {
            (nntp.tables, nntp.draw) = (tables()?, source.draw);
            nntp.handshakes.per_item = *handshake;
        }
        (apps::Workload::Smtp(smtp), App::Smtp { tables: source, handshake }) => {
            (smtp.tables, smtp.draw) = (tables()?, source.draw);
            smtp.handshakes.per_item = *handshake;
        }
        (apps::Workload::Telnet(telnet), App::Telnet { tables: source, echo }) => {
            (telnet.tables, telnet.draw, telnet.echo) = (tables()?, source.draw, *echo);
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
        (apps::Workload::Flows(flows), App::Flows(spec)) => *flows = flows_of(traffic, spec, input.as_ref())?,
        (apps::Workload::Page(page), App::Page(spec)) => {
            let PageSpec { html, objects, ref sizes, connections, request, think } = *spec;
            let sizes = size_law(traffic, sizes, input.as_ref())?;
            *page = apps::PageWorkload { html, objects, sizes, connections, request, think };
        }
        (apps::Workload::Measured(measured), App::Workload(spec)) => {
            *measured = measured_of(traffic, spec, input.as_ref())?;
        }
        _ => unreachable!("the workload is made of the same kind"),
    }
    workload.validate().map_err(|e| refused(traffic, e.to_string()))?;
    Ok(workload)
}

fn refused(traffic: &Traffic, message: impl Into<String>) -> Error {
    Error::Workload { traffic: traffic.name.clone(), message: message.into() }
}

/// Returns the distribution of sizes; `input` is the content of its file, if it has one.
fn size_law(traffic: &Traffic, sizes: &FlowSizes, input: Option<&Input>) -> Result<apps::SizeLaw, Error> {
    Ok(match (sizes, input) {
        (FlowSizes::WebSearch, _) => apps::SizeLaw::Table(Arc::new(apps::SizeTable::web_search())),
        (FlowSizes::DataMining, _) => apps::SizeLaw::Table(Arc::new(apps::SizeTable::data_mining())),
        (FlowSizes::Fixed(size), _) => apps::SizeLaw::Fixed(*size),
        (FlowSizes::LogNormal { median, sigma }, _) => apps::SizeLaw::LogNormal { median: *median, sigma: *sigma },
        (FlowSizes::Pareto { shape, minimum, maximum }, _) => {
            apps::SizeLaw::Pareto { shape: *shape, minimum: *minimum, maximum: *maximum }
        }
        (FlowSizes::Table { .. }, Some(Input::Sizes(table))) => apps::SizeLaw::Table(table.clone()),
        (FlowSizes::Table { .. }, _) => return Err(refused(traffic, "the file of the sizes has not been read")),
    })
}

/// Returns the flows of a group.
fn flows_of(traffic: &Traffic, spec: &FlowSpec, input: Option<&Input>) -> Result<apps::FlowsWorkload, Error> {
    let drawn = |pace: &FlowPace, sizes| -> Result<_, Error> {
        let sizes = size_law(traffic, sizes, input)?;
        Ok((interval(traffic, *pace, &sizes).map_err(|message| refused(traffic, message))?, sizes))
    };
    let process = match &spec.source {
        FlowSource::Trace { .. } => match input {
            Some(Input::Trace(flows)) => apps::FlowProcess::Trace(flows.clone()),
            _ => return Err(refused(traffic, "the trace of the flows has not been read")),
        },
        FlowSource::Poisson { pace, sizes } => {
            let (interval, sizes) = drawn(pace, sizes)?;
            apps::FlowProcess::Poisson { interval, sizes }
        }
        FlowSource::Periodic { pace, sizes } => {
            let (interval, sizes) = drawn(pace, sizes)?;
            apps::FlowProcess::Periodic { interval, sizes }
        }
    };
    let FlowSpec { count, duration, limit, .. } = *spec;
    Ok(apps::FlowsWorkload { process, count, duration, limit })
}

/// Returns the measured conversations of a group; `input` is their class.
fn measured_of(traffic: &Traffic, spec: &WorkloadSpec, input: Option<&Input>) -> Result<apps::MeasuredWorkload, Error> {
    let Some(Input::Class(model)) = input else {
        return Err(refused(traffic, "the class of the workload file has not been read"));
    };
    let arrivals = match spec.arrivals {
        ConversationUse::Closed { gap } => apps::MeasuredArrivals::Closed { gap },
        ConversationUse::Open { pace, count, duration, limit } => {
            let scale = match pace {
                ConversationPace::Scale(scale) => scale,
                ConversationPace::Load(load) => {
                    let octets = model.mean_octets(spec.fits);
                    let scale = scale_of(traffic, load, octets, model.arrival_gap.as_ref(), spec.fits);
                    scale.map_err(|message| refused(traffic, message))?
                }
            };
            apps::MeasuredArrivals::Open { scale, count, duration, limit }
        }
    };
    Ok(apps::MeasuredWorkload { model: model.clone(), fits: spec.fits, arrivals })
}

/// Returns the datagrams of a class that is of UDP; `input` is the class.
fn datagrams_of(
    traffic: &Traffic,
    spec: &WorkloadSpec,
    input: Option<&Input>,
) -> Result<apps::MeasuredDatagrams, Error> {
    let Some(Input::Datagrams(model)) = input else {
        return Err(refused(traffic, "the class of the workload file has not been read"));
    };
    let ConversationUse::Open { pace, count, duration, limit } = spec.arrivals else {
        return Err(refused(traffic, "a class of UDP has no closed users; accepted: workload.arrivals = \"open\""));
    };
    let scale = match pace {
        ConversationPace::Scale(scale) => scale,
        ConversationPace::Load(load) => {
            let octets = model.mean_octets(spec.fits);
            let scale = scale_of(traffic, load, octets, model.arrival_gap.as_ref(), spec.fits);
            scale.map_err(|message| refused(traffic, message))?
        }
    };
    let (model, fits, family, largest) = (model.clone(), spec.fits, traffic.family(), traffic.mtu);
    let workload = apps::MeasuredDatagrams { model, fits, scale, count, duration, limit, family, largest };
    workload.validate().map_err(|e| refused(traffic, e.to_string()))?;
    Ok(workload)
}

/// Returns the factor on the rate of conversations that gives a load of the bottleneck link, or the reason for which
/// there is none.
fn scale_of(
    traffic: &Traffic,
    load: f64,
    octets: Option<[f64; 2]>,
    arrival_gap: Option<&apps::Distribution>,
    fits: bool,
) -> Result<f64, String> {
    let octets = octets.ok_or("load needs mean sizes, and a fitted law has none")?;
    let gap = match arrival_gap {
        Some(gap) => gap.mean(fits).ok_or("load needs a mean arrival_gap, and the fitted law has none")?,
        None => return Err("load needs an arrival_gap, which the class does not have".to_owned()),
    };
    let octets = octets[0].max(octets[1]);
    if octets <= 0.0 || gap <= 0.0 {
        return Err("load needs sizes and an arrival_gap above 0".to_owned());
    }
    let slots = f64::from(traffic.count.max(1));
    Ok(load * traffic.bottleneck.as_bps() as f64 * gap / (8.0 * octets * slots))
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
