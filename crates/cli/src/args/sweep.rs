//! The options of `sweep`.

use std::path::PathBuf;
use std::time::Duration;

use cellway_lab::sweep::{Criterion, Shard};
use cellway_lab::{Override, Span};
use clap::{Args as Group, Subcommand, ValueEnum};

use super::{Scenario, seeds, store, threads};

/// `sweep`.
#[derive(Debug, Group)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Sweep {
    #[command(subcommand)]
    pub(crate) command: Option<SweepCommand>,
    #[command(flatten)]
    pub(crate) whole: Whole,
}

/// `sweep FILE`. File and store are absent only with a subcommand.
#[derive(Debug, Group)]
pub(crate) struct Whole {
    /// The scenario file.
    #[arg(required = true)]
    pub(crate) file: Option<PathBuf>,
    /// Set a key before the file is checked; may be repeated: traffic.ftp.count=3.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Override>,
    /// Print the state of all points as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// The folder of the store: the plan, the finished runs, and at the end the tables.
    #[arg(long, value_name = "STORE", required = true, value_parser = store)]
    pub(crate) out: Option<PathBuf>,
    /// Replications, instead of those of the file.
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    #[command(flatten)]
    pub(crate) work: Work,
    /// Add replications to each point until this holds; may be repeated.
    #[arg(long, value_name = "CRITERION")]
    pub(crate) until: Vec<Criterion>,
    /// The most replications of a point with --until.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = seeds, allow_negative_numbers = true, requires = "until")]
    pub(crate) max_seeds: u64,
    /// Run it on a cluster of Dask whose workers see STORE under the same path: tcp://HOST:8786, local:4 for processes
    /// here, or a class of dask_jobqueue or dask_kubernetes and its number of workers, SLURMCluster:16.
    #[arg(long, value_name = "SCHEDULER", conflicts_with_all = ["until", "threads"])]
    pub(crate) scheduler: Option<String>,
    /// The time after which --until adds no replications: 55m, 8h, 90 s.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "until")]
    pub(crate) budget: Option<Duration>,
}

impl Whole {
    /// Returns the plan that it asks for; `None` with a subcommand.
    pub(crate) fn planned(&self) -> Option<Planned> {
        let scenario = Scenario { file: self.file.clone()?, set: self.set.clone(), json: self.json };
        Some(Planned { scenario, out: self.out.clone()?, seeds: self.seeds })
    }
}

/// `sweep plan`.
#[derive(Debug, Group)]
pub(crate) struct Planned {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// The folder of the store: the plan, the finished runs, and at the end the tables.
    #[arg(long, value_name = "STORE", value_parser = store)]
    pub(crate) out: PathBuf,
    /// Replications, instead of those of the file.
    #[arg(long, value_name = "N", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
}

/// The way to run what is missing.
#[derive(Clone, Debug, Group)]
pub(crate) struct Work {
    /// Threads; all cores unless given. Never changes a result.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<u16>,
    /// End with the first run that fails; else it is kept with its message, not run again, and the rest goes on.
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Run those again that have failed before.
    #[arg(long)]
    pub(crate) retry: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Write the plan of a sweep into a store, and run nothing.
    #[command(after_help = "Example:\n  cellway sweep plan study.toml --seeds 100 --out store")]
    Plan(Planned),
    /// Run what a store does not have: all of it, or a shard.
    #[command(after_help = "\
Examples:
  cellway sweep run store
  cellway sweep run store --shard 3/8    as one of eight processes")]
    Run {
        /// The folder of the store.
        store: PathBuf,
        /// Only the runs of part I of N. Each shard writes a file of its own, so that any machine may run it.
        #[arg(long, value_name = "I/N", default_value_t = Shard::ALL)]
        shard: Shard,
        #[command(flatten)]
        work: Work,
    },
    /// Show how far a sweep is, with its failures, and runs that do not read back.
    #[command(after_help = "\
Examples:
  cellway sweep status store
  cellway sweep status store --html status.html")]
    Status {
        /// The folder of the store.
        store: PathBuf,
        /// Also write it as a page that needs nothing else.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Print JSON on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Write the tables of a sweep whose runs have all ended.
    #[command(after_help = "\
Examples:
  cellway sweep merge store              into store/results
  cellway sweep merge store --partial --out out/so-far")]
    Merge {
        /// The folder of the store.
        store: PathBuf,
        /// The folder of the tables [default: STORE/results].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Replace an earlier result in DIR.
        #[arg(long, requires = "out")]
        force: bool,
        /// Write the runs that have ended, whatever is missing.
        #[arg(long)]
        partial: bool,
    },
    /// Run some of the finished runs again, and compare them to the bit.
    Verify {
        /// The folder of the store.
        store: PathBuf,
        /// The share of the runs; at least one is run.
        #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
        share: f64,
        /// Threads; all cores unless given.
        #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
        threads: Option<u16>,
    },
    /// Remove from a store all runs that its plan does not have.
    Gc {
        /// The folder of the store.
        store: PathBuf,
    },
    /// Print a job script that runs each shard of a sweep on a cluster.
    #[command(after_help = "\
Examples:
  cellway sweep script slurm store --shards 64 > job.sh; sbatch job.sh
  cellway sweep script kubernetes store --shards 64 > job.yaml")]
    Script {
        /// The system that runs the job.
        #[arg(value_enum)]
        system: System,
        /// The folder of the store, as the machines of the cluster see it.
        store: PathBuf,
        /// The number of shards.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        shards: u32,
    },
}

/// A system that runs jobs on many machines.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum System {
    /// A job array of Slurm.
    Slurm,
    /// An indexed Job of Kubernetes.
    Kubernetes,
}

/// Reads a time: a quantity with its unit, or minutes, hours and days by a letter.
fn time(text: &str) -> Result<Duration, String> {
    let letters = [("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    let by_letter = letters.iter().find_map(|(letter, seconds)| {
        let number: f64 = text.trim().strip_suffix(letter)?.trim_end().parse().ok()?;
        Duration::try_from_secs_f64(number * seconds).ok()
    });
    let span =
        || text.trim().parse::<Span>().ok().and_then(|span| Duration::try_from_secs_f64(span.as_secs_f64()).ok());
    by_letter.or_else(span).ok_or_else(|| "accepted: a time such as 55m, 8h, 2d or 90 s".to_owned())
}

/// Reads a share above 0: 1%, 0.01.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.trim().strip_suffix('%').map_or((text.trim(), 1.0), |number| (number.trim_end(), 100.0));
    let share = number.parse::<f64>().ok().map(|number| number / scale).filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "accepted: a share above 0 and up to 1, such as 1% or 0.01".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn times_and_shares() {
        let seconds = |text| time(text).unwrap().as_secs_f64();
        assert_eq!(
            ["55m", "8h", "1.5 h", "2d", "90 s", "10 min"].map(seconds),
            [3300.0, 28_800.0, 5400.0, 172_800.0, 90.0, 600.0]
        );
        for wrong in ["", "55", "m", "-1h", "nanh", "1e300h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert_eq!(["1%", "0.01", "100 %", "1"].map(|text| share(text).unwrap()), [0.01, 0.01, 1.0, 1.0]);
        for wrong in ["0", "2", "0 %", "101 %", "nan", "-1%", "x"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
