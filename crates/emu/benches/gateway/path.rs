//! The paths of the bench, and one emulation of one of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use cellway_emu::{Beside, Control, Emulated};
use cellway_record::stats::percentile;
use cellway_scenario::Plan;
use cellway_units::Span;

/// A long line between two networks: packets of up to 1500 octets, a queue of one bandwidth-delay product.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub(crate) name: &'static str,
    /// Mbit/s of IP packets.
    pub(crate) mbps: u64,
    /// Round trip (ms).
    pub(crate) rtt: u64,
    /// Share of the packets lost at random, in each direction, per cent.
    pub(crate) loss: f64,
    /// The least share of the line that the gateway is to give to its hosts.
    pub(crate) target: f64,
    /// The longest that a download of [`DOWNLOAD`] bytes is to take, late and early (s).
    pub(crate) download: Option<[f64; 2]>,
}

/// The largest page of the paper `kdd`, section 4.3.1 (bytes).
pub(crate) const DOWNLOAD: u64 = 572_101;

pub(crate) const PATHS: [Path; 5] = [
    Path { name: "A", mbps: 30, rtt: 175, loss: 0.0, target: 0.94, download: Some([0.56, 0.38]) },
    Path { name: "B", mbps: 100, rtt: 600, loss: 0.0, target: 0.93, download: Some([1.30, 0.70]) },
    Path { name: "B0.1%", mbps: 100, rtt: 600, loss: 0.1, target: 0.92, download: None },
    Path { name: "C", mbps: 400, rtt: 100, loss: 0.0, target: 0.94, download: None },
    Path { name: "C1%", mbps: 400, rtt: 100, loss: 1.0, target: 0.92, download: None },
];

impl Path {
    pub(crate) fn rtt(&self) -> f64 {
        self.rtt as f64 / 1000.0
    }
    /// Bandwidth times delay (bytes).
    pub(crate) fn bdp(&self) -> u64 {
        self.mbps * self.rtt * 1000 / 8
    }
    /// How long a full packet is on the line (s).
    pub(crate) fn packet(&self) -> f64 {
        1500.0 * 8.0 / (self.mbps as f64 * 1e6)
    }
}

/// What stands between the hosts and the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Middle {
    /// Routers.
    Routers,
    /// Gateways: whether they answer early, and what carries them.
    Gateways { early: bool, transport: &'static str },
    /// Gateways whose daemons the bench starts itself.
    Bare,
}

/// A program in one of the hosts.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) host: &'static str,
    pub(crate) words: Vec<String>,
    /// From the start of the run (s).
    pub(crate) start: f64,
    /// Metric, and where it stands: `json` or `pattern`, and what.
    pub(crate) figures: Vec<(String, &'static str, String)>,
}

impl Command {
    pub(crate) fn new(name: &'static str, host: &'static str, start: f64, words: &[&str]) -> Command {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        Command { name, host, words, start, figures: Vec::new() }
    }
    /// The figure `metric` of the JSON that it prints.
    pub(crate) fn json(mut self, metric: &str, at: &str) -> Command {
        self.figures.push((metric.to_owned(), "json", at.to_owned()));
        self
    }
    /// The figure `metric`, the last that matches.
    pub(crate) fn pattern(mut self, metric: &str, pattern: &str) -> Command {
        self.figures.push((metric.to_owned(), "pattern", pattern.to_owned()));
        self
    }
}

/// One emulation.
pub(crate) struct Trial<'a> {
    pub(crate) path: Path,
    pub(crate) middle: Middle,
    /// Most bytes of one connection in a gateway, in bandwidth-delay products.
    pub(crate) window: f64,
    pub(crate) seed: u64,
    pub(crate) commands: Vec<Command>,
    /// The run ends with this program, and after so many seconds at the latest.
    pub(crate) until: Option<&'a str>,
    pub(crate) most: f64,
    pub(crate) beside: Option<Beside<'a>>,
}

/// What came of it.
pub(crate) struct Seen {
    figures: BTreeMap<(String, String), f64>,
    /// Packets that waited for the line towards the server whenever it was looked at under load, in order.
    waiting: Vec<f64>,
    pub(crate) late: Span,
    pub(crate) valid: bool,
    pub(crate) notes: Vec<String>,
}

impl Seen {
    /// A figure; none if it was not counted.
    pub(crate) fn get(&self, subject: &str, metric: &str) -> Option<f64> {
        self.figures.get(&(subject.to_owned(), metric.to_owned())).copied()
    }
    /// The share `q` of the looks saw at most so many packets wait for the line.
    pub(crate) fn waiting(&self, q: f64) -> Option<f64> {
        percentile(&self.waiting, q)
    }
}

/// How often the line is looked at.
const LOOK: Span = Span::from_ms(10);
/// What is taken for load: so much of the time since the last look the line was sending.
const BUSY: f64 = 0.5;

pub(crate) fn emulate(trial: Trial<'_>) -> Result<Seen, String> {
    let Trial { path, middle, window, seed, commands, until, most, beside } = trial;
    let text = scenario(&path, middle, window, &commands, most);
    let plan = Plan::parse_with(&text, "bench", &[], None).map_err(|e| e.to_string())?;
    let mut waiting = Vec::new();
    let mut look = |snapshot: &cellway_emu::Snapshot| {
        let line = snapshot.ports.iter().filter(|port| port.name == "g1>g2" && port.utilisation > BUSY);
        waiting.extend(line.map(|port| f64::from(port.queue)));
    };
    let control = Control { view: Some((LOOK, &mut look)), beside, until, ..Control::default() };
    let emulated: Emulated = cellway_emu::emulate(plan.base(), &[], seed, control).map_err(|e| e.to_string())?;
    waiting.sort_by(f64::total_cmp);
    let summary = &emulated.record.summary;
    let figures = summary.iter().map(|row| ((row.subject.to_string(), row.metric.to_string()), row.value)).collect();
    // The namespaces of the run go with its threads.
    std::thread::sleep(Duration::from_millis(200));
    Ok(Seen { figures, waiting, late: emulated.lateness.p99(), valid: emulated.is_valid(), notes: emulated.notes })
}

/// The scenario: client, `g1`, the line, `g2`, server.
fn scenario(path: &Path, middle: Middle, window: f64, commands: &[Command], most: f64) -> String {
    let Path { mbps, rtt, loss, .. } = *path;
    let mut text = format!(
        "version = 1\nname = \"bench\"\n\
         observe = {{ series = false }}\n\
         buffer = {{ size = \"{} B\", per = \"port\", count = \"packet\" }}\n\
         tcp = {{ profile = \"linux-6\", mss = \"1460 B\" }}\n\
         multiplexing = {{ channel = \"per-destination\" }}\n",
        path.bdp()
    );
    let (connect, transport) = match middle {
        Middle::Gateways { early: true, transport } => ("early", transport),
        Middle::Gateways { early: false, transport } => ("late", transport),
        Middle::Routers | Middle::Bare => ("late", "quic"),
    };
    let _ = writeln!(
        text,
        "[run]\nduration = \"{most} s\"\nwarmup = \"0 s\"\nrtt = \"{rtt} ms\"\n\
         [run.emulate]\nplay = false\nconversations = 65504\ngateways = {}\ngateway = {{ connect = \"{connect}\", transport = \"{transport}\" }}",
        matches!(middle, Middle::Gateways { .. })
    );
    text += "[[node]]\nname = \"client\"\nkind = \"host\"\n[[node]]\nname = \"server\"\nkind = \"host\"\n";
    for (name, peer) in [("g1", "g2"), ("g2", "g1")] {
        let _ = match middle {
            Middle::Routers => writeln!(text, "[[node]]\nname = \"{name}\"\nkind = \"router\""),
            Middle::Gateways { .. } | Middle::Bare => writeln!(
                text,
                "[[node]]\nname = \"{name}\"\nkind = \"gateway\"\npeer = \"{peer}\"\n\
                 gateway = {{ rate = \"{mbps} Mbit/s\", packet = \"1400 B\", window = \"{} B\" }}",
                (window * path.bdp() as f64) as u64
            ),
        };
    }
    for (a, b) in [("client", "g1"), ("g2", "server")] {
        let _ = writeln!(
            text,
            "[[link]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\nframing = \"packet\"\n\
             mtu = \"1500 B\""
        );
    }
    let _ = writeln!(
        text,
        "[[link]]\nbetween = [\"g1\", \"g2\"]\nrate = \"{mbps} Mbit/s\"\ndelay = \"{} us\"\nframing = \"packet\"\n\
         mtu = \"1500 B\"",
        rtt * 500
    );
    if loss > 0.0 {
        let _ = writeln!(text, "loss = \"{loss}%\"");
    }
    for Command { name, host, words, start, figures } in commands {
        let words: Vec<String> = words.iter().map(|word| format!("'''{word}'''")).collect();
        let _ = writeln!(
            text,
            "[[run.command]]\nname = \"{name}\"\nhost = \"{host}\"\nstart = \"{start} s\"\nrun = [{}]",
            words.join(", ")
        );
        for (metric, source, at) in figures {
            let _ =
                writeln!(text, "[[run.command.figure]]\nmetric = \"{metric}\"\nunit = \"1\"\n{source} = '''{at}'''");
        }
    }
    text
}
