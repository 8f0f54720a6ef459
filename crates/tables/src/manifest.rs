//! `manifest.json`: the study, the host, the speed, and the files of the folder.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use cellway_record::Counts;

/// The name of the manifest in a result folder. It is written last: a folder without it is no result.
pub const FILE_NAME: &str = "manifest.json";
/// The format that this version writes and reads.
const FORMAT: u32 = 1;

/// The caller's description of an execution. None of it enters the tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// The version of Cellway.
    pub version: String,
    /// The text of the scenario file, overrides applied or named in it.
    pub scenario: String,
    /// The first seed; replication `i` used `first_seed + i`.
    pub first_seed: u64,
    /// Replications of each point.
    pub seeds: u32,
    /// Points of the sweep.
    pub points: u32,
    /// The time at which the runs began, as RFC 3339 text.
    pub started: String,
    /// Their duration in real time, in seconds.
    pub wall_seconds: f64,
    /// The operating system and processor architecture.
    pub host: String,
    /// Worker threads.
    pub threads: u32,
    /// The round trip that is the scenario's unit of time, in seconds, overrides applied; that of the base if a sweep
    /// changes it.
    pub rtt_seconds: f64,
    /// The part of each run that is not counted, in seconds, likewise.
    pub warmup_seconds: f64,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// Of runs in real time: the scheduling of the threads that drove them, and the processor time that these were
    /// denied, a line for each run.
    pub scheduling: Vec<String>,
    /// The planned runs, if the user stopped it before all had finished.
    pub planned_runs: Option<u64>,
    /// True if runs came from a store, or were the same as others: their time was not measured.
    pub reuses_runs: bool,
}

/// A file of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its name in the folder.
    pub name: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// The content of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of this file and of the tables.
    pub format: u32,
    /// The version of Cellway that ran.
    pub cellway: String,
    /// The scenario text.
    pub scenario: String,
    /// The SHA-256 of the scenario text, in hexadecimal.
    pub scenario_sha256: String,
    /// The first seed.
    pub first_seed: u64,
    /// Replications of each point.
    pub seeds: u32,
    /// Points of the sweep.
    pub points: u32,
    /// Runs: points times replications, or those that had finished when it was stopped.
    pub runs: u64,
    /// The planned runs, if it was stopped before all had finished.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub planned_runs: Option<u64>,
    /// The time at which the runs began, as RFC 3339 text.
    pub started: String,
    /// Their duration in real time, in seconds.
    pub wall_seconds: f64,
    /// The operating system and processor architecture.
    pub host: String,
    /// Worker threads.
    pub threads: u32,
    /// The round trip that the scenario counts in, in seconds.
    pub rtt_seconds: f64,
    /// The part of each run that is not counted, in seconds.
    pub warmup_seconds: f64,
    /// Of runs in real time: the scheduling of the threads that drove them, a line for each run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub scheduling: Vec<String>,
    /// Simulated time of all runs together, in seconds.
    pub simulated_seconds: f64,
    /// Events handled.
    pub events: u64,
    /// Cells that left an output line, counted once per line.
    pub cell_hops: u64,
    /// Packets that left an output line whole, counted once per line.
    #[serde(default)]
    pub packet_hops: u64,
    /// IP packets sent.
    pub packets: u64,
    /// Cell-hops per second of wall time, all threads together; absent if no time was measured, or runs came
    /// from a store.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cell_hops_per_second: Option<f64>,
    /// Packet-hops per second, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packet_hops_per_second: Option<f64>,
    /// Warnings about the results, as they were printed.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The other files of the folder.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    /// Creates the manifest of `runs` runs with the work `counts` and the files `files`.
    pub fn new(about: &Provenance, runs: u64, counts: Counts, files: Vec<FileEntry>) -> Manifest {
        let rate = |count: u64| Some(count as f64 / about.wall_seconds).filter(|rate| rate.is_finite());
        let per_second = |count| rate(count).filter(|_| !about.reuses_runs);
        Manifest {
            format: FORMAT,
            cellway: about.version.clone(),
            scenario: about.scenario.clone(),
            scenario_sha256: hex(&Sha256::digest(&about.scenario)),
            first_seed: about.first_seed,
            seeds: about.seeds,
            points: about.points,
            runs,
            planned_runs: about.planned_runs,
            started: about.started.clone(),
            wall_seconds: about.wall_seconds,
            host: about.host.clone(),
            threads: about.threads,
            rtt_seconds: about.rtt_seconds,
            warmup_seconds: about.warmup_seconds,
            scheduling: about.scheduling.clone(),
            simulated_seconds: counts.simulated.as_secs_f64(),
            events: counts.events,
            cell_hops: counts.cell_hops,
            packet_hops: counts.packet_hops,
            packets: counts.packets,
            cell_hops_per_second: per_second(counts.cell_hops),
            packet_hops_per_second: per_second(counts.packet_hops),
            warnings: about.warnings.clone(),
            files,
        }
    }

    /// Returns the text of the file.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("numbers, texts and lists always serialise");
        text.push('\n');
        text
    }

    /// Returns true if `text` is the manifest of some version of Cellway, also of one that this version cannot read:
    /// enough to recognise the folder.
    pub(crate) fn is_one(text: &str) -> bool {
        let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        value["cellway"].is_string() && value["format"].is_u64()
    }

    /// Parses the manifest in `text`, or returns the reason why it is none.
    pub(crate) fn parse(text: &str) -> Result<Manifest, String> {
        /// Read first, so that a later format is named as such and not as a missing key.
        #[derive(Deserialize)]
        struct Format {
            format: u32,
            #[serde(rename = "cellway")]
            version: String,
        }
        let Format { format, version } = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if format != FORMAT {
            return Err(format!("format {format}, written by Cellway {version}; this version reads format {FORMAT}"));
        }
        serde_json::from_str(text).map_err(|e| e.to_string())
    }
}

/// Bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
