//! The time of single requests: the first byte of a small page, and a whole larger one.

use crate::daemons::{Daemons, Pair};
use crate::net::Running;
use crate::path::{DOWNLOAD, Lan, PATHS, Path, Seen, Trial, emulate};
use crate::report::{Report, Value};
use crate::{Options, figure, me};

/// A small page (bytes): it fits into the first flight of any TCP.
const SMALL: u64 = 1000;
/// The accepted time of the first byte, relative to that of the round trips.
const MARGIN: f64 = 1.05;

/// Times of requests (s).
#[derive(Clone, Copy, Debug)]
struct Took {
    median: f64,
    most: f64,
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    for path in PATHS.into_iter().filter(|path| path.loss == 0.0 && path.is_symmetric()) {
        for by in ["direct", "given", "early"] {
            for (what, size) in [("first", SMALL), ("download", DOWNLOAD)] {
                let id = format!("http {} {what} {by}", path.name);
                if !options.wants(&id) {
                    continue;
                }
                let count = if options.quick { 3 } else { 10 };
                let pair = (by != "direct").then(|| Pair { early: by == "early", ..Pair::given(&path) });
                let (seen, took) = match get(path, pair, what, size, count) {
                    Ok(seen) => seen,
                    Err(why) => {
                        report.say(&format!("{id}: {why}"));
                        continue;
                    }
                };
                let early = usize::from(by == "early");
                let round_trips = if early == 1 { 1.0 } else { 2.0 };
                let target = match what {
                    "first" => Some(round_trips * path.rtt() * MARGIN),
                    _ => path.download.map(|targets| targets[early]),
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
                        ("median_s", Value::judged(Some(took.median), 4, target, |took, most| took <= most)),
                        ("most_s", Value::Number(took.most, 4)),
                        ("target_s", Value::maybe(target, 4)),
                    ],
                );
            }
        }
    }
}

/// Requests a page of `size` bytes `count` times, each over its own connection.
fn get(path: Path, pair: Option<Pair>, what: &str, size: u64, count: u32) -> Result<(Seen, Took), String> {
    let most = 30.0 + f64::from(count) * 20.0 * path.rtt();
    let trial = Trial { path, seed: 1, coalesced: true, lan: Lan::Emulated, most };
    emulate(&trial, |net| {
        let _daemons = pair.map(|pair| Daemons::start(net, &pair)).transpose()?;
        let _served = Running::start(net, "server", &[&me(), "--program", "pages"])?;
        std::thread::sleep(crate::net::LISTENING);
        let (server, size, count) = (net.address("server").to_string(), size.to_string(), count.to_string());
        let said = Running::start(net, "client", &[&me(), "--program", "get", &server, &size, &count])?.output()?;
        let name = if what == "first" { "first" } else { "last" };
        let took = |name: &str| figure(&said, name).ok_or(format!("the client printed {said:?}"));
        Ok(Took { median: took(name)?, most: took(&format!("{name}_most"))? })
    })
}
