//! The paths of the bench, and one emulation of one of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use cellway_emu::{Control, Hosts};
use cellway_record::stats::percentile;
use cellway_scenario::Plan;
use cellway_units::Span;
use tempfile::TempDir;

use crate::net::Net;
use crate::{lan, me};

/// A long link between two networks: packets of up to 1500 octets, a queue of one bandwidth-delay product each way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) name: &'static str,
    /// Mbit/s of IP packets, towards the server and towards the client.
    pub(crate) mbps: [u64; 2],
    /// Round trip (ms).
    pub(crate) rtt: u64,
    /// Packets lost at random, in each direction, per cent.
    pub(crate) loss: f64,
    /// The least share of the line that the gateways are to give to their hosts, at a given rate.
    pub(crate) target: f64,
    /// The most time that a download of [`DOWNLOAD`] bytes may take, with a late and an early answer (s).
    pub(crate) download: Option<[f64; 2]>,
}

/// The largest page of Kato et al. 1997, section 4.3.1 (bytes).
pub(crate) const DOWNLOAD: u64 = 572_101;

const fn path(name: &'static str, mbps: [u64; 2], rtt: u64, loss: f64, target: f64) -> Path {
    Path { name, mbps, rtt, loss, target, download: None }
}

pub(crate) const PATHS: [Path; 7] = [
    Path { download: Some([0.56, 0.38]), ..path("A", [30, 30], 175, 0.0, 0.945) },
    Path { download: Some([1.30, 0.70]), ..path("B", [100, 100], 600, 0.0, 0.93) },
    path("B0.1%", [100, 100], 600, 0.1, 0.92),
    path("C", [400, 400], 100, 0.0, 0.94),
    path("C1%", [400, 400], 100, 1.0, 0.92),
    path("100/5", [5, 100], 600, 0.0, 0.93),
    path("10/1", [1, 10], 100, 0.0, 0.93),
];

impl Path {
    pub(crate) fn rtt(&self) -> f64 {
        self.rtt as f64 / 1000.0
    }
    pub(crate) fn is_symmetric(&self) -> bool {
        self.mbps[0] == self.mbps[1]
    }
    /// Returns the rate of the faster direction (Mbit/s).
    pub(crate) fn fastest(&self) -> u64 {
        self.mbps[0].max(self.mbps[1])
    }
    /// Returns bandwidth times delay of the faster direction (bytes).
    pub(crate) fn bdp(&self) -> u64 {
        self.fastest() * self.rtt * 1000 / 8
    }
    /// Returns the time that a full packet occupies the line towards the server (s).
    pub(crate) fn packet(&self) -> f64 {
        1500.0 * 8.0 / (self.mbps[0] as f64 * 1e6)
    }
}

/// The local networks between the hosts and their gateways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lan {
    /// Lines of 1 Gbit/s of the emulator. Its thread carries every byte three times, but each host pays for its own
    /// packets only, as with network cards.
    Emulated,
    /// Veth devices. The emulator carries the packets of the long link only, but the sender of a packet also pays for
    /// its processing at the receiver: processor times of the daemons include much of the TCP of their hosts.
    Veth,
}

impl Lan {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Lan::Emulated => "emulated",
            Lan::Veth => "veth",
        }
    }
}

/// One emulation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub(crate) path: Path,
    pub(crate) seed: u64,
    /// Packets cross the devices of the machines in coalesced units, as with the offloads of a network card.
    pub(crate) coalesced: bool,
    pub(crate) lan: Lan,
    /// The longest duration of the run (s).
    pub(crate) most: f64,
}

/// The report of an emulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    figures: BTreeMap<(String, String), f64>,
    /// Packets in the queue of the line towards the server at each sample under load, in order.
    waiting: Vec<f64>,
    /// The 99th percentile of lateness, or that of the delay before packets are read, whichever is longer.
    pub(crate) late: Span,
    pub(crate) valid: bool,
    pub(crate) notes: Vec<String>,
    /// The share of the run for which the thread of the emulator used a processor.
    pub(crate) emulator: f64,
}

impl Seen {
    /// Returns a figure; `None` if it was not counted.
    pub(crate) fn get(&self, subject: &str, metric: &str) -> Option<f64> {
        self.figures.get(&(subject.to_owned(), metric.to_owned())).copied()
    }
    /// Returns the quantile `q` of the packets that waited for the line.
    pub(crate) fn waiting(&self, q: f64) -> Option<f64> {
        percentile(&self.waiting, q)
    }
}

/// The interval between samples of the line's queue.
const SAMPLE: Span = Span::from_ms(10);
/// The line counts as loaded if it was sending for more than this share of the time since the last sample.
const BUSY: f64 = 0.5;

/// Emulates a path while `work` is done in its machines; returns when that is done.
pub(crate) fn emulate<T: Send>(
    trial: &Trial,
    work: impl FnOnce(&dyn Net) -> Result<T, String> + Send,
) -> Result<(Seen, T), String> {
    let folder = TempDir::with_prefix("cellway-").map_err(|e| e.to_string())?;
    let done = folder.path().join("done");
    let text = scenario(trial, &done.display().to_string());
    let plan = Plan::parse_with(&text, "bench", &[], None).map_err(|e| e.to_string())?;
    let mut waiting = Vec::new();
    let mut look = |snapshot: &cellway_emu::Snapshot| {
        let line = snapshot.ports.iter().filter(|port| port.name == "g1>g2" && port.utilisation > BUSY);
        waiting.extend(line.map(|port| f64::from(port.queue)));
    };
    let outcome = Mutex::new(None);
    let beside = |hosts: &Hosts| {
        let joined = if trial.lan == Lan::Veth { lan::join(hosts) } else { Ok(()) };
        let worked = joined.and_then(|()| work(hosts));
        *outcome.lock().expect("nothing panics while it holds this") = Some(worked);
        std::fs::write(&done, "").expect("a folder of our own is writable");
    };
    let view: cellway_emu::View<'_> = Some((SAMPLE, &mut look));
    let control = Control { view, beside: Some(Box::new(beside)), until: Some("wait"), ..Control::default() };
    let emulated = cellway_emu::emulate(plan.base(), &[], trial.seed, control).map_err(|e| e.to_string())?;
    // The namespaces of the run end with its threads.
    std::thread::sleep(Duration::from_millis(200));
    let worked = outcome.into_inner().map_err(|e| e.to_string())?.ok_or("the run ended before its programs did")??;
    waiting.sort_by(f64::total_cmp);
    let summary = &emulated.record.summary;
    let figures: BTreeMap<_, _> =
        summary.iter().map(|row| ((row.subject.to_string(), row.metric.to_string()), row.value)).collect();
    let cpu = figures.get(&("emulation".to_owned(), "cpu".to_owned())).copied().unwrap_or(f64::NAN);
    let seen = Seen {
        figures,
        waiting,
        late: emulated.lateness.p99().max(emulated.ingress.p99()),
        valid: emulated.is_valid(),
        emulator: cpu / emulated.duration.as_secs_f64(),
        notes: emulated.notes,
    };
    Ok((seen, worked))
}

/// Returns the scenario: client, `g1`, the long link, `g2`, server. It ends when the file `done` exists.
fn scenario(trial: &Trial, done: &str) -> String {
    let Trial { path, coalesced, most, .. } = *trial;
    let Path { rtt, loss, .. } = path;
    let mut text = format!(
        "version = 1\nname = \"bench\"\n\
         observe = {{ series = false }}\n\
         buffer = {{ size = \"{} B\", per = \"port\", count = \"packet\" }}\n\
         tcp = {{ profile = \"linux-6\", mss = \"1460 B\" }}\n\
         multiplexing = {{ channel = \"per-destination\" }}\n\
         [run]\nduration = \"{most} s\"\nwarmup = \"0 s\"\nrtt = \"{rtt} ms\"\n\
         [run.emulate]\nplay = false\nconversations = 65504\ngateways = false\noffload = {coalesced}\n",
        path.bdp()
    );
    text += "[[node]]\nname = \"client\"\nkind = \"host\"\n[[node]]\nname = \"server\"\nkind = \"host\"\n";
    let [up, down] = path.mbps;
    for (name, peer) in [("g1", "g2"), ("g2", "g1")] {
        // Writing to a String cannot fail, in these calls.
        let _ = writeln!(
            text,
            "[[node]]\nname = \"{name}\"\nkind = \"gateway\"\npeer = \"{peer}\"\n\
             gateway = {{ rate = \"{} Mbit/s\", packet = \"1400 B\" }}",
            up.min(down),
        );
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
        "[[link]]\nname = \"line\"\nbetween = [\"g1\", \"g2\"]\nrate = \"{up} Mbit/s\"\ndelay = \"{} us\"\n\
         framing = \"packet\"\nmtu = \"1500 B\"",
        rtt * 500
    );
    if loss > 0.0 {
        let _ = writeln!(text, "loss = \"{loss}%\"");
    }
    if !path.is_symmetric() {
        let _ =
            writeln!(text, "[[change]]\nat = \"0 s\"\nlink = \"line\"\ndirection = \"back\"\nrate = \"{down} Mbit/s\"");
    }
    let _ = writeln!(
        text,
        "[[run.command]]\nname = \"wait\"\nhost = \"client\"\nrun = ['''{}''', '--program', 'wait', '''{done}''']",
        me()
    );
    text
}
