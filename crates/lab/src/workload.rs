//! Workload files.

use std::path::Path;

use cellway_workload::{Comparison, WorkloadFile, compare};

use crate::error::Error;
use crate::text_file;

/// Reads a workload file.
///
/// # Errors
/// It cannot be read, or has problems.
pub fn read_workload(path: &Path) -> Result<WorkloadFile, Error> {
    let name = path.to_string_lossy();
    let text = text_file::read(path).map_err(|fault| {
        Error::Option(format!(
            "{fault}; accepted: a workload file, which `cellway workload from-pcap` makes of captures"
        ))
    })?;
    Ok(WorkloadFile::parse(&text, &name)?)
}

/// Compares the distributions of two workload files.
///
/// # Errors
/// One of them cannot be read, or has problems.
pub fn compare_workloads(paths: [&Path; 2]) -> Result<Comparison, Error> {
    let [first, second] = paths.map(read_workload);
    Ok(compare([&first?, &second?]))
}

/// Returns the first problem of a file that another file names, in words, and what would be accepted.
pub(crate) fn first_problem(error: cellway_workload::Error) -> (String, String) {
    let more = error.problems.len().saturating_sub(1) + error.more;
    let Some(first) = error.problems.into_iter().next() else {
        return ("the file has a problem".to_owned(), "a workload file".to_owned());
    };
    let accepted = first.accepted.clone().unwrap_or_else(|| "a workload file without problems".to_owned());
    let mut first = first.without_excerpt();
    first.accepted = None;
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    (format!("{first}{more}"), accepted)
}
