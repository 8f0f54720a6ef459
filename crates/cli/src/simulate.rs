//! `cellway simulate`.

use std::path::{Path, PathBuf};

use cellway_lab::{AxisValueRecord, Error, Overview, Plan, PointFigures, ResultFolder, Settings, Simulated};
use serde_json::{Map, Value, json};

use crate::args::Simulate;
use crate::check::{folder_of, plan, runs};
use crate::draw::{self, Target};
use crate::interruption::Interruption;
use crate::progress::Bar;
use crate::record::{Record, Written};
use crate::{Face, Failure, INTERRUPTED, figures, output, store};

pub(crate) fn run(options: &Simulate, face: &mut Face<'_>) -> Result<(), Failure> {
    let (file, force) = (&options.scenario.file, options.force);
    let plan = plan(&options.scenario)?;
    if options.open {
        draw::check_report(face)?;
    }
    if let Some(out) = &options.out {
        cellway_lab::check_target(out, force).map_err(Error::from)?;
    }
    let is_kept = options.out.is_some() || options.open;
    let records = Record::wanted(options, &plan, is_kept)?;
    let store = store::open(options.cache.as_deref())?;
    let mut target = Target::new(options.out.as_deref(), options.open, &plan.base().name)?;
    // Until the results are in place: a signal in between would lose them.
    let mut interruption = Interruption::catch(&mut face.interrupted);
    runs("simulates", &plan, options.seeds);
    // Records come first: if one cannot be written, no run is lost.
    let begun = target.folder().filter(|_| !records.is_empty()).map(|out| ResultFolder::create(out, force));
    let begun = begun.transpose().map_err(Error::from)?;
    let mut written = Vec::new();
    for record in records {
        let folder = begun.as_ref().map_or(Path::new("."), ResultFolder::path);
        let number = record.write(&plan, folder_of(file), folder, force, &mut interruption);
        let number = number.map_err(|error| before_the_first_run(error, target.folder(), &written))?;
        let path = target.folder().unwrap_or(Path::new(".")).join(&record.name);
        written.push(Written { record, path, number });
    }
    let simulated = {
        let bar = Bar::new();
        let mut settings = Settings {
            threads: options.threads.map(usize::from),
            progress: &mut |progress| bar.show(progress),
            stop: &mut || interruption.requested(),
            store: store.as_ref(),
        };
        cellway_lab::simulate_until_stopped(&plan, folder_of(file), options.seeds, &mut settings)
    };
    let simulated = simulated.map_err(|error| before_the_first_run(error, target.folder(), &written))?;
    let overview = Overview::of(&simulated.results)?;
    store::report(store.as_ref(), simulated.results.runs.num_rows() as u64);
    let kept = target.folder().map_or(Ok(()), |out| {
        let begun = begun.map_or_else(|| ResultFolder::create(out, force), Ok)?;
        let names: Vec<String> = written.iter().map(|file| file.record.name.clone()).collect();
        output::written_files(out, &simulated.write_into(begun, &names)?);
        Ok::<(), Error>(())
    });
    // The figures are printed also if they cannot be written, as on a full disk.
    match &kept {
        Ok(()) => target.keep(),
        Err(_) => written.clear(),
    }
    let stopped = interruption.requested();
    drop(interruption);
    let folder = target.folder().filter(|_| kept.is_ok());
    let wants_report = folder.filter(|_| options.open && !stopped);
    if options.scenario.json {
        let drawn = wants_report.map(|folder| draw::draw(folder, face)).transpose();
        output::json(&as_json(
            &plan,
            &simulated,
            &overview,
            folder,
            drawn.as_ref().ok().and_then(Option::as_ref),
            &written,
        ));
        output::warn(&simulated.warnings);
        if let Some(page) = drawn? {
            draw::open(&page, face);
        }
    } else {
        show(options, &simulated, &overview, folder, &written);
        output::warn(&simulated.warnings);
        if let Some(folder) = wants_report {
            draw::draw_and_open(folder, face)?;
        }
    }
    kept?;
    if stopped { Err(as_stopped(options, &simulated, folder)) } else { Ok(()) }
}

/// Returns the end of a command that failed, or was stopped, before a run had finished. Records in the current folder are
/// there to stay.
fn before_the_first_run(error: Error, folder: Option<&Path>, written: &[Written]) -> Failure {
    let paths: Vec<String> = written.iter().map(|file| file.path.display().to_string()).collect();
    match (&error, folder) {
        (Error::Stopped, None) if !paths.is_empty() => {
            let message = format!("stopped; no run had finished, but {} was written", paths.join(" and "));
            Failure { message, code: INTERRUPTED }
        }
        _ => error.into(),
    }
}

fn as_json(
    plan: &Plan,
    simulated: &Simulated,
    overview: &Overview,
    folder: Option<&Path>,
    report: Option<&PathBuf>,
    written: &[Written],
) -> Value {
    let [capture, qlog] =
        [true, false].map(|packets| written.iter().find(|file| file.record.is_of_packets() == packets));
    let runs = simulated.results.runs.num_rows();
    json!({
        "name": plan.base().name,
        "points": overview.points.iter().map(point_json).collect::<Vec<_>>(),
        "warnings": simulated.warnings,
        "runs": runs,
        "planned_runs": simulated.about.planned_runs.unwrap_or(runs as u64),
        "wall_seconds": simulated.about.wall_seconds,
        "cell_hops": simulated.results.counts.cell_hops,
        "packet_hops": simulated.results.counts.packet_hops,
        "folder": folder,
        "report": report,
        "capture": capture.map(|file| json!({ "path": file.path, "records": file.number })),
        "qlog": qlog.map(|file| json!({ "path": file.path, "events": file.number })),
    })
}

fn show(options: &Simulate, simulated: &Simulated, overview: &Overview, folder: Option<&Path>, written: &[Written]) {
    figures::show(overview, options.wide);
    let counts = simulated.results.counts;
    let runs = output::count(simulated.results.runs.num_rows() as u64, "run");
    let (simulated_for, took) = (counts.simulated.as_secs_f64(), simulated.about.wall_seconds);
    // With runs of a store the time says nothing of the speed.
    let speed = if simulated.about.reuses_runs { String::new() } else { format!(", {}", figures::speed(counts, took)) };
    output::say(&format!("{runs}, {simulated_for:.0} s simulated in {took:.1} s{speed}"));
    if let Some(out) = folder {
        output::say(&format!("tables in {}", out.display()));
    }
    written.iter().for_each(|file| output::say(&file.to_string()));
}

/// Returns the end of a command that was stopped after runs had finished.
fn as_stopped(options: &Simulate, simulated: &Simulated, folder: Option<&Path>) -> Failure {
    let runs =
        if simulated.about.planned_runs.is_some() { "the finished runs were kept" } else { "all runs had finished" };
    let place = folder.map_or_else(String::new, |folder| format!(", in {}", folder.display()));
    let report = match folder {
        Some(folder) if options.open => format!("; cellway report {} draws them", folder.display()),
        _ => String::new(),
    };
    Failure { message: format!("stopped; {runs}{place}{report}"), code: INTERRUPTED }
}

pub(crate) fn point_json((axes, cells): &PointFigures) -> Value {
    let axes: Map<String, Value> = axes.iter().map(|(name, value)| (name.clone(), axis_json(value))).collect();
    let figures: Vec<Value> = cells
        .iter()
        .map(|c| {
            json!({ "subject": c.subject, "metric": c.metric, "unit": c.unit, "mean": c.mean,
                    "interval_95": c.interval, "runs": c.runs })
        })
        .collect();
    json!({ "axes": axes, "figures": figures })
}

fn axis_json(value: &AxisValueRecord) -> Value {
    match value {
        AxisValueRecord::Text(text) => json!(text),
        AxisValueRecord::Number(number) => json!(number),
    }
}
