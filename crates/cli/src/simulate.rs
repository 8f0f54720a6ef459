//! `cellway simulate`.

use std::path::Path;

use cellway_lab::{AxisValueRecord, Error, Overview, PointFigures, Settings};
use serde_json::{Map, Value, json};

use crate::args::Simulate;
use crate::check::{folder_of, plan, runs};
use crate::progress::Bar;
use crate::signals::Signals;
use crate::{Face, Failure, INTERRUPTED, draw, figures, output};

/// A file of more bytes is reported with its size.
const LARGE: u64 = 10_000_000;

pub(crate) fn run(options: &Simulate, face: &mut Face<'_>) -> Result<(), Failure> {
    let file = &options.scenario.file;
    let plan = plan(&options.scenario)?;
    let target = match options.open {
        true => Some(draw::folder_to_open(options.out.as_deref(), &plan.base().name, face)?),
        false => options.out.clone(),
    };
    if let Some(out) = &target {
        cellway_lab::check_target(out, options.force).map_err(Error::from)?;
    }
    if let Some(node) = &options.pcap {
        cellway_lab::check_capture(&plan, node)?;
    }
    if let (Some(node), None) = (&options.pcap, &target) {
        cellway_lab::check_free(Path::new(&format!("{node}.pcap")), options.force)?;
    }
    let qlog_end = options.qlog.as_deref().map(|end| cellway_lab::check_qlog(&plan, end)).transpose()?;
    let qlog_name = qlog_end.map(|end| format!("{}.sqlog", end.file_stem()));
    if let (Some(name), None) = (&qlog_name, &target) {
        cellway_lab::check_free(Path::new(name), options.force)?;
    }
    runs("simulates", &plan, options.seeds)?;
    let bar = Bar::new();
    let simulated = {
        let signals = Signals::catch();
        let mut settings = Settings {
            threads: options.threads.map(usize::from),
            progress: &mut |progress| bar.show(progress),
            stop: &mut || signals.came() || (face.interrupted)(),
        };
        cellway_lab::simulate_until_stopped(&plan, folder_of(file), options.seeds, &mut settings)?
    };
    drop(bar);
    let was_stopped = simulated.about.planned_runs.is_some();
    let overview = Overview::of(&simulated.results)?;
    let (mut capture, mut qlog) = (None, None);
    let mut first_run_into = |folder: &Path, shown: &Path| -> Result<Vec<String>, Error> {
        let (stop, force, base) = (&mut face.interrupted, options.force, folder_of(file));
        let mut names = Vec::new();
        if was_stopped {
            return Ok(names);
        }
        if let Some(node) = &options.pcap {
            let name = format!("{node}.pcap");
            let records = cellway_lab::capture(&plan, base, node, &folder.join(&name), force, stop)?;
            capture = Some((shown.join(&name), records));
            names.push(name);
        }
        if let (Some(end), Some(name)) = (&options.qlog, &qlog_name) {
            let events = cellway_lab::qlog(&plan, base, end, &folder.join(name), force, stop)?;
            qlog = Some((shown.join(name), events));
            names.push(name.clone());
        }
        Ok(names)
    };
    match &target {
        Some(out) => {
            let manifest = simulated.write_with(out, options.force, |folder| first_run_into(folder, out))?;
            output::written_files(out, &manifest);
        }
        None => drop(first_run_into(Path::new("."), Path::new("."))?),
    }
    let page = match &target {
        Some(out) if options.open => Some(draw::draw_and_open(out, face)?),
        _ => None,
    };
    if options.scenario.json {
        let capture = capture.as_ref().map(|(path, records)| json!({ "path": path, "records": records }));
        let qlog = qlog.as_ref().map(|(path, events)| json!({ "path": path, "events": events }));
        output::json(&json!({
            "name": plan.base().name,
            "points": overview.points.iter().map(point_json).collect::<Vec<_>>(),
            "warnings": simulated.warnings,
            "runs": simulated.results.runs.num_rows(),
            "planned_runs": simulated.about.planned_runs.unwrap_or(simulated.results.runs.num_rows() as u64),
            "wall_seconds": simulated.about.wall_seconds,
            "cell_hops": simulated.results.counts.cell_hops,
            "packet_hops": simulated.results.counts.packet_hops,
            "folder": target,
            "report": page,
            "capture": capture,
            "qlog": qlog,
        }));
    } else {
        figures::show(&overview, options.wide);
        let counts = simulated.results.counts;
        output::say(&format!(
            "{}, {:.0} s simulated in {:.1} s, {}",
            output::count(simulated.results.runs.num_rows() as u64, "run"),
            counts.simulated.as_secs_f64(),
            simulated.about.wall_seconds,
            figures::speed(counts, simulated.about.wall_seconds),
        ));
        if let Some(out) = &target {
            output::say(&format!("tables in {}", out.display()));
        }
        if let Some((path, records)) = capture {
            output::say(&format!("{records} records captured in {}{}", path.display(), large(&path)));
        }
        if let Some((path, events)) = qlog {
            output::say(&format!("{events} events of qlog in {}{}", path.display(), large(&path)));
        }
    }
    output::warn(&simulated.warnings);
    if was_stopped {
        let asked = [("--pcap", options.pcap.is_some()), ("--qlog", options.qlog.is_some())];
        let left_out: Vec<&str> = asked.iter().filter(|(_, asked)| *asked).map(|(option, _)| *option).collect();
        let aside =
            if left_out.is_empty() { String::new() } else { format!("; no file of {}", left_out.join(" and ")) };
        return Err(Failure { message: format!("stopped; the finished runs were kept{aside}"), code: INTERRUPTED });
    }
    Ok(())
}

/// Returns the size of a file after a comma, if it is so large that it takes long to open.
fn large(path: &Path) -> String {
    let bytes = std::fs::metadata(path).map_or(0, |about| about.len());
    if bytes > LARGE { format!(", {}", output::size(bytes)) } else { String::new() }
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
