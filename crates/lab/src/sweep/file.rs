//! The plan of a sweep as a file in its store, so that any process can take up the work.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cellway_scenario::{Override, Plan};
use cellway_sim::RESULT_VERSION;
use serde::{Deserialize, Serialize};

use super::criterion::Criterion;
use super::until::PointEnd;
use crate::error::Error;
use crate::load::plan_from_text;
use crate::simulate::beside;
use crate::study::{MAX_SEEDS, Prepared, VERSION};

/// The name of the file in the folder of a store.
const NAME: &str = "plan.json";
/// The version of its format.
const FORMAT: u32 = 1;

/// The reason why a point has no more replications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All intervals are as narrow as wanted.
    Met,
    /// It has the most replications that were allowed.
    MaxSeeds,
    /// The time was over.
    Budget,
}

/// The plan: everything that decides which runs there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepFile {
    format: u32,
    /// The version of Cellway that wrote it.
    cellway: String,
    /// The version of results: runs of another one count as missing.
    results: u32,
    /// The name of the scenario file, for messages.
    file: String,
    /// The folder at which relative paths in it start.
    folder: PathBuf,
    /// Its text.
    scenario: String,
    /// Keys set on top of it, with their values in TOML.
    set: Vec<(String, String)>,
    /// The replications of each point, or of all if there is one number.
    replications: Vec<u64>,
    /// The ends of points, if their replications were chosen by how narrow intervals are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ends: Vec<PointEnd>,
    /// The criteria of a search for replications that has not ended; the replications are those of now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    search: Vec<String>,
    /// The digests of all points in one, in hexadecimal digits.
    points: String,
}

impl SweepFile {
    pub(super) fn new(plan: &Plan, folder: &Path, prepared: &Prepared) -> SweepFile {
        SweepFile {
            format: FORMAT,
            cellway: VERSION.to_owned(),
            results: RESULT_VERSION,
            file: plan.file_name().to_owned(),
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            scenario: plan.text().to_owned(),
            set: plan.overrides().iter().map(|set| (set.path.clone(), set.value.clone())).collect(),
            replications: vec![prepared.seeds()],
            ends: Vec::new(),
            search: Vec::new(),
            points: digest_of_all(prepared),
        }
    }

    /// Takes over numbers of replications that were chosen point by point.
    pub(super) fn chosen(&mut self, ends: Vec<PointEnd>) {
        self.replications = ends.iter().map(|end| end.replications).collect();
        self.ends = ends;
        self.search.clear();
    }

    /// Notes a search for replications by criteria, with those of each point that it has come to.
    pub(super) fn searching(&mut self, criteria: &[Criterion], replications: &[u64]) {
        self.replications = replications.to_vec();
        self.ends.clear();
        self.search = criteria.iter().map(ToString::to_string).collect();
    }

    pub(super) fn search(&self) -> &[String] {
        &self.search
    }

    pub(super) fn reasons(&self) -> Vec<StopReason> {
        self.ends.iter().map(|end| end.reason).collect()
    }

    pub(super) fn ends(&self) -> &[PointEnd] {
        &self.ends
    }

    pub(super) fn write(&self, store: &Path) -> Result<(), Error> {
        let path = store.join(NAME);
        let failed = |source| Error::Write { path: path.clone(), source };
        if !is_plan_or_absent(&path) {
            return Err(Error::Option(format!(
                "{} is no plan of a sweep, so it is not replaced; accepted: a folder without it, or another one",
                path.display()
            )));
        }
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from).map_err(failed)?;
        let mut file = beside(&path).map_err(failed)?;
        std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    pub(super) fn read(store: &Path) -> Result<SweepFile, Error> {
        let path = store.join(NAME);
        let wrong = |message: String| Error::Experiments { path: path.clone(), message };
        let unreadable = |error: serde_json::Error| {
            wrong(format!(
                "{error}; accepted: a plan as it was written. Without the file, `cellway sweep FILE --out {}` makes a new \
                 one, and the runs that fit it stay",
                store.display()
            ))
        };
        let text = std::fs::read_to_string(&path).map_err(|source| match source.kind() {
            ErrorKind::NotFound => Error::Option(format!(
                "{} has no plan of a sweep; accepted: a folder that `cellway sweep FILE --out DIR` or `cellway sweep plan` \
                 has made",
                store.display()
            )),
            _ => Error::Read { path: path.clone(), source },
        })?;
        // The version first: the rest may be of a form that this version does not know.
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format } = serde_json::from_str(&text).map_err(unreadable)?;
        if format != FORMAT {
            return Err(wrong(format!("it has format {format}; accepted: {FORMAT}")));
        }
        serde_json::from_str(&text).map_err(unreadable)
    }

    /// Reads and checks the scenario again.
    pub(super) fn prepare(&self, store: &Path) -> Result<(Plan, Prepared), Error> {
        let refuse = |what: String| {
            Error::Option(format!(
                "{}: {what}; accepted: the same as when the plan was made. `cellway sweep plan FILE --out {}` makes a new \
                 plan, and the runs that fit it stay",
                store.display(),
                store.display()
            ))
        };
        if self.results != RESULT_VERSION {
            let (was, is) = (self.results, RESULT_VERSION);
            return Err(refuse(format!(
                "Cellway {} with results of version {was} made its plan, this one has {is}",
                self.cellway
            )));
        }
        let set: Vec<Override> = self.set.iter().map(|(path, value)| Override::new(path, value)).collect();
        let plan = plan_from_text(&self.scenario, &self.file, &set)?;
        let all = self.replications.iter().fold(0, |all: u64, number| all.saturating_add(*number));
        if self.replications.iter().any(|number| *number > MAX_SEEDS) || all > u64::from(u32::MAX) {
            return Err(refuse(format!("its plan has more than {MAX_SEEDS} replications of a point, or {all} runs")));
        }
        let prepared = match self.replications[..] {
            [of_all] if self.ends.is_empty() => Prepared::new(&plan, &self.folder, Some(of_all))?,
            _ => {
                let prepared = Prepared::new(&plan, &self.folder, Some(1))?;
                if self.replications.len() != prepared.points().len() {
                    return Err(refuse("its plan has replications of other points".to_owned()));
                }
                prepared.with_replications(&self.replications)
            }
        };
        if digest_of_all(&prepared) != self.points {
            return Err(refuse(match &named_files(&prepared)[..] {
                [] => "its scenario has changed in plan.json".to_owned(),
                [file] => format!("{file}, which its scenario names, has changed"),
                files => format!("one of the files that its scenario names has changed: {}", files.join(", ")),
            }));
        }
        Ok((plan, prepared))
    }
}

/// Returns true if a file is a plan, of any version and with a scenario of any, or is not there.
fn is_plan_or_absent(path: &Path) -> bool {
    match std::fs::read(path) {
        Ok(octets) => {
            let fields: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_slice(&octets);
            fields.is_ok_and(|fields| ["format", "cellway"].iter().all(|name| fields.contains_key(*name)))
        }
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Returns the files and folders that scenarios name, for traffic and as recordings of links, as they name them.
fn named_files(prepared: &Prepared) -> Vec<String> {
    let mut files = BTreeSet::new();
    for point in prepared.points() {
        let of_traffic = point.scenario.traffic.iter().filter_map(|traffic| traffic.file());
        files.extend(of_traffic.map(|(file, _)| file.path().to_owned()));
        let directions = point.scenario.links.iter().flat_map(|link| &link.directions);
        let recorded = directions.flat_map(|direction| direction.trace.files());
        files.extend(recorded.map(|(_, path, _)| path.display().to_string()));
    }
    files.into_iter().collect()
}

fn digest_of_all(prepared: &Prepared) -> String {
    use std::fmt::Write;
    let mut writer = cellway_store::KeyWriter::default();
    prepared.digests().iter().for_each(|digest| write!(writer, "{digest}").expect("a digest takes all text"));
    writer.finish().to_string()
}
