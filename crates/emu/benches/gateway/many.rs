//! Many connections: the rate of new ones, and the memory of idle ones.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use crate::daemons::{Costs, Daemons, Pair};
use crate::net::{LISTENING, Net, Running};
use crate::path::{Lan, PATHS, Path, Trial, emulate};
use crate::report::{Report, Value};
use crate::{Options, figure, me};

/// The new connections per second, and the duration (s).
const RATE: u32 = 1000;
const SECONDS: u32 = 10;
/// The number of connections that stay idle, and the most memory that a gateway may then use (MB).
const IDLE: u32 = 10_000;
const MOST_MB: f64 = 300.0;
/// The rate at which the idle ones are opened (1/s), and the time that they are idle before memory is read.
const OPENED: u32 = 500;
const SETTLE: Duration = Duration::from_secs(3);

pub(crate) fn run(options: &Options, report: &mut Report) {
    let path = PATHS[0];
    for by in ["direct", "given"] {
        let id = format!("connections {} {by}", path.name);
        if options.wants(&id)
            && let Err(why) = connections(&path, by, options, report)
        {
            report.say(&format!("{id}: {why}"));
        }
    }
    let id = format!("idle {}", path.name);
    if options.wants(&id)
        && let Err(why) = idle(&path, options, report)
    {
        report.say(&format!("{id}: {why}"));
    }
}

/// Returns a pair whose limits admit all connections of the bench.
fn wide(path: &Path) -> Pair {
    Pair { limits: format!("per-source = {0}\nconnections = {0}", 2 * IDLE), ..Pair::given(path) }
}

fn connections(path: &Path, by: &str, options: &Options, report: &mut Report) -> Result<(), String> {
    let seconds = if options.quick { 3 } else { SECONDS };
    let is_here = by != "direct";
    let trial = Trial { path: *path, seed: 1, coalesced: true, lan: Lan::Veth, most: f64::from(seconds) + 60.0 };
    let (seen, (said, cpu)) = emulate(&trial, |net| {
        let daemons = is_here.then(|| Daemons::start(net, &wide(path))).transpose()?;
        let _served = Running::start(net, "server", &[&me(), "--program", "answer"])?;
        std::thread::sleep(LISTENING);
        let before = daemons.as_ref().map(Daemons::costs).transpose()?;
        let (server, rate, count) = (net.address("server").to_string(), RATE.to_string(), (RATE * seconds).to_string());
        let words = [&me(), "--program", "ask", &server, &rate, &count, "close"];
        let said = Running::start(net, "client", &words)?.output()?;
        let after = daemons.as_ref().map(Daemons::costs).transpose()?;
        Ok((said, before.zip(after).map(|(before, after)| after.cpu - before.cpu)))
    })?;
    let figure = |metric| figure(&said, metric);
    // The last connection is answered some round trips after it was begun.
    let sustained = figure("answered").zip(figure("took")).zip(figure("whole_p50"));
    let sustained = sustained.map(|((answered, took), whole)| answered / (took - whole).max(f64::from(seconds)));
    report.row(
        "connections",
        &seen,
        vec![
            ("path", Value::Word(path.name.to_owned())),
            ("by", Value::Word(by.to_owned())),
            ("seconds", Value::Number(f64::from(seconds), 0)),
            (
                "per_second",
                Value::judged(sustained, 0, is_here.then_some(f64::from(RATE) * 0.99), |got, least| got >= least),
            ),
            ("failed", Value::judged(figure("failed"), 0, is_here.then_some(0.0), |got, most| got <= most)),
            ("most_open", Value::maybe(figure("open"), 0)),
            ("connect_p50", Value::maybe(figure("connect_p50"), 3)),
            ("connect_p99", Value::maybe(figure("connect_p99"), 3)),
            ("whole_p50", Value::maybe(figure("whole_p50"), 3)),
            ("whole_p99", Value::maybe(figure("whole_p99"), 3)),
            ("gateways_cpu_s", Value::maybe(cpu, 2)),
            ("behind_s", Value::maybe(figure("behind"), 4)),
        ],
    );
    Ok(())
}

fn idle(path: &Path, options: &Options, report: &mut Report) -> Result<(), String> {
    let count = if options.quick { IDLE / 10 } else { IDLE };
    let most = f64::from(count) / f64::from(OPENED) + 60.0;
    let trial = Trial { path: *path, seed: 1, coalesced: true, lan: Lan::Veth, most };
    let (seen, (answered, before, with)) = emulate(&trial, |net| held(net, path, count))?;
    for (at, name) in ["near", "far"].into_iter().enumerate() {
        let [before, with] = [before, with].map(|costs| costs.resident[at] / 1e6);
        report.row(
            "idle",
            &seen,
            vec![
                ("gateway", Value::Word(name.to_owned())),
                ("asked", Value::Number(f64::from(count), 0)),
                ("connections", Value::judged(Some(answered), 0, Some(f64::from(count)), |got, least| got >= least)),
                ("mb_before", Value::Number(before, 1)),
                ("mb", Value::judged(Some(with), 1, Some(MOST_MB), |mb, most| mb <= most)),
                ("kb_each", Value::Number((with - before) * 1e3 / answered.max(1.0), 2)),
            ],
        );
    }
    Ok(())
}

/// Opens connections through a pair and leaves them idle. Returns the number of those answered, and the costs before
/// and with them.
fn held(net: &dyn Net, path: &Path, count: u32) -> Result<(f64, Costs, Costs), String> {
    let _served = Running::start(net, "server", &[&me(), "--program", "answer"])?;
    let daemons = Daemons::start(net, &wide(path))?;
    std::thread::sleep(Duration::from_secs(2));
    let before = daemons.costs()?;
    let (server, rate, count) = (net.address("server").to_string(), OPENED.to_string(), count.to_string());
    let mut ask = Running::start(net, "client", &[&me(), "--program", "ask", &server, &rate, &count, "stay"])?;
    let said = BufReader::new(ask.take_stdout().expect("it was started with a pipe"));
    let begun = Instant::now();
    let mut answered = None;
    for line in said.lines() {
        let line = line.map_err(|e| e.to_string())?;
        answered = figure(&line, "answered").or(answered);
        if line == "done" {
            break;
        }
    }
    let answered = answered.ok_or_else(|| format!("the client ended after {:?}", begun.elapsed()))?;
    std::thread::sleep(SETTLE);
    Ok((answered, before, daemons.costs()?))
}
