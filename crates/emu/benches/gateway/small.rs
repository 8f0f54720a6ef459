//! What single requests take: the first byte of a small page, and a whole one.

use crate::path::{Command, DOWNLOAD, Middle, PATHS, Trial, emulate};
use crate::report::{Report, Value};
use crate::{Options, me};

/// A small page (bytes): it fits into the first flight of any TCP.
const SMALL: u64 = 1000;
/// How much longer than the round trips the first byte may take.
const MARGIN: f64 = 1.05;

pub(crate) fn run(options: &Options, report: &mut Report) {
    for path in PATHS.into_iter().filter(|path| path.loss == 0.0) {
        for (by, middle) in [
            ("direct", Middle::Routers),
            ("here-late", Middle::Gateways { early: false, transport: "quic" }),
            ("here-early", Middle::Gateways { early: true, transport: "quic" }),
        ] {
            for (what, size) in [("first", SMALL), ("download", DOWNLOAD)] {
                let id = format!("http {} {what} {by}", path.name);
                if !options.wants(&id) {
                    continue;
                }
                let count = if options.quick { 3 } else { 10 };
                let words = [&me(), "--program", "get", "$CELLWAY_HOST_server", &size.to_string(), &count.to_string()];
                let figures = [("first", r"first ([\d.]+)"), ("first_most", r"first_most ([\d.]+)")];
                let figures =
                    figures.into_iter().chain([("last", r"last ([\d.]+)"), ("last_most", r"last_most ([\d.]+)")]);
                let get = figures.fold(Command::new("get", "client", 0.5, &words), |get, (metric, pattern)| {
                    get.pattern(metric, pattern)
                });
                let served = Command::new("pages", "server", 0.0, &[&me(), "--program", "pages"]);
                let most = 5.0 + f64::from(count) * 20.0 * path.rtt();
                let trial = Trial {
                    path,
                    middle,
                    window: options.window,
                    seed: 1,
                    commands: vec![served, get],
                    until: Some("get"),
                    most,
                    beside: None,
                };
                let seen = match emulate(trial) {
                    Ok(seen) => seen,
                    Err(why) => {
                        report.say(&format!("{id}: {why}"));
                        continue;
                    }
                };
                let early = usize::from(by == "here-early");
                let round_trips = if early == 1 { 1.0 } else { 2.0 };
                let (metric, target) = match what {
                    "first" => ("first", Some(round_trips * path.rtt() * MARGIN)),
                    _ => ("last", path.download.map(|targets| targets[early])),
                };
                let target = target.filter(|_| by != "direct");
                report.row(
                    "http",
                    &seen,
                    vec![
                        ("path", Value::Word(path.name.to_owned())),
                        ("what", Value::Word(what.to_owned())),
                        ("by", Value::Word(by.to_owned())),
                        ("bytes", Value::Number(size as f64, 0)),
                        ("count", Value::Number(f64::from(count), 0)),
                        ("median_s", Value::judged(seen.get("get", metric), 4, target, |took, most| took <= most)),
                        ("most_s", Value::maybe(seen.get("get", &format!("{metric}_most")), 4)),
                        ("target_s", Value::maybe(target, 4)),
                    ],
                );
            }
        }
    }
}
