//! `cellway shell`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use cellway_lab::Error;
use cellway_lab::emulate::{self, EmulationView, Far, ShellLine, ShellOptions, ShellPath, ShellReport};
use serde_json::{Value, json};

use crate::args::Shell;
use crate::table::Table;
use crate::top::EVERY;
use crate::{DONE, FAILED, Failure, WRONG_INPUT, output};

/// Exit status if there is no valid run, as env(1), timeout(1) and `docker run` use it.
const UNCOUNTED: u8 = 125;
/// Exit status if the program exists but cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// Exit status if the program does not exist.
const NOT_FOUND: u8 = 127;

pub(crate) fn run(options: &Shell) -> Result<(), Failure> {
    let wrong = |message: String| Failure { message, code: WRONG_INPUT };
    let path = ShellPath {
        rate: options.rate.clone(),
        rtt: options.rtt.clone(),
        buffer: options.buffer.clone(),
        queue: options.queue.clone(),
        framing: options.framing.clone(),
        mtu: options.mtu.clone(),
        loss: options.loss.clone(),
        line: ShellLine {
            rates: [options.up.clone(), options.down.clone()],
            delay: options.delay.clone(),
            loss_burst: options.loss_burst.clone(),
            duplicate: options.duplicate.clone(),
            corrupt: options.corrupt.clone(),
            jitter: options.jitter.clone(),
            outage: options.outage.clone(),
        },
        multiplexing: options.multiplexing.clone(),
        serve: options.serve.clone(),
        ready: options.ready.clone(),
        far: match (options.here, options.internet) {
            (false, false) => Far::New,
            (true, _) => Far::Here,
            (false, true) => Far::Internet,
        },
        lateness_limit: options.lateness_limit.clone(),
    };
    let capture = match options.pcap.as_deref().map(|text| text.split_once('=').ok_or(text)) {
        Some(Err(text)) => {
            return Err(wrong(format!("--pcap {text}: this is not NODE=FILE; for example near=near.pcap")));
        }
        Some(Ok((node, file))) => Some((node, Path::new(file))),
        None => None,
    };
    // Errors in the input are reported before a namespace is entered.
    path.plan(&["sh".to_owned()])?;
    if let Some(option) = [("--here", options.here), ("--internet", options.internet)].iter().find(|(_, given)| *given)
        && emulate::is_isolated()
    {
        return Err(wrong(format!(
            "{option}: the far end cannot be this machine, as an ordinary user reaches its network from no namespace; run \
             it as root (CAP_NET_ADMIN and CAP_SYS_ADMIN), or without {option}",
            option = option.0
        )));
    }
    if let Some(status) = emulate::enter().map_err(failure)? {
        return ended(status);
    }
    let shell = || std::env::var_os("SHELL").unwrap_or_else(|| OsString::from("/bin/sh"));
    let command = if options.command.is_empty() { vec![shell()] } else { options.command.clone() };
    let mut views = match &options.top {
        Some(file) => Some(File::create(file).map_err(|e| wrong(format!("--top {}: {e}", file.display())))?),
        None => None,
    };
    let mut unwritten = None;
    let mut show = |view: &EmulationView| {
        if let (Some(file), Ok(text)) = (&mut views, serde_json::to_string(view))
            && let Err(error) = writeln!(file, "{text}")
            // A reader that has closed the pipe is no reason to stop.
            && error.kind() != ErrorKind::BrokenPipe
        {
            unwritten.get_or_insert(error);
        }
    };
    let view: emulate::View<'_> = match options.top {
        Some(_) => Some((EVERY, &mut show)),
        None => None,
    };
    let log = options.log.as_deref().map(emulate::Log::create).transpose()?;
    let lines = log.as_ref().map_or_else(|| emulate::lines_to(std::io::stderr()), emulate::Log::lines);
    let asked = ShellOptions { capture, view, lines: Some(lines) };
    let report = emulate::shell(&path, &command, asked).map_err(|error| match (capture, error) {
        (Some((node, file)), error) if error.is_capture() => {
            Failure { message: format!("--pcap {node}={}: {error}", file.display()), code: UNCOUNTED }
        }
        (_, error) => failure(error),
    })?;
    if options.json {
        output::say_json(&as_json(&report));
    } else {
        print_report(&report);
    }
    if let Some(log) = log {
        log.finish().map_err(failure)?;
    }
    if let (Some(file), Some(error)) = (&options.top, unwritten) {
        let message = format!("--top {}: cannot write: {error}", file.display());
        return Err(Failure { message, code: UNCOUNTED });
    }
    if options.strict && report.status == DONE && !report.emulated.is_valid() {
        let message = "--strict: the run is INVALID, so the status of the program does not count".to_owned();
        return Err(Failure { message, code: UNCOUNTED });
    }
    ended(report.status)
}

/// Maps an error to an exit status that cannot be mistaken for the program's own.
fn failure(error: Error) -> Failure {
    let code = match error.not_executed() {
        Some(ErrorKind::NotFound) => NOT_FOUND,
        Some(_) => NOT_EXECUTABLE,
        None => UNCOUNTED,
    };
    let failure = Failure::from(error);
    if failure.code == FAILED { Failure { code, ..failure } } else { failure }
}

fn ended(status: u8) -> Result<(), Failure> {
    if status == DONE { Ok(()) } else { Err(Failure { message: String::new(), code: status }) }
}

/// Returns a figure of the run; 0 if it has no row.
fn figure(report: &ShellReport, subject: &str, metric: &str) -> f64 {
    row(report, subject, metric).unwrap_or_default()
}

fn row(report: &ShellReport, subject: &str, metric: &str) -> Option<f64> {
    let rows = &report.emulated.record.summary;
    rows.iter().find(|row| &*row.subject == subject && row.metric == metric).map(|row| row.value)
}

const PORTS: [(&str, &str); 2] = [("near>far", "to the server"), ("far>near", "from the server")];

fn print_report(report: &ShellReport) {
    let run = &report.emulated;
    let seconds = run.duration.as_secs_f64();
    let header =
        ["", "utilisation", "queue mean", "queue max", "wait p99", "dropped", "marked", "lost"].map(str::to_owned);
    let mut table = Table::with_numbers(&header, |column| column > 0);
    for (port, name) in PORTS {
        let unit = run.record.summary.iter().find(|row| &*row.subject == port && row.metric == "queue_max");
        let unit = unit.map_or("", |row| row.metric.unit());
        let lost = ["client>near", "near>client"].iter().zip(PORTS).find(|(_, known)| known.0 == port);
        table.add_row([
            name.to_owned(),
            format!("{:.1} %", figure(report, port, "utilisation") * 100.0),
            format!("{:.1} {unit}", figure(report, port, "queue_mean")),
            format!("{:.0} {unit}", figure(report, port, "queue_max")),
            match row(report, port, "sojourn_p99") {
                Some(wait) => format!("{:.1} ms", wait * 1e3),
                None => "-".to_owned(),
            },
            format!(
                "{:.0}",
                ["dropped_packets", "dropped_frames", "dropped_cells"]
                    .map(|metric| figure(report, port, metric))
                    .iter()
                    .sum::<f64>()
            ),
            format!("{:.0}", figure(report, port, "marked")),
            // Packets are lost on the access link of the client, or on the line if a recording says so.
            format!(
                "{:.0}",
                lost.map_or(0.0, |(access, _)| figure(report, access, "lost") + figure(report, port, "lost"))
            ),
        ]);
    }
    output::say(&format!("path: {seconds:.1} s, {} packets", run.delays.count()));
    table.lines(output::error_width()).iter().for_each(|row| output::say(row));
    if let Some(reached) = &run.internet {
        output::say(&format!("internet: {reached}"));
    }
    if run.delays.count() > 0 {
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|q| run.delays.quantile(q).as_millis_f64());
        output::say(&format!("delay one way: p50 {p50:.2} ms, p95 {p95:.2} ms, p99 {p99:.2} ms"));
        let [p50, p99, max] = [run.lateness.quantile(0.5), run.lateness.p99(), run.lateness.max()].map(micros);
        output::say(&format!("lateness: p50 {p50:.0} us, p99 {p99:.0} us, largest {max:.0} us"));
        let [p50, p99, max] = [run.ingress.quantile(0.5), run.ingress.p99(), run.ingress.max()].map(micros);
        output::say(&format!("wait before reading, at most: p50 {p50:.0} us, p99 {p99:.0} us, largest {max:.0} us"));
    }
    output::say(&format!("driven under {}", run.treatment));
    output::warn(&report.warnings);
}

fn micros(span: cellway_lab::Span) -> f64 {
    span.as_secs_f64() * 1e6
}

fn as_json(report: &ShellReport) -> Value {
    let rows = report
        .emulated
        .record
        .summary
        .iter()
        .map(|row| json!({ "subject": &*row.subject, "metric": row.metric.name(), "unit": row.metric.unit(), "value": row.value }));
    json!({
        "seconds": report.emulated.duration.as_secs_f64(),
        "valid": report.emulated.is_valid(),
        "status": report.status,
        "internet": report.emulated.internet,
        "figures": rows.collect::<Vec<_>>(),
        "warnings": report.warnings,
    })
}
