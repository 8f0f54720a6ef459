//! A pair of daemons as processes of their own, and their costs.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cellway_gatewayd::{Identity, Snapshot, make_identities};
use tempfile::TempDir;

use crate::me;
use crate::net::{Net, Running};
use crate::path::Path;
use crate::programs::processor;

const PORT: u16 = 4433;
/// The time within which the two must reach each other.
const PATIENCE: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(50);

/// The rate in the configuration of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    /// The rate of the line in each direction.
    Given,
    /// `rate = "auto"`.
    Auto,
}

/// The configuration of a pair, where it differs from the default.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) early: bool,
    pub(crate) transport: &'static str,
    pub(crate) rate: Rate,
    /// The rates of the line towards the server and towards the client (Mbit/s).
    pub(crate) mbps: [u64; 2],
    /// `limits.window` (bytes).
    pub(crate) window: Option<u64>,
    /// Further lines of `[limits]`.
    pub(crate) limits: String,
}

impl Pair {
    /// Returns the configuration of a user who gives the rate of the link, and nothing else.
    pub(crate) fn given(path: &Path) -> Pair {
        let (rate, mbps) = (Rate::Given, path.mbps);
        Pair { early: false, transport: "quic", rate, mbps, window: None, limits: String::new() }
    }
}

/// The resources that the processes of a pair have used, and the datagrams lost in them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Costs {
    /// Processor time of both (s).
    pub(crate) cpu: f64,
    /// Voluntary context switches of both.
    pub(crate) switches: f64,
    /// Datagrams that found a full receive buffer of a gateway's socket, at both.
    pub(crate) own_drops: f64,
    /// Peak of resident memory (bytes), near and far.
    pub(crate) peak: [f64; 2],
    /// Resident memory now (bytes), near and far.
    pub(crate) resident: [f64; 2],
    /// Bytes of connections that both have sent again.
    pub(crate) resent: f64,
}

impl Costs {
    /// Returns the costs of a pair of processes, near and far, without the values that only gateways count.
    pub(crate) fn of<'a>(pair: impl Iterator<Item = &'a Running>) -> Result<Costs, String> {
        let mut costs = Costs::default();
        for (at, process) in pair.enumerate().take(2) {
            let pid = process.id();
            costs.cpu += processor(pid).map_err(|e| format!("process {pid} of the bench has ended: {e}"))?;
            costs.switches += switches(pid);
            costs.own_drops += dropped(pid);
            costs.peak[at] = memory(pid, "VmHWM:").unwrap_or(f64::NAN);
            costs.resident[at] = memory(pid, "VmRSS:").unwrap_or(f64::NAN);
        }
        Ok(costs)
    }

    /// Returns the costs since an earlier reading; memory is the present value.
    pub(crate) fn since(self, before: Costs) -> Costs {
        Costs {
            cpu: self.cpu - before.cpu,
            switches: self.switches - before.switches,
            own_drops: self.own_drops - before.own_drops,
            resent: self.resent - before.resent,
            ..self
        }
    }
}

/// Two daemons that have reached each other.
#[derive(Debug)]
pub(crate) struct Daemons {
    folder: TempDir,
    running: Vec<(&'static str, Running)>,
}

impl Daemons {
    /// Makes keys, applies the rules, starts both daemons and waits until each reports its peer up.
    pub(crate) fn start(net: &dyn Net, pair: &Pair) -> Result<Daemons, String> {
        let folder = TempDir::with_prefix("cellway-").map_err(|e| e.to_string())?;
        let names = ["g1".to_owned(), "g2".to_owned()];
        let identities = make_identities(folder.path(), &names).map_err(|e| e.to_string())?;
        let mut daemons = Daemons { folder, running: Vec::new() };
        let ends = [["g1", "client", "g2", "server"], ["g2", "server", "g1", "client"]];
        for ((end, identity), mbps) in ends.into_iter().zip(identities).zip(pair.mbps) {
            let text = daemons.config(net, end, &identity, pair, mbps);
            fs::write(daemons.file(end[0], "toml"), text).map_err(|e| e.to_string())?;
            daemons.gateway(net, end[0], &["rules", "apply"])?.wait()?;
            let running = daemons.gateway(net, end[0], &["run", "--log", "warn"])?;
            daemons.running.push((end[0], running));
        }
        let begun = Instant::now();
        while !daemons.running.iter().all(|(name, _)| daemons.status(name).is_some_and(|s| s.peers[0].up)) {
            if begun.elapsed() > PATIENCE {
                return Err(format!("the gateways have not reached each other within {PATIENCE:?}"));
            }
            std::thread::sleep(TICK);
        }
        Ok(daemons)
    }

    fn file(&self, name: &str, kind: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.{kind}"))
    }

    /// Starts the gateway's program, which this program also contains.
    fn gateway(&self, net: &dyn Net, name: &str, words: &[&str]) -> Result<Running, String> {
        let mut command = Command::new(me());
        command.args(words).arg("--config").arg(self.file(name, "toml"));
        Running::quiet(net, name, command)
    }

    /// Returns the status of a daemon; `None` if it does not answer. A UNIX socket is reached from any network
    /// namespace.
    pub(crate) fn status(&self, name: &str) -> Option<Snapshot> {
        let mut command = Command::new(me());
        command.args(["status", "--json", "--socket"]).arg(self.file(name, "socket")).stderr(Stdio::null());
        serde_json::from_slice(&command.output().ok()?.stdout).ok()
    }

    /// Returns the resources that both have used so far.
    pub(crate) fn costs(&self) -> Result<Costs, String> {
        let mut costs = Costs::of(self.running.iter().map(|(_, daemon)| daemon))?;
        for (name, _) in &self.running {
            costs.resent += self.status(name).map_or(f64::NAN, |status| status.peers[0].resent_bytes as f64);
        }
        Ok(costs)
    }

    fn config(
        &self,
        net: &dyn Net,
        [name, own, peer, other]: [&str; 4],
        identity: &Identity,
        pair: &Pair,
        mbps: u64,
    ) -> String {
        let Identity { authority, certificate, key } = identity;
        let rate = match pair.rate {
            Rate::Given => format!("{mbps} Mbit/s"),
            Rate::Auto => "auto".to_owned(),
        };
        let mut text = format!(
            "name = \"{name}\"\nlocal = [\"{}/32\"]\n\
             [identity]\nauthority = {authority:?}\ncertificate = {certificate:?}\nkey = {key:?}\n\
             [listen]\naddress = \"{}:{PORT}\"\n\
             [[peer]]\nname = \"{peer}\"\naddress = \"{}:{PORT}\"\nprefixes = [\"{}/32\"]\nrate = \"{rate}\"\n\
             connect = \"{}\"\ntransport = \"{}\"\n\
             [intercept]\n[control]\nsocket = {:?}\n[limits]\n{}\n",
            net.address(own),
            net.address(name),
            net.address(peer),
            net.address(other),
            if pair.early { "early" } else { "late" },
            pair.transport,
            self.file(name, "socket"),
            pair.limits,
        );
        if let Some(window) = pair.window {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "window = \"{window} B\"");
        }
        text
    }
}

/// Returns a field of `/proc/PID/status` in bytes: proc_pid_status(5).
fn memory(pid: u32, field: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kib| kib * 1024.0)
}

/// Returns the voluntary context switches of all threads of a process.
fn switches(pid: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_task = |task: fs::DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse::<f64>().ok()
    };
    tasks.filter_map(of_task).sum()
}

/// Returns the datagrams that the UDP sockets in the namespace of a process have dropped: the last column of
/// `/proc/net/udp`.
fn dropped(pid: u32) -> f64 {
    let tables =
        ["udp", "udp6"].map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    lines.filter_map(|line| line.split_whitespace().next_back()?.parse::<f64>().ok()).sum()
}
