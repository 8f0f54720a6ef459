//! `cellway check`.

use std::path::Path;

use cellway_lab::{Checked, Error, Override, Plan};
use serde_json::{Value, json};

use crate::args::{self, Check};
use crate::{Failure, output};

/// Returns the folder of a scenario file, from which its paths to folders of tables start.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(crate) fn plan(scenario: &args::Scenario) -> Result<Plan, Error> {
    read(&scenario.file, &scenario.set)
}

/// Reads a scenario file with keys set.
pub(crate) fn read(file: &Path, set: &[Override]) -> Result<Plan, Error> {
    output::detail(&format!("reads {}", file.display()));
    set.iter().for_each(|set| output::detail(&format!("sets {set}")));
    cellway_lab::plan_from_file(file, set)
}

/// Prints the number of runs of a plan, if details were requested.
pub(crate) fn runs(verb: &str, plan: &Plan, seeds: Option<u64>) {
    let (points, seeds) = (plan.point_count() as u64, seeds.unwrap_or(plan.base().run.seeds));
    let [p, s, r] = [(points, "point"), (seeds, "seed"), (points.saturating_mul(seeds), "run")]
        .map(|(number, noun)| output::count(number, noun));
    output::detail(&format!("{verb} {}: {p} x {s} = {r}", plan.base().name));
}

pub(crate) fn run(options: &Check) -> Result<(), Failure> {
    let scenario = &options.scenario;
    let checked = plan(scenario).and_then(|plan| {
        let checked = cellway_lab::check(&plan, folder_of(&scenario.file))?;
        Ok((plan, checked))
    });
    let (plan, checked) = match checked {
        Ok(checked) => checked,
        Err(error) => {
            if scenario.json {
                let (problems, more) = match &error {
                    Error::Scenario(found) => (json!(found.problems), found.more),
                    other => (json!([{ "message": other.to_string() }]), 0),
                };
                output::json(&json!({ "valid": false, "problems": problems, "more": more }));
            }
            return Err(error.into());
        }
    };
    if scenario.json {
        output::json(&as_json(&plan, &checked));
    } else {
        show(&scenario.file, &plan, &checked);
    }
    Ok(())
}

/// Describes the runs of a valid scenario.
pub fn as_json(plan: &Plan, checked: &Checked) -> Value {
    let points = checked.points;
    let (base, run) = (plan.base(), &plan.base().run);
    let axes: Vec<Value> = plan
        .axes()
        .iter()
        .map(|(name, values)| json!({ "name": name, "values": values.iter().map(ToString::to_string).collect::<Vec<_>>() }))
        .collect();
    json!({
        "valid": true, "name": base.name, "points": points, "seeds": run.seeds, "runs": run.seeds * points as u64,
        "duration_s": run.duration.as_secs_f64(), "warmup_s": run.warmup.as_secs_f64(),
        "rtt_s": run.rtt.as_secs_f64(), "axes": axes, "warnings": checked.warnings,
    })
}

fn show(file: &Path, plan: &Plan, checked: &Checked) {
    let (base, run) = (plan.base(), &plan.base().run);
    let count = output::count;
    let (nodes, links) = (count(base.nodes.len() as u64, "node"), count(base.links.len() as u64, "link"));
    let conversations = count(base.conversations(), "conversation");
    output::line(&format!("{}: valid", file.display()));
    output::line(&format!("  {nodes}, {links}, {conversations}"));
    output::line(&format!("  {} of simulated time a run, the first {} not counted", run.duration, run.warmup));
    output::line(&format!("  round trip {}", run.rtt));
    for (name, values) in plan.axes() {
        let values: Vec<String> = values.iter().map(|value| shown(&value.to_string())).collect();
        output::line(&format!("  {name}: {}", values.join(", ")));
    }
    let (points, runs) = (checked.points as u64, run.seeds * checked.points as u64);
    output::line(&format!("  {} x {} = {}", count(points, "point"), count(run.seeds, "seed"), count(runs, "run")));
    output::warn(&checked.warnings.iter().map(ToString::to_string).collect::<Vec<_>>());
}

/// Returns a value of an axis for a list: in quotes if it has spaces or commas.
fn shown(value: &str) -> String {
    if value.contains([' ', ',']) { format!("{value:?}") } else { value.to_owned() }
}
