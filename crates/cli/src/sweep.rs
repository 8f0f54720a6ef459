//! `cellway sweep`.

mod page;
mod script;

use std::path::{Path, PathBuf};

use cellway_lab::sweep::{Filled, Limits, PointStatus, RESULTS, Shard, StopReason, Sweep};
use cellway_lab::{Error, Settings, Store};
use serde_json::json;

use crate::args::{self, Planned, SweepCommand, Whole, Work};
use crate::check::{folder_of, plan};
use crate::interruption::Interruption;
use crate::progress::Bar;
use crate::table::Table;
use crate::{FAILED, Face, Failure, INTERRUPTED, OnCluster, output, store};

pub(crate) fn run(options: &args::Sweep, face: &mut Face<'_>) -> Result<(), Failure> {
    let Some(command) = &options.command else {
        return options.whole.planned().map_or(Ok(()), |planned| run_whole(&options.whole, &planned, face));
    };
    match command {
        SweepCommand::Plan(planned) => make_plan(planned),
        SweepCommand::Run { store, shard, work } => run_shard(store, *shard, work, face),
        SweepCommand::Status { store, html, json } => status(store, html.as_deref(), *json),
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
        on_cluster(&planned.out, scheduler, work.fail_fast, face)?;
    }
    let opened = Store::open_part(&planned.out, &Shard::ALL.part()).map_err(Error::from)?;
    if until.is_empty() {
        sweep.save(&planned.out)?;
    }
    let limits = Limits { max_seeds: *max_seeds, budget: *budget };
    let filled = working(work, face, |settings| match until[..] {
        [] => sweep.fill(&opened, Shard::ALL, work.fail_fast, settings),
        _ => sweep.fill_until(&opened, until, limits, work.fail_fast, settings),
    });
    let filled = filled.map_err(|error| ended_early(error, &opened))?;
    if !until.is_empty() && !filled.stopped {
        sweep.save(&planned.out)?;
    }
    said(&filled, &planned.out);
    if filled.stopped {
        store::warn(&opened);
        return Err(stopped(&planned.out));
    }
    if planned.scenario.json {
        let rows = sweep.status(&opened);
        show_status(&sweep, &opened, &rows, true)?;
    } else if !until.is_empty() {
        show_ends(&sweep, until.len());
    }
    merge(&sweep, &opened, (&out, true), false, face)?;
    failed(&sweep, &opened)
}

/// Runs what a store does not have on a cluster.
fn on_cluster(store: &Path, scheduler: &str, fail_fast: bool, face: &mut Face<'_>) -> Result<(), Failure> {
    let failed = |message: String| Failure { message, code: FAILED };
    let Some(run) = &mut face.cluster else {
        return Err(failed("--scheduler: only the Python package reaches a cluster; install it with pip".to_owned()));
    };
    let done = run(&OnCluster { store, scheduler, fail_fast });
    done.map_err(|why| if why == "stopped" { stopped(store) } else { failed(why) })
}

fn run_shard(folder: &Path, shard: Shard, work: &Work, face: &mut Face<'_>) -> Result<(), Failure> {
    let sweep = Sweep::open(folder)?;
    let opened = Store::open_part(folder, &shard.part()).map_err(Error::from)?;
    let filled = working(work, face, |settings| sweep.fill(&opened, shard, work.fail_fast, settings));
    let filled = filled.map_err(|error| ended_early(error, &opened))?;
    said(&filled, folder);
    store::warn(&opened);
    if filled.stopped { Err(stopped(folder)) } else { Ok(()) }
}

/// Calls `work` with the settings of the command line.
fn working<T>(
    options: &Work,
    face: &mut Face<'_>,
    work: impl FnOnce(&mut Settings<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    with_settings(options.threads, face, work)
}

fn with_settings<T>(
    threads: Option<u16>,
    face: &mut Face<'_>,
    work: impl FnOnce(&mut Settings<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
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
    let (merged, manifest) = merged?;
    output::written_files(out, &manifest);
    output::warn(&merged.warnings);
    let runs = merged.results.runs.num_rows() as u64;
    output::say(&format!("tables of {} in {}", output::count(runs, "run"), out.display()));
    Ok(())
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

fn status(folder: &Path, html: Option<&Path>, as_json: bool) -> Result<(), Failure> {
    let (sweep, opened) = (Sweep::open(folder)?, Store::read(folder).map_err(Error::from)?);
    let rows = sweep.status(&opened);
    show_status(&sweep, &opened, &rows, as_json)?;
    store::warn(&opened);
    if let Some(path) = html {
        let text = page::of(&sweep.plan().base().name, &rows, &sweep.failures(&opened)?);
        let failed = |e| Failure { message: format!("cannot write {}: {e}", path.display()), code: FAILED };
        std::fs::write(path, text).map_err(failed)?;
        output::say(&format!("the page is {}", path.display()));
    }
    Ok(())
}

fn reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Met => "narrow enough",
        StopReason::MaxSeeds => "--max-seeds",
        StopReason::Budget => "--budget",
    }
}

fn show_status(sweep: &Sweep, opened: &Store, rows: &[PointStatus], as_json: bool) -> Result<(), Failure> {
    let sum = |of: fn(&PointStatus) -> u64| rows.iter().map(of).sum::<u64>();
    let (planned, finished, failed) = (sweep.runs(), sum(|row| row.finished), sum(|row| row.failed));
    let totals = opened.totals().map_err(Error::from)?;
    if as_json {
        let points: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({ "axes": row.axes, "planned": row.planned, "finished": row.finished, "failed": row.failed,
                        "reason": row.reason.map(reason) })
            })
            .collect();
        output::json(&json!({ "name": sweep.plan().base().name, "runs": planned, "finished": finished,
            "failed": failed, "missing": planned - finished - failed, "octets": totals.octets, "points": points }));
        return Ok(());
    }
    const MOST: usize = 40;
    let titles = ["point", "planned", "finished", "failed", "missing"].map(str::to_owned);
    let mut table = Table::with_numbers(&titles, |column| column > 0);
    // Points with work left come first, if there are too many to show.
    let mut shown: Vec<&PointStatus> = rows.iter().collect();
    if shown.len() > MOST {
        shown.sort_by_key(|row| row.finished == row.planned);
        shown.truncate(MOST);
    }
    for row in shown {
        let missing = row.planned - row.finished - row.failed;
        let axes = if row.axes.is_empty() { "all".to_owned() } else { row.axes.join(", ") };
        let numbers = [row.planned, row.finished, row.failed, missing].map(|number| number.to_string());
        table.add_row([axes].into_iter().chain(numbers));
    }
    table.lines(output::width().unwrap_or(usize::MAX)).iter().for_each(|line| output::line(line));
    if rows.len() > MOST {
        output::line(&format!("and {} more points; --json has all", rows.len() - MOST));
    }
    let (count, missing) = (output::count(planned, "run"), planned - finished - failed);
    output::line(&format!("{count}: {finished} finished, {failed} failed, {missing} missing"));
    Ok(())
}

/// Shows the replications that `--until` has chosen.
fn show_ends(sweep: &Sweep, criteria: usize) {
    let mut titles = vec!["point".to_owned(), "replications".to_owned()];
    titles.extend(
        (0..criteria)
            .map(|number| if criteria == 1 { "half width".to_owned() } else { format!("half width {}", number + 1) }),
    );
    titles.push("ended by".to_owned());
    let last = titles.len() - 1;
    let mut table = Table::with_numbers(&titles, |column| column > 0 && column < last);
    let points = sweep.plan().points().unwrap_or_default();
    for (end, point) in sweep.ends().iter().zip(&points) {
        let axes: Vec<String> = point.axes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let halves = end.halves.iter().map(|half| half.map_or_else(String::new, |half| format!("{half:.3}")));
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

/// Returns the failure of a sweep with failed runs, after listing the first of them.
fn failed(sweep: &Sweep, opened: &Store) -> Result<(), Failure> {
    let failures = sweep.failures(opened)?;
    if failures.is_empty() {
        return Ok(());
    }
    let told: Vec<String> =
        failures.iter().take(10).map(|(run, seed, message)| format!("run {run}, seed {seed}: {message}")).collect();
    output::warn(&told);
    let message =
        format!("{} of {} failed; the tables have the others", failures.len(), output::count(sweep.runs(), "run"));
    Err(Failure { message, code: FAILED })
}

/// Returns a path for a line of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", PathBuf::from(path).display().to_string().replace('\'', r"'\''"))
}
