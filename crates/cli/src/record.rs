//! Records of the first run that `cellway simulate` writes beside its tables: captures and qlog.

use std::fmt;
use std::path::{Path, PathBuf};

use cellway_lab::{Error, Plan, Progress};

use crate::args::Simulate;
use crate::interruption::Interruption;
use crate::output;
use crate::progress::Bar;

/// A file of more bytes is reported with its size.
const LARGE: u64 = 10_000_000;

/// A record of the first run.
enum Kind {
    /// The packets that pass a node.
    Capture(String),
    /// One end of a TCP connection.
    Qlog(String),
}

/// A record that is requested, with the name of its file.
pub(crate) struct Record {
    kind: Kind,
    pub(crate) name: String,
}

/// A record that was written.
pub(crate) struct Written {
    pub(crate) record: Record,
    pub(crate) path: PathBuf,
    /// Of packets, or of events.
    pub(crate) number: u64,
}

impl Record {
    /// Returns the records that are requested, each of which can be written as far as is known before a run. They go to
    /// the current folder unless the results are `kept`.
    pub(crate) fn wanted(options: &Simulate, plan: &Plan, kept: bool) -> Result<Vec<Record>, Error> {
        let mut wanted = Vec::new();
        // That of a connection first: there may be none of its number, and then no other file has been replaced.
        if let Some(end) = &options.qlog {
            let name = format!("{}.sqlog", cellway_lab::check_qlog(plan, end)?.file_stem());
            wanted.push(Record { kind: Kind::Qlog(end.clone()), name });
        }
        if let Some(node) = &options.pcap {
            cellway_lab::check_capture(plan, node)?;
            wanted.push(Record { kind: Kind::Capture(node.clone()), name: format!("{node}.pcap") });
        }
        if !kept {
            wanted.iter().try_for_each(|record| cellway_lab::check_free(Path::new(&record.name), options.force))?;
        }
        Ok(wanted)
    }

    /// Returns true if it has packets, and false if it has events.
    pub(crate) fn is_of_packets(&self) -> bool {
        matches!(self.kind, Kind::Capture(_))
    }

    /// Writes it to `folder`, from a run of its own. Returns the number of packets or events.
    pub(crate) fn write(
        &self,
        plan: &Plan,
        base: &Path,
        folder: &Path,
        force: bool,
        interruption: &mut Interruption<'_>,
    ) -> Result<u64, Error> {
        let label = format!("first run, for {}", self.name);
        output::detail(&format!("runs: {label}"));
        let bar = Bar::new();
        bar.show(Progress { label: &label, done: 0, total: 1, study: [0, 1] });
        let (path, stop) = (folder.join(&self.name), &mut || interruption.requested());
        match &self.kind {
            Kind::Capture(node) => cellway_lab::capture(plan, base, node, &path, force, stop),
            Kind::Qlog(end) => cellway_lab::qlog(plan, base, end, &path, force, stop),
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.record.is_of_packets() { "records captured" } else { "events of qlog" };
        write!(f, "{} {what} in {}{}", self.number, self.path.display(), large(&self.path))
    }
}

/// Returns the size of a file after a comma, if it is so large that it takes long to open.
fn large(path: &Path) -> String {
    let bytes = std::fs::metadata(path).map_or(0, |about| about.len());
    if bytes > LARGE { format!(", {}", output::size(bytes)) } else { String::new() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn a_large_file_is_reported_with_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.sqlog");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(LARGE).unwrap();
        assert_eq!(large(&path), "");
        file.set_len(23_100_000).unwrap();
        assert_eq!(large(&path), ", 23.1 MB");
        assert_eq!(large(&folder.path().join("none")), "");
    }
}
