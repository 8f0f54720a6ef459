//! `cellway simulate`.

use std::path::Path;

use cellway_lab::{AxisValueRecord, Error, Overview, PointFigures, Settings};
use serde_json::{Map, Value, json};

use crate::args::Simulate;
use crate::check::{folder_of, plan};
use crate::progress::Bar;
use crate::{Face, Failure, figures, output};

pub(crate) fn run(options: &Simulate, face: &mut Face<'_>) -> Result<(), Failure> {
    let file = &options.scenario.file;
    let plan = plan(&options.scenario)?;
    if let Some(out) = &options.out {
        cellway_lab::check_target(out, options.force).map_err(Error::from)?;
    }
    if let Some(node) = &options.pcap {
        cellway_lab::check_capture(&plan, node)?;
    }
    if let (Some(node), None) = (&options.pcap, &options.out) {
        cellway_lab::check_free(Path::new(&format!("{node}.pcap")), options.force)?;
    }
    let bar = Bar::new();
    let mut settings = Settings {
        threads: options.threads.map(usize::from),
        progress: &mut |progress| bar.show(progress),
        stop: &mut face.interrupted,
    };
    let simulated = cellway_lab::simulate(&plan, folder_of(file), options.seeds, &mut settings)?;
    drop(bar);
    let overview = Overview::of(&simulated.results)?;
    let mut capture = None;
    let mut capture_into = |folder: &Path, shown: &Path| -> Result<Vec<String>, Error> {
        let Some(node) = &options.pcap else { return Ok(Vec::new()) };
        let name = format!("{node}.pcap");
        let (path, stop) = (folder.join(&name), &mut face.interrupted);
        let records = cellway_lab::capture(&plan, folder_of(file), node, &path, options.force, stop)?;
        capture = Some((shown.join(&name), records));
        Ok(vec![name])
    };
    match &options.out {
        Some(out) => drop(simulated.write_with(out, options.force, |folder| capture_into(folder, out))?),
        None => drop(capture_into(Path::new("."), Path::new("."))?),
    }
    if options.scenario.json {
        let capture = capture.as_ref().map(|(path, records)| json!({ "path": path, "records": records }));
        output::json(&json!({
            "name": plan.base().name,
            "points": overview.points.iter().map(point_json).collect::<Vec<_>>(),
            "warnings": simulated.warnings,
            "runs": simulated.results.runs.num_rows(),
            "wall_seconds": simulated.about.wall_seconds,
            "cell_hops": simulated.results.counts.cell_hops,
            "packet_hops": simulated.results.counts.packet_hops,
            "folder": options.out,
            "capture": capture,
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
        if let Some(out) = &options.out {
            output::say(&format!("tables in {}", out.display()));
        }
        if let Some((path, records)) = capture {
            output::say(&format!("{records} records captured in {}", path.display()));
        }
    }
    for warning in &simulated.warnings {
        output::say(&format!("warning: {warning}"));
    }
    Ok(())
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
