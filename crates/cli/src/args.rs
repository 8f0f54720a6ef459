//! What the command line takes, and the help that teaches it.

use std::path::PathBuf;

use cellway_lab::Override;
use clap::{Args as Group, Parser, Subcommand};

/// What rate does TCP get over this long, fat, shared path, and what would fix it?
#[derive(Debug, Parser)]
#[command(
    name = "cellway",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Examples:
  cellway reproduce cellsim --quick --out out/cellsim    a whole published study, with a report
  cellway check study.toml                               is this scenario right? what would run?
  cellway simulate study.toml --seeds 20 --out out/study
  cellway simulate study.toml --set traffic.ftp.count=3 --set tcp.variant=sack

Exit codes: 0 done, 1 failed, 2 the input is wrong, 130 stopped by the user."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a scenario file: every point of its sweep, with every seed.
    #[command(after_help = "\
Examples:
  cellway simulate scenarios/satellite-bulk.toml
  cellway simulate study.toml --seeds 20 --out out/study   tables and manifest as Parquet and JSON
  cellway simulate study.toml --set tcp.mss=1460B --set 'link.*.rate=3 Mbit/s'
  cellway simulate study.toml --json | jq '.points[].figures[] | select(.metric == \"jain\")'
  cellway simulate study.toml --pcap r1 --out out/study    also out/study/r1.pcap, for Wireshark

The same file and seeds give the same tables, on any machine and any number of threads.")]
    Simulate(Simulate),
    /// Check a scenario file without running it.
    #[command(after_help = "\
Examples:
  cellway check study.toml
  cellway check study.toml --set tcp.window=4KiB
  cellway check study.toml --json    every problem with file, line, column, key and what is accepted")]
    Check(Check),
    /// Run the experiments of a published paper and hold its claims against what comes out.
    #[command(after_help = "\
Examples:
  cellway reproduce cellsim --out out/cellsim       all seeds; writes tables and report.html
  cellway reproduce cellsim --quick                 few seeds: a look around in under 30 seconds
  cellway reproduce cellsim --json                  one row per claim: id, section, expected,
                                                    measured, confidence interval, verdict

Papers: cellsim (R. Caceres, Multiplexing TCP Traffic over Wide-Area ATM Networks).")]
    Reproduce(Reproduce),
    /// Draw the report of a folder that `cellway reproduce` wrote.
    #[command(after_help = "Example:\n  cellway report out/cellsim    writes out/cellsim/report.html")]
    Report {
        /// The result folder.
        folder: PathBuf,
    },
    /// Print the JSON schema of scenario files, from which editors complete.
    #[command(after_help = "Example:\n  cellway schema > scenario.schema.json")]
    Schema,
    /// Models of traffic.
    #[command(subcommand)]
    Workload(WorkloadCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadCommand {
    /// Fit a compact quantile model to a table of an empirical distribution.
    #[command(after_help = "\
Examples:
  cellway workload fit ftp_itemsize.csv
  cellway workload fit tables/*.csv > models.toml

A table is a CSV file with the header value,cum_prob: rising values, each with the probability of
that value or less; the last probability is 1. The model goes to standard output as TOML, how near
it comes to the table (Kolmogorov-Smirnov distance, mean) to standard error.")]
    Fit(Fit),
}

#[derive(Debug, Group)]
pub(crate) struct Scenario {
    /// The scenario file.
    pub(crate) file: PathBuf,
    /// Set a key before anything else, as often as needed: traffic.ftp.count=3.
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
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<u64>,
    /// Threads; all cores unless given. Never changes a result.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Write the tables and a manifest to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an earlier result in DIR.
    #[arg(long)]
    pub(crate) force: bool,
    /// Capture what passes this node in the first run, to DIR/NODE.pcap (or ./NODE.pcap).
    #[arg(long, value_name = "NODE")]
    pub(crate) pcap: Option<String>,
}

#[derive(Debug, Group)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
}

#[derive(Debug, Group)]
pub(crate) struct Reproduce {
    /// The short name of the paper.
    pub(crate) paper: String,
    /// Few seeds and fewer points: wide intervals, but soon done.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Write tables, verdicts and the report to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an earlier result in DIR.
    #[arg(long)]
    pub(crate) force: bool,
    /// Threads; all cores unless given. Never changes a result.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Print the rows as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Fit {
    /// Tables to fit.
    #[arg(required = true)]
    pub(crate) tables: Vec<PathBuf>,
    /// Print models and how near they come as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}
