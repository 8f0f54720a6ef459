//! Reading the recorded links that a scenario names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellway_scenario::{Change, ChangeOf, Direction, LinkIndex, LinkTrace, Plan, Point, TraceFormat};

use crate::error::Error;
use crate::text_file;

/// Recordings, each read once.
pub(crate) struct TraceFolder {
    base: PathBuf,
    read: BTreeMap<(PathBuf, TraceFormat), Arc<LinkTrace>>,
}

/// A fault of a recording: the key of `trace` that names it, the fault, and what is accepted.
struct Unusable {
    key: &'static str,
    message: String,
    accepted: String,
}

impl TraceFolder {
    /// Relative paths start at `base`.
    pub(crate) fn new(base: &Path) -> TraceFolder {
        TraceFolder { base: base.to_owned(), read: BTreeMap::new() }
    }

    /// Reads the recordings of all links of a point of `plan` into it.
    pub(crate) fn fill(&mut self, plan: &Plan, point: &mut Point) -> Result<(), Error> {
        let changes = &point.scenario.changes;
        for (number, link) in point.scenario.links.iter_mut().enumerate() {
            for direction in [0, 1] {
                let is_here = |change: &Change| match change.what {
                    ChangeOf::Link(LinkIndex(of), both) => of == number && both.ports().contains(&direction),
                    ChangeOf::Shaper(_) | ChangeOf::Pcr(_) => false,
                };
                let recorded = self.recorded(&link.directions[direction]).and_then(|trace| {
                    if trace.as_ref().is_some_and(|trace| trace.rate.is_some()) && changes.iter().any(is_here) {
                        let message = "the file has rates, and [[change]] changes that of the link, too".to_owned();
                        return Err(Unusable { key: "csv", message, accepted: "one of them".to_owned() });
                    }
                    Ok(trace)
                });
                link.traces[direction] = recorded.map_err(|Unusable { key, message, accepted }| {
                    plan.refuse_trace(point.index, (number, direction), key, &message, &accepted)
                })?;
            }
        }
        Ok(())
    }

    /// Returns the recording of a direction, if it has one.
    fn recorded(&mut self, direction: &Direction) -> Result<Option<Arc<LinkTrace>>, Unusable> {
        let mut all: Option<Arc<LinkTrace>> = None;
        for (key, path, format) in direction.trace.files() {
            let file = self.file(key, path, format)?;
            all = Some(match all {
                None => file,
                Some(all) => Arc::new((*all).clone().or((*file).clone())),
            });
        }
        if all.as_ref().is_some_and(|all| all.loss.is_some()) && direction.burst.is_some() {
            let message = "the file has losses, and burst is given, too".to_owned();
            return Err(Unusable { key: "csv", message, accepted: "one of them".to_owned() });
        }
        Ok(all)
    }

    /// Reads the recording that `key` of `trace` names.
    fn file(&mut self, key: &'static str, path: &Path, format: TraceFormat) -> Result<Arc<LinkTrace>, Unusable> {
        let path = self.base.join(path);
        if let Some(known) = self.read.get(&(path.clone(), format)) {
            return Ok(known.clone());
        }
        let shown = path.display();
        let wrong = |message| Unusable { key, message, accepted: "the path of a text file".to_owned() };
        let text = text_file::read(&path).map_err(wrong)?;
        let trace = format.read(&text).map_err(|error| {
            let line = error.line.map_or(String::new(), |line| format!(":{line}"));
            Unusable { key, message: format!("{shown}{line}: {}", error.message), accepted: error.accepted }
        })?;
        let trace = Arc::new(trace);
        self.read.insert((path, format), Arc::clone(&trace));
        Ok(trace)
    }
}
