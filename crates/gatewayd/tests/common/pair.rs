//! Two daemons in the gateways' namespaces, with configuration and keys in a folder of their own.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cellway_sys::{Child, Group, Namespace};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::until;
use super::world::{CLIENTS, FAR, LINE, Version, World, address, prefix};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_cellway-gateway");

/// The time until a daemon must be up; only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// The options of the pair.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    /// The rate of the link in each direction.
    pub(crate) rate: &'static str,
    /// The rate towards the near gateway, if it differs.
    pub(crate) back: Option<&'static str>,
    /// Lines of `[limits]`, of both.
    pub(crate) limits: String,
    /// Lines of `[[peer]]`, of both.
    pub(crate) peer: String,
    /// Lines of `[control]`, of both.
    pub(crate) control: String,
    /// The value of `down` in `[[peer]]`, of both.
    pub(crate) down: &'static str,
    /// The networks to which the far gateway lets its peer connect; the near one intercepts connections to [`FAR`].
    pub(crate) allowed: Vec<u8>,
    /// The words before the command of each daemon, such as `env` and its arguments.
    pub(crate) before: Vec<String>,
    /// The owner of keys and configuration; none: the current user. The owner may run the program.
    pub(crate) owner: Option<u32>,
    /// The version of IP between the gateways.
    pub(crate) line: Version,
    /// Only the near one dials, this address, and it does not listen. Else both listen and dial.
    pub(crate) through: Option<SocketAddr>,
}

impl Default for Wish {
    fn default() -> Wish {
        Wish {
            rate: "1 Gbit/s",
            back: None,
            limits: String::new(),
            peer: String::new(),
            control: String::new(),
            down: "direct",
            allowed: FAR.to_vec(),
            before: Vec::new(),
            owner: None,
            line: Version::V4,
            through: None,
        }
    }
}

impl Wish {
    /// Returns the defaults, with a value of `transport` in `[[peer]]`, of both.
    pub(crate) fn over(transport: &str) -> Wish {
        Wish { peer: format!("transport = \"{transport}\""), ..Wish::default() }
    }
}

/// One of the two gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Near,
    Far,
}

impl Side {
    pub(crate) const BOTH: [Side; 2] = [Side::Near, Side::Far];

    fn name(self) -> &'static str {
        match self {
            Side::Near => "near",
            Side::Far => "far",
        }
    }

    fn namespace(self, world: &World) -> &Namespace {
        match self {
            Side::Near => &world.near,
            Side::Far => &world.far,
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Near => Side::Far,
            Side::Far => Side::Near,
        }
    }

    /// Returns the address of its listener.
    pub(crate) fn address(self, line: Version) -> SocketAddr {
        (address(line, LINE, if self == Side::Near { 1 } else { 2 }), 4433).into()
    }

    /// Returns the networks behind it, for its peer.
    fn prefixes(self) -> String {
        Side::list(if self == Side::Near { &[CLIENTS] } else { &FAR })
    }

    /// Returns the networks behind it, to which it connects.
    fn local(self, wish: &Wish) -> String {
        Side::list(if self == Side::Near { &[CLIENTS] } else { &wish.allowed })
    }

    fn list(networks: &[u8]) -> String {
        let both = [Version::V4, Version::V6];
        let all = both.iter().flat_map(|&version| networks.iter().map(move |&network| prefix(version, network)));
        let quoted: Vec<String> = all.map(|prefix| format!("\"{prefix}\"")).collect();
        format!("[{}]", quoted.join(", "))
    }
}

/// The two daemons. If it is dropped while a test fails, it prints their logs.
#[derive(Debug)]
pub(crate) struct Pair<'a> {
    world: &'a World,
    folder: TempDir,
    /// The command of each daemon, up to `run`.
    command: Vec<OsString>,
    daemons: Vec<(Side, Child)>,
}

impl<'a> Pair<'a> {
    /// Makes keys, applies the rules, starts both, and waits until each reports the other as up.
    pub(crate) fn start(world: &'a World, wish: &Wish) -> Pair<'a> {
        let folder = tempfile::tempdir().unwrap();
        let mut keygen = Command::new(PROGRAM);
        keygen.arg("keygen").arg("--out").arg(folder.path()).args(["near", "far"]);
        done(keygen);
        let command = wish.before.iter().map(OsString::from).chain([PROGRAM.into()]).collect();
        let mut pair = Pair { world, folder, command, daemons: Vec::new() };
        for side in Side::BOTH {
            fs::write(pair.config(side), pair.text(side, wish)).unwrap();
            pair.rules(side, "apply");
        }
        if let Some(owner) = wish.owner {
            pair.give(owner);
        }
        for side in Side::BOTH {
            pair.run(side);
        }
        pair.wait_until_up();
        pair
    }

    /// Changes the owner of everything in the folder, including the program: another user may have no access to the
    /// build folder.
    fn give(&mut self, owner: u32) {
        let program = self.folder.path().join("cellway-gateway");
        fs::copy(PROGRAM, &program).unwrap();
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            chown(entry.unwrap().path(), Some(owner), Some(owner)).unwrap();
        }
        chown(self.folder.path(), Some(owner), Some(owner)).unwrap();
        *self.command.last_mut().unwrap() = program.into();
    }

    /// Starts one of them.
    pub(crate) fn run(&mut self, side: Side) {
        let log = File::options().create(true).append(true).open(self.log(side)).unwrap();
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg("run").arg("--config").arg(self.config(side)).args(["--log", "debug"]);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = side.namespace(self.world).spawn(command, Group::Own).unwrap();
        self.daemons.push((side, child));
    }

    /// Waits until each reports the other as up.
    pub(crate) fn wait_until_up(&mut self) {
        let start = Instant::now();
        for side in Side::BOTH {
            while !self.status(side).is_some_and(|status| status["peers"][0]["up"] == true) {
                if let Some((_, daemon)) = self.daemons.iter_mut().find(|(which, _)| *which == side) {
                    assert!(daemon.try_wait().unwrap().is_none(), "the {} gateway ended", side.name());
                }
                assert!(start.elapsed() < PATIENCE, "the {} gateway's peer is not up", side.name());
                thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// Returns the output of `status --json`; `None` if it does not answer.
    pub(crate) fn status(&self, side: Side) -> Option<Value> {
        let socket = self.socket(side);
        let output = side.namespace(self.world).run(move || {
            let mut command = Command::new(PROGRAM);
            command.args(["status", "--json", "--connections", "--socket"]).arg(socket).output().unwrap()
        });
        if !output.status.success() {
            return None;
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("status says {text:?}: {error}")))
    }

    /// Runs a command for one daemon, by its status socket.
    pub(crate) fn command(&self, side: Side, command: &'static str) -> Output {
        let socket = self.socket(side);
        side.namespace(self.world)
            .run(move || Command::new(PROGRAM).args([command, "--socket"]).arg(socket).output().unwrap())
    }

    /// Returns a number of `status`, by its path, as `/counters/opened/intercepted`. Counters without a count are
    /// absent.
    pub(crate) fn number(&self, side: Side, path: &str) -> u64 {
        let status = self.status(side).unwrap();
        match status.pointer(path).and_then(Value::as_u64) {
            Some(number) => number,
            None if path.starts_with("/counters/") => 0,
            None => panic!("status has no number at {path}: {status}"),
        }
    }

    /// Sends a signal to one daemon.
    pub(crate) fn signal(&self, side: Side, signal: Signal) {
        self.daemon(side).signal(signal).unwrap();
    }

    /// Returns the process of one daemon.
    pub(crate) fn daemon(&self, side: Side) -> &Child {
        &self.daemons.iter().find(|(which, _)| *which == side).unwrap().1
    }

    /// Ends one daemon cleanly.
    pub(crate) fn end(&mut self, side: Side) {
        let at = self.daemons.iter().position(|(which, _)| *which == side).unwrap();
        let (_, mut daemon) = self.daemons.remove(at);
        let status = daemon.end(PATIENCE).unwrap();
        assert!(status.success(), "the {} gateway ended with {status}", side.name());
    }

    /// Waits until one daemon has ended by itself, cleanly.
    pub(crate) fn wait(&mut self, side: Side) {
        let at = self.daemons.iter().position(|(which, _)| *which == side).unwrap();
        let (_, mut daemon) = self.daemons.remove(at);
        let mut ended = None;
        until("the gateway ends", || {
            ended = daemon.try_wait().unwrap();
            ended.is_some()
        });
        let status = ended.unwrap();
        assert!(status.success(), "the {} gateway ended with {status}", side.name());
    }

    /// Kills one daemon.
    pub(crate) fn kill(&mut self, side: Side) {
        let at = self.daemons.iter().position(|(which, _)| *which == side).unwrap();
        let (_, mut daemon) = self.daemons.remove(at);
        daemon.signal(Signal::KILL).unwrap();
        daemon.wait().unwrap();
    }

    /// Returns the resident memory of a daemon without the pages of its program (`RssAnon`), in bytes: those become
    /// resident when their code first runs, independently of connections.
    pub(crate) fn memory(&self, side: Side) -> u64 {
        self.of_process(side, "RssAnon:")
    }

    /// Returns the peak of a daemon's resident memory (`VmHWM`), in bytes.
    pub(crate) fn peak_memory(&self, side: Side) -> u64 {
        self.of_process(side, "VmHWM:")
    }

    /// Returns a field of `/proc/PID/status`, in bytes: proc_pid_status(5).
    fn of_process(&self, side: Side, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.daemon(side).id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Changes the configuration file of one: `from` becomes `to`.
    pub(crate) fn edit(&self, side: Side, from: &str, to: &str) {
        let text = fs::read_to_string(self.config(side)).unwrap();
        assert!(text.contains(from), "{from:?} is not in {text}");
        fs::write(self.config(side), text.replace(from, to)).unwrap();
    }

    /// Returns the log of one daemon so far.
    pub(crate) fn written(&self, side: Side) -> String {
        fs::read_to_string(self.log(side)).unwrap_or_default()
    }

    fn rules(&self, side: Side, what: &str) {
        let mut command = Command::new(PROGRAM);
        command.args(["rules", what, "--config"]).arg(self.config(side));
        side.namespace(self.world).run(move || done(command));
    }

    fn config(&self, side: Side) -> PathBuf {
        self.folder.path().join(format!("{}.toml", side.name()))
    }

    /// Returns the status socket.
    pub(crate) fn socket(&self, side: Side) -> PathBuf {
        self.folder.path().join(format!("{}.socket", side.name()))
    }

    fn log(&self, side: Side) -> PathBuf {
        self.folder.path().join(format!("{}.log", side.name()))
    }

    fn text(&self, side: Side, wish: &Wish) -> String {
        let other = side.other();
        let mut text = String::new();
        writeln!(text, "name = \"{}\"\nlocal = {}\n", side.name(), side.local(wish)).unwrap();
        if wish.through.is_none() || side == Side::Far {
            writeln!(text, "[listen]\naddress = \"{}\"\n", side.address(wish.line)).unwrap();
        }
        writeln!(text, "[[peer]]\nname = \"{}\"", other.name()).unwrap();
        if wish.through.is_none() || side == Side::Near {
            let at = wish.through.unwrap_or(other.address(wish.line));
            writeln!(text, "address = \"{at}\"").unwrap();
        }
        let rate = wish.back.filter(|_| side == Side::Far).unwrap_or(wish.rate);
        writeln!(text, "prefixes = {}\nrate = \"{rate}\"\ndown = \"{}\"", other.prefixes(), wish.down).unwrap();
        writeln!(text, "{}\n\n[intercept]\n\n[limits]\n{}\n", wish.peer, wish.limits).unwrap();
        writeln!(text, "[control]\n{}\nsocket = {:?}", wish.control, self.socket(side)).unwrap();
        text
    }

    /// Ends both cleanly and removes the rules: traffic bypasses the gateways again.
    pub(crate) fn stop(mut self) {
        for (side, mut daemon) in self.daemons.drain(..) {
            let status = daemon.end(Duration::from_secs(10)).unwrap();
            assert!(status.success(), "the {} gateway ended with {status}", side.name());
        }
        for side in Side::BOTH {
            self.rules(side, "remove");
        }
    }
}

impl Drop for Pair<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            for side in Side::BOTH {
                let text = self.written(side);
                let tail: Vec<&str> = text.lines().rev().take(60).collect();
                eprintln!("--- the {} gateway, its last lines", side.name());
                tail.iter().rev().for_each(|line| eprintln!("{line}"));
            }
        }
    }
}

/// Runs a command that must succeed.
fn done(mut command: Command) {
    let output = command.output().unwrap();
    let [said, complained] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?}: {}\n{said}{complained}", output.status);
}
