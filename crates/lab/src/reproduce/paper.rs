//! What ships of a paper: its scenario files, its studies and its expected numbers.

use std::collections::BTreeMap;

use cellway_scenario::{Override, Plan, SweepSpec, VariantSpec};
use serde::Deserialize;

use super::claim::Claim;
use super::theory::Theory;
use crate::error::Error;

/// A paper whose experiments ship with the program: a folder of `papers`.
pub struct Paper {
    /// Its short name, which is that of the folder.
    pub name: &'static str,
    files: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/papers.rs"));

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
    /// None for a paper whose claims are all judged by equations.
    #[serde(default)]
    pub(crate) study: Vec<Study>,
}

/// One set of runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Study {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) scenario: String,
    /// Whether no draw enters the runs, so that one replication is all there is and its value has no interval.
    #[serde(default)]
    pub(crate) deterministic: bool,
    /// Replications; absent if deterministic.
    seeds: Option<u64>,
    /// Replications of a quick look.
    quick_seeds: Option<u64>,
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
    #[serde(default)]
    axes: Vec<Axis>,
    /// The axes of a quick look, where they differ.
    quick_axes: Option<Vec<Axis>>,
    #[serde(default)]
    variant: Vec<Variant>,
    /// The theory that each point is held against.
    pub(crate) theory: Option<Theory>,
    /// Whether its tables hold rows over time.
    #[serde(default = "yes")]
    pub(crate) series: bool,
}

fn yes() -> bool {
    true
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
    #[serde(default)]
    claim: Vec<Claim>,
}

impl Study {
    /// Replications.
    pub(crate) fn seeds(&self, quick: bool) -> u64 {
        let asked = if quick { self.quick_seeds.or(self.seeds) } else { self.seeds };
        if self.deterministic { 1 } else { asked.unwrap_or(0) }
    }

    /// What contradicts itself in how often it is run.
    #[cfg(test)]
    pub(super) fn faults(&self) -> Vec<&'static str> {
        let mut faults = Vec::new();
        let counts = [self.seeds, self.quick_seeds];
        if self.deterministic && counts.iter().any(Option::is_some) {
            faults.push("it is deterministic, so it has no number of seeds");
        }
        if !self.deterministic && counts.iter().any(|n| n.unwrap_or(0) == 0) {
            faults.push("it needs seeds and quick_seeds, or deterministic = true");
        }
        if !self.deterministic && self.seeds < self.quick_seeds {
            faults.push("a quick look has more seeds than the whole study");
        }
        faults
    }
}

impl Paper {
    /// The paper of that name; or what a folder of the same files holds, if `name` looks like a path.
    pub fn find(name: &str) -> Result<&'static Paper, Error> {
        if name.contains(std::path::MAIN_SEPARATOR) {
            return Paper::open(std::path::Path::new(name));
        }
        let known = || PAPERS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        PAPERS
            .iter()
            .find(|p| p.name == name)
            .ok_or_else(|| Error::NoSuchPaper { name: name.to_owned(), known: known() })
    }

    /// The experiments in a folder with `study.toml`, `expected.toml` and the scenario files that they name. They
    /// stay in memory until the program ends, like those that ship.
    pub fn open(folder: &std::path::Path) -> Result<&'static Paper, Error> {
        let wrong = |file: &str, message: String| Error::Experiments { path: folder.join(file), message };
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|e| wrong(file, e.to_string()));
        let study = read("study.toml")?;
        let expected = read("expected.toml")?;
        let studies: Studies = toml::from_str(&study).map_err(|e| wrong("study.toml", e.to_string()))?;
        let claims: Expected = toml::from_str(&expected).map_err(|e| wrong("expected.toml", e.to_string()))?;
        for claim in &claims.claim {
            for id in [&claim.study, &claim.from_study].into_iter().flatten() {
                if !studies.study.iter().any(|study| study.id == *id) {
                    return Err(wrong(
                        "expected.toml",
                        format!("claim {:?} names study {id:?}, which is not there", claim.id),
                    ));
                }
            }
        }
        let mut files = vec![("study.toml".to_owned(), study), ("expected.toml".to_owned(), expected)];
        for Study { scenario, .. } in &studies.study {
            if !files.iter().any(|(name, _)| name == scenario) {
                files.push((scenario.clone(), read(scenario)?));
            }
        }
        let keep = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let files: Vec<_> = files.into_iter().map(|(name, text)| (keep(name), keep(text))).collect();
        let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let name = keep(name.unwrap_or_else(|| folder.display().to_string()));
        Ok(Box::leak(Box::new(Paper { name, files: Box::leak(files.into_boxed_slice()) })))
    }

    /// The papers of these names, in this order, each once; all papers for none.
    pub fn find_all<S: AsRef<str>>(names: &[S]) -> Result<Vec<&'static Paper>, Error> {
        let mut found: Vec<&'static Paper> = Vec::new();
        for name in names {
            let paper = Paper::find(name.as_ref())?;
            if !found.iter().any(|p| p.name == paper.name) {
                found.push(paper);
            }
        }
        Ok(if names.is_empty() { PAPERS.iter().collect() } else { found })
    }

    fn file(&self, name: &str) -> &'static str {
        let file = self.files.iter().find(|(n, _)| *n == name);
        file.unwrap_or_else(|| panic!("papers/{} has no file {name}", self.name)).1
    }

    pub(crate) fn studies(&self) -> Studies {
        toml::from_str(self.studies_text())
            .unwrap_or_else(|e| panic!("papers/{}/study.toml is not well formed: {e}", self.name))
    }

    /// The file that says what is run.
    pub(crate) fn studies_text(&self) -> &'static str {
        self.file("study.toml")
    }

    /// The claims, in the order of the paper.
    pub fn claims(&self) -> Vec<Claim> {
        let expected: Expected = toml::from_str(self.file("expected.toml"))
            .unwrap_or_else(|e| panic!("papers/{}/expected.toml is not well formed: {e}", self.name));
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
