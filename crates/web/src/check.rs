//! The check of a scenario.

use serde_json::{Value, json};

use crate::request::{Refused, Request, workloads};
use crate::work::hops_at_most;

/// Checks a scenario with all points of its sweep. Returns what `cellway check --json` prints: its problems with their
/// places, or the description of its runs; beside that one, `hops_at_most` of each point.
pub fn check(request: &Request) -> Value {
    checked(request).unwrap_or_else(|Refused(answer)| answer)
}

fn checked(request: &Request) -> Result<Value, Refused> {
    let plan = request.plan()?;
    let points = plan.points()?;
    for point in &points {
        if point.scenario.traffic.is_empty() {
            return Err(Refused::in_words(cellway_sim::Error::NoTraffic));
        }
        workloads(&plan, point)?;
    }
    let mut description = plan.description(points.len(), &plan.warnings(&points));
    let work: Vec<f64> = points.iter().map(|point| hops_at_most(&point.scenario)).collect();
    description["hops_at_most"] = json!(work);
    Ok(description)
}
