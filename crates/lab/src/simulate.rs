//! One scenario file, all its points and seeds, to one set of tables.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use cellway_record::{RunKey, RunRecord, Source};
use cellway_scenario::{Plan, Run};
use cellway_sim::{Capture, Control, Controllers, Qlog, QlogEnd, Stacks};
use cellway_tables::{Manifest, Provenance, ResultFolder, Results, ResultsBuilder};
use tempfile::NamedTempFile;

use crate::alike::Alike;
use crate::batch::{Batch, run_all, run_until_stopped};
use crate::error::Error;
use crate::left_out::LeftOut;
use crate::study::{Prepared, Settings, VERSION};
use crate::transient::TransientCheck;

/// Parts of others that take the place of built-in ones, by traffic group.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// Transport stacks.
    pub stacks: Stacks,
    /// Congestion controllers.
    pub controllers: Controllers,
}

impl Own {
    /// Returns true if no group has a part of others.
    pub(crate) fn is_empty(&self) -> bool {
        self.stacks.names().next().is_none() && self.controllers.names().next().is_none()
    }
}

/// The result of a simulation.
pub struct Simulated {
    /// The tables.
    pub results: Results,
    /// The contents of the manifest.
    pub about: Provenance,
    /// The warnings to check before trusting the numbers.
    pub warnings: Vec<String>,
}

/// Runs a plan. `folder` is the base of relative table folders; `seeds` replaces the number of replications of the
/// file.
pub fn simulate(
    plan: &Plan,
    folder: &Path,
    seeds: Option<u64>,
    settings: &mut Settings<'_>,
) -> Result<Simulated, Error> {
    simulate_with(plan, folder, seeds, &Own::default(), settings)
}

/// As [`simulate`], with stacks or congestion controllers of others for some traffic groups; see [`cellway_sim::Stack`]
/// and [`cellway_sim::congestion::Controller`].
pub fn simulate_with(
    plan: &Plan,
    folder: &Path,
    seeds: Option<u64>,
    own: &Own,
    settings: &mut Settings<'_>,
) -> Result<Simulated, Error> {
    let prepared = Prepared::new(plan, folder, seeds)?.with_own(own);
    simulated(plan, &prepared, own, settings, |prepared, label, settings, take| {
        run_all(prepared, label, settings, take).map(|()| Vec::new())
    })
}

/// As [`simulate`], but a stop keeps the runs that have finished: the manifest has the number of the planned ones, and
/// a warning says so.
///
/// # Errors
/// [`Error::Stopped`] if no run had finished.
pub fn simulate_until_stopped(
    plan: &Plan,
    folder: &Path,
    seeds: Option<u64>,
    settings: &mut Settings<'_>,
) -> Result<Simulated, Error> {
    let prepared = Prepared::new(plan, folder, seeds)?;
    let own = Own::default();
    simulated(plan, &prepared, &own, settings, |prepared, label, settings, take| {
        run_until_stopped(prepared, label, settings, take).map(|()| Vec::new())
    })
}

/// Takes the record of a finished run.
pub(crate) type Take<'a> = &'a mut dyn FnMut(RunKey, RunRecord) -> Result<(), Error>;

/// Runs a plan by `run_all`, and builds the tables of the runs that it returns. `run_all` returns the reasons why runs of
/// the plan are not among them, for warnings; none if it was stopped.
pub(crate) fn simulated(
    plan: &Plan,
    prepared: &Prepared,
    own: &Own,
    settings: &mut Settings<'_>,
    run_all: impl FnOnce(&Prepared, &str, &mut Settings<'_>, Take<'_>) -> Result<Vec<String>, Error>,
) -> Result<Simulated, Error> {
    let mut builder = ResultsBuilder::new(Source::Simulate);
    let mut transient = TransientCheck::default();
    let mut left_out = LeftOut::default();
    let mut alike = Alike::default();
    let clock = Stopwatch::start();
    let label = plan.base().name.clone();
    let mut lacking = run_all(prepared, &label, settings, &mut |key, record| {
        transient.add(&key, &record);
        left_out.add(&record);
        alike.add(&key, &record);
        Ok(builder.push(key, &record)?)
    })?;
    let results = builder.finish()?;
    let (finished, planned) = (results.runs.num_rows() as u64, prepared.runs());
    if finished == 0 {
        return Err(Error::Stopped);
    }
    let is_part = finished < planned;
    let (run, points) = (Some(&plan.base().run), prepared.points().len());
    let about = clock.provenance(&asked_for(plan), run, prepared.seeds(), points, settings.threads);
    let reuses_runs = settings.store.is_some_and(|store| store.served() > 0)
        || !Batch::new([(&label[..], prepared)]).with_repeats().is_empty();
    let about = Provenance { planned_runs: is_part.then_some(planned), reuses_runs, ..about };
    if !is_part {
        lacking.extend(transient.warning(prepared.points(), prepared.seeds()));
    } else if lacking.is_empty() {
        lacking.push(format!("stopped after {finished} of {planned} runs: points have fewer replications, or none"));
    }
    let checked = lacking
        .into_iter()
        .chain(alike.warning())
        .chain(left_out.warning())
        .chain(commands_left_out(prepared))
        .chain(driven(own));
    let warnings = checked.chain(prepared.warnings.iter().cloned()).collect();
    Ok(Simulated { results, about, warnings })
}

/// Returns a note for each group with a part of others: the scenario does not say so.
fn driven(own: &Own) -> impl Iterator<Item = String> + '_ {
    let stacks = own
        .stacks
        .names()
        .map(|group| format!("traffic {group:?}: a stack of others drove it; its application and TCP had no effect"));
    let controllers = own.controllers.names().map(|group| {
        format!("traffic {group:?}: a congestion controller of the caller was in use, in place of that of the scenario")
    });
    stacks.chain(controllers)
}

/// Returns a warning that a simulation does not run programs, if the scenario has any.
fn commands_left_out(prepared: &Prepared) -> Option<String> {
    let commands = prepared.points().map(|point| point.scenario.commands.len()).max().filter(|n| *n > 0)?;
    let them = if commands == 1 { "the program" } else { "the programs" };
    Some(format!("{them} of [[run.command]] did not run: only an emulation starts programs"))
}

/// Checks that a node `node` exists for a capture, before a long run.
pub fn check_capture(plan: &Plan, node: &str) -> Result<(), Error> {
    let points = plan.points()?;
    let names = cellway_sim::node_names(&points.first().expect("a plan has a point").scenario)?;
    if names.iter().any(|name| name == node) {
        return Ok(());
    }
    let missing = cellway_sim::BuildError::NoSuchNode { name: node.to_owned(), known: names.join(", ") };
    Err(cellway_sim::Error::from(missing).into())
}

/// Checks that a file can be made at `path` before a long run: its folder exists, and nothing of its name, or a regular
/// file and `force`.
///
/// # Errors
/// What is in the way.
pub fn check_free(path: &Path, force: bool) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let fault = match folder {
        Some(folder) if !folder.is_dir() => format!("there is no folder {}", folder.display()),
        _ if path.is_dir() => "it is a folder; accepted: the name of a file".to_owned(),
        // A file takes the place of what is there, so a device or a pipe would be gone for all programs.
        _ if path.exists() && !path.is_file() => "it is no regular file; accepted: the name of a file".to_owned(),
        _ if path.exists() && !force => return Err(exists(path)),
        _ => return Ok(()),
    };
    Err(Error::Option(format!("{} cannot be written: {fault}", path.display())))
}

pub(crate) fn exists(path: &Path) -> Error {
    Error::Option(format!("{} exists; --force replaces it", path.display()))
}

/// Runs the first replication of the first point again and writes the packets that pass `node` to `path`, as a pcap
/// file; an existing file is replaced only with `force`, at the end of the run. Returns the number of records. A run that
/// fails or is stopped leaves no file, and an existing one as it was.
pub fn capture(
    plan: &Plan,
    folder: &Path,
    node: &str,
    path: &Path,
    force: bool,
    stop: &mut dyn FnMut() -> bool,
) -> Result<u64, Error> {
    check_capture(plan, node)?;
    first_run_into(plan, folder, (path, force), stop, |to, records, control| Control {
        capture: Some(Capture::new(node, to, records)),
        ..control
    })
}

/// Checks that `end` is an end of a TCP connection that can be recorded as qlog, before a long run; see
/// [`QlogEnd::of`].
pub fn check_qlog(plan: &Plan, end: &str) -> Result<QlogEnd, Error> {
    let points = plan.points()?;
    Ok(QlogEnd::of(&points.first().expect("a plan has a point").scenario, end)?)
}

/// Runs the first replication of the first point again and writes the events of one end of a TCP connection to `path`, as
/// qlog; the rest as for [`capture`]. Returns the number of events.
pub fn qlog(
    plan: &Plan,
    folder: &Path,
    end: &str,
    path: &Path,
    force: bool,
    stop: &mut dyn FnMut() -> bool,
) -> Result<u64, Error> {
    let end = check_qlog(plan, end)?;
    first_run_into(plan, folder, (path, force), stop, |to, events, control| Control {
        qlog: Some(Qlog::new(end, to, events)),
        ..control
    })
}

/// Runs the first replication of the first point with the options that `with` adds, which write a new file at a path and
/// set a number. Returns that number.
fn first_run_into(
    plan: &Plan,
    folder: &Path,
    (path, force): (&Path, bool),
    stop: &mut dyn FnMut() -> bool,
    with: impl for<'a> FnOnce(&'a mut (dyn Write + Send), &'a mut u64, Control<'a>) -> Control<'a>,
) -> Result<u64, Error> {
    let prepared = Prepared::new(plan, folder, Some(1))?;
    let (point, workloads) = prepared.first();
    let failed = |source| Error::Write { path: path.to_owned(), source };
    if !force && path.exists() {
        return Err(exists(path));
    }
    let target = replaced(path);
    let file = beside(&target).map_err(failed)?;
    let mut to = std::io::BufWriter::new(file.as_file());
    let stop = RefCell::new(stop);
    let stop = || (stop.borrow_mut())();
    let mut number = 0;
    let control = with(&mut to, &mut number, Control::new(&stop));
    if let Err(error) = cellway_sim::run(&point.scenario, workloads, prepared.key(0).seed, control) {
        let stopped = matches!(error, cellway_sim::Error::Stopped { .. });
        return Err(if stopped { Error::Stopped } else { error.into() });
    }
    to.flush().map_err(failed)?;
    drop(to);
    let moved = if force { file.persist(&target) } else { file.persist_noclobber(&target) };
    match moved.map_err(|error| error.error) {
        Ok(_) => Ok(number),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(path)),
        Err(error) => Err(failed(error)),
    }
}

/// Returns the file that is replaced at `path`: that to which a link leads, so that the link stays one.
pub(crate) fn replaced(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Creates a file beside `path`, which is removed unless it is moved there.
pub(crate) fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&name);
    #[cfg(unix)]
    // The umask applies, as to any file.
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// Moves a file, also to another file system.
pub fn move_into(from: &Path, to: &Path) -> Result<(), Error> {
    let moved = std::fs::rename(from, to).or_else(|_| std::fs::copy(from, to).and_then(|_| std::fs::remove_file(from)));
    moved.map_err(|source| Error::Write { path: to.to_owned(), source })
}

/// Creates the file of a capture; an existing one is replaced only with `force`.
pub(crate) fn create(path: &Path, force: bool) -> Result<std::fs::File, Error> {
    let mut open = std::fs::OpenOptions::new();
    open.write(true).truncate(true).create(true).create_new(!force);
    open.open(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => exists(path),
        _ => Error::Write { path: path.to_owned(), source },
    })
}

/// Returns the text of the scenario file, with the overridden keys named at its end.
pub(crate) fn asked_for(plan: &Plan) -> String {
    let mut text = plan.text().to_owned();
    if !plan.overrides().is_empty() {
        text.push_str("\n# Run with:\n");
        plan.overrides().iter().for_each(|set| text.push_str(&format!("# --set {set}\n")));
    }
    text
}

/// The start and the duration of a study: for the manifest only.
pub(crate) struct Stopwatch {
    started: SystemTime,
    clock: Instant,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch { started: SystemTime::now(), clock: Instant::now() }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    pub(crate) fn started(&self) -> String {
        chrono::DateTime::<chrono::Utc>::from(self.started).to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
    }

    /// Returns the contents of the manifest about runs; `run` is absent if there is no scenario.
    pub(crate) fn provenance(
        &self,
        scenario: &str,
        run: Option<&Run>,
        seeds: u64,
        points: usize,
        threads: Option<usize>,
    ) -> Provenance {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        Provenance {
            version: VERSION.to_owned(),
            scenario: scenario.to_owned(),
            first_seed: run.map_or(0, |run| run.seed),
            seeds: seeds as u32,
            points: points as u32,
            started: self.started(),
            wall_seconds: self.seconds(),
            host: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            threads: threads.unwrap_or_else(all) as u32,
            rtt_seconds: run.map_or(0.0, |run| run.rtt.as_secs_f64()),
            warmup_seconds: run.map_or(0.0, |run| run.warmup.as_secs_f64()),
            warnings: Vec::new(),
            scheduling: Vec::new(),
            planned_runs: None,
            reuses_runs: false,
        }
    }
}

impl Simulated {
    /// Returns the manifest of tables that stay in memory.
    pub fn manifest(&self) -> Manifest {
        Manifest::new(&self.provenance(), self.results.runs.num_rows() as u64, self.results.counts, Vec::new())
    }

    fn provenance(&self) -> Provenance {
        Provenance { warnings: self.warnings.clone(), ..self.about.clone() }
    }

    /// Writes the result folder.
    pub fn write(&self, target: &Path, force: bool) -> Result<Manifest, Error> {
        self.write_with(target, force, |_| Ok(Vec::new()))
    }

    /// Writes the result folder. `extra` may write more files into it, whose names it returns; they are listed in the
    /// manifest, and the folder appears with them or not at all.
    pub fn write_with(
        &self,
        target: &Path,
        force: bool,
        extra: impl FnOnce(&Path) -> Result<Vec<String>, Error>,
    ) -> Result<Manifest, Error> {
        let folder = ResultFolder::create(target, force)?;
        let names = extra(folder.path())?;
        self.write_into(folder, &names)
    }

    /// Completes a result folder with the tables. The files `extra` that it has already are listed in the manifest.
    pub fn write_into(&self, mut folder: ResultFolder, extra: &[String]) -> Result<Manifest, Error> {
        self.results.write_into(&mut folder)?;
        extra.iter().try_for_each(|name| folder.adopt(name))?;
        Ok(folder.commit(&self.provenance(), self.results.runs.num_rows() as u64, self.results.counts)?)
    }
}
