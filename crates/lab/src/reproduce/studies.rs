//! `study.toml`: the sets of runs of a folder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claim::{Claim, Source};
use super::theory::Theory;

/// `study.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Studies {
    pub(crate) title: String,
    pub(crate) citation: String,
    /// One line for lists of studies; the title if it is absent.
    pub(super) description: Option<String>,
    /// The finding of the paper, in one sentence.
    #[serde(default)]
    pub(crate) finding: String,
    /// The experiment of the paper, in one paragraph.
    #[serde(default)]
    pub(crate) experiment: String,
    /// Notes for the reader of the verdicts.
    #[serde(default)]
    pub(crate) remarks: Vec<String>,
    /// Empty for a paper whose claims are all judged by equations.
    #[serde(default)]
    pub(crate) study: Vec<Study>,
}

/// The kind of the runs of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Driver {
    /// On a simulated clock.
    #[default]
    Simulate,
    /// In real time, with real hosts.
    Emulate,
    /// In real time, with real hosts and real gateways.
    Measure,
}

impl Driver {
    /// Returns the `source` of its rows in tables.
    pub(crate) fn source(self) -> Source {
        match self {
            Driver::Simulate => Source::Simulate,
            Driver::Emulate => Source::Emulate,
            Driver::Measure => Source::Measure,
        }
    }
}

/// One set of runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Study {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) scenario: String,
    #[serde(default)]
    pub(crate) driver: Driver,
    /// True if no random draw enters the runs, so that there is one replication and its value has no interval.
    #[serde(default)]
    pub(crate) deterministic: bool,
    /// Replications; absent if deterministic.
    seeds: Option<u64>,
    /// The replications of a quick run, if they are fewer.
    quick_seeds: Option<u64>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub(super) axes: Vec<Axis>,
    /// The axes of a quick run, if they differ.
    pub(super) quick_axes: Option<Vec<Axis>>,
    #[serde(default)]
    pub(super) variant: Vec<Variant>,
    /// The theory that each point is held against.
    pub(crate) theory: Option<Theory>,
    /// True if its tables contain rows over time.
    #[serde(default = "yes")]
    pub(crate) series: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    pub(super) key: String,
    pub(super) values: Vec<toml::Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    pub(super) name: String,
    #[serde(default)]
    pub(super) set: BTreeMap<String, toml::Value>,
}

impl Studies {
    /// Returns the source of the values of a study; for one that does not exist, simulations.
    pub(super) fn source(&self, id: &str) -> Source {
        self.study.iter().find(|study| study.id == id).map_or(Source::Simulate, |study| study.driver.source())
    }

    /// Returns a contradiction between a claim and its studies.
    pub(super) fn fault_of(&self, claim: &Claim) -> Option<&'static str> {
        let most = claim.figures().into_iter().map(|(id, _)| self.source(id)).max();
        match claim.source() {
            Source::Emulate if most != Some(Source::Emulate) => {
                Some("source is \"emulate\", but its studies are not emulated, or measured")
            }
            Source::Measure if most != Some(Source::Measure) => {
                Some("source is \"measure\", but neither of its studies is measured")
            }
            Source::Simulate if most > Some(Source::Simulate) => {
                Some("source is \"simulate\", but a study of it is emulated or measured")
            }
            _ => None,
        }
    }
}

impl Study {
    /// Returns true if its network is emulated: hosts and gateways are then real, and so is time.
    pub(crate) fn is_emulated(&self) -> bool {
        self.driver != Driver::Simulate
    }

    /// Replications.
    pub(crate) fn seeds(&self, quick: bool) -> u64 {
        let asked = if quick { self.quick_seeds.or(self.seeds) } else { self.seeds };
        if self.deterministic { 1 } else { asked.unwrap_or(0) }
    }

    /// Returns contradictions in the numbers of its runs.
    pub(super) fn faults(&self) -> Vec<&'static str> {
        let mut faults = Vec::new();
        if !names_a_file(&self.id) {
            faults.push(
                "its id names files of the results: letters, digits, \"-\", \"_\" and \".\", not first, are accepted",
            );
        }
        if !self.scenario.split('/').all(names_a_file) {
            faults.push("its scenario is the path of a file in the folder of the study, such as \"path.toml\"");
        }
        let counts = [self.seeds, self.quick_seeds];
        if self.deterministic && counts.iter().any(Option::is_some) {
            faults.push("it is deterministic, so it has no number of seeds");
        }
        if !self.deterministic && (self.seeds.is_none() || counts.contains(&Some(0))) {
            faults.push("it needs a number of seeds above 0, or deterministic = true");
        }
        if !self.deterministic && self.seeds.is_some() && self.seeds < self.quick_seeds {
            faults.push("a quick look has more seeds than the whole study");
        }
        if self.is_emulated() && self.deterministic {
            faults.push("it is emulated, so it is not deterministic: it needs a number of seeds, which are repeats");
        }
        if self.is_emulated() && self.theory.is_some() {
            faults.push("theory is held against simulated studies only");
        }
        faults
    }
}

/// Returns true if `name` can be the name of a file in any folder, and not of the folder itself or one around it.
fn names_a_file(name: &str) -> bool {
    let accepted = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(accepted)
}
