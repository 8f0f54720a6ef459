//! The options of `workload` and `path`: traffic and paths, measured or modelled.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum PathCommand {
    /// Estimate rate, round trip, buffer and loss of a path from captures of bulk transfers over it.
    #[command(after_help = "\
Examples:
  cellway path from-pcap transfer.pcap                  a table
  cellway path from-pcap transfer.pcap -o path.toml     and a scenario file
  cellway simulate path.toml                            the same path, simulated

The captures are of the sender, of the receiver or of a place between. They must have all that shares the \
bottleneck: the rate is that of the transfers in them.")]
    FromPcap(PathFromPcap),
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkloadCommand {
    /// Fit a compact quantile model to a table of an empirical distribution.
    #[command(after_help = "\
Examples:
  cellway workload fit ftp_itemsize.csv
  cellway workload fit tables/*.csv > models.toml

A table is a CSV file with the header value,cum_prob: rising values, each with the probability of \
that value or less; the last probability is 1. Standard output has the model as TOML, standard error \
its deviation from the table (Kolmogorov-Smirnov distance, mean).")]
    Fit(Fit),
    /// Derive a workload file from packet captures.
    #[command(after_help = "\
Examples:
  cellway workload from-pcap trace.pcap                  a table of its classes
  cellway workload from-pcap trace.pcap -o traffic.toml  and the workload file
  cellway workload from-pcap ring-*.pcap.gz --by rules:sites.toml -o ring.toml
  cellway workload from-pcap trace.pcapng --by cluster:4 --json

Files are pcap or pcapng, plain or compressed by gzip or zstd, in the order of their times. Conversations \
of TCP become exchanges of requests and responses, those of UDP packets with their gaps. The file has no \
address and no payload. A file that is damaged counts up to the damage; the exit code is 0, and a warning \
names the place.")]
    FromPcap(FromPcap),
    /// Show the classes of a workload file: their distributions by quantiles.
    #[command(after_help = "\
Examples:
  cellway workload show scenarios/workloads/office.toml
  cellway workload show office.toml --class web --json
  cellway workload show office.toml --class web --plot web.svg

Times are in seconds, sizes in octets. A scenario plays a class with app = \"workload:FILE#CLASS\".")]
    Show(ShowWorkload),
    /// Compare the distributions of two workload files, class by class.
    #[command(after_help = "\
Examples:
  cellway workload compare monday.toml tuesday.toml
  cellway workload compare measured.toml simulated.toml --json

The distance is that of Kolmogorov and Smirnov: the largest difference of the two cumulative \
distributions. Samples of one distribution exceed the bound, 1.36 sqrt(1/n + 1/m), in 5 % of the cases; \
a larger distance is marked. The exit status does not depend on the distances.")]
    Compare(CompareWorkloads),
}

/// `workload show`.
#[derive(Debug, Group)]
pub(crate) struct ShowWorkload {
    /// The workload file.
    pub(crate) file: PathBuf,
    /// Show only this class; may be repeated.
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Vec<String>,
    /// Print the classes as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the cumulative distributions to this file: .svg, .pdf or .png.
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Replace FILE.
    #[arg(long, requires = "plot")]
    pub(crate) force: bool,
}

/// `workload compare`.
#[derive(Debug, Group)]
pub(crate) struct CompareWorkloads {
    /// A workload file.
    pub(crate) first: PathBuf,
    /// Another one.
    pub(crate) second: PathBuf,
    /// Print the distances as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct Fit {
    /// Tables to fit.
    #[arg(required = true)]
    pub(crate) tables: Vec<PathBuf>,
    /// Print models and their deviations as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct FromPcap {
    /// Captures.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The classes: port (services by their well-known ports), rules:FILE (a file in TOML) or cluster:N (N classes by
    /// sizes, for each of TCP and UDP).
    #[arg(long, value_name = "RULE", default_value = "port")]
    pub(crate) by: String,
    /// Keep whole conversations over TCP, which are played as they were; also those in which both sides sent at once.
    #[arg(long)]
    pub(crate) messages: bool,
    /// Write the workload file.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace FILE if it exists.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print the classes as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct PathFromPcap {
    /// Captures, in the order of their times.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write a scenario file with the path, and a transfer over it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace FILE if it exists.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print the estimates as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}
