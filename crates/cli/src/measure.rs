//! `cellway measure`.

use cellway_lab::measure::{Limit, Limits, MeasureError, Server, Sweep, Test, measure};
use cellway_lab::{Error, Overview, Settings};
use serde_json::json;

use crate::args::Measure;
use crate::progress::Bar;
use crate::simulate::point_json;
use crate::{Face, Failure, figures, output};

pub(crate) fn run(options: &Measure, face: &mut Face<'_>) -> Result<(), Failure> {
    match &options.host {
        Some(host) => ask(host, options, face),
        None => serve(options, face),
    }
}

fn serve(options: &Measure, face: &mut Face<'_>) -> Result<(), Failure> {
    let default = Limits::default();
    let limits = Limits {
        max_time: options.max_time.unwrap_or(default.max_time),
        max_bytes: options.max_bytes.unwrap_or(default.max_bytes),
    };
    let mut server = Server::bind(options.bind, options.port, limits).map_err(Error::from)?;
    let at = server.address();
    output::say(&format!("waiting at {at} for tests of up to {} and {}", limits.max_time, limits.max_bytes));
    let mut log = |from: std::net::SocketAddr, done: Result<(Test, _), MeasureError>| {
        let from = from.ip().to_canonical();
        output::say(&match done {
            Ok((test, outcome)) => said(from, &test, &outcome),
            Err(error) => format!("{from}: {error}"),
        });
    };
    server.serve(options.once, &mut log, &mut face.interrupted).map_err(|error| Error::from(error).into())
}

fn said(from: std::net::IpAddr, test: &Test, outcome: &cellway_lab::measure::Outcome) -> String {
    let goodput = outcome.goodput().map(|rate| format!(", {:.3} Mbit/s", rate / 1e6)).unwrap_or_default();
    let way = if test.reverse { "to" } else { "from" };
    format!("{way} {from}: {} B in {} streams{goodput}", outcome.bytes(), test.streams)
}

fn ask(host: &str, options: &Measure, face: &mut Face<'_>) -> Result<(), Failure> {
    let base = Test::default();
    let sweep = Sweep {
        base: Test {
            limit: match (options.bytes, options.time) {
                (Some(bytes), _) => Limit::Bytes(bytes),
                (None, Some(time)) => Limit::Time(time),
                (None, None) => base.limit,
            },
            pace: options.pace,
            reverse: options.reverse,
            interval: options.interval.unwrap_or(base.interval),
            ..base
        },
        window: options.window.clone(),
        write: options.write.clone(),
        streams: options.streams.clone(),
        congestion: options.congestion.clone(),
        send_buffer: options.send_buffer.clone(),
        mss: options.mss.clone(),
    };
    if let Some(out) = &options.out {
        cellway_lab::check_target(out, options.force).map_err(Error::from)?;
    }
    let bar = Bar::new();
    let mut settings = Settings {
        threads: None,
        progress: &mut |progress| bar.show(progress),
        stop: &mut face.interrupted,
        store: None,
    };
    let asked = format!("# cellway measure {host} --port {}\n# {sweep:?}\n", options.port);
    output::detail(&format!("measures to {host}, port {}", options.port));
    let measured = measure(host, options.port, &sweep, options.repeat, &asked, &mut settings)?;
    drop(bar);
    let overview = Overview::of(&measured.results)?;
    if let Some(out) = &options.out {
        output::written_files(out, &measured.write(out, options.force)?);
    }
    if options.json {
        output::json(&json!({
            "host": host,
            "port": options.port,
            "points": overview.points.iter().map(point_json).collect::<Vec<_>>(),
            "runs": measured.results.runs.num_rows(),
            "wall_seconds": measured.about.wall_seconds,
            "folder": options.out,
        }));
        return Ok(());
    }
    figures::show_measured(&overview, options.wide);
    let tests = output::count(measured.results.runs.num_rows() as u64, "test");
    output::say(&format!("{tests} in {:.1} s", measured.about.wall_seconds));
    if let Some(out) = &options.out {
        output::say(&format!("tables in {}", out.display()));
    }
    Ok(())
}
