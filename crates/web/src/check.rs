//! The check of a scenario.

use serde_json::Value;

use crate::request::{Refused, Request, workloads};

/// Checks a scenario with all points of its sweep. Returns what `cellway check --json` prints: its problems with their
/// places, or the description of its runs.
pub fn check(request: &Request) -> Value {
    checked(request).unwrap_or_else(|Refused(answer)| answer)
}

fn checked(request: &Request) -> Result<Value, Refused> {
    let plan = request.plan()?;
    let points = request.points(&plan)?;
    for point in &points {
        if point.scenario.traffic.is_empty() {
            return Err(Refused::in_words(cellway_sim::Error::NoTraffic));
        }
        workloads(&plan, point)?;
    }
    Ok(plan.description(points.len(), &plan.warnings(&points)))
}
