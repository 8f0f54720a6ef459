//! The tables of a study in Arrow and Parquet, its result folder and the manifest.
//!
//! A study is three tables. `runs` says what each run was (its point of the sweep, its seed, the axes);
//! `summary` holds one value for each run, subject and metric; `series` holds values over time. The
//! tables of a study are the same bytes on every machine and for every number of threads; what differs
//! from one execution to the next (the date, the host, the speed) is in the manifest alone.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod builder;
mod error;
mod folder;
mod manifest;
mod table;

pub use builder::{Results, ResultsBuilder};
pub use error::Error;
pub use folder::{PARTIAL_MARK, ResultFolder, check_target};
pub use manifest::{FILE_NAME as MANIFEST_FILE, FileEntry, Manifest, Provenance};
pub use table::{Observation, Table};
