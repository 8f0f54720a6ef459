//! The arguments of the command line, and their help.

mod drawn;
mod real;
mod sweep;
mod traffic;

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use cellway_lab::Override;
use clap::{ArgGroup, Args as Group, Parser, Subcommand};

pub(crate) use drawn::{Lab, Plot, Report};
#[cfg(target_os = "linux")]
pub(crate) use real::Measure;
pub(crate) use real::{Emulate, Shell};
pub(crate) use sweep::{Planned, Sweep, SweepCommand, System, Whole, Work};
pub(crate) use traffic::{CompareWorkloads, Fit, FromPcap, PathCommand, PathFromPcap, ShowWorkload, WorkloadCommand};

use crate::help;

/// What rate does TCP get over this long, fat, shared path, and what would fix it?
#[derive(Debug, Parser)]
#[command(
    name = "cellway",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Examples:
  cellway predict --rate ds3 --rtt 60ms --window 64KiB   theory, at once
  cellway reproduce --quick --out out/papers   seven papers, with a report
  cellway check study.toml                     checks the file, lists its runs
  cellway simulate study.toml --seeds 20 --out out/study
  cellway simulate study.toml --set traffic.ftp.count=3 --set tcp.variant=sack

Exit codes: 0 done, 1 failed, 2 the input is wrong, 130 stopped by the user."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print results and errors only: no progress, notes or warnings, and no figures of the path after shell.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also print what runs, and the files that are read and written.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a scenario file: every point of its sweep, with every seed.
    #[command(after_help = "\
Examples:
  cellway simulate scenarios/satellite-bulk.toml
  cellway simulate study.toml --seeds 20 --out out/study   keeps the tables
  cellway simulate study.toml --set tcp.mss=1460B --set 'link.*.rate=3 Mbit/s'
  cellway simulate study.toml --json | jq '.points[].figures[] |
      select(.metric == \"jain\")'
  cellway simulate study.toml --pcap r1 --out out/study    also r1.pcap there

The same file and seeds give the same tables, on any machine and any number of threads.")]
    Simulate(Simulate),
    /// Run a large sweep that survives anything: what is finished stays, and the same command goes on.
    #[command(after_help = "\
Examples:
  cellway sweep study.toml --out store         runs what is missing, then merges
  cellway sweep study.toml --seeds 100 --out store      adds replications
  cellway sweep study.toml --out store \\
      --until 'ci95(goodput[subject=a-1]) < 2 %' --max-seeds 200 --budget 55m
  cellway sweep status store                   how far it is
  cellway sweep plan study.toml --out store    the plan alone, for a cluster
  cellway sweep run store --shard 3/64         one part of it, on any machine
  cellway sweep merge store                    the tables of all parts
  cellway sweep verify store                   some runs again, to the bit

A run is stored by what its result depends on: the resolved scenario of its point, the seed, and the \
version of results. So no run is done twice, whatever was killed in between, and the tables are the same \
octets as those of one process. The tables are in STORE/results; report and plot draw them.

A criterion is ci95(METRIC[subject=NAME]) < 2 %: half the width of the 95 % interval, as a share of the \
mean or in the metric's unit. ci95(M[subject=A] - M[subject=B]) is about the difference of two subjects, \
ci95(M[subject=A] against AXIS=VALUE) about that to another point; both with the same seeds.")]
    Sweep(Box<Sweep>),
    /// Run a program behind a path of given rate and delay, on this machine, in real time.
    #[command(after_help = "\
Examples:
  cellway shell --rate 30Mbit/s --rtt 175ms   a shell behind the path
  cellway shell --rate 30Mbit/s --rtt 175ms -- sh -c 'ping -c 3 $CELLWAY_SERVER'
  cellway shell --rtt 175ms                   delay alone, at any rate
  cellway shell --rate 30Mbit/s --rtt 175ms --serve 'iperf3 -s' --ready 5201 \\
      -- sh -c 'iperf3 -c $CELLWAY_SERVER -R'
  cellway shell --rate 8Mbit/s --rtt 40ms --buffer '64 KiB' --loss 0.1%
  cellway shell --rate 8Mbit/s --rtt 40ms --buffer '1 MB' --queue fq-codel
  cellway shell --rate 8Mbit/s --rtt 40ms -- \\
      cellway shell --rate 2Mbit/s --rtt 10ms     one behind another
  cellway shell --rate 8Mbit/s --rtt 40ms --internet -- \\
      curl -O https://example.org/file            a slow internet

The program runs in its own network namespace. It reaches only the far end, at $CELLWAY_SERVER: start \
servers there with --serve, or use this machine as the far end with --here. With --internet it reaches \
all that this machine reaches, behind the path: the round trip and the rate of the path come on top of \
those of the real network, and look-ups of names take a round trip, too. Until the program ends this \
machine forwards its packets and translates their addresses, as a home router does. At the end it \
prints the figures of the path.

Exit status: that of the program; 2 if the options are wrong; 125 if there was no run that counts (no \
namespaces, a server failed, or --strict and INVALID); 126 if the program cannot be executed, 127 if it \
is not found.

Needs Linux, and root or unprivileged user namespaces.")]
    Shell(Box<Shell>),
    /// Run a scenario file in real time, with real hosts: its applications over the kernel's TCP, and its programs.
    #[command(after_help = "\
Examples:
  cellway emulate scenarios/lossy-link.toml
  cellway emulate study.toml --top   a live view: conversations, queues, drops
  cellway emulate study.toml --top | jq .conversations[0]
  cellway emulate study.toml --out out/live --pcap r1   keeps tables, a capture

Each host is a network namespace. A run whose 99th percentile of lateness passes its limit is marked \
invalid. Needs Linux, and root or unprivileged user namespaces.")]
    Emulate(Emulate),
    /// Check a scenario file without running it.
    #[command(after_help = "\
Examples:
  cellway check study.toml
  cellway check study.toml --set tcp.window=4KiB
  cellway check study.toml --json    every problem with its line and key")]
    Check(Check),
    /// Predict from theory, without running anything: a scenario, a path, or one equation.
    #[command(after_help = "\
Examples:
  cellway predict --rate 40Mbit/s --rtt 60ms --window 64KiB
  cellway predict --rate oc3c --rtt 60ms --window 1MiB --mss 9140B \\
      --loss 1e-4 --buffer '256 cell'
  cellway predict study.toml --set tcp.window=32KiB   each group at each point
  cellway predict study.toml --json
  cellway predict --equations                         with their sources
  cellway predict --equation window-limited --arg window=8KiB --arg rtt=200ms \\
      --arg mtu=9188B --arg rate=6Mbit/s

A value outside the domain of its equation has a caveat.")]
    Predict(Box<Predict>),
    /// Predict, simulate and emulate a scenario file, and show the three side by side.
    #[command(after_help = "\
Examples:
  cellway compare scenarios/compare-satellite.toml
  cellway compare study.toml --seeds 10 --repeat 5 --out out/compare
  cellway compare study.toml --published measured.csv   a fourth column
  cellway compare study.toml --no-emulate   prediction and simulation alone
  cellway compare study.toml --json | jq '.points[].rows[] | select(.main) |
      {subject, metric, difference}'

FILE.csv has the header subject,metric,unit,value and a column for each axis of the sweep that a value \
depends on. The emulation runs in real time after the simulation; if this machine cannot emulate, a \
message says why, and the others are compared. If the emulation is invalid the exit code is 1.")]
    Compare(Compare),
    /// Run the experiments of published papers and compare their claims with the results.
    #[command(after_help = help::reproduce())]
    Reproduce(Reproduce),
    /// Measure TCP between two hosts: one serves tests with --serve, the other requests them.
    #[cfg(target_os = "linux")]
    #[command(after_help = "\
Examples:
  cellway measure --serve                     on one host; Ctrl-C ends it
  cellway measure far.example.org             on the other: 10 s, one stream
  cellway measure far.example.org --reverse   the server sends
  cellway measure far.example.org --window 8KiB,64KiB,1MiB --out out/windows
  cellway measure far.example.org --window 64KiB,1MiB --streams 1,4 \\
      --congestion reno,cubic,bbr --repeat 5 --json     every combination
  cellway measure far.example.org --bytes 100MiB --pace '30 Mbit/s'

A window is that of the receiver, a congestion control that of the sender. The receiver counts the \
goodput, from the first byte to the last; the sender counts sent_rate.")]
    Measure(Box<Measure>),
    /// Draw the report of a result folder: one page that needs nothing else.
    #[command(after_help = "\
Examples:
  cellway report out/study           writes out/study/report.html
  cellway report out/study --open    and opens it")]
    Report(Report),
    /// Draw one figure of a result folder, or list what can be drawn.
    #[command(after_help = "\
Examples:
  cellway plot out/study --list
  cellway plot out/study goodput_total     means with intervals, along the sweep
  cellway plot out/study queue_mean --at 'a>b' --x buffer.size --out queue.pdf
  cellway plot out/study cwnd --where buffer.size='64 KiB'    over time
  cellway plot out/study delay             delay_p50, delay_p95, ... as a CDF

Needs the Python package.")]
    Plot(Plot),
    /// Write the series of a result folder for another program.
    #[command(after_help = "\
Example:
  cellway simulate scenarios/rrul.toml --out out/rrul
  cellway export out/rrul --flent out/flent       a data file for each run
  flent -i out/flent/*.flent.gz -p ping_cdf -o pings.png")]
    Export(Export),
    /// Open the lab in a browser: the simulator in a page, which needs no network.
    #[command(after_help = "\
Examples:
  cellway lab                          opens it, with a shipped scenario
  cellway lab study.toml               opens it with a scenario of your own
  cellway lab --out public/lab         copies its pages, for any web server

The command prints the address of the page, which has the text of the scenario in it: whoever has the \
same pages can open it. The Python package has the pages if it was built with `make wheel` where Node \
and the target wasm32-unknown-unknown are installed.")]
    Lab(Lab),
    /// List the metrics of the tables: name, unit, subject, and the sources that can observe each.
    #[command(after_help = "\
Examples:
  cellway metrics                 all of them
  cellway metrics queue_mean      the definition of one
  cellway metrics --json | jq '.[] | select(.subjects[] == \"port\") | .metric'")]
    Metrics(Metrics),
    /// Print the JSON schema of scenario files, for completion in editors.
    #[command(after_help = "Example:\n  cellway schema > scenario.schema.json")]
    Schema,
    /// Print a script that completes commands and options in a shell.
    #[command(after_help = "\
Examples:
  cellway completions bash > ~/.local/share/bash-completion/completions/cellway
  cellway completions zsh > ~/.zfunc/_cellway
  cellway completions fish > ~/.config/fish/completions/cellway.fish")]
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write the manual pages to a folder: cellway.1, and one for each command.
    #[command(after_help = "\
Example:
  cellway man ~/.local/share/man/man1
  man cellway-simulate")]
    Man {
        /// The folder; it is created, and earlier pages of cellway in it are replaced.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Models of traffic.
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// Paths in numbers.
    #[command(subcommand)]
    Path(PathCommand),
}

/// `metrics`.
#[derive(Debug, Group)]
pub(crate) struct Metrics {
    /// The metric to define; all are listed without it.
    pub(crate) name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Scenario {
    /// The scenario file.
    pub(crate) file: PathBuf,
    /// Set a key before the file is checked; may be repeated: traffic.ftp.count=3.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Override>,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Replications, instead of those of the file.
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Threads; all cores unless given. Never changes a result.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<u16>,
    /// Write the tables and a manifest to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keep finished runs in this folder, and run none again that is there.
    #[arg(long, value_name = "STORE", value_parser = store)]
    pub(crate) cache: Option<PathBuf>,
    /// Replace an earlier result in DIR.
    #[arg(long)]
    pub(crate) force: bool,
    /// Show all figures of the table, however wide it gets, and idle lines.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Draw the report and open it; without --out the results are in a temporary folder.
    #[arg(long)]
    pub(crate) open: bool,
    /// Capture the packets that pass this node in the first run, to DIR/NODE.pcap (or ./NODE.pcap).
    #[arg(long, value_name = "NODE")]
    pub(crate) pcap: Option<String>,
    /// Record the TCP of this slot in the first run as qlog, to DIR/SLOT.sqlog (or ./SLOT.sqlog): ftp-1 is the
    /// originator's end of its first connection, ftp-1-sink the responder's, ftp-1:3 that of the third.
    #[arg(long, value_name = "SLOT")]
    pub(crate) qlog: Option<String>,
}

#[derive(Debug, Group)]
pub(crate) struct Export {
    /// A folder that `simulate`, `emulate` or `compare` wrote.
    pub(crate) folder: PathBuf,
    /// Write a data file of flent for each run to this folder; or to this file, if it ends in .flent.gz and there is
    /// one run.
    #[arg(long, value_name = "PATH")]
    pub(crate) flent: PathBuf,
    /// Write only this run, by its number in the tables.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<u32>,
    /// The node at which flent would have run; default: where the pings start, or the transfers if there are none.
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
}

#[derive(Debug, Group)]
#[command(group = ArgGroup::new("question").args(["file", "rate", "equations", "equation"]).required(true))]
pub(crate) struct Predict {
    /// A scenario file: each of its traffic groups, taken alone, at each point of its sweep.
    pub(crate) file: Option<PathBuf>,
    /// Set a key of the scenario before the file is checked; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", requires = "file")]
    pub(crate) set: Vec<Override>,
    #[command(flatten)]
    pub(crate) path: PathFlags,
    /// List all equations with their sources and arguments.
    #[arg(long)]
    pub(crate) equations: bool,
    /// Evaluate one equation.
    #[arg(long, value_name = "ID")]
    pub(crate) equation: Option<String>,
    /// An argument of the equation, with its unit; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", requires = "equation")]
    pub(crate) arg: Vec<String>,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A path in a few numbers. Values are parsed by `cellway_lab::predict::path`, which reports what is accepted.
#[derive(Debug, Group)]
pub(crate) struct PathFlags {
    /// A path: the rate that its slowest line leaves for cells or frames (40Mbit/s), or its name
    /// (e1, ds1, e3, ds3, oc3c, oc12c, taxi, ethernet, fast-ethernet, fddi).
    #[arg(long, requires_all = ["rtt", "window"])]
    pub(crate) rate: Option<String>,
    /// Its round-trip time, without the time to send a packet.
    #[arg(long, value_name = "TIME", requires = "rate")]
    pub(crate) rtt: Option<String>,
    /// The window of TCP.
    #[arg(long, value_name = "BYTES", requires = "rate")]
    pub(crate) window: Option<String>,
    /// TCP payload of a segment [default: 1460B].
    #[arg(long, value_name = "BYTES", requires = "rate")]
    pub(crate) mss: Option<String>,
    /// packet, ethernet, fddi, aal5-vc-mux, aal5-llc-snap or bare-cells [default: that of the line's name, else
    /// packet, or aal5-llc-snap with a buffer in cells].
    #[arg(long, value_name = "NAME", requires = "rate")]
    pub(crate) framing: Option<String>,
    /// Losses per packet, from 0 to 1, or like 0.1% [default: 0].
    #[arg(long, value_name = "P", requires = "rate")]
    pub(crate) loss: Option<String>,
    /// bbr, cubic, dctcp, prague, reno or tahoe: the congestion control, which decides what losses leave [default: cubic].
    #[arg(long, value_name = "NAME", requires = "rate")]
    pub(crate) control: Option<String>,
    /// Buffer before the line: 256cell or 64KiB.
    #[arg(long, value_name = "SIZE", requires = "rate")]
    pub(crate) buffer: Option<String>,
    /// on if every second segment is acknowledged [default: off].
    #[arg(long, value_name = "on|off", requires = "rate")]
    pub(crate) delayed_ack: Option<String>,
    /// Rate of the line of the source, if it is another.
    #[arg(long, value_name = "RATE", requires = "rate")]
    pub(crate) source: Option<String>,
    /// Rate to which the source paces its cells or frames.
    #[arg(long, value_name = "RATE", requires = "rate")]
    pub(crate) shaping: Option<String>,
    /// Connections that share the line [default: 1].
    #[arg(long, value_name = "N", requires = "rate")]
    pub(crate) connections: Option<String>,
}

#[derive(Debug, Group)]
pub(crate) struct Reproduce {
    /// Short names of papers, or folders with study.toml and expected.toml of your own; all papers if none
    /// is given.
    #[arg(value_name = "PAPER")]
    pub(crate) papers: Vec<String>,
    /// Only the claims with this name, with a name that begins with it, or that matches a pattern with *;
    /// PAPER/ID of one paper. Separated by commas; may be repeated.
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
    /// Few seeds and fewer points: fast, with wide intervals. Emulated studies are left out.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also run emulated studies in a quick run (Linux; root or user namespaces).
    #[arg(long, conflicts_with = "no_emulate")]
    pub(crate) emulate: bool,
    /// Leave emulated studies out; their rows are "not run".
    #[arg(long)]
    pub(crate) no_emulate: bool,
    /// Write tables, verdicts and the report to this folder; for several papers, to one folder each in it.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keep finished runs in this folder, and run none again that is there.
    #[arg(long, value_name = "STORE", value_parser = store)]
    pub(crate) cache: Option<PathBuf>,
    /// Replace an earlier result in DIR.
    #[arg(long)]
    pub(crate) force: bool,
    /// Threads; all cores unless given. Never changes a result.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<u16>,
    /// Print the rows as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the rows to FILE, as a page of Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

#[derive(Debug, Group)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Replications of the simulation, instead of those of the file.
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Replications of the emulation, each with its own seed.
    #[arg(long, value_name = "N", default_value_t = cellway_lab::compare::REPEATS, value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) repeat: u64,
    /// Leave the emulation out.
    #[arg(long, conflicts_with = "repeat")]
    pub(crate) no_emulate: bool,
    /// Values from another source, shown in a further column.
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) published: Option<PathBuf>,
    /// Threads of the simulation; all cores unless given. Never changes a result.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<u16>,
    /// Write the tables, a manifest and the figure to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keep finished runs in this folder, and run none again that is there.
    #[arg(long, value_name = "STORE", value_parser = store)]
    pub(crate) cache: Option<PathBuf>,
    /// Replace an earlier result in DIR.
    #[arg(long)]
    pub(crate) force: bool,
    /// Show every row that two sources have, not only the main ones.
    #[arg(long)]
    pub(crate) wide: bool,
}

/// Reads the folder of a store.
fn store(text: &str) -> Result<PathBuf, String> {
    match text.contains("://") {
        true => Err("accepted: a folder; only cellway.sweep of Python uses object stores".to_owned()),
        false => Ok(PathBuf::from(text)),
    }
}

/// Reads a number of threads.
fn threads(text: &str) -> Result<u16, String> {
    count(text, u16::MAX)
}

/// Reads a number of replications.
fn seeds(text: &str) -> Result<u64, String> {
    count(text, cellway_lab::MAX_SEEDS)
}

/// Reads a whole number from 1 to `most`.
fn count<N: FromStr + PartialOrd + From<u8> + Display>(text: &str, most: N) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| (&N::from(1)..=&most).contains(&number));
    number.ok_or_else(|| format!("accepted: a whole number from 1 to {most}"))
}
