//! One path between two hosts, made of a few quantities, and a program behind it.

use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

use cellway_emu::{Block, Control, Foreground, Snapshot, View};
use cellway_scenario::Plan;
use cellway_units::{Bytes, CELL_OCTETS, Line, Rate, Span};

use crate::error::Error;

/// The host that the program runs in, and the one that it talks to.
const HOSTS: [&str; 2] = ["client", "server"];
/// All nodes of the path.
const NODES: [&str; 4] = ["client", "near", "far", "server"];
/// The name of the program in the foreground.
const COMMAND: &str = "shell";
/// What joins hosts to their routers: so fast that all waiting is before the line.
const ACCESS: &str = "100 Gbit/s";
/// The least buffer before the line, if none is asked for: some packets of the largest size.
const LEAST_QUEUE: Bytes = Bytes(64 * 1024);
/// The address of the far end; also tells a shell inside a shell that there is a path already.
const SERVER: &str = "CELLWAY_SERVER";
/// The addresses of the path that a program is behind.
const BLOCK: &str = "CELLWAY_BLOCK";

/// Where the far end of the path is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Far {
    /// In a namespace of its own, with nothing but what is started there; inside another path, as [`Far::Here`].
    #[default]
    New,
    /// In the network namespace that the command is given in.
    Here,
}

/// A path in a few texts, as on a command line.
#[derive(Clone, Debug, Default)]
pub struct ShellPath {
    /// The rate of the line, or its name.
    pub rate: String,
    /// The round trip without the time to send anything.
    pub rtt: String,
    /// The buffer before the line, in cells or bytes; one bandwidth-delay product if absent.
    pub queue: Option<String>,
    /// "atm", "packet", "ethernet" or "fddi".
    pub framing: String,
    /// The largest IP packet; that of the framing if absent.
    pub mtu: Option<String>,
    /// Packets that are lost at random, each way.
    pub loss: Option<String>,
    /// "per-conversation", "per-type" or "per-destination".
    pub multiplexing: String,
    /// Programs to start at the far end.
    pub serve: Vec<Vec<String>>,
    /// Where that is.
    pub far: Far,
    /// The largest 99th percentile of lateness of a valid run; 1 ms if absent.
    pub lateness_limit: Option<String>,
}

/// What a path did while a program was behind it.
#[derive(Debug)]
pub struct ShellReport {
    /// The run, whose ports are "near>far" (towards the server) and "far>near".
    pub emulated: cellway_emu::Emulated,
    /// The exit status of the program.
    pub status: u8,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

impl ShellPath {
    /// The path as a scenario file, with `command` as a program of its client.
    pub fn scenario(&self, command: &[String]) -> Result<String, Error> {
        let rate = match self.rate.trim().parse::<Line>() {
            Ok(line) => line.rate(),
            Err(_) => read::<Rate>("rate", &self.rate, "a rate like \"30 Mbit/s\", or a line like ds3")?,
        };
        let rtt = read::<Span>("rtt", &self.rtt, "a time like \"175 ms\"")?;
        let cells = self.framing == "atm";
        let bdp = (u128::from(rate.as_bps()) * u128::from(rtt.as_ps()) / 8_000_000_000_000) as u64;
        let enough = bdp.max(LEAST_QUEUE.0);
        let queue = match &self.queue {
            Some(queue) => queue.clone(),
            None if cells => format!("{} cell", enough.div_ceil(CELL_OCTETS)),
            None => format!("{enough} B"),
        };
        let count = if queue.contains("cell") { "cell" } else { "packet" };
        let mtu = match (&self.mtu, self.framing.as_str()) {
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
             [buffer]\nsize = {queue}\nper = \"port\"\nsharing = \"pool\"\ncount = \"{count}\"\ndiscard = \"frame\"\n\
             [observe]\nseries = false\ninterval = \"24 h\"\nfairness-window = \"24 h\"\n",
            limit = key("lateness-limit", &self.lateness_limit),
            rtt = quoted(&self.rtt),
            multiplexing = quoted(&self.multiplexing),
            queue = quoted(&queue),
        );
        for (name, kind) in [("client", "host"), ("near", "router"), ("far", "router"), ("server", "host")] {
            text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
        }
        // Packets are lost whole, before they are cut into cells.
        let loss = key("loss", &self.loss);
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
            "[[link]]\nbetween = [\"near\", \"far\"]\nrate = {}\ndelay = \"{} ps\"\nframing = {}\nmtu = {}\n",
            quoted(&self.rate),
            rtt.as_ps() / 2,
            quoted(&self.framing),
            quoted(mtu),
        );
        text += &program(COMMAND, HOSTS[0], command);
        for (number, words) in self.serve.iter().enumerate() {
            text += &program(&format!("serve-{}", number + 1), HOSTS[1], words);
        }
        Ok(text)
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn program(name: &str, host: &str, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[[run.command]]\nname = \"{name}\"\nhost = \"{host}\"\nrun = [{}]\n", words.join(", "))
}

fn read<T: FromStr<Err: std::fmt::Display>>(name: &str, text: &str, accepted: &str) -> Result<T, Error> {
    text.trim().parse().map_err(|e| Error::Option(format!("--{name}: {e}; accepted: {accepted}")))
}

/// Runs `command` behind a path; the first word is the program. `view` sees the running network.
pub fn shell(
    path: &ShellPath,
    command: &[OsString],
    capture: Option<(&str, &Path)>,
    view: View<'_>,
) -> Result<ShellReport, Error> {
    let shown: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let plan = Plan::parse_with(&path.scenario(&shown)?, "the path", &[], None)?;
    let scenario = &plan.base();
    let outer = std::env::var(BLOCK).ok();
    let block = match &outer {
        None => Block::default(),
        Some(text) => {
            let outer: Block = text.parse().map_err(Error::Option)?;
            cellway_emu::free_part(outer)?
        }
    };
    // Inside another path the far end is here, and what was reached through the outer path still is.
    let here = outer.is_some() || path.far == Far::Here;
    let server = match std::env::var(SERVER) {
        Ok(server) if outer.is_some() => server,
        _ => block.host(1).map(|address| address.to_string()).unwrap_or_default(),
    };
    let foreground = Foreground {
        name: COMMAND.to_owned(),
        host: HOSTS[0].to_owned(),
        run: command.to_vec(),
        environment: vec![(SERVER.to_owned(), server), (BLOCK.to_owned(), block.to_string())],
        here: here.then(|| HOSTS[1].to_owned()),
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
    let mut control = Control { foreground: Some(foreground), ..Control::default() };
    if let Some(every) = every {
        control.view = Some((every, &mut show));
    }
    if let (Some((node, _)), Some(file)) = (capture, &mut file) {
        control.capture = Some(cellway_emu::Capture::new(node, file, &mut records));
    }
    let emulated = cellway_emu::emulate(scenario, &[], 1, control)?;
    let warnings = super::warnings_of(&emulated);
    Ok(ShellReport { status: emulated.status.unwrap_or(1), warnings, emulated })
}
