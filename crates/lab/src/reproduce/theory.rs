//! The theory for each point of a study, next to the results of its run.

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

/// The rows added to a run.
#[derive(Debug, Default)]
pub(crate) struct Additions {
    /// Figures taken from the run's own rows over time.
    pub(crate) simulated: Vec<Row>,
    /// The values of theory for them, and for figures that the run has anyway.
    pub(crate) theory: RunRecord,
}

impl Theory {
    /// Returns the rows of this theory for a run of `scenario` with the result `record`.
    pub(crate) fn additions(self, scenario: &Scenario, record: &RunRecord) -> Result<Additions, Error> {
        match self {
            Theory::Spacer => spacer::additions(scenario, record),
        }
    }
}
