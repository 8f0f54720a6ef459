//! Reading scenarios, and the table folders they name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellway_apps::{GroupWorkload, SizeTable, Tables, Variable, parse_trace};
use cellway_scenario::{AppFile, Override, Plan, Point, Problem, Traffic};
use cellway_sim::Input;
use cellway_workload::{ClassModel, WorkloadFile};

use crate::error::Error;
use crate::text_file;
use crate::traces::TraceFolder;
use crate::workload;

/// Reads and checks the scenario file `path`, with keys overridden; every point of its sweep too.
pub fn plan_from_file(path: &Path, overrides: &[Override]) -> Result<Plan, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    plan_from_text(&text, &path.to_string_lossy(), overrides)
}

/// Checks a scenario given as text; `name` replaces the name of a file in messages.
pub fn plan_from_text(text: &str, name: &str, overrides: &[Override]) -> Result<Plan, Error> {
    Ok(Plan::parse_with(text, name, overrides, None)?)
}

/// A scenario that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The number of points of its sweep; 1 without a sweep.
    pub points: usize,
    /// Keys and axes without effect, with their locations.
    pub warnings: Vec<Problem>,
}

/// Checks everything that a run needs: each point of the sweep, the tables and recordings it names, the options of TCP.
/// `folder` is the base of their relative paths.
pub fn check(plan: &Plan, folder: &Path) -> Result<Checked, Error> {
    let mut points = plan.points()?;
    let (mut tables, mut traces) = (TableFolders::new(folder), TraceFolder::new(folder));
    for point in &mut points {
        tables.workloads(plan, point)?;
        traces.fill(plan, point)?;
    }
    Ok(Checked { points: points.len(), warnings: plan.warnings(&points) })
}

/// The files that applications name, each read once: full tables by their folder, sizes and traces.
pub(crate) struct TableFolders {
    base: PathBuf,
    read: BTreeMap<String, Tables>,
    /// By their name, and true for a trace.
    files: BTreeMap<(String, bool), Input>,
    /// Workload files by their name.
    workload_files: BTreeMap<String, Arc<WorkloadFile>>,
}

impl TableFolders {
    pub(crate) fn new(base: &Path) -> TableFolders {
        TableFolders {
            base: base.to_owned(),
            read: BTreeMap::new(),
            files: BTreeMap::new(),
            workload_files: BTreeMap::new(),
        }
    }

    /// Returns the workload of each traffic group at a point of `plan`. Groups with a class of a workload file that is of UDP
    /// become such of datagrams: a scenario does not know the protocol of a class.
    pub(crate) fn workloads(&mut self, plan: &Plan, point: &mut Point) -> Result<Vec<GroupWorkload>, Error> {
        let index = point.index;
        let groups = point.scenario.traffic.iter_mut().enumerate();
        groups.map(|(group, traffic)| self.workload(plan, (index, group), traffic)).collect()
    }

    /// Returns the workload of each group of a point that plays a class of a workload file, by the place of the group. Those
    /// of UDP become groups of datagrams, as in [`TableFolders::workloads`].
    pub(crate) fn classes(&mut self, plan: &Plan, point: &mut Point) -> Result<Vec<(usize, GroupWorkload)>, Error> {
        let index = point.index;
        let plays = |traffic: &Traffic| matches!(traffic.file(), Some((AppFile::Workload { .. }, _)));
        let groups = point.scenario.traffic.iter_mut().enumerate().filter(|(_, traffic)| plays(traffic));
        groups.map(|(group, traffic)| Ok((group, self.workload(plan, (index, group), traffic)?))).collect()
    }

    fn workload(&mut self, plan: &Plan, at: (usize, usize), traffic: &mut Traffic) -> Result<GroupWorkload, Error> {
        let input = self.input(plan, at, traffic)?;
        if let Some(Input::Datagrams(_)) = input {
            if traffic.app().is_some_and(|app| !app.arrives_by_itself()) {
                let message = "needs a class of TCP; this one is of UDP, which has no end to wait for";
                let key = ["workload", "arrivals"];
                return Err(plan.refuse_traffic(at.0, at.1, &key, message, "arrivals = \"open\"").into());
            }
            traffic.use_datagrams();
        }
        Ok(cellway_sim::workload(traffic, input).map_err(cellway_sim::Error::from)?)
    }

    /// Returns the content of the files that a traffic group of a point names.
    fn input(&mut self, plan: &Plan, at: (usize, usize), traffic: &Traffic) -> Result<Option<Input>, Error> {
        let (folder, key) = match traffic.file() {
            None => return Ok(None),
            Some((AppFile::Tables(folder), key)) => (folder, key),
            Some((AppFile::Sizes(file), key)) => return self.file(plan, at, (file, false), key).map(Some),
            Some((AppFile::Trace(file), key)) => return self.file(plan, at, (file, true), key).map(Some),
            Some((AppFile::Workload { file, class }, key)) => {
                return self.class(plan, at, (file, class), key).map(Some);
            }
        };
        let tables = self.folder(folder).map_err(|error| match error {
            // The error names the key of the scenario file that the user can correct.
            Error::Read { path, source } => {
                let message = format!("cannot read {}: {source}", path.display());
                let accepted = "a folder with a table NAME.csv of each quantity, relative to this file";
                plan.refuse_traffic(at.0, at.1, key, &message, accepted).into()
            }
            other => other,
        })?;
        Ok(Some(Input::Tables(tables)))
    }

    /// Returns the content of a file of sizes or, if it is a trace, of flows, which `key` of a traffic group names.
    fn file(
        &mut self,
        plan: &Plan,
        (point, group): (usize, usize),
        (file, is_trace): (&str, bool),
        key: &[&str],
    ) -> Result<Input, Error> {
        if let Some(known) = self.files.get(&(file.to_owned(), is_trace)) {
            return Ok(known.clone());
        }
        let refused =
            |message: &str, accepted: &str| Error::from(plan.refuse_traffic(point, group, key, message, accepted));
        let path = self.base.join(file);
        let name = path.to_string_lossy();
        let text = text_file::read(&path).map_err(|message| refused(&message, "a CSV file, relative to this file"))?;
        let read = if is_trace {
            parse_trace(&text, &name).map(|flows| Input::Trace(flows.into()))
        } else {
            SizeTable::parse_csv(&text, &name).map(|table| Input::Sizes(table.into()))
        };
        let read = read.map_err(|e| refused(&e.fault(), &e.accepted))?;
        self.files.insert((file.to_owned(), is_trace), read.clone());
        Ok(read)
    }

    /// Returns a class of a workload file, which `key` of a traffic group names.
    fn class(
        &mut self,
        plan: &Plan,
        (point, group): (usize, usize),
        (file, class): (&str, &str),
        key: &[&str],
    ) -> Result<Input, Error> {
        let refused =
            |message: &str, accepted: &str| Error::from(plan.refuse_traffic(point, group, key, message, accepted));
        let read = match self.workload_files.get(file) {
            Some(known) => Arc::clone(known),
            None => {
                let path = self.base.join(file);
                let accepted = "a workload file, relative to this file";
                let text = text_file::read(&path).map_err(|message| refused(&message, accepted))?;
                let read = WorkloadFile::parse(&text, &path.to_string_lossy()).map_err(|error| {
                    let (message, accepted) = workload::first_problem(error);
                    refused(&message, &accepted)
                })?;
                let read = Arc::new(read);
                self.workload_files.insert(file.to_owned(), Arc::clone(&read));
                read
            }
        };
        let names = || {
            let names = read.classes.iter().map(|class| format!("\"workload:{file}#{}\"", class.name));
            names.collect::<Vec<_>>().join(", ")
        };
        match read.class(class).map(|class| &class.model) {
            Some(ClassModel::Tcp(model)) => Ok(Input::Class(Arc::clone(model))),
            Some(ClassModel::Udp(model)) => Ok(Input::Datagrams(Arc::clone(model))),
            None => Err(refused(&format!("the file has no class \"{class}\""), &names())),
        }
    }

    fn folder(&mut self, folder: &str) -> Result<Tables, Error> {
        if let Some(known) = self.read.get(folder) {
            return Ok(known.clone());
        }
        let path = self.base.join(folder);
        let mut texts = Vec::new();
        for variable in Variable::ALL {
            let file = path.join(format!("{}.csv", variable.name()));
            let text = fs::read_to_string(&file).map_err(|source| Error::Read { path: file.clone(), source })?;
            texts.push((variable, file.to_string_lossy().into_owned(), text));
        }
        let tables = Tables::from_full(texts.iter().map(|(variable, file, text)| (*variable, &file[..], &text[..])))?;
        self.read.insert(folder.to_owned(), tables.clone());
        Ok(tables)
    }
}
