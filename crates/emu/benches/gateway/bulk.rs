//! One bulk transfer: its programs and its measurements.

use std::time::Duration;

use cellway_record::stats::jain;

use crate::by::{By, NEAR, kcptun};
use crate::daemons::{Costs, Daemons};
use crate::net::{LISTENING, Net, Running};
use crate::path::{Lan, Path, Seen, Trial, emulate};
use crate::streams::{Received, SINK, SOURCE};
use crate::{figure, me};

/// The direction of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// To the server.
    Up,
    /// To the client.
    Down,
    Both,
}

impl Direction {
    /// Returns the directions in use: 0 is to the server, 1 to the client.
    pub(crate) fn ways(self) -> &'static [usize] {
        match self {
            Direction::Up => &[0],
            Direction::Down => &[1],
            Direction::Both => &[0, 1],
        }
    }
    pub(crate) fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
            Direction::Both => "both",
        }
    }
}

/// A bulk transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) path: Path,
    /// In each direction.
    pub(crate) streams: usize,
    pub(crate) direction: Direction,
    pub(crate) by: By,
    pub(crate) coalesced: bool,
    pub(crate) lan: Lan,
    pub(crate) seconds: u64,
    /// `limits.window` in bandwidth-delay products; the gateways' own default if absent.
    pub(crate) window: Option<f64>,
}

/// The measurements of one transfer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) seen: Seen,
    /// By direction of the data: to the server, to the client.
    pub(crate) received: [Option<Received>; 2],
    /// Of the daemons, during the transfer.
    pub(crate) costs: Option<Costs>,
    /// Round trips of small packets (s): the least, and the 99th percentile under load.
    pub(crate) echo: Option<[f64; 2]>,
    /// The share of all processors that was used by anything during the transfer.
    pub(crate) busy: f64,
    /// The share of all processors that was used by anything before the transfer.
    pub(crate) load: f64,
}

impl Measured {
    /// Returns the bytes of all streams, both directions.
    pub(crate) fn bytes(&self) -> f64 {
        self.received.iter().flatten().map(|received| received.bytes() as f64).sum()
    }
    /// Returns the goodput in one direction as a share of `mbps`.
    pub(crate) fn share(&self, way: usize, mbps: u64) -> Option<f64> {
        let received = self.received[way].as_ref()?;
        Some(received.bytes() as f64 * 8.0 / received.seconds.len() as f64 / (mbps as f64 * 1e6))
    }
    /// Returns the least goodput of a second after the third, as a share of `mbps`.
    pub(crate) fn least_second(&self, way: usize, mbps: u64) -> Option<f64> {
        let least = self.received[way].as_ref()?.seconds.iter().skip(3).min()?;
        Some(*least as f64 * 8.0 / (mbps as f64 * 1e6))
    }
    /// Returns Jain's index over the streams of one direction.
    pub(crate) fn jain(&self, way: usize) -> Option<f64> {
        let streams: Vec<f64> = self.received[way].as_ref()?.streams.iter().map(|bytes| *bytes as f64).collect();
        if streams.len() > 1 { jain(&streams) } else { None }
    }
}

impl Transfer {
    /// Emulates the path and transfers over it.
    pub(crate) fn run(&self, seed: u64) -> Result<Measured, String> {
        let Transfer { path, coalesced, lan, seconds, .. } = *self;
        let most = seconds as f64 + 40.0 + 30.0 * path.rtt();
        let trial = Trial { path, seed, coalesced, lan, most };
        let (seen, mut measured) = emulate(&trial, |net| self.within(net))?;
        measured.seen = seen;
        Ok(measured)
    }

    /// Transfers between the machines of a network.
    pub(crate) fn within(&self, net: &dyn Net) -> Result<Measured, String> {
        let mut measured = Measured { load: busy_while(|| std::thread::sleep(LOAD)).0, ..Measured::default() };
        let daemons = self.by.pair(&self.path, self.window).map(|pair| Daemons::start(net, &pair)).transpose()?;
        let kcptun = if self.by == By::Kcptun { Some(kcptun(net, &self.path, self.direction)?) } else { None };
        let costs = || match (&daemons, &kcptun) {
            (Some(daemons), _) => daemons.costs().map(Some),
            (None, Some(pair)) => Costs::of(pair.iter()).map(Some),
            (None, None) => Ok(None),
        };
        // A program that measures delays must not wait for a processor, where the system allows the priority.
        let (me, server) = (me(), net.address("server").to_string());
        let first = ["nice", "-n", "-20", &me, "--program"];
        let _echo = Running::start(net, "server", &[&first[..], &["echo"]].concat())?;
        let loaded = format!("{}", 5.0 * self.path.rtt());
        let before = costs()?;
        let (busy, transferred) = busy_while(|| {
            let probe = Running::start(net, "client", &[&first[..], &["probe", &server, &loaded]].concat())?;
            let ways = self.direction.ways().iter();
            let running: Vec<_> =
                ways.map(|&way| Ok((way, self.programs(net, way)?))).collect::<Result<_, String>>()?;
            let (receivers, _senders): (Vec<_>, Vec<_>) =
                running.into_iter().map(|(way, [receiver, sender])| ((way, receiver), sender)).unzip();
            for (way, receiver) in receivers {
                let text = receiver.output()?;
                let received = serde_json::from_str(&text).map_err(|e| format!("a receiver printed {text:?}: {e}"))?;
                measured.received[way] = Some(received);
            }
            probe.kill()
        });
        let said = transferred?;
        measured.busy = busy;
        measured.costs = costs()?.zip(before).map(|(after, before)| after.since(before));
        measured.echo = figure(&said, "least").zip(figure(&said, "p99")).map(|(least, p99)| [least, p99]);
        Ok(measured)
    }

    /// Starts the receiver and the sender of one direction.
    fn programs(&self, net: &dyn Net, way: usize) -> Result<[Running; 2], String> {
        let (settings, control) = (self.by.settings(&self.path), self.by.control());
        let (seconds, streams) = (self.seconds, self.streams);
        let kcptun = self.by == By::Kcptun;
        let server = if kcptun { "127.0.0.1".to_owned() } else { net.address("server").to_string() };
        let of = |role: &str, server: &str, port: u16| {
            let command = format!(
                "{settings}exec {} --program stream {role} {server} {port} {seconds} {streams} {control}",
                me()
            );
            ["sh".to_owned(), "-c".to_owned(), command]
        };
        let start =
            |machine: &str, words: [String; 3]| Running::start(net, machine, &words.each_ref().map(String::as_str));
        let port = if way == 0 { SINK } else { SOURCE };
        let (serving, asking) = if way == 0 { ("receive", "send") } else { ("send", "receive") };
        let near = if kcptun { NEAR } else { port };
        let listening = start("server", of(serving, "-", port))?;
        std::thread::sleep(LISTENING);
        let connecting = start("client", of(asking, &server, near))?;
        Ok(if way == 0 { [listening, connecting] } else { [connecting, listening] })
    }
}

/// The time for which the load of this computer is measured before a transfer.
const LOAD: Duration = Duration::from_millis(500);

/// Returns the share of all processors that was used by anything while `work` ran, and its result.
fn busy_while<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let before = ticks();
    let done = work();
    let share = before.zip(ticks()).map(|(before, now)| (now[0] - before[0]) / (now[1] - before[1]));
    (share.unwrap_or(f64::NAN), done)
}

/// Returns the processor time of this computer since boot: used, and all, in ticks (proc_stat(5)).
fn ticks() -> Option<[f64; 2]> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let words = text.lines().next()?.split_whitespace().skip(1).take(8);
    let ticks: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    let all: f64 = ticks.iter().sum();
    // The fourth and fifth are idle and waiting for a disk.
    Some([all - ticks.get(3)? - ticks.get(4)?, all])
}
