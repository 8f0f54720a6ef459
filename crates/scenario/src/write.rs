//! A checked scenario back to a file, with every value written out.

use std::fmt::Write;

use cellway_units::Span;
use serde::Serialize;

use crate::model::{Access, App, BufferSize, Scenario, Spike, Tables, TcpSpec, Traffic};
use crate::tree::quoted;

impl Scenario {
    /// A scenario file that says all that this scenario is: defaults, merged TCP settings and
    /// what "rtt" and "bdp" stood for are written out. Parsing it gives this scenario again.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "version = 1\nname = {}\ndescription = {}", quoted(&self.name), quoted(&self.description))?;
        let run = &self.run;
        writeln!(out, "\n[run]\nduration = \"{}\"\nwarmup = \"{}\"", run.duration, run.warmup)?;
        writeln!(out, "seed = {}\nseeds = {}\nrtt = \"{}\"", run.seed, run.seeds, run.rtt)?;
        let multiplexing = &self.multiplexing;
        writeln!(out, "\n[multiplexing]\nchannel = {}", word(multiplexing.channel))?;
        writeln!(out, "encapsulation = {}", word(multiplexing.encapsulation))?;
        let size = match self.buffer.size {
            BufferSize::Cells(cells) => cells.to_string(),
            BufferSize::Bytes(bytes) => bytes.to_string(),
        };
        writeln!(out, "\n[buffer]\nsize = \"{size}\"\nper = {}", word(self.buffer.per))?;
        writeln!(out, "sharing = {}\ncount = {}", word(self.buffer.sharing), word(self.buffer.count))?;
        writeln!(out, "discard = {}", word(self.buffer.discard))?;
        for node in &self.nodes {
            writeln!(out, "\n[[node]]\nname = {}\nkind = {}", quoted(&node.name), word(node.kind))?;
        }
        for link in &self.links {
            let [a, b] = [link.a, link.b].map(|end| quoted(&self.nodes[end.0].name));
            writeln!(out, "\n[[link]]\nname = {}\nbetween = [{a}, {b}]", quoted(&link.name))?;
            writeln!(out, "rate = \"{}\"\ndelay = \"{}\"\nframing = {}", link.rate, link.delay, word(link.framing))?;
        }
        for traffic in &self.traffic {
            self.write_traffic(out, traffic)?;
        }
        let observe = &self.observe;
        writeln!(out, "\n[observe]\ninterval = \"{}\"", observe.interval)?;
        writeln!(out, "fairness-window = \"{}\"", observe.fairness_window)?;
        let slots: Vec<String> =
            observe.trace.iter().map(|slot| quoted(&self.traffic[slot.traffic].slot(slot.number))).collect();
        writeln!(out, "trace = [{}]\nseries = {}", slots.join(", "), observe.series)
    }

    fn write_traffic(&self, out: &mut String, traffic: &Traffic) -> std::fmt::Result {
        writeln!(out, "\n[[traffic]]\nname = {}\napp = \"{}\"", quoted(&traffic.name), traffic.app.name())?;
        let [from, to] = [traffic.from, traffic.to].map(|end| quoted(&self.nodes[end.node().0].name));
        writeln!(out, "count = {}\nfrom = {from}\nto = {to}", traffic.count)?;
        writeln!(out, "start = \"{}\"\nstagger = \"{}\"", traffic.start, traffic.stagger)?;
        if let Some(Access { rate, delay, .. }) = traffic.access {
            writeln!(out, "access = {{ rate = \"{rate}\", delay = \"{delay}\" }}")?;
        }
        write_app(out, &traffic.app)?;
        write_tcp(out, &traffic.tcp)
    }
}

/// The name of a unit variant in the file, in quotes.
fn word<T: Serialize>(value: T) -> String {
    serde_json::to_string(&value).expect("a unit variant is a word")
}

fn write_app(out: &mut String, app: &App) -> std::fmt::Result {
    writeln!(out, "[traffic.workload]")?;
    match app {
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
        App::Bulk { size: Some(size), .. } => writeln!(out, "size = \"{size}\""),
        _ => Ok(()),
    }
}

fn write_tables(out: &mut String, tables: &Tables) -> std::fmt::Result {
    writeln!(out, "draw = {}", word(tables.draw))?;
    match &tables.folder {
        Some(folder) => writeln!(out, "tables = {}", quoted(folder)),
        None => Ok(()),
    }
}

fn write_tcp(out: &mut String, tcp: &TcpSpec) -> std::fmt::Result {
    let delayed_ack = tcp.delayed_ack.map_or("off".to_owned(), |span: Span| span.to_string());
    writeln!(out, "[traffic.tcp]\nvariant = {}\nmss = \"{}\"", word(tcp.variant), tcp.mss)?;
    writeln!(out, "window = \"{}\"\nsend-buffer = \"{}\"", tcp.window, tcp.send_buffer)?;
    writeln!(out, "window-scaling = {}\ninitial-window = {}", tcp.window_scaling, tcp.initial_window)?;
    writeln!(out, "delayed-ack = \"{delayed_ack}\"\nnagle = {}", tcp.nagle)?;
    writeln!(out, "duplicate-threshold = {}", tcp.duplicate_threshold)?;
    writeln!(out, "timer-granularity = \"{}\"", tcp.timer_granularity)?;
    writeln!(out, "rto-initial = \"{}\"\nrto-min = \"{}\"", tcp.rto_initial, tcp.rto_min)?;
    writeln!(out, "rto-max = \"{}\"\nmax-retransmissions = {}", tcp.rto_max, tcp.max_retransmissions)?;
    writeln!(out, "time-wait = \"{}\"", tcp.time_wait)
}
