//! Many connections: so many new ones each second, and what idle ones take of memory.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path as File, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cellway_emu::Hosts;
use cellway_gatewayd::{Identity, make_identities};
use tempfile::TempDir;

use crate::path::{Command, Middle, PATHS, Path, Trial, emulate};
use crate::report::{Report, Value};
use crate::{Options, me};

/// How many connections begin each second, and for how long (s).
const RATE: u32 = 1000;
const SECONDS: u32 = 10;
/// How many stay idle, and the most that a gateway may then have in memory (MB).
const IDLE: u32 = 10_000;
const MOST_MB: f64 = 300.0;
/// How fast the idle ones are opened (1/s), and how long they are idle before memory is read.
const OPENED: u32 = 500;
const SETTLE: Duration = Duration::from_secs(3);
const PORT: u16 = 4433;

pub(crate) fn run(options: &Options, report: &mut Report) {
    let path = PATHS[0];
    for (by, middle) in
        [("direct", Middle::Routers), ("here-late", Middle::Gateways { early: false, transport: "quic" })]
    {
        let id = format!("connections {} {by}", path.name);
        if options.wants(&id)
            && let Err(why) = connections(&path, by, middle, options, report)
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

fn connections(path: &Path, by: &str, middle: Middle, options: &Options, report: &mut Report) -> Result<(), String> {
    let seconds = if options.quick { 3 } else { SECONDS };
    let (rate, count) = (RATE.to_string(), (RATE * seconds).to_string());
    let words = [&me(), "--program", "ask", "$CELLWAY_HOST_server", &rate, &count, "close"];
    let metrics =
        ["answered", "failed", "took", "behind", "open", "connect_p50", "connect_p99", "whole_p50", "whole_p99"];
    let ask = metrics.into_iter().fold(Command::new("ask", "client", 0.5, &words), |ask, metric| {
        ask.pattern(metric, &format!(r"{metric} ([\d.]+)"))
    });
    let served = Command::new("answer", "server", 0.0, &[&me(), "--program", "answer"]);
    let commands = vec![served, ask];
    let most = f64::from(seconds) + 15.0;
    let seen = emulate(Trial {
        path: *path,
        middle,
        window: options.window,
        seed: 1,
        commands,
        until: Some("ask"),
        most,
        beside: None,
    })?;
    let figure = |metric| seen.get("ask", metric);
    let is_here = middle != Middle::Routers;
    // The last connection is answered some round trips after it was begun.
    let sustained = figure("answered").zip(figure("took")).zip(figure("whole_p50"));
    let sustained = sustained.map(|((answered, took), whole)| answered / (took - whole).max(f64::from(seconds)));
    let cpu = seen.get("g1", "gateway_cpu").zip(seen.get("g2", "gateway_cpu")).map(|(a, b)| a + b);
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

/// What a daemon has in memory, in MB.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    before: f64,
    with: f64,
}

fn idle(path: &Path, options: &Options, report: &mut Report) -> Result<(), String> {
    let count = if options.quick { IDLE / 10 } else { IDLE };
    let outcome = Mutex::new(None);
    let beside = |hosts: &Hosts| {
        let found = held(hosts, path, count).map_err(|e| e.to_string());
        if let Ok(mut outcome) = outcome.lock() {
            *outcome = Some(found);
        }
    };
    let served = Command::new("answer", "server", 0.0, &[&me(), "--program", "answer"]);
    let most = f64::from(count) / f64::from(OPENED) + 20.0;
    let trial = Trial {
        path: *path,
        middle: Middle::Bare,
        window: options.window,
        seed: 1,
        commands: vec![served],
        until: None,
        most,
        beside: Some(Box::new(beside)),
    };
    let seen = emulate(trial)?;
    let found = outcome.into_inner().ok().flatten().ok_or("it was not measured")?;
    let (answered, memory) = found?;
    for (name, Memory { before, with }) in ["near", "far"].into_iter().zip(memory) {
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

/// A process that ends with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts two daemons as processes, opens connections through them, and reads what they have in memory: how many were
/// answered, and the memory of both.
fn held(hosts: &Hosts, path: &Path, count: u32) -> Result<(f64, [Memory; 2]), Box<dyn Error>> {
    let folder = TempDir::with_prefix("cellway-")?;
    let identities = make_identities(folder.path(), &["g1".to_owned(), "g2".to_owned()])?;
    let mut daemons = Vec::new();
    for ((own, peer), identity) in
        [(("g1", "client"), ("g2", "server")), (("g2", "server"), ("g1", "client"))].iter().zip(identities)
    {
        let file = folder.path().join(format!("{}.toml", own.0));
        std::fs::write(&file, config(hosts, path, *own, *peer, &identity)?)?;
        let rules = hosts.run(own.0, gateway("rules apply", &file)).ok_or("no such gateway")??;
        Ended(rules).0.wait()?;
        daemons.push(Ended(hosts.run(own.0, gateway("run --log warn", &file)).ok_or("no such gateway")??));
    }
    std::thread::sleep(Duration::from_secs(2));
    let before = daemons.iter().map(|daemon| resident(daemon.0.id())).collect::<Result<Vec<f64>, _>>()?;
    let server = hosts.address("server").ok_or("no server")?.to_string();
    let ask = move || {
        let mut ask = Process::new(me());
        ask.args(["--program", "ask", &server, &OPENED.to_string(), &count.to_string(), "stay"]);
        ask.stdout(Stdio::piped()).spawn()
    };
    let mut ask = Ended(hosts.run("client", ask).ok_or("no client")??);
    let said = BufReader::new(ask.0.stdout.take().ok_or("no output")?);
    let mut answered = None;
    let begun = Instant::now();
    for line in said.lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        if words.get(2) == Some(&"answered") {
            answered = Some(words[3].parse::<f64>()?);
        }
        if line == "done" {
            break;
        }
    }
    let answered = answered.ok_or_else(|| format!("the client ended after {:?}", begun.elapsed()))?;
    std::thread::sleep(SETTLE);
    let with = daemons.iter().map(|daemon| resident(daemon.0.id())).collect::<Result<Vec<f64>, _>>()?;
    let memory = |which: usize| Memory { before: before[which], with: with[which] };
    Ok((answered, [memory(0), memory(1)]))
}

/// Starts the gateway's program, which this one is, too.
fn gateway(what: &str, config: &File) -> impl FnOnce() -> std::io::Result<Child> + Send + 'static {
    let words: Vec<String> = what.split(' ').map(str::to_owned).collect();
    let config: PathBuf = config.to_owned();
    move || Process::new(me()).args(words).arg("--config").arg(config).stdout(Stdio::null()).spawn()
}

/// What is in `VmRSS` of a process (MB): proc_pid_status(5).
fn resident(pid: u32) -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the daemon has ended")?;
    let kb: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kb * 1024.0 / 1e6)
}

fn config(
    hosts: &Hosts,
    path: &Path,
    (name, own): (&str, &str),
    (peer, other): (&str, &str),
    identity: &Identity,
) -> Result<String, Box<dyn Error>> {
    let address = |name: &str| hosts.address(name).ok_or(format!("no {name}"));
    let Identity { authority, certificate, key } = identity;
    Ok(format!(
        "name = \"{name}\"\nlocal = [\"{}/32\"]\n\
         [identity]\nauthority = \"{}\"\ncertificate = \"{}\"\nkey = \"{}\"\n\
         [listen]\naddress = \"{}:{PORT}\"\n\
         [[peer]]\nname = \"{peer}\"\naddress = \"{}:{PORT}\"\nprefixes = [\"{}/32\"]\nrate = \"{} Mbit/s\"\n\
         [intercept]\n\
         [limits]\nper-source = {}\nconnections = {}\n",
        address(own)?,
        authority.display(),
        certificate.display(),
        key.display(),
        address(name)?,
        address(peer)?,
        address(other)?,
        path.mbps,
        2 * IDLE,
        2 * IDLE
    ))
}
