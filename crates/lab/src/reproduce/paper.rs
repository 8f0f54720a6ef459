//! What ships of a paper: its scenario file, its studies and its expected numbers.

use std::collections::BTreeMap;

use cellway_scenario::{Override, Plan, SweepSpec, VariantSpec};
use serde::Deserialize;

use super::claim::Claim;
use crate::error::Error;

/// A paper whose experiments ship with the program.
pub struct Paper {
    /// Its short name.
    pub name: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../../papers/", $path)))
    };
}

static PAPERS: &[Paper] = &[Paper {
    name: "cellsim",
    files: &[
        file!("cellsim/cellsim.toml"),
        file!("cellsim/load.toml"),
        file!("cellsim/study.toml"),
        file!("cellsim/expected.toml"),
    ],
}];

/// All papers, by name.
pub fn papers() -> &'static [Paper] {
    PAPERS
}

/// `study.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Studies {
    pub(crate) title: String,
    pub(crate) citation: String,
    /// What a reader must know before reading the verdicts.
    #[serde(default)]
    pub(crate) remarks: Vec<String>,
    pub(crate) study: Vec<Study>,
}

/// One set of runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Study {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) scenario: String,
    /// Replications.
    pub(crate) seeds: u64,
    /// Replications of a quick look.
    pub(crate) quick_seeds: u64,
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    #[serde(default)]
    axes: Vec<Axis>,
    /// The axes of a quick look, where they differ.
    quick_axes: Option<Vec<Axis>>,
    #[serde(default)]
    variant: Vec<Variant>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Axis {
    key: String,
    values: Vec<toml::Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    name: String,
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    claim: Vec<Claim>,
}

impl Paper {
    /// The paper of that name.
    pub fn find(name: &str) -> Result<&'static Paper, Error> {
        let known = || PAPERS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        PAPERS
            .iter()
            .find(|p| p.name == name)
            .ok_or_else(|| Error::NoSuchPaper { name: name.to_owned(), known: known() })
    }

    fn file(&self, name: &str) -> &'static str {
        let path = format!("{}/{name}", self.name);
        self.files.iter().find(|(p, _)| *p == path).expect("a paper's studies name files that ship").1
    }

    pub(crate) fn studies(&self) -> Studies {
        toml::from_str(self.studies_text()).expect("the shipped studies are well formed")
    }

    /// The file that says what is run.
    pub(crate) fn studies_text(&self) -> &'static str {
        self.file("study.toml")
    }

    /// The claims, in the order of the paper.
    pub fn claims(&self) -> Vec<Claim> {
        let expected: Expected =
            toml::from_str(self.file("expected.toml")).expect("the shipped claims are well formed");
        expected.claim
    }

    pub(crate) fn plan(&self, study: &Study, quick: bool) -> Result<Plan, Error> {
        let axes = study.quick_axes.as_ref().filter(|_| quick).unwrap_or(&study.axes);
        let text = |value: &toml::Value| value.to_string();
        let overrides = |set: &BTreeMap<String, toml::Value>| -> Vec<Override> {
            set.iter().map(|(key, value)| Override::new(key, text(value))).collect()
        };
        let sweep = SweepSpec {
            axes: axes.iter().map(|axis| (axis.key.clone(), axis.values.iter().map(text).collect())).collect(),
            variants: study
                .variant
                .iter()
                .map(|v| VariantSpec { name: v.name.clone(), set: overrides(&v.set) })
                .collect(),
        };
        let file = format!("papers/{}/{}", self.name, study.scenario);
        Ok(Plan::parse_with(self.file(&study.scenario), &file, &overrides(&study.set), Some(sweep))?)
    }
}
