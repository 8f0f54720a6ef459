//! The options of the commands with real hosts: measure, shell and emulate.

#[cfg(target_os = "linux")]
use std::fmt::Display;
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::str::FromStr;

#[cfg(target_os = "linux")]
use cellway_lab::measure::{Bytes, Rate, Span};
use clap::{ArgGroup, Args as Group};

use super::{Scenario, count, seeds};

#[cfg(target_os = "linux")]
/// Quantities have units: 64KiB, 10s, '30 Mbit/s'. Lists are separated by commas.
#[derive(Debug, Group)]
#[command(group = ArgGroup::new("side").args(["host", "serve"]).required(true))]
pub(crate) struct Measure {
    /// The host of the server: a name or an address, IPv4 or IPv6.
    #[arg(value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Serve tests, one after another.
    #[arg(long)]
    pub(crate) serve: bool,
    /// Port of the server.
    #[arg(long, value_name = "PORT", default_value_t = cellway_lab::measure::DEFAULT_PORT)]
    pub(crate) port: u16,
    /// Serve only at this address [default: all of this host].
    #[arg(long, value_name = "ADDR", conflicts_with = "host")]
    pub(crate) bind: Option<std::net::IpAddr>,
    /// Serve one test, then exit.
    #[arg(long, conflicts_with = "host")]
    pub(crate) once: bool,
    /// Longest test to serve [default: 300 s].
    #[arg(long, value_name = "TIME", value_parser = more_than_zero::<Span>, conflicts_with = "host")]
    pub(crate) max_time: Option<Span>,
    /// Most bytes of a test to serve [default: 100 GiB].
    #[arg(long, value_name = "BYTES", value_parser = more_than_zero::<Bytes>, conflicts_with = "host")]
    pub(crate) max_bytes: Option<Bytes>,
    /// Receive windows [default: the kernel's].
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "serve")]
    pub(crate) window: Vec<Bytes>,
    /// Bytes of one write [default: 128KiB].
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "serve")]
    pub(crate) write: Vec<Bytes>,
    /// Parallel connections [default: 1].
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "serve")]
    pub(crate) streams: Vec<u32>,
    /// Congestion controls [default: the kernel's].
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "serve")]
    pub(crate) congestion: Vec<String>,
    /// Send buffers [default: the kernel's].
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "serve")]
    pub(crate) send_buffer: Vec<Bytes>,
    /// Largest segments, options included.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "serve")]
    pub(crate) mss: Vec<Bytes>,
    /// Length of a test [default: 10s].
    #[arg(long, value_name = "TIME", conflicts_with_all = ["bytes", "serve"])]
    pub(crate) time: Option<Span>,
    /// Amount of data of a test, all streams together, instead of a length.
    #[arg(long, value_name = "BYTES", conflicts_with = "serve")]
    pub(crate) bytes: Option<Bytes>,
    /// Bound on the rate of each stream, headers included.
    #[arg(long, value_name = "RATE", conflicts_with = "serve")]
    pub(crate) pace: Option<Rate>,
    /// The server sends.
    #[arg(long, conflicts_with = "serve")]
    pub(crate) reverse: bool,
    /// Number of runs of each test.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = repeats, allow_negative_numbers = true, conflicts_with = "serve")]
    pub(crate) repeat: u32,
    /// Interval of the samples of the series [default: 1s].
    #[arg(long, value_name = "TIME", conflicts_with = "serve")]
    pub(crate) interval: Option<Span>,
    /// Print the result as JSON on standard output.
    #[arg(long, conflicts_with = "serve")]
    pub(crate) json: bool,
    /// Write the tables and a manifest to this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "serve")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an earlier result in DIR.
    #[arg(long, conflicts_with = "serve")]
    pub(crate) force: bool,
    /// Show all figures of the table, however wide it gets.
    #[arg(long, conflicts_with = "serve")]
    pub(crate) wide: bool,
}

/// A path in a few numbers, and a program behind it.
#[derive(Debug, Group)]
#[command(group = ArgGroup::new("path").args(["rate", "rtt", "loss", "down", "up", "delay", "jitter", "outage"]).required(true).multiple(true))]
pub(crate) struct Shell {
    /// The rate of the line for cells or packets (30Mbit/s), or its name (e1, ds1, e3, ds3, oc3c, oc12c, taxi,
    /// ethernet, fast-ethernet, fddi) [default: unlimited, which is 100 Gbit/s].
    #[arg(long)]
    pub(crate) rate: Option<String>,
    /// The round-trip time, without the time to send a packet [default: 0].
    #[arg(long, value_name = "TIME")]
    pub(crate) rtt: Option<String>,
    /// Towards the program: a rate, or a recorded link in the format of mahimahi or as a table (time,rate,delay,loss), or as
    /// the two files of CellReplay, of a light and a heavy load, which repeats [default: --rate].
    #[arg(long, value_name = "RATE|FILE|LIGHT,HEAVY")]
    pub(crate) down: Option<String>,
    /// From the program, likewise.
    #[arg(long, value_name = "RATE|FILE|LIGHT,HEAVY")]
    pub(crate) up: Option<String>,
    /// Delay of each direction: a time, or a file with a delay in ms for each 10 ms, which repeats [default: half of --rtt].
    #[arg(long, value_name = "TIME|FILE", conflicts_with = "rtt")]
    pub(crate) delay: Option<String>,
    /// Random part of the delay of each packet: the standard deviation, of a normal distribution or of that of a file, as a
    /// table with the column x or one of netem: 5ms, 5ms,wifi.dist. Packets stay in order.
    #[arg(long, value_name = "TIME[,FILE]")]
    pub(crate) jitter: Option<String>,
    /// Outages of this length at this interval, in which packets wait: 300ms/15s. With ",lost" they are lost meanwhile;
    /// with ",flushed" those that wait when an outage begins are dropped.
    #[arg(long, value_name = "LENGTH/TIME[,lost][,flushed]")]
    pub(crate) outage: Option<String>,
    /// Buffer before the line, in each direction: "256 cell" or "64 KiB", at least one packet of the MTU [default: one
    /// bandwidth-delay product, at least 64 KiB].
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<String>,
    /// Queue discipline of that buffer: fq-codel, codel, pie, red, ... as in scenario files [default: fifo].
    #[arg(long, value_name = "DISCIPLINE")]
    pub(crate) queue: Option<String>,
    /// The framing of the line [default: that of the line's name, else packet, or atm with a buffer in cells].
    #[arg(long, value_name = "NAME", value_parser = ["atm", "packet", "ethernet", "fddi"])]
    pub(crate) framing: Option<String>,
    /// The largest IP packet [default: 9180B on ATM, 4352B on FDDI, else 1500B].
    #[arg(long, value_name = "BYTES")]
    pub(crate) mtu: Option<String>,
    /// Packets lost at random, in each direction: 0.1%.
    #[arg(long, value_name = "SHARE")]
    pub(crate) loss: Option<String>,
    /// Mean number of packets that --loss takes in a row [default: each is lost independently].
    #[arg(long, value_name = "PACKETS", requires = "loss")]
    pub(crate) loss_burst: Option<String>,
    /// Packets that arrive twice, in each direction: 1%.
    #[arg(long, value_name = "SHARE")]
    pub(crate) duplicate: Option<String>,
    /// Packets with a wrong bit, which the host that receives them drops, in each direction: 0.1%.
    #[arg(long, value_name = "SHARE")]
    pub(crate) corrupt: Option<String>,
    /// The conversations that share a channel, and so a queue.
    #[arg(long, value_name = "NAME", default_value = "per-conversation",
          value_parser = ["per-conversation", "per-type", "per-destination"])]
    pub(crate) multiplexing: String,
    /// Start this server at the far end: a command for sh. May be repeated. Its output goes to standard error.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) serve: Vec<String>,
    /// Start the program only when the server is ready: something listens on this PORT of the far end, or a line that the
    /// server prints matches this regular expression. The first --ready is for the first --serve, and so on.
    #[arg(long, value_name = "PORT|PATTERN", requires = "serve")]
    pub(crate) ready: Vec<String>,
    /// Write the output of servers to FILE, not to standard error.
    #[arg(long, value_name = "FILE", requires = "serve")]
    pub(crate) log: Option<PathBuf>,
    /// Use this machine as the far end, not an empty namespace (needs root).
    #[arg(long)]
    pub(crate) here: bool,
    /// Reach the internet, and whatever this machine reaches, through the path (needs root, and nftables).
    #[arg(long, conflicts_with = "here")]
    pub(crate) internet: bool,
    /// The largest 99th percentile of lateness of a valid run [default: 1 ms].
    #[arg(long, value_name = "TIME")]
    pub(crate) lateness_limit: Option<String>,
    /// End with status 125 if the run is INVALID, even if the program ended well.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Capture the packets that pass this node (client, near, far, server) to FILE.
    #[arg(long, value_name = "NODE=FILE")]
    pub(crate) pcap: Option<String>,
    /// Write a line of JSON each second to FILE: conversations, ports, lateness, for example to view from another terminal.
    #[arg(long, value_name = "FILE")]
    pub(crate) top: Option<PathBuf>,
    /// Print the results of the path as JSON on standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// The program and its arguments [default: $SHELL].
    #[arg(last = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Group)]
pub(crate) struct Emulate {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Draw the report and open it; without --out the results are in a temporary folder.
    #[arg(long)]
    pub(crate) open: bool,
    /// Replications, instead of those of the file.
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Write the tables and a manifest to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an earlier result in DIR.
    #[arg(long)]
    pub(crate) force: bool,
    /// Show all figures of the table, however wide it gets, and idle lines.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Capture the packets that pass this node in the first run, to DIR/NODE.pcap (or ./NODE.pcap).
    #[arg(long, value_name = "NODE")]
    pub(crate) pcap: Option<String>,
    /// Show conversations, queues and drops each second; as lines of JSON if standard output is no terminal.
    #[arg(long)]
    pub(crate) top: bool,
    /// Write each line that the programs of the scenario print to FILE, after the name of the program.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

/// Reads a number of repeats of a measurement.
#[cfg(target_os = "linux")]
fn repeats(text: &str) -> Result<u32, String> {
    count(text, 10_000)
}

/// Reads a limit, which must not be 0.
#[cfg(target_os = "linux")]
fn more_than_zero<T: FromStr<Err: Display> + Default + PartialEq>(text: &str) -> Result<T, String> {
    let value: T = text.parse().map_err(|error: T::Err| error.to_string())?;
    if value == T::default() { Err("accepted: more than 0".to_owned()) } else { Ok(value) }
}
