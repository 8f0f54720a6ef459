//! What theory says about each point of a study, beside what its run shows.

use cellway_record::{Row, RunRecord};
use cellway_scenario::Scenario;
use serde::Deserialize;

use super::spacer;
use crate::error::Error;

/// The theory that the points of a study are held against.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Theory {
    /// The contents of a cell spacer, Guillemin et al., Theorems 1 to 3.
    Spacer,
}

/// What is added to a run.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// Figures taken from the run's own rows over time.
    pub(crate) simulated: Vec<Row>,
    /// What theory gives for them, and for figures that the run has anyway.
    pub(crate) theory: RunRecord,
}

impl Theory {
    /// What this theory says about a run of `scenario` that gave `record`.
    pub(crate) fn beside(self, scenario: &Scenario, record: &RunRecord) -> Result<Beside, Error> {
        match self {
            Theory::Spacer => spacer::beside(scenario, record),
        }
    }
}
