//! A plan made ready to run: its points with their workloads, and the numbers and keys of its runs.

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cellway_apps::GroupWorkload;
use cellway_record as record;
use cellway_record::{RunKey, RunRecord};
use cellway_scenario::{AxisValue, Engine, Plan, Point};
use cellway_sim::{Control, RESULT_VERSION};
use cellway_store::{Claim, Digest, Key, Outcome, Store};

use crate::digest::digest;
use crate::error::Error;
use crate::load::TableFolders;
use crate::replications::{Repeats, Replications};
use crate::simulate::Own;
use crate::traces::TraceFolder;

/// The version of Cellway, as in manifests.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most replications of a point, which is also the limit of the key `run.seeds`.
pub const MAX_SEEDS: u64 = 100_000;

/// The longest interval between calls of the caller's `stop`.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// The progress of a study.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The name of the study.
    pub label: &'a str,
    /// Runs finished.
    pub done: u64,
    /// Runs in all.
    pub total: u64,
    /// Finished runs of `label`, and their total. The two are equal once, when the last run finishes.
    pub study: [u64; 2],
}

impl Progress<'_> {
    /// Returns whether all runs of `label` are finished.
    pub fn has_ended(&self) -> bool {
        self.study[0] == self.study[1]
    }
}

/// The settings of a run, which never change the results.
pub struct Settings<'a> {
    /// Threads; all cores if absent.
    pub threads: Option<usize>,
    /// Called on the calling thread whenever a run is done.
    pub progress: &'a mut dyn FnMut(Progress<'_>),
    /// Called on the calling thread, several times a second; `true` stops everything.
    pub stop: &'a mut dyn FnMut() -> bool,
    /// Finished simulations: those that are there are not run again, others are added.
    pub store: Option<&'a Store>,
}

/// A plan made ready: its points, each with its workloads.
pub(crate) struct Prepared {
    points: Vec<(Point, Vec<GroupWorkload>)>,
    seed: u64,
    /// The replications of each point.
    replications: Replications,
    /// Keys and axes of the plan without effect, each with its location.
    pub(crate) warnings: Vec<String>,
    /// The parts of others that take the place of built-in ones.
    own: Own,
    /// Of each point; made when they are first wanted.
    digests: OnceLock<Vec<Digest>>,
    /// Of each run, once they were wanted all.
    stored: OnceLock<Vec<Key>>,
}

/// The answer of a store to a process that is about to do a run.
pub(crate) enum Turn {
    /// This process does it. The claim lasts until the run is in the store.
    Own(Claim),
    /// Another process has done it.
    Done,
    /// Another process is doing it.
    Taken,
}

impl Prepared {
    /// Prepares a plan; `seeds` replaces the number of replications of the plan.
    pub(crate) fn new(plan: &Plan, folder: &Path, seeds: Option<u64>) -> Result<Prepared, Error> {
        let prepared = Prepared::to_emulate(plan, folder, seeds)?;
        if prepared.points().any(|point| point.scenario.traffic.is_empty()) {
            return Err(cellway_sim::Error::NoTraffic.into());
        }
        Ok(prepared)
    }

    /// As [`Prepared::new`], for an emulation: programs do for traffic.
    pub(crate) fn to_emulate(plan: &Plan, folder: &Path, seeds: Option<u64>) -> Result<Prepared, Error> {
        let (mut tables, mut traces) = (TableFolders::new(folder), TraceFolder::new(folder));
        let mut points = plan.points()?;
        let mut workloads = Vec::with_capacity(points.len());
        for point in &mut points {
            workloads.push(tables.workloads(plan, point)?);
            traces.fill(plan, point)?;
        }
        // Only the files say which groups send datagrams, and so which keys have no effect.
        let warnings = plan.warnings(&points).iter().map(ToString::to_string).collect();
        let points: Vec<_> = points.into_iter().zip(workloads).collect();
        let run = &plan.base().run;
        let seeds = seeds.unwrap_or(run.seeds);
        if !(1..=MAX_SEEDS).contains(&seeds) {
            return Err(Error::Option(format!(
                "the number of seeds is {seeds}; accepted: 1 to {MAX_SEEDS}, such as 20"
            )));
        }
        let runs = seeds * points.len() as u64;
        if runs > u64::from(u32::MAX) {
            return Err(Error::Option(format!(
                "{seeds} seeds of {} points make {runs} runs; accepted: up to {} runs",
                points.len(),
                u32::MAX
            )));
        }
        let replications = Replications::of(&vec![seeds; points.len()]);
        Ok(Prepared {
            points,
            seed: run.seed,
            replications,
            warnings,
            own: Own::default(),
            digests: OnceLock::new(),
            stored: OnceLock::new(),
        })
    }

    /// Gives each point its own number of replications.
    pub(crate) fn with_replications(self, of_points: &[u64]) -> Prepared {
        let mut prepared = self;
        prepared.replicate(of_points);
        prepared
    }

    /// As [`Prepared::with_replications`], in place.
    pub(crate) fn replicate(&mut self, of_points: &[u64]) {
        assert_eq!(of_points.len(), self.points.len(), "each point has a number of replications");
        self.replications = Replications::of(of_points);
        self.stored = OnceLock::new();
    }

    /// Lets parts of others take the place of built-in ones.
    pub(crate) fn with_own(self, own: &Own) -> Prepared {
        Prepared { own: own.clone(), ..self }
    }

    /// Returns the point of run `index`, and its workloads.
    pub(crate) fn of_run(&self, index: u64) -> &(Point, Vec<GroupWorkload>) {
        &self.points[self.replications.find(index).0]
    }

    pub(crate) fn runs(&self) -> u64 {
        self.replications.runs()
    }

    /// Returns the most replications of a point.
    pub(crate) fn seeds(&self) -> u64 {
        self.replications.most()
    }

    /// Returns the numbers of the runs of a point.
    pub(crate) fn runs_of(&self, point: usize) -> Range<u64> {
        self.replications.runs_of(point)
    }

    pub(crate) fn points(&self) -> impl ExactSizeIterator<Item = &Point> + Clone {
        self.points.iter().map(|(point, _)| point)
    }

    pub(crate) fn first(&self) -> &(Point, Vec<GroupWorkload>) {
        &self.points[0]
    }

    /// Returns the key of run `index`: the replications of a point follow each other.
    pub(crate) fn key(&self, index: u64) -> RunKey {
        let (place, replication) = self.replications.find(index);
        let point = &self.points[place].0;
        let axes = point.axes.iter().map(|(name, value)| (name.clone(), axis_value(value))).collect();
        RunKey { run: index as u32, point: point.index as u32, seed: self.seed + replication, axes }
    }

    /// Returns the digests of all points.
    pub(crate) fn digests(&self) -> &[Digest] {
        self.digests.get_or_init(|| self.points.iter().map(|(point, workloads)| digest(point, workloads)).collect())
    }

    /// Returns the key of run `index` in a store.
    pub(crate) fn stored(&self, index: u64) -> Key {
        match self.stored.get() {
            Some(all) => all[index as usize],
            None => self.new_key(index),
        }
    }

    /// Returns the keys of all runs in a store. They are kept, 32 octets each: one costs two blocks of SHA-256.
    pub(crate) fn all_stored(&self) -> &[Key] {
        self.stored.get_or_init(|| (0..self.runs()).map(|index| self.new_key(index)).collect())
    }

    fn new_key(&self, index: u64) -> Key {
        let (point, replication) = self.replications.find(index);
        Key::new(self.digests()[point], self.seed + replication, RESULT_VERSION)
    }

    /// Returns the runs whose keys are those of earlier ones.
    pub(crate) fn repeats(&self) -> Repeats<'_> {
        self.replications.repeats(self.digests().iter())
    }

    /// Returns the store, unless parts of others take part, of which it knows nothing.
    pub(crate) fn usable<'a>(&self, store: Option<&'a Store>) -> Option<&'a Store> {
        store.filter(|_| self.has_complete_key())
    }

    /// Returns true if the key of a run has all that it depends on: no parts of others take part.
    pub(crate) fn has_complete_key(&self) -> bool {
        self.own.is_empty()
    }

    /// Returns the engine of run `index`, on which its results do not depend.
    pub(crate) fn engine(&self, index: u64) -> Engine {
        self.points[self.replications.find(index).0].0.scenario.run.engine
    }

    /// Claims run `index`, for a process that has not found it in the store.
    pub(crate) fn turn(&self, index: u64, store: &Store) -> Result<Turn, Error> {
        let key = self.stored(index);
        let Some(claim) = store.claim(key)? else { return Ok(Turn::Taken) };
        // A claim reads on what others have done, so a run that one of them has just ended is found now.
        Ok(if store.contains(key) { Turn::Done } else { Turn::Own(claim) })
    }

    /// Returns the record of run `index` from the store, or runs it and adds it there; `None` if another process is
    /// running it.
    pub(crate) fn run_once(
        &self,
        index: u64,
        stop: &AtomicBool,
        store: Option<&Store>,
    ) -> Result<Option<RunRecord>, Error> {
        let Some(store) = self.usable(store) else { return self.run(index, stop).map(Some) };
        let key = self.stored(index);
        let stored = || Ok::<_, Error>(store.get(key)?.and_then(Outcome::into_record));
        if let Some(record) = stored()? {
            return Ok(Some(record));
        }
        let Some(_claim) = store.claim(key)? else { return Ok(None) };
        // Another process may have ended it before the claim.
        if let Some(record) = stored()? {
            return Ok(Some(record));
        }
        let outcome = Outcome::Finished(self.run(index, stop)?);
        store.put(key, &outcome)?;
        Ok(outcome.into_record())
    }

    pub(crate) fn run(&self, index: u64, stop: &AtomicBool) -> Result<RunRecord, Error> {
        let (place, replication) = self.replications.find(index);
        let (point, workloads) = &self.points[place];
        let seed = self.seed + replication;
        let (stop, Own { stacks, controllers }) = (|| stop.load(Ordering::Relaxed), &self.own);
        let control = Control { stacks: Some(stacks), controllers: Some(controllers), ..Control::new(&stop) };
        Ok(cellway_sim::run(&point.scenario, workloads, seed, control)?)
    }
}

pub(crate) fn axis_value(value: &AxisValue) -> record::AxisValue {
    match value {
        AxisValue::Text(text) => record::AxisValue::Text(text.clone()),
        AxisValue::Number(number) => record::AxisValue::Number(*number),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) const SMALL: &str = r#"
version = 1
name = "small"
run = { duration = "200 ms" }
buffer = { size = "64 KiB", per = "port", count = "packet" }
tcp = { profile = "linux-6", mss = "1460 B" }
node = [{ name = "a", kind = "host" }, { name = "b", kind = "router" }]
link = [{ between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms", framing = "packet" }]
traffic = [{ name = "t", app = "bulk", from = "a", to = "b", access = { rate = "1 Gbit/s", delay = "0 s" } }]
"#;
}
