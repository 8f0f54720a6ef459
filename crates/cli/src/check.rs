//! `cellway check`.

use std::path::Path;

use cellway_lab::{Error, Plan};
use serde_json::json;

use crate::args::{self, Check};
use crate::{Failure, output};

/// Where table folders named by a scenario file start.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(crate) fn plan(scenario: &args::Scenario) -> Result<Plan, Error> {
    cellway_lab::plan_from_file(&scenario.file, &scenario.set)
}

pub(crate) fn run(options: &Check) -> Result<(), Failure> {
    let scenario = &options.scenario;
    let checked = plan(scenario).and_then(|plan| {
        let points = cellway_lab::check(&plan, folder_of(&scenario.file))?;
        Ok((plan, points))
    });
    let (plan, points) = match checked {
        Ok(checked) => checked,
        Err(error) => {
            if scenario.json {
                let problems = match &error {
                    Error::Scenario(found) => json!(found.problems),
                    other => json!([{ "message": other.to_string() }]),
                };
                output::json(&json!({ "valid": false, "problems": problems }));
            }
            return Err(error.into());
        }
    };
    let base = plan.base();
    let run = &base.run;
    let runs = run.seeds * points as u64;
    if scenario.json {
        let axes: Vec<_> = plan
            .axes()
            .iter()
            .map(|(name, values)| json!({ "name": name, "values": values.iter().map(ToString::to_string).collect::<Vec<_>>() }))
            .collect();
        output::json(&json!({
            "valid": true, "name": base.name, "points": points, "seeds": run.seeds, "runs": runs,
            "duration_s": run.duration.as_secs_f64(), "warmup_s": run.warmup.as_secs_f64(),
            "rtt_s": run.rtt.as_secs_f64(), "axes": axes,
        }));
        return Ok(());
    }
    output::line(&format!("{}: right", scenario.file.display()));
    output::line(&format!("  {} nodes, {} links, {} conversations", base.nodes.len(), base.links.len(), base.conversations()));
    output::line(&format!("  {} of simulated time a run, the first {} not counted; round trip {}", run.duration, run.warmup, run.rtt));
    for (name, values) in plan.axes() {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        output::line(&format!("  {name}: {}", values.join(", ")));
    }
    output::line(&format!("  {points} points x {} seeds = {runs} runs", run.seeds));
    Ok(())
}
