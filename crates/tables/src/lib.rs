//! The tables of a study in Arrow and Parquet, its result folder and the manifest.
//!
//! A study is three tables. `runs` describes each run (its point of the sweep, its seed, the axes); `summary` has one
//! value for each run, subject and metric; `series` has values over time. The tables of a study are the same bytes on
//! every computer and for every number of threads; values that differ from one execution to the next (the date, the
//! host, the speed) are in the manifest only.
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
