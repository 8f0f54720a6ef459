//! `cellway sweep`.

mod page;
mod script;
mod status;

use std::path::{Path, PathBuf};

use cellway_lab::sweep::{Criterion, FailureKind, Filled, Limits, RESULTS, Shard, StopReason, Sweep};
use cellway_lab::{Error, Manifest, Settings, Simulated, Store};

use crate::args::{self, Planned, SweepCommand, Whole, Work};
use crate::check::{folder_of, plan};
use crate::interruption::Interruption;
use crate::progress::Bar;
use crate::table::Table;
use status::show_status;

use crate::{FAILED, Face, Failure, INTERRUPTED, OnCluster, output, store};

pub(crate) fn run(options: &args::Sweep, face: &mut Face<'_>) -> Result<(), Failure> {
    let Some(command) = &options.command else {
        return options.whole.planned().map_or(Ok(()), |planned| run_whole(&options.whole, &planned, face));
    };
    match command {
        SweepCommand::Plan(planned) => make_plan(planned),
        SweepCommand::Run { store, shard, work } => run_shard(store, *shard, work, face),
        SweepCommand::Status { store, html, json } => status::status(store, html.as_deref(), *json),
        SweepCommand::Merge { store, out, force, partial } => {
            let (out, force) = out.clone().map_or_else(|| (store.join(RESULTS), true), |out| (out, *force));
            cellway_lab::check_target(&out, force).map_err(Error::from)?;
            let (sweep, opened) = (Sweep::open(store)?, Store::read(store).map_err(Error::from)?);
            merge(&sweep, &opened, (&out, force), *partial, face)
        }
        SweepCommand::Verify { store, share, threads } => verify(store, *share, *threads, face),
        SweepCommand::Gc { store } => {
            let freed = Sweep::open(store)?.remove_others(store)?;
            output::say(&format!("{freed} octets of other runs were removed from {}", store.display()));
            Ok(())
        }
        SweepCommand::Script { system, store, shards } => {
            // A plan that cannot be run is found here, not on the cluster.
            let sweep = Sweep::open(store)?;
            output::line(script::of(*system, store, *shards, &sweep.plan().base().name).trim_end());
            Ok(())
        }
    }
}

fn new_sweep(planned: &Planned) -> Result<Sweep, Error> {
    let file = &planned.scenario.file;
    Sweep::new(plan(&planned.scenario)?, folder_of(file), planned.seeds)
}

fn make_plan(planned: &Planned) -> Result<(), Failure> {
    let sweep = new_sweep(planned)?;
    sweep.save(&planned.out)?;
    let opened = Store::read(&planned.out).map_err(Error::from)?;
    let rows = sweep.status(&opened);
    show_status(&sweep, &opened, &rows, planned.scenario.json)?;
    output::warn(sweep.warnings());
    Ok(())
}

fn run_whole(options: &Whole, planned: &Planned, face: &mut Face<'_>) -> Result<(), Failure> {
    let Whole { work, until, max_seeds, budget, scheduler, .. } = options;
    let mut sweep = new_sweep(planned)?;
    let out = planned.out.join(RESULTS);
    Store::create(&planned.out).map_err(Error::from)?;
    // Before hours of work rather than after them.
    cellway_lab::check_target(&out, true).map_err(Error::from)?;
    if let Some(scheduler) = scheduler {
        sweep.save(&planned.out)?;
        on_cluster(&OnCluster { store: &planned.out, scheduler, fail_fast: work.fail_fast, retry: work.retry }, face)?;
    }
    let opened = Shard::ALL.open(&planned.out)?;
    if work.retry && scheduler.is_none() {
        opened.forget_failures();
    }
    let mut before = Filled::default();
    if until.is_empty() {
        sweep.save(&planned.out)?;
    } else {
        let limits = Limits { max_seeds: *max_seeds, budget: *budget };
        let filled = with_settings(work.threads, face, |settings| {
            sweep.fill_until(&opened, until, limits, work.fail_fast, settings)
        });
        before = filled.map_err(|error| ended_early(error, &opened))?;
        if before.stopped {
            return Err(report_stop(&before, &opened));
        }
        sweep.save(&planned.out)?;
    }
    let done =
        with_settings(work.threads, face, |settings| sweep.complete(&opened, (&out, true), work.fail_fast, settings));
    let mut filled = done.filled;
    if !until.is_empty() {
        let (finished, failed) = (before.finished + filled.finished, before.failed + filled.failed);
        filled = Filled { found: before.found, finished, failed, ..filled };
    }
    let merged = match done.merged.map_err(|error| ended_early(error, &opened)) {
        Ok(None) => return Err(report_stop(&filled, &opened)),
        merged => merged,
    };
    said(&filled, &planned.out);
    store::warn(&opened);
    if planned.scenario.json {
        let rows = sweep.status(&opened);
        show_status(&sweep, &opened, &rows, true)?;
    } else if !until.is_empty() {
        show_ends(&sweep, until);
    }
    if let Some(merged) = merged? {
        written(&merged, &out);
    }
    failed(&sweep, &opened)
}

/// Reports the work of a sweep that was stopped; returns its failure.
fn report_stop(filled: &Filled, opened: &Store) -> Failure {
    said(filled, opened.folder());
    store::warn(opened);
    stopped(opened.folder())
}

/// Runs what a store does not have on a cluster.
fn on_cluster(of: &OnCluster<'_>, face: &mut Face<'_>) -> Result<(), Failure> {
    let failed = |message: String| Failure { message, code: FAILED };
    let Some(run) = &mut face.cluster else {
        return Err(failed("--scheduler: only the Python package reaches a cluster; install it with pip".to_owned()));
    };
    run(of).map_err(|why| if why == "stopped" { stopped(of.store) } else { failed(why) })
}

fn run_shard(folder: &Path, shard: Shard, work: &Work, face: &mut Face<'_>) -> Result<(), Failure> {
    let sweep = Sweep::open(folder)?;
    let opened = shard.open(folder)?;
    if work.retry {
        opened.forget_failures();
    }
    let filled = with_settings(work.threads, face, |settings| sweep.fill(&opened, shard, work.fail_fast, settings));
    let filled = filled.map_err(|error| ended_early(error, &opened))?;
    said(&filled, folder);
    store::warn(&opened);
    if filled.stopped { Err(stopped(folder)) } else { Ok(()) }
}

/// Calls `work` with the settings of the command line.
fn with_settings<T>(threads: Option<u16>, face: &mut Face<'_>, work: impl FnOnce(&mut Settings<'_>) -> T) -> T {
    let mut interruption = Interruption::catch(&mut face.interrupted);
    let bar = Bar::new();
    work(&mut Settings {
        threads: threads.map(usize::from),
        progress: &mut |progress| bar.show(progress),
        stop: &mut || interruption.requested(),
        store: None,
    })
}

fn merge(
    sweep: &Sweep,
    opened: &Store,
    (out, force): (&Path, bool),
    partial: bool,
    face: &mut Face<'_>,
) -> Result<(), Failure> {
    let merged = with_settings(None, face, |settings| sweep.merge_into(opened, (out, force), partial, settings));
    store::warn(opened);
    output::warn(&unfinished(sweep, opened)?.into_iter().collect::<Vec<_>>());
    written(&merged?, out);
    Ok(())
}

/// Says that the replications of a plan are those of a search that has not ended.
fn unfinished(sweep: &Sweep, opened: &Store) -> Result<Option<String>, Failure> {
    if sweep.search().is_empty() {
        return Ok(None);
    }
    let is_at_work = opened.part_in_use(|part| part == Shard::ALL.part()).map_err(Error::from)?.is_some();
    let state = if is_at_work {
        "is at work: the numbers are those of now"
    } else {
        "was broken off, and the same command goes on: the numbers are those that it had reached"
    };
    Ok(Some(format!("a sweep with --until '{}' {state}", sweep.search().join("' --until '"))))
}

/// Reports the tables that were written.
fn written((merged, manifest): &(Simulated, Manifest), out: &Path) {
    output::written_files(out, manifest);
    output::warn(&merged.warnings);
    let runs = merged.results.runs.num_rows() as u64;
    output::say(&format!("tables of {} in {}", output::count(runs, "run"), out.display()));
}

fn verify(folder: &Path, share: f64, threads: Option<u16>, face: &mut Face<'_>) -> Result<(), Failure> {
    let (sweep, opened) = (Sweep::open(folder)?, Store::read(folder).map_err(Error::from)?);
    let verified = with_settings(threads, face, |settings| sweep.verify(&opened, share, settings))?;
    store::warn(&opened);
    let (checked, finished) = (output::count(verified.checked, "run"), verified.finished);
    if verified.stopped {
        return Err(Failure { message: format!("stopped after {checked}"), code: INTERRUPTED });
    }
    if verified.differing.is_empty() {
        output::say(&format!("{checked} of {finished} finished ones came out the same, to the bit"));
        return Ok(());
    }
    let runs: Vec<String> = verified.differing.iter().map(ToString::to_string).collect();
    let message = format!(
        "{} of {checked} came out otherwise than the store has them: run {}. Another version of the simulator wrote them, \
         or the store is damaged",
        runs.len(),
        runs.join(", ")
    );
    Err(Failure { message, code: FAILED })
}

fn reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Met => "narrow enough",
        StopReason::MaxSeeds => "--max-seeds",
        StopReason::Budget => "--budget",
    }
}

/// Shows the replications that `--until` has chosen.
fn show_ends(sweep: &Sweep, criteria: &[Criterion]) {
    let mut titles = vec!["point".to_owned(), "replications".to_owned()];
    titles.extend(criteria.iter().zip(1..).map(|(criterion, number)| {
        let number = if criteria.len() == 1 { String::new() } else { format!(" {number}") };
        let unit = criterion.unit();
        if unit.is_empty() { format!("half width{number}") } else { format!("half width{number} [{unit}]") }
    }));
    titles.push("ended by".to_owned());
    let last = titles.len() - 1;
    let mut table = Table::with_numbers(&titles, |column| column > 0 && column < last);
    let points = sweep.plan().points().unwrap_or_default();
    for (end, point) in sweep.ends().iter().zip(&points) {
        let axes: Vec<String> = point.axes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let halves = end.halves.iter().zip(criteria);
        let halves = halves.map(|(half, criterion)| half.map_or_else(String::new, |half| criterion.number(half)));
        let row = [if axes.is_empty() { "all".to_owned() } else { axes.join(", ") }, end.replications.to_string()];
        table.add_row(row.into_iter().chain(halves).chain([reason(end.reason).to_owned()]));
    }
    table.lines(output::width().unwrap_or(usize::MAX)).iter().for_each(|line| output::line(line));
}

fn said(filled: &Filled, folder: &Path) {
    let Filled { found, finished, failed, .. } = *filled;
    let (count, all) = (output::count(finished + failed, "run"), found + finished + failed);
    let failed = if failed == 0 { String::new() } else { format!(" ({failed} failed)") };
    output::say(&format!("{count} done{failed}, {found} of {all} were in the store {}", folder.display()));
}

/// Returns the end of a sweep that was stopped.
fn stopped(folder: &Path) -> Failure {
    let message = format!("stopped; the finished runs are in {}, and the same command goes on", folder.display());
    Failure { message, code: INTERRUPTED }
}

/// Returns the end of a sweep by an error, with what stays.
fn ended_early(error: Error, opened: &Store) -> Failure {
    let kept = opened.totals().map(|totals| totals.finished).unwrap_or_default();
    let failure: Failure = error.into();
    let (folder, kept) = (opened.folder().display(), output::count(kept, "finished run"));
    let message = match failure.code {
        crate::WRONG_INPUT => failure.message,
        // Somebody has removed it.
        _ if !opened.folder().exists() => failure.message,
        _ => format!("{}. The store {folder} keeps {kept}", failure.message),
    };
    Failure { message, ..failure }
}

/// Returns the failure of a sweep with failed runs, after listing them by their messages.
fn failed(sweep: &Sweep, opened: &Store) -> Result<(), Failure> {
    let failures = sweep.failures(opened)?;
    if failures.is_empty() {
        return Ok(());
    }
    output::warn(&status::lines(&FailureKind::of(&failures)));
    let message = format!(
        "{} of {} failed; the tables have the others, and --retry runs the failed ones again",
        failures.len(),
        output::count(sweep.runs(), "run")
    );
    Err(Failure { message, code: FAILED })
}

/// Returns a path for a line of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", PathBuf::from(path).display().to_string().replace('\'', r"'\''"))
}
