//! One path between two hosts, made of a few quantities, and a program behind it.

use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

use cellway_emu::{Block, Control, Foreground, Here, Lines, Reach, Snapshot, View};
use cellway_scenario::{Plan, QueueDiscipline};
use cellway_units::{Bytes, CELL_OCTETS, Line, Rate, Span};

use crate::emulate::shell_line::{ReadLine, ShellLine};
use crate::error::Error;

/// The host that the program runs in, and the one that it talks to.
const HOSTS: [&str; 2] = ["client", "server"];
/// All nodes of the path.
const NODES: [&str; 4] = ["client", "near", "far", "server"];
/// The name of the main program.
const COMMAND: &str = "shell";
/// The prefix of the names of programs at the far end.
const SERVE: &str = "serve-";
/// The rate of the links between hosts and their routers: so high that all waiting is before the line.
const ACCESS: &str = "100 Gbit/s";
/// The buffer before a line without a rate, which is as fast as the links that feed it.
const UNLIMITED_BUFFER: Bytes = Bytes(16 << 20);
/// The least buffer before the line, if none is given: some packets of the largest size.
const LEAST_BUFFER: Bytes = Bytes(64 * 1024);
/// The address of the far end; its presence also marks a shell inside a path.
const SERVER: &str = "CELLWAY_SERVER";
/// The addresses of the path that a program is behind.
const BLOCK: &str = "CELLWAY_BLOCK";

/// The location of the far end of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Far {
    /// In its own namespace, with only the programs that are started there; inside another path, as [`Far::Here`].
    #[default]
    New,
    /// In the network namespace that the command is given in.
    Here,
    /// In the network namespace that the command is given in, which forwards packets to all that it reaches; inside
    /// another path, as [`Far::Here`], since the path around it decides.
    Internet,
}

/// A path in a few texts, as on a command line.
#[derive(Clone, Debug, Default)]
pub struct ShellPath {
    /// The rate of the line, or its name; 100 Gbit/s, more than any host sends, if absent.
    pub rate: Option<String>,
    /// The round trip without transmission times; zero if absent.
    pub rtt: Option<String>,
    /// The buffer before the line, in cells or bytes; one bandwidth-delay product if absent.
    pub buffer: Option<String>,
    /// The queue discipline of that buffer, by its name in files; "fifo" if absent.
    pub queue: Option<String>,
    /// "atm", "packet", "ethernet" or "fddi". If absent, the framing of the line's name, else "atm" with a buffer in
    /// cells, else "packet".
    pub framing: Option<String>,
    /// The largest IP packet; that of the framing if absent.
    pub mtu: Option<String>,
    /// Packets that are lost at random, in each direction.
    pub loss: Option<String>,
    /// The directions and the variation of the line.
    pub line: ShellLine,
    /// "per-conversation", "per-type" or "per-destination".
    pub multiplexing: String,
    /// Commands that `sh` runs at the far end.
    pub serve: Vec<String>,
    /// The condition under which each of those is ready, in their order: a port or a pattern, as in
    /// `run.command.ready`. The program starts when all are ready.
    pub ready: Vec<String>,
    /// The location of the far end.
    pub far: Far,
    /// The largest 99th percentile of lateness of a valid run; 1 ms if absent.
    pub lateness_limit: Option<String>,
}

/// The results of a path while a program was behind it.
#[derive(Debug)]
pub struct ShellReport {
    /// The run, whose ports are "near>far" (towards the server) and "far>near".
    pub emulated: cellway_emu::Emulated,
    /// The exit status of the program.
    pub status: u8,
    /// Messages for the reader.
    pub warnings: Vec<String>,
}

impl ShellPath {
    /// Returns the path as a scenario, with `command` as a program of its client.
    ///
    /// # Errors
    /// The options that are wrong, each with its message.
    pub fn plan(&self, command: &[String]) -> Result<Plan, Error> {
        self.plan_of(&self.line.read()?, command)
    }

    fn plan_of(&self, line: &ReadLine<'_>, command: &[String]) -> Result<Plan, Error> {
        if self.ready.len() > self.serve.len() {
            let (ready, serve) = (self.ready.len(), self.serve.len());
            let message = format!(
                "--ready: {ready} of them for {serve} --serve; accepted: at most one for each, as in --serve 'iperf3 -s' \
                 --ready 5201"
            );
            return Err(Error::Option(message));
        }
        if let Some(size) =
            self.queue.as_deref().filter(|queue| queue.parse::<Bytes>().is_ok() || queue.contains("cell"))
        {
            let names = QueueDiscipline::ALL.map(QueueDiscipline::name).join(", ");
            let message = format!("--queue {size}: this is a size; accepted: --buffer for the size, or one of {names}");
            return Err(Error::Option(message));
        }
        if let Some(queue) =
            self.queue.as_deref().filter(|queue| *queue != QueueDiscipline::Fifo.name() && self.framing() == "atm")
        {
            let message = format!(
                "--queue {queue}: a discipline of packet queues, but this line carries cells; accepted: --framing packet"
            );
            return Err(Error::Option(message));
        }
        if let Some((option, accepted)) = line.of_packets().filter(|_| self.framing() == "atm") {
            let message =
                format!("--{option}: for a line of packets, but this line carries cells; accepted: {accepted}");
            return Err(Error::Option(message));
        }
        Plan::parse_with(&self.scenario(line, command)?, "", &[], None).map_err(|error| self.in_options(&error))
    }

    /// Returns the problems of the scenario by the option that each comes from, one for each option. The defaults of
    /// options are their own.
    fn in_options(&self, error: &cellway_scenario::Error) -> Error {
        let mut lines: Vec<String> = Vec::new();
        for problem in &error.problems {
            let option = self.option(&problem.key);
            let mut line = format!("{option}: {}", problem.message);
            if let Some(suggestion) = &problem.suggestion {
                line += &format!("; did you mean {suggestion}?");
            }
            if let Some(accepted) = &problem.accepted {
                line += &format!("; accepted: {accepted}");
            }
            // Three links have the MTU, so its problem is found three times.
            if !lines.iter().any(|known| known.split(": ").next() == line.split(": ").next()) {
                lines.push(line);
            }
        }
        Error::Option(lines.join("\n"))
    }

    /// Returns the option that sets `key` of the scenario.
    fn option(&self, key: &str) -> String {
        if let Some((number, of)) =
            key.strip_prefix(&format!("run.command.{SERVE}")).and_then(|rest| rest.split_once('.'))
        {
            let command = number.parse().ok().and_then(|n: usize| self.serve.get(n.checked_sub(1)?));
            return match of {
                "ready" => "--ready".to_owned(),
                _ => format!("--serve {}", command.map_or("", |command| command)),
            };
        }
        if let Some(option) = ShellLine::option(key) {
            return option.to_owned();
        }
        let last = key.rsplit('.').next().unwrap_or_default();
        match (key, last) {
            ("run.rtt", _) | (_, "delay") if self.line.delay.is_some() => "--delay",
            ("run.rtt", _) | (_, "delay") => "--rtt",
            ("run.emulate.lateness-limit", _) => "--lateness-limit",
            ("multiplexing.channel", _) => "--multiplexing",
            (_, "size") => "--buffer",
            (_, "queue") => "--queue",
            (_, "rate") => "--rate",
            (_, "loss") => "--loss",
            (_, "mtu") => "--mtu",
            (_, "framing") => "--framing",
            _ if key.starts_with("run.command") => "the program",
            _ => "the path",
        }
        .to_owned()
    }

    /// Returns the framing of the line.
    fn framing(&self) -> &str {
        let line = self.rate.as_ref().and_then(|rate| rate.trim().parse::<Line>().ok());
        let usual = match line {
            Some(Line::Ethernet | Line::FastEthernet) => "ethernet",
            Some(Line::Fddi) => "fddi",
            Some(Line::E1 | Line::Ds1 | Line::E3 | Line::Ds3 | Line::Oc3c | Line::Oc12c | Line::Taxi) => "atm",
            None if self.buffer.as_ref().is_some_and(|buffer| buffer.contains("cell")) => "atm",
            None => "packet",
        };
        self.framing.as_deref().unwrap_or(usual)
    }

    /// Returns the path as the text of a scenario file.
    fn scenario(&self, line: &ReadLine<'_>, command: &[String]) -> Result<String, Error> {
        let rate = match &self.rate {
            None => None,
            Some(text) => Some(match text.trim().parse::<Line>() {
                Ok(line) => line.rate(),
                Err(_) => read::<Rate>("rate", text, "a rate like \"30 Mbit/s\", or a line like ds3")?,
            }),
        };
        let rtt = match &self.rtt {
            None => Span::ZERO,
            Some(text) => read::<Span>("rtt", text, "a time like \"175 ms\"")?,
        };
        let (framing, cells) = (self.framing(), self.framing() == "atm");
        let rate = line.fastest(rate);
        let keys = line.keys(rtt);
        let rtt = line.round_trip(rtt);
        let bdp = |rate: Rate| (u128::from(rate.as_bps()) * u128::from(rtt.as_ps()) / 8_000_000_000_000) as u64;
        let enough = rate.map_or(UNLIMITED_BUFFER.0, |rate| bdp(rate).max(LEAST_BUFFER.0));
        let size = match &self.buffer {
            Some(size) => size.clone(),
            None if cells => format!("{} cell", enough.div_ceil(CELL_OCTETS)),
            None => format!("{enough} B"),
        };
        let count = if size.contains("cell") { "cell" } else { "packet" };
        let mtu = match (&self.mtu, framing) {
            (Some(mtu), _) => mtu.as_str(),
            (None, "atm") => "9180 B",
            (None, "fddi") => "4352 B",
            (None, _) => "1500 B",
        };
        let key = |key: &str, value: &Option<String>| {
            value.as_ref().map_or(String::new(), |value| format!("{key} = {}\n", quoted(value)))
        };
        let mut text = format!(
            "version = 1\nname = \"shell\"\n\
             [run]\nduration = \"2400 h\"\nrtt = {rtt}\n[run.emulate]\nplay = false\n{limit}\
             [multiplexing]\nchannel = {multiplexing}\nencapsulation = \"llc-snap\"\n\
             [buffer]\nsize = {size}\n{queue}per = \"port\"\nsharing = \"pool\"\ncount = \"{count}\"\ndiscard = \"frame\"\n\
             [observe]\nseries = false\ninterval = \"24 h\"\nfairness-window = \"24 h\"\n",
            limit = key("lateness-limit", &self.lateness_limit),
            // No key of this file is in round trips, but the file must give one.
            rtt = quoted(&if rtt.is_zero() { Span::from_ms(1) } else { rtt }.to_string()),
            multiplexing = quoted(&self.multiplexing),
            size = quoted(&size),
            queue = key("queue", &self.queue),
        );
        for (name, kind) in [("client", "host"), ("near", "router"), ("far", "router"), ("server", "host")] {
            text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
        }
        // Packets are lost whole, before they are cut into cells.
        let loss = key("loss", &self.loss);
        let loss = loss + &line.faults()?;
        for (ends, loss) in [(["client", "near"], &*loss), (["far", "server"], "")] {
            text += &format!(
                "[[link]]\nbetween = [\"{}\", \"{}\"]\nrate = \"{ACCESS}\"\ndelay = \"0 s\"\nframing = \"packet\"\n\
                 mtu = {}\n{loss}",
                ends[0],
                ends[1],
                quoted(mtu)
            );
        }
        text += &format!(
            "[[link]]\nbetween = [\"near\", \"far\"]\nrate = {}\ndelay = \"{} ps\"\nframing = {}\nmtu = {}\n{}",
            quoted(self.rate.as_deref().unwrap_or(ACCESS)),
            rtt.as_ps() / 2,
            quoted(framing),
            quoted(mtu),
            keys,
        );
        text += &program(COMMAND, HOSTS[0], command, None);
        for (number, line) in self.serve.iter().enumerate() {
            let words = ["sh", "-c", line].map(str::to_owned);
            text += &program(&format!("{SERVE}{}", number + 1), HOSTS[1], &words, self.ready.get(number));
        }
        Ok(text)
    }
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn program(name: &str, host: &str, words: &[String], ready: Option<&String>) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let ready = ready.map_or(String::new(), |ready| format!("ready = {}\n", quoted(ready)));
    format!("[[run.command]]\nname = \"{name}\"\nhost = \"{host}\"\nrun = [{}]\n{ready}", words.join(", "))
}

pub(super) fn read<T: FromStr<Err: std::fmt::Display>>(name: &str, text: &str, accepted: &str) -> Result<T, Error> {
    text.trim().parse().map_err(|e| Error::Option(format!("--{name}: {e}; accepted: {accepted}")))
}

/// Further outputs of a path besides its report.
#[derive(Default)]
pub struct ShellOptions<'a> {
    /// The node to capture at, and the file.
    pub capture: Option<(&'a str, &'a Path)>,
    /// The interval between views of the running network, and their receiver.
    pub view: View<'a>,
    /// Receives each line that the programs at the far end print.
    pub lines: Option<Lines>,
}

/// Runs `command`, whose first element is the program, behind a path.
///
/// # Errors
///
/// The errors of [`ShellPath::plan`]; missing privileges for namespaces; [`Error::Serve`] as soon as a program at the
/// far end fails.
pub fn shell(path: &ShellPath, command: &[OsString], options: ShellOptions<'_>) -> Result<ShellReport, Error> {
    let ShellOptions { capture, view, lines } = options;
    let shown: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let line = path.line.read()?;
    let plan = path.plan_of(&line, &shown)?;
    let mut scenario = plan.base().clone();
    scenario.links.iter_mut().for_each(|link| line.fill(link));
    let outer = std::env::var(BLOCK).ok();
    let block = match &outer {
        None if path.far == Far::Internet => cellway_emu::free_block()?,
        None => Block::default(),
        Some(text) => {
            let outer: Block = text.parse().map_err(Error::Option)?;
            cellway_emu::free_part(outer)?
        }
    };
    // Inside another path the far end is the present namespace, and hosts reached through the outer path remain
    // reachable.
    let reach = match path.far {
        _ if outer.is_some() => Some(Reach::AsSet),
        Far::New => None,
        Far::Here => Some(Reach::AsSet),
        Far::Internet => Some(Reach::Internet),
    };
    let server = match std::env::var(SERVER) {
        Ok(server) if outer.is_some() => server,
        _ => block.host(1).map(|address| address.to_string()).unwrap_or_default(),
    };
    let foreground = Foreground {
        name: COMMAND.to_owned(),
        host: HOSTS[0].to_owned(),
        run: command.to_vec(),
        environment: vec![(SERVER.to_owned(), server), (BLOCK.to_owned(), block.to_string())],
        here: reach.map(|reach| Here { host: HOSTS[1].to_owned(), reach }),
        block,
    };
    if let Some((node, _)) = capture.filter(|(node, _)| !NODES.contains(node)) {
        let known = NODES.join(", ");
        return Err(Error::Option(format!("--pcap: there is no node {node:?} on the path; the nodes are {known}")));
    }
    let mut records = 0;
    let every = view.as_ref().map(|(every, _)| *every);
    let mut view = view;
    let mut show = |snapshot: &Snapshot| {
        if let Some((_, show)) = &mut view {
            show(snapshot);
        }
    };
    let mut file = match capture {
        Some((_, path)) => Some(std::io::BufWriter::new(crate::simulate::create(path, true)?)),
        None => None,
    };
    let mut control = Control { foreground: Some(foreground), lines, ..Control::default() };
    if let Some(every) = every {
        control.view = Some((every, &mut show));
    }
    if let (Some((node, _)), Some(file)) = (capture, &mut file) {
        control.capture = Some(cellway_emu::Capture::new(node, file, &mut records));
    }
    let emulated = cellway_emu::emulate(&scenario, &[], 1, control).map_err(|error| match error {
        cellway_emu::Error::ProgramFailed { name, why, said } => {
            let number = name.strip_prefix(SERVE).and_then(|number| number.parse::<usize>().ok());
            let command = number.and_then(|n| path.serve.get(n.checked_sub(1)?)).cloned().unwrap_or(name);
            Error::Serve { command, why, said }
        }
        error => error.into(),
    })?;
    let warnings = super::warnings_of(&emulated);
    Ok(ShellReport { status: emulated.status.unwrap_or(1), warnings, emulated })
}
