//! `cellway check`.

use std::path::Path;

use cellway_lab::{Checked, Error, Override, Plan, refusal, refusal_in_words};

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
                output::json(&match &error {
                    Error::Scenario(found) => refusal(found),
                    other => refusal_in_words(&other.to_string()),
                });
            }
            return Err(error.into());
        }
    };
    if scenario.json {
        output::json(&plan.description(checked.points, &checked.warnings));
    } else {
        show(&scenario.file, &plan, &checked);
    }
    Ok(())
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
