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
    cellway_sim::run(scenario, &workloads?, seed, Control { stacks: Some(stacks), ..Control::new(&|| false) })
}

/// Returns a figure of the summary, if it has it.
pub(crate) fn figure(record: &RunRecord, subject: &str, metric: &str) -> Option<f64> {
    record.summary.iter().find(|row| &*row.subject == subject && row.metric == metric).map(|row| row.value)
}

/// Returns a table of the shares of both and of the wait in the queue.
pub(crate) fn table(record: &RunRecord, name: &str) -> String {
    let mut table = format!("{:<8}{:>14}{:>18}{:>14}{:>8}\n", "", "goodput", "retransmissions", "mean delay", "marked");
    for (flow, name) in [("cubic-1", "cubic"), ("other-1", name)] {
        let cell = |metric, scale: f64, digits, unit| {
            figure(record, flow, metric).map_or("-".to_owned(), |value| format!("{:.digits$}{unit}", value * scale))
        };
        table += &format!(
            "{name:<8}{:>14}{:>18}{:>14}{:>8}\n",
            cell("goodput", 1e-6, 2, " Mbit/s"),
            cell("retransmissions", 1.0, 0, ""),
            cell("delay_mean", 1e3, 1, " ms"),
            cell("packets_marked", 1.0, 0, ""),
        );
    }
    let wait = |metric| figure(record, "near>far", metric).unwrap_or(0.0) * 1e3;
    table
        + &format!("wait in the queue: {:.1} ms, 95th percentile {:.1} ms\n", wait("sojourn_mean"), wait("sojourn_p95"))
}
