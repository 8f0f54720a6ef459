//! Reading the recorded links that a scenario names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellway_scenario::{Direction, LinkTrace, Plan, Point, TraceFiles, TraceFormat};

use crate::error::Error;

/// The most bytes of a file with a recording: half an hour at 1 Gbit/s.
const MAX_FILE: u64 = 1 << 30;

/// Recordings, each read once. The default is for paths that start at the current folder.
#[derive(Default)]
pub(crate) struct TraceFolder {
    base: PathBuf,
    read: BTreeMap<(PathBuf, &'static str), LinkTrace>,
}

/// A fault of a recording: the key of `trace` that names it, the fault, and what is accepted.
pub(crate) struct Unusable {
    pub(crate) key: &'static str,
    pub(crate) message: String,
    pub(crate) accepted: String,
}

impl TraceFolder {
    /// Relative paths start at `base`.
    pub(crate) fn new(base: &Path) -> TraceFolder {
        TraceFolder { base: base.to_owned(), read: BTreeMap::new() }
    }

    /// Reads the recordings of all links of a point of `plan` into it.
    pub(crate) fn fill(&mut self, plan: &Plan, point: &mut Point) -> Result<(), Error> {
        for (number, link) in point.scenario.links.iter_mut().enumerate() {
            for direction in [0, 1] {
                link.traces[direction] = self.recorded(&link.directions[direction]).map_err(|wrong| {
                    let Unusable { key, message, accepted } = wrong;
                    plan.refuse_trace(point.index, (number, direction), key, &message, &accepted)
                })?;
            }
        }
        Ok(())
    }

    /// Returns the recording of a direction, if it has one.
    pub(crate) fn recorded(&mut self, direction: &Direction) -> Result<Option<Arc<LinkTrace>>, Unusable> {
        let TraceFiles { rate, delay, csv, .. } = &direction.trace;
        let files = [
            ("rate", rate, TraceFormat::Opportunities),
            ("delay", delay, TraceFormat::Delays),
            ("csv", csv, TraceFormat::Csv),
        ];
        let mut all = LinkTrace::default();
        for (key, path, format) in files {
            if let Some(path) = path {
                all = all.or(self.file(key, path, format)?);
            }
        }
        if all.loss.is_some() && direction.burst.is_some() {
            let message = "the file has losses, and burst is given, too".to_owned();
            return Err(Unusable { key: "csv", message, accepted: "one of them".to_owned() });
        }
        Ok(direction.is_recorded().then(|| Arc::new(all)))
    }

    /// Reads the recording that `key` of `trace` names.
    pub(crate) fn file(&mut self, key: &'static str, path: &Path, format: TraceFormat) -> Result<LinkTrace, Unusable> {
        let path = self.base.join(path);
        if let Some(known) = self.read.get(&(path.clone(), key)) {
            return Ok(known.clone());
        }
        let shown = path.display();
        let wrong = |message| Unusable {
            key,
            message,
            accepted: "the path of a text file, relative to the folder of this file".to_owned(),
        };
        let about = std::fs::metadata(&path).map_err(|error| wrong(format!("cannot read {shown}: {error}")))?;
        // A pipe would be read until its writer ends, and can be read once only.
        if !about.is_file() {
            return Err(wrong(format!("{shown} is not a regular file")));
        }
        if about.len() > MAX_FILE {
            return Err(wrong(format!("{shown} has {} bytes, more than {MAX_FILE}", about.len())));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(format!("cannot read {shown}: {error}")))?;
        let trace = format.read(&text).map_err(|error| {
            let line = error.line.map_or(String::new(), |line| format!(":{line}"));
            Unusable { key, message: format!("{shown}{line}: {}", error.message), accepted: error.accepted }
        })?;
        self.read.insert((path, key), trace.clone());
        Ok(trace)
    }
}
