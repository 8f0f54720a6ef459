//! The entry for users of the simulator: check, simulate, reproduce, fit.
//!
//! Command line and Python see only this crate. It adds to the crates below it the management of whole studies: it
//! reads files, runs replications on all cores, sorts results in run order, and compares the claims of a paper with
//! them.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod alike;
mod batch;
pub mod captured;
pub mod captured_path;
pub mod compare;
mod digest;
#[cfg(target_os = "linux")]
pub mod emulate;
mod error;
mod fit;
mod left_out;
mod load;
#[cfg(target_os = "linux")]
pub mod measure;
pub mod metrics;
mod overview;
pub mod predict;
mod replications;
pub mod reproduce;
mod simulate;
mod study;
pub mod sweep;
mod text_file;
mod traces;
mod transient;
mod workload;

#[cfg(target_os = "linux")]
pub use cellway_emu::sys::{StopSignals, is_reentered};
pub use cellway_record::AxisValue as AxisValueRecord;
pub use cellway_record::Counts;
pub use cellway_scenario::{
    AxisValue, Override, OverrideError, Plan, Point, Problem, Scenario, refusal, refusal_in_words, schema,
};
pub use cellway_sim::{Controllers, MAX_WINDOW, QlogEnd, RESULT_VERSION, congestion};
pub use cellway_store::{Store, Totals};
pub use cellway_tables::{Manifest, ResultFolder, Results, Table, check_target};
pub use cellway_units::{Span, Time, printable, printable_json};
pub use cellway_workload as workload_file;
pub use error::Error;
pub use fit::{FitReport, fit_file};
pub use load::{Checked, check, plan_from_file, plan_from_text};
pub use overview::{Cell, Overview, PointFigures, confidence_interval, signs_of_use};
pub use simulate::{
    Own, Simulated, capture, check_capture, check_free, check_qlog, move_into, qlog, simulate, simulate_until_stopped,
    simulate_with,
};
pub use study::{MAX_SEEDS, Progress, Settings, VERSION};
pub use workload::{compare_workloads, read_workload};
