//! Findings that hold at every point of a plan.

use crate::model::Scenario;
use crate::plan::Point;
use crate::tree::Step;

/// A finding about the value at a path.
pub(crate) trait Finding {
    /// Returns the path.
    fn path(&self) -> &[Step];
}

/// Returns the findings of the first point whose paths have findings at all others.
pub(crate) fn everywhere<F: Finding>(points: &[Point], find: impl Fn(&Scenario) -> Vec<F>) -> Vec<F> {
    let mut of_points = points.iter().map(|point| find(&point.scenario));
    let first = of_points.next().unwrap_or_default();
    of_points.fold(first, |mut found, more| {
        found.retain(|one| more.iter().any(|other| other.path() == one.path()));
        found
    })
}
