//! A run of the built-in CUBIC beside another stack, and what it says; shared by the examples and the tests.
#![allow(dead_code, reason = "each target uses its own part")]

use cellway_record::RunRecord;
use cellway_scenario::{Override, Plan, Scenario};
use cellway_sim::{Control, Ends, Error, Payload, Setup, Stacks};

/// The group that another stack drives.
pub(crate) const OTHER: &str = "other";

/// Returns the scenario with keys set.
pub(crate) fn scenario(set: &[(&str, &str)]) -> Scenario {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let plan = Plan::parse_with(include_str!("beside_cubic.toml"), "beside_cubic.toml", &set, None);
    plan.unwrap_or_else(|e| panic!("{e}")).base().clone()
}

/// Returns the table with a stack for the other group.
pub(crate) fn beside(payload: Payload, factory: impl Fn(&Setup<'_>) -> Ends + Send + Sync + 'static) -> Stacks {
    Stacks::new().with(OTHER, payload, factory)
}

pub(crate) fn run(scenario: &Scenario, stacks: &Stacks, seed: u64) -> Result<RunRecord, Error> {
    let workloads: Result<Vec<_>, _> = scenario.traffic.iter().map(|t| cellway_sim::workload(t, None)).collect();
    cellway_sim::run(scenario, &workloads?, seed, Control { stop: &|| false, capture: None, stacks: Some(stacks) })
}

/// Returns a figure of the summary, if it has it.
pub(crate) fn figure(record: &RunRecord, subject: &str, metric: &str) -> Option<f64> {
    record.summary.iter().find(|row| &*row.subject == subject && row.metric == metric).map(|row| row.value)
}

/// Prints the shares of both and the wait in the queue.
pub(crate) fn print(record: &RunRecord, name: &str) {
    println!("{:<10} {:>16} {:>16} {:>16}", "", "goodput", "retransmissions", "mean delay");
    for (group, name) in [("cubic-1", "cubic"), ("other-1", name)] {
        let cell = |metric, scale: f64, unit| {
            figure(record, group, metric).map_or("-".to_owned(), |value| format!("{:.2}{unit}", value * scale))
        };
        let again = figure(record, group, "retransmissions").map_or("-".to_owned(), |count| format!("{count:.0}"));
        println!(
            "{name:<10} {:>16} {again:>16} {:>16}",
            cell("goodput", 1e-6, " Mbit/s"),
            cell("delay_mean", 1e3, " ms"),
        );
    }
    let queue = |metric| figure(record, "near>far", metric).map_or(f64::NAN, |wait| wait * 1e3);
    println!("queue      {:.2} ms in the mean, {:.2} ms in 95 of 100", queue("sojourn_mean"), queue("sojourn_p95"));
}
