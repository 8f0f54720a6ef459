//! One bulk transfer: its programs, and what is measured of it.

use std::time::Duration;

use cellway_record::stats::jain;

use crate::daemons::{Costs, Daemons, Pair, Rate};
use crate::me;
use crate::net::{Net, Running};
use crate::path::{Path, Seen, Trial, emulate};
use crate::streams::{Received, SINK, SOURCE};

/// Who carries the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// The kernel with a window of 64 KB.
    Small,
    /// The kernel with buffers of four times bandwidth times delay.
    Cubic,
    Bbr,
    Kcptun,
    /// The gateways, over QUIC.
    Here(Rate),
    /// The same, answering connections before the server does.
    Early,
    /// The gateways, in TLS over TCP.
    Tls,
}

impl By {
    pub(crate) fn name(self) -> &'static str {
        match self {
            By::Small => "kernel-64KB",
            By::Cubic => "cubic",
            By::Bbr => "bbr",
            By::Kcptun => "kcptun",
            By::Here(Rate::Given) => "given",
            By::Here(Rate::Auto) => "auto",
            By::Early => "early",
            By::Tls => "tls",
        }
    }
    /// The configuration of the pair, where there is one.
    fn pair(self, path: &Path, window: Option<f64>) -> Option<Pair> {
        let rate = match self {
            By::Here(rate) => rate,
            By::Early | By::Tls => Rate::Given,
            By::Small | By::Cubic | By::Bbr | By::Kcptun => return None,
        };
        Some(Pair {
            early: self == By::Early,
            transport: if self == By::Tls { "tls" } else { "quic" },
            rate,
            mbps: path.mbps,
            window: window.map(|window| (window * path.bdp() as f64) as u64),
            limits: String::new(),
        })
    }
    /// Why it cannot be measured on this machine.
    pub(crate) fn missing(self) -> Option<&'static str> {
        let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let has = |program| cellway_emu::sys::find_program(program).is_some();
        match self {
            By::Bbr if !controls.is_ok_and(|all| all.split_whitespace().any(|one| one == "bbr")) => {
                Some("the kernel has no bbr")
            }
            By::Kcptun if !(has("kcptun-client") && has("kcptun-server")) => Some("kcptun is not installed"),
            _ => None,
        }
    }
    /// Settings of the hosts' kernels, as lines of a shell.
    fn settings(self, path: &Path) -> String {
        let (most, control) = match self {
            // Half of a receive buffer is window (ip-sysctl.rst, tcp_adv_win_scale).
            By::Small => (2 * 65_536, "cubic"),
            By::Cubic => (4 * path.bdp(), "cubic"),
            By::Bbr => (4 * path.bdp(), "bbr"),
            By::Kcptun | By::Here(_) | By::Early | By::Tls => return String::new(),
        };
        format!(
            "cd /proc/sys/net/ipv4; echo 4096 {most} {most} > tcp_rmem; echo 4096 {most} {most} > tcp_wmem; \
             echo {control} > tcp_congestion_control; cd /; "
        )
    }
}

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
    /// 0 is to the server, 1 to the client.
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
    /// Processor time of all processors that was used by anything at all during the transfer, as a share.
    pub(crate) busy: f64,
    /// Processors used by all others before the transfer.
    pub(crate) load: f64,
}

impl Measured {
    /// The bytes of all streams, both directions.
    pub(crate) fn bytes(&self) -> f64 {
        self.received.iter().flatten().map(|received| received.bytes() as f64).sum()
    }
    /// The goodput in one direction as a share of `mbps`.
    pub(crate) fn share(&self, way: usize, mbps: u64) -> Option<f64> {
        let received = self.received[way].as_ref()?;
        Some(received.bytes() as f64 * 8.0 / received.seconds.len() as f64 / (mbps as f64 * 1e6))
    }
    /// The least goodput of a second after the third, as a share of `mbps`.
    pub(crate) fn least_second(&self, way: usize, mbps: u64) -> Option<f64> {
        let least = self.received[way].as_ref()?.seconds.iter().skip(3).min()?;
        Some(*least as f64 * 8.0 / (mbps as f64 * 1e6))
    }
    /// Jain's index over the streams of one direction.
    pub(crate) fn jain(&self, way: usize) -> Option<f64> {
        let streams: Vec<f64> = self.received[way].as_ref()?.streams.iter().map(|bytes| *bytes as f64).collect();
        if streams.len() > 1 { jain(&streams) } else { None }
    }
}

impl Transfer {
    /// Emulates the path and transfers over it.
    pub(crate) fn run(&self, seed: u64) -> Result<Measured, String> {
        let Transfer { path, coalesced, seconds, .. } = *self;
        let most = seconds as f64 + 40.0 + 30.0 * path.rtt();
        let trial = Trial { path, seed, coalesced, most };
        let (seen, mut measured) = emulate(&trial, |net| self.within(net))?;
        measured.seen = seen;
        Ok(measured)
    }

    /// Transfers between the machines of a network.
    pub(crate) fn within(&self, net: &dyn Net) -> Result<Measured, String> {
        let before = used();
        std::thread::sleep(Duration::from_millis(500));
        let load = before.zip(used()).map_or(f64::NAN, |(before, now)| share(before, now));
        let daemons = self.by.pair(&self.path, self.window).map(|pair| Daemons::start(net, &pair)).transpose()?;
        let _kcptun = if self.by == By::Kcptun { self.kcptun(net)? } else { Vec::new() };
        let me = me();
        let first = |words: &[&str]| [&["nice", "-n", "-20", &me, "--program"], words].concat().join(" ");
        let _echo = Running::start(net, "server", &["sh", "-c", &format!("exec {}", first(&["echo"]))])?;
        let server = net.address("server").to_string();
        let streams = |way: usize| self.programs(net, way);
        let mut running = Vec::new();
        let costs = daemons.as_ref().map(Daemons::costs).transpose()?;
        let before = used();
        let loaded = format!("{}", 5.0 * self.path.rtt());
        let probe = Running::start(net, "client", &["sh", "-c", &format!("exec {}", first(&["probe", &server, &loaded]))])?;
        for &way in self.direction.ways() {
            running.push((way, streams(way)?));
        }
        let mut measured = Measured { load, ..Measured::default() };
        let mut receivers = Vec::new();
        let mut senders = Vec::new();
        for (way, [receiver, sender]) in running {
            receivers.push((way, receiver));
            senders.push(sender);
        }
        for (way, receiver) in receivers {
            let text = receiver.output()?;
            let received = serde_json::from_str(&text).map_err(|e| format!("a receiver printed {text:?}: {e}"))?;
            measured.received[way] = Some(received);
        }
        measured.busy = before.zip(used()).map_or(f64::NAN, |(before, now)| share(before, now));
        if let (Some(before), Some(daemons)) = (costs, &daemons) {
            let after = daemons.costs()?;
            measured.costs = Some(Costs {
                cpu: after.cpu - before.cpu,
                switches: after.switches - before.switches,
                own_drops: after.own_drops - before.own_drops,
                resent: after.resent - before.resent,
                ..after
            });
        }
        let said = probe.kill()?;
        measured.echo = last(&said, "least").zip(last(&said, "p99")).map(|(least, p99)| [least, p99]);
        Ok(measured)
    }

    /// Starts the receiver and the sender of one direction.
    fn programs(&self, net: &dyn Net, way: usize) -> Result<[Running; 2], String> {
        let settings = self.by.settings(&self.path);
        let (seconds, streams) = (self.seconds, self.streams);
        let kcptun = self.by == By::Kcptun;
        let server = if kcptun { "127.0.0.1".to_owned() } else { net.address("server").to_string() };
        let of = |role: &str, server: &str, port: u16| {
            let command = format!("{settings}exec {} --program stream {role} {server} {port} {seconds} {streams}", me());
            ["sh".to_owned(), "-c".to_owned(), command]
        };
        let start = |machine: &str, words: [String; 3]| Running::start(net, machine, &words.each_ref().map(String::as_str));
        let port = if way == 0 { SINK } else { SOURCE };
        let (serving, asking) = if way == 0 { ("receive", "send") } else { ("send", "receive") };
        let near = if kcptun { 12_948 + way as u16 } else { port };
        let listening = start("server", of(serving, "-", port))?;
        // It listens within a few milliseconds; a connection before that would be refused.
        std::thread::sleep(Duration::from_millis(300));
        let connecting = start("client", of(asking, &server, near))?;
        Ok(if way == 0 { [listening, connecting] } else { [connecting, listening] })
    }

    /// Tuned as its users do for a line of a known rate: windows of what is on the line, no redundancy, no compression,
    /// encrypted.
    fn kcptun(&self, net: &dyn Net) -> Result<Vec<Running>, String> {
        let bdp = self.path.bdp();
        let window = (bdp * 11 / 10 / 1444).to_string();
        let buffer = (4 * bdp).max(4 << 20).to_string();
        let server = net.address("server");
        let mut running = Vec::new();
        for (way, port) in [SINK, SOURCE].into_iter().enumerate() {
            let carrier = 29_900 + way;
            let far = ["kcptun-server".to_owned(), "-l".into(), format!(":{carrier}"), "-t".into(), format!("127.0.0.1:{port}")];
            let (from, to) = (format!("127.0.0.1:{}", 12_948 + way), format!("{server}:{carrier}"));
            let near = ["kcptun-client".to_owned(), "-l".into(), from, "-r".into(), to];
            for (machine, ends) in [("server", far), ("client", near)] {
                let mut words: Vec<&str> = ends.iter().map(String::as_str).collect();
                words.extend(["--mode", "fast3", "--mtu", "1472", "--ds", "0", "--ps", "0", "--crypt", "aes-128", "--nocomp"]);
                words.extend(["--sndwnd", &window, "--rcvwnd", &window, "--sockbuf", &buffer]);
                words.extend(["--smuxver", "2", "--smuxbuf", &buffer, "--streambuf", &buffer, "--quiet"]);
                running.push(Running::start(net, machine, &words)?);
            }
        }
        std::thread::sleep(Duration::from_millis(500));
        Ok(running)
    }
}

/// The number after the last occurrence of a word.
fn last(text: &str, word: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().rposition(|&other| other == word)?;
    words.get(at + 1)?.parse().ok()
}

/// Processor time of the machine since it began: used, and all, in ticks (proc_stat(5)).
fn used() -> Option<[f64; 2]> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<f64> = text.lines().next()?.split_whitespace().skip(1).take(8).filter_map(|t| t.parse().ok()).collect();
    let all: f64 = ticks.iter().sum();
    // The fourth and fifth are idle and waiting for a disk.
    Some([all - ticks.get(3)? - ticks.get(4)?, all])
}

/// The share of processors that was used between two readings.
fn share(before: [f64; 2], now: [f64; 2]) -> f64 {
    (now[0] - before[0]) / (now[1] - before[1])
}
