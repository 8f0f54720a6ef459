//! Traffic groups.

use std::fmt::Write;

use cellway_settings::in_file::Printed;
use cellway_spec::{DatagramEcn, Dscp, Family, PageSpec};

use crate::model::{
    AbrSpec, App, Arrivals, HostKeys, HostSpec, Protocol, Scenario, Service, Spike, Tables, TcpKeys, Traffic,
    UdpSource, Video,
};
use crate::tree::quoted;
use crate::write::flows::{write_flows, write_sizes};
use crate::write::workload::{class_name, write_workload};
use crate::write::{list, word};

impl Scenario {
    pub(super) fn write_traffic(&self, out: &mut String, traffic: &Traffic) -> std::fmt::Result {
        writeln!(out, "\n[[traffic]]\nname = {}", quoted(&traffic.name))?;
        if let Some(tcp) = traffic.tcp() {
            match &tcp.app {
                App::Workload(spec) => writeln!(out, "app = {}", quoted(&class_name(spec)))?,
                app => writeln!(out, "app = \"{}\"", app.kind().name())?,
            }
        }
        if let Protocol::Class(class) = &traffic.protocol {
            writeln!(out, "app = {}", quoted(&class_name(&class.spec)))?;
        }
        let [from, to] = [traffic.from, traffic.to].map(|end| quoted(&self.nodes[end.node().0].name));
        writeln!(out, "count = {}\nfrom = {from}\nto = {to}", traffic.count)?;
        writeln!(out, "start = \"{}\"\nstagger = \"{}\"", traffic.start, traffic.stagger)?;
        writeln!(out, "jitter = \"{}\"", traffic.jitter)?;
        if traffic.dscp != Dscp::Cs0 {
            writeln!(out, "dscp = {}", word(traffic.dscp))?;
        }
        if traffic.family() != Family::Ipv4 {
            writeln!(out, "family = {}", word(traffic.family()))?;
        }
        if let Some(tcp) = traffic.tcp() {
            // A refused gateway and a missing one are the same here.
            if !tcp.app.arrives_by_itself() {
                writeln!(out, "repeat = {}", tcp.repeat)?;
            }
            writeln!(out, "gateway = {}", tcp.gateways.is_some())?;
        }
        if let Some(access) = &traffic.access {
            writeln!(
                out,
                "access = {{ rate = \"{}\", delay = \"{}\", framing = {}, mtu = \"{}\", loss = \"{}\" }}",
                access.rate,
                access.delay,
                word(access.framing),
                access.mtu,
                access.loss
            )?;
        }
        if traffic.host != HostSpec::default() {
            writeln!(out, "host = {}", HostKeys::from(traffic.host).print())?;
        }
        if traffic.service != (Service::Ubr { pcr: None }) {
            writeln!(out, "service = {{ {} }}", self.service(&traffic.service))?;
        }
        match &traffic.protocol {
            Protocol::Tcp(tcp) => {
                write_app(out, &tcp.app)?;
                writeln!(out, "[traffic.tcp]\n{}", TcpKeys::from(tcp.tcp).lines().join("\n"))
            }
            Protocol::Udp(source) => write_udp(out, source),
            Protocol::Class(class) => {
                writeln!(out, "[traffic.workload]")?;
                write_workload(out, &class.spec)
            }
        }
    }

    fn service(&self, service: &Service) -> String {
        match service {
            Service::Ubr { pcr } => {
                format!("class = \"ubr\"{}", pcr.map_or(String::new(), |pcr| format!(", pcr = \"{pcr}\"")))
            }
            Service::Cbr { pcr } => format!("class = \"cbr\", pcr = \"{pcr}\""),
            Service::Vbr { pcr, scr, mbs, shape } => {
                format!("class = \"vbr-nrt\", pcr = \"{pcr}\", scr = \"{scr}\", mbs = \"{mbs}\", shape = {shape}")
            }
            Service::Abr(abr) => self.abr(abr),
        }
    }

    fn abr(&self, abr: &AbrSpec) -> String {
        let mut keys = vec!["class = \"abr\"".to_owned()];
        let between = abr.between;
        let abr = &abr.parameters;
        keys.extend(
            [("pcr", abr.pcr), ("mcr", abr.mcr), ("icr", abr.icr)].map(|(k, rate)| format!("{k} = \"{rate}\"")),
        );
        keys.extend(
            [("rif", abr.rif), ("rdf", abr.rdf), ("cdf", abr.cdf)].map(|(k, part)| format!("{k} = \"{part}\"")),
        );
        keys.extend([("trm", abr.trm), ("adtf", abr.adtf)].map(|(k, time)| format!("{k} = \"{time}\"")));
        keys.extend([("nrm", abr.nrm), ("crm", abr.crm)].map(|(k, n)| format!("{k} = {n}")));
        keys.extend(between.map(|ends| format!("between = {}", list(ends.map(|node| &self.nodes[node.0].name)))));
        keys.join(", ")
    }
}

fn write_udp(out: &mut String, source: &UdpSource) -> std::fmt::Result {
    let kind = source.arrivals.kind().name();
    writeln!(out, "[traffic.udp]\nsource = \"{kind}\"\npacket = \"{}\"", source.packet)?;
    match source.arrivals {
        Arrivals::Ping { interval } => writeln!(out, "interval = \"{interval}\"")?,
        _ => writeln!(out, "rate = \"{}\"", source.rate)?,
    }
    if source.ecn != DatagramEcn::NotEct {
        writeln!(out, "ecn = {}", word(source.ecn))?;
    }
    if let Some(duration) = source.duration {
        writeln!(out, "duration = \"{duration}\"")?;
    }
    if let Arrivals::OnOff { on, off } = source.arrivals {
        writeln!(out, "on = \"{on}\"\noff = \"{off}\"")?;
    }
    if let Some(video) = source.video() {
        let Video { frame_rate, key_frame_interval, key_frame_ratio, frame_sigma, playout_delay } = video;
        writeln!(out, "frame-rate = {frame_rate:?}\nkey-frame-interval = {key_frame_interval}")?;
        writeln!(out, "key-frame-ratio = {key_frame_ratio:?}\nframe-sigma = {frame_sigma:?}")?;
        writeln!(out, "playout-delay = \"{playout_delay}\"")?;
    }
    Ok(())
}

fn write_app(out: &mut String, app: &App) -> std::fmt::Result {
    if let App::Flows(flows) = app {
        return write_flows(out, flows);
    }
    writeln!(out, "[traffic.workload]")?;
    match app {
        App::Flows(_) => Ok(()),
        App::Ftp { tables, spike, data_connection, handshake } => {
            write_tables(out, tables)?;
            if let Some(Spike { size, weight }) = spike {
                writeln!(out, "spike = {{ size = \"{size}\", weight = {weight:?} }}")?;
            }
            writeln!(out, "data-connection = {}\nhandshake = {handshake}", word(data_connection))
        }
        App::Nntp { tables, handshake } | App::Smtp { tables, handshake } => {
            write_tables(out, tables)?;
            writeln!(out, "handshake = {handshake}")
        }
        App::Telnet { tables, echo } => {
            write_tables(out, tables)?;
            writeln!(out, "echo = {echo}")
        }
        App::Bulk { size, write, write_cost } => {
            if let Some(size) = size {
                writeln!(out, "size = \"{size}\"")?;
            }
            if let Some(write) = write {
                writeln!(out, "write = \"{write}\"")?;
            }
            writeln!(out, "write-cost = \"{write_cost}\"")
        }
        App::Ttcp { write, buffers, write_cost } => {
            writeln!(out, "write = \"{write}\"\nbuffers = {buffers}\nwrite-cost = \"{write_cost}\"")
        }
        App::FtpGet { size, disk_rate, handshake } => {
            if let Some(rate) = disk_rate {
                writeln!(out, "disk-rate = \"{rate}\"")?;
            }
            writeln!(out, "size = \"{size}\"\nhandshake = {handshake}")
        }
        App::Www { sizes, request, display_rate } => {
            if let Some(rate) = display_rate {
                writeln!(out, "display-rate = \"{rate}\"")?;
            }
            writeln!(out, "sizes = {}\nrequest = \"{request}\"", list(sizes.iter().map(ToString::to_string)))
        }
        App::Animation { frame, rate, duration } => {
            if let Some(duration) = duration {
                writeln!(out, "duration = \"{duration}\"")?;
            }
            writeln!(out, "frame = \"{frame}\"\nrate = {rate:?}")
        }
        App::RequestResponse { request, response, think, duration } => {
            if let Some(duration) = duration {
                writeln!(out, "duration = \"{duration}\"")?;
            }
            writeln!(out, "request = \"{request}\"\nresponse = \"{response}\"\nthink = \"{think}\"")
        }
        App::Workload(spec) => write_workload(out, spec),
        App::Page(PageSpec { html, objects, sizes, connections, request, think }) => {
            writeln!(out, "html = \"{html}\"\nrequest = \"{request}\"\nconnections = {connections}")?;
            writeln!(out, "think = \"{think}\"\n[traffic.workload.objects]\ncount = {objects}")?;
            write_sizes(out, sizes)
        }
    }
}

fn write_tables(out: &mut String, tables: &Tables) -> std::fmt::Result {
    writeln!(out, "draw = {}", word(tables.draw))?;
    match &tables.folder {
        Some(folder) => writeln!(out, "tables = {}", quoted(folder)),
        None => Ok(()),
    }
}
