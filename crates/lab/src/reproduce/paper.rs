//! The files of a paper: its scenario files, its studies and its expected numbers.

use std::collections::BTreeMap;

use cellway_scenario::{Override, Plan, SweepSpec, VariantSpec};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::claim::Claim;
use super::studies::{Studies, Study};
use crate::error::Error;

/// A paper whose experiments are built into the program: a folder of `papers`.
#[derive(PartialEq, Eq)]
pub struct Paper {
    /// Its short name, which is that of the folder.
    pub name: &'static str,
    /// Its folder, for error messages.
    pub(super) folder: &'static str,
    files: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Returns all papers, by name.
pub fn papers() -> &'static [Paper] {
    PAPERS
}

/// The file of a study that draws its figures, in Python. A study without it gets general figures.
pub const RECIPE: &str = "figures.py";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    #[serde(default)]
    claim: Vec<Claim>,
}

impl Expected {
    /// Sets the sources of claims of emulated and measured studies.
    fn resolve(&mut self, studies: &Studies) {
        self.claim.iter_mut().for_each(|claim| claim.resolve(|id| studies.source(id)));
    }
}

/// The places of the tables of a file of studies or claims.
#[derive(Default, Deserialize)]
struct Places {
    #[serde(default, alias = "study", alias = "claim")]
    tables: Vec<toml::Spanned<IgnoredAny>>,
}

/// Returns "line 12: " for the table with this index of a file of studies or claims, which is well formed.
fn line_of(text: &str, index: usize) -> String {
    let Places { tables } = toml::from_str(text).unwrap_or_default();
    let before = tables.get(index).and_then(|table| text.get(..table.span().start));
    before.map_or_else(String::new, |before| {
        format!("line {}: ", before.bytes().filter(|&byte| byte == b'\n').count() + 1)
    })
}

/// Returns what is wrong with a file of a folder of studies that cannot be read.
fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; a study needs it".to_owned(),
        std::io::ErrorKind::IsADirectory => "is a folder, not a file".to_owned(),
        std::io::ErrorKind::InvalidData => "is not text in UTF-8".to_owned(),
        _ => error.to_string(),
    }
}

impl Paper {
    /// Returns the paper of that name; or else the contents of a folder of the same files, if `name` is one or looks like
    /// a path.
    pub fn find(name: &str) -> Result<&'static Paper, Error> {
        let folder = std::path::Path::new(name);
        match PAPERS.iter().find(|paper| paper.name == name) {
            Some(paper) => Ok(paper),
            None if name.contains(std::path::MAIN_SEPARATOR) || folder.is_dir() => Paper::open(folder),
            None => {
                let known = PAPERS.iter().map(|paper| paper.name).collect::<Vec<_>>().join(", ");
                Err(Error::NoSuchPaper { name: name.to_owned(), known })
            }
        }
    }

    /// Reads the experiments in a folder with `study.toml`, `expected.toml` and the scenario files that they name. They
    /// stay in memory until the program ends, like the built-in ones.
    pub fn open(folder: &std::path::Path) -> Result<&'static Paper, Error> {
        let wrong = |file: &str, message: String| Error::Experiments { path: folder.join(file), message };
        let read =
            |file: &str| std::fs::read_to_string(folder.join(file)).map_err(|error| wrong(file, unreadable(&error)));
        if !folder.is_dir() {
            let message =
                "there is no folder of this name; accepted: the path of a folder with study.toml and expected.toml";
            return Err(Error::Experiments { path: folder.to_owned(), message: message.to_owned() });
        }
        let study = read("study.toml")?;
        let expected = read("expected.toml")?;
        let studies: Studies = toml::from_str(&study).map_err(|e| wrong("study.toml", e.to_string()))?;
        let mut claims: Expected = toml::from_str(&expected).map_err(|e| wrong("expected.toml", e.to_string()))?;
        claims.resolve(&studies);
        for (place, Study { id, .. }) in studies.study.iter().enumerate() {
            let message =
                |fault: &str| Err(wrong("study.toml", format!("{}study {id:?}: {fault}", line_of(&study, place))));
            if let Some(fault) = studies.study[place].faults().first() {
                return message(fault);
            }
            if studies.study[..place].iter().any(|other| other.id == *id) {
                return message("another has the same id");
            }
        }
        if claims.claim.is_empty() {
            let message = "has no claim, so nothing would be judged; accepted: [[claim]] tables";
            return Err(wrong("expected.toml", message.to_owned()));
        }
        for (place, claim) in claims.claim.iter().enumerate() {
            let message = |fault: &str| {
                let line = line_of(&expected, place);
                Err(wrong("expected.toml", format!("{line}claim {:?}: {fault}", claim.id)))
            };
            if let Some(fault) = claim.faults().first() {
                return message(fault);
            }
            if claims.claim[..place].iter().any(|other| other.id == claim.id) {
                return message("another has the same id");
            }
            if let Some(fault) = studies.fault_of(claim) {
                return message(fault);
            }
            for id in [&claim.study, &claim.from_study].into_iter().flatten() {
                if !studies.study.iter().any(|study| study.id == *id) {
                    let known: Vec<_> = studies.study.iter().map(|study| format!("{:?}", study.id)).collect();
                    return message(&format!("there is no study {id:?}; accepted: {}", known.join(", ")));
                }
            }
        }
        let mut files = vec![("study.toml".to_owned(), study), ("expected.toml".to_owned(), expected)];
        if folder.join(RECIPE).exists() {
            files.push((RECIPE.to_owned(), read(RECIPE)?));
        }
        for Study { scenario, .. } in &studies.study {
            if !files.iter().any(|(name, _)| name == scenario) {
                files.push((scenario.clone(), read(scenario)?));
            }
        }
        let keep = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let files: Vec<_> = files.into_iter().map(|(name, text)| (keep(name), keep(text))).collect();
        let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let name = keep(name.unwrap_or_else(|| folder.display().to_string()));
        Ok(Box::leak(Box::new(Paper {
            name,
            folder: keep(folder.display().to_string()),
            files: Box::leak(files.into_boxed_slice()),
        })))
    }

    /// Returns the papers of these names, in this order, each once; all papers if there are no names. Two papers of one
    /// name, such as a built-in one and a changed copy of it, cannot be distinguished in results and are refused.
    pub fn find_all<S: AsRef<str>>(names: &[S]) -> Result<Vec<&'static Paper>, Error> {
        let mut found: Vec<&'static Paper> = Vec::new();
        for name in names {
            let paper = Paper::find(name.as_ref())?;
            match found.iter().find(|p| p.name == paper.name) {
                None => found.push(paper),
                Some(same) if *same == paper => {}
                Some(_) => {
                    let name = paper.name;
                    return Err(Error::Option(format!(
                        "two different papers are called {name:?}: rename the folder of one"
                    )));
                }
            }
        }
        Ok(if names.is_empty() { PAPERS.iter().collect() } else { found })
    }

    fn file(&self, name: &str) -> &'static str {
        let file = self.files.iter().find(|(n, _)| *n == name);
        file.unwrap_or_else(|| panic!("{} has no file {name}", self.folder)).1
    }

    pub(crate) fn studies(&self) -> Studies {
        toml::from_str(self.studies_text())
            .unwrap_or_else(|e| panic!("{}/study.toml is not well formed: {e}", self.folder))
    }

    /// Returns a description of one line, for lists.
    pub fn description(&self) -> String {
        let Studies { title, description, .. } = self.studies();
        description.unwrap_or(title)
    }

    /// Returns the Python program that draws its figures, if it has one.
    pub fn recipe(&self) -> Option<&'static str> {
        self.files.iter().find(|(name, _)| *name == RECIPE).map(|&(_, text)| text)
    }

    /// Returns the file that describes the runs.
    pub(crate) fn studies_text(&self) -> &'static str {
        self.file("study.toml")
    }

    /// Returns the claims, in the order of the paper.
    pub fn claims(&self) -> Vec<Claim> {
        let mut expected: Expected = toml::from_str(self.file("expected.toml"))
            .unwrap_or_else(|e| panic!("{}/expected.toml is not well formed: {e}", self.folder));
        expected.resolve(&self.studies());
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
        let file = std::path::Path::new(self.folder).join(&study.scenario).display().to_string();
        Ok(Plan::parse_with(self.file(&study.scenario), &file, &overrides(&study.set), Some(sweep))?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::claim::Source;
    use super::*;

    const STUDY: &str =
        "title = \"T\"\ncitation = \"C.\"\n[[study]]\nid = \"s\"\ntitle = \"S\"\nscenario = \"s.toml\"\n";
    const CLAIM: &str =
        "[[claim]]\nid = \"c\"\nclaim = \"so\"\nform = \"number\"\nstudy = \"s\"\nsubject = \"x\"\nmetric = \"m\"\n";

    fn write(folder: &Path, study: &str, claims: &str) {
        std::fs::create_dir_all(folder).unwrap();
        for (name, text) in [("study.toml", study), ("expected.toml", claims), ("s.toml", "")] {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }

    /// Tests run in the folder of their crate.
    #[test]
    fn a_name_without_a_separator_may_be_a_folder() {
        let refused = |name: &str| Paper::find(name).map(|_| ()).unwrap_err().to_string();
        assert!(refused("src").contains("study.toml"), "{}", refused("src"));
        assert!(refused("srx").contains("no paper is called \"srx\""), "{}", refused("srx"));
        assert!(refused("./srx").contains("there is no folder of this name"), "{}", refused("./srx"));
    }

    #[test]
    fn a_folder_that_contradicts_itself_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (study, claim) = (format!("{STUDY}seeds = 5\n"), format!("{CLAIM}min = 0\n"));
        let opened = |study: &str, claims: &str| {
            write(dir.path(), study, claims);
            Paper::open(dir.path()).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(opened(&study, &claim), Ok(()));
        for (study, claims, message) in [
            (
                STUDY,
                &claim[..],
                "study.toml: line 3: study \"s\": it needs a number of seeds above 0, or deterministic = true",
            ),
            (&format!("{STUDY}seeds = 0\n"), &claim, "it needs a number of seeds above 0, or deterministic = true"),
            (
                &format!("{STUDY}seeds = 2\nquick_seeds = 3\n"),
                &claim,
                "a quick look has more seeds than the whole study",
            ),
            (
                &study.replace("id = \"s\"", "id = \"../s\""),
                &claim,
                "study.toml: line 3: study \"../s\": its id names files of the results: letters, digits, \"-\", \"_\" and \".\", not first, \
                 are accepted",
            ),
            (
                &study.replace("id = \"s\"", "id = \"\""),
                &claim,
                "its id names files of the results: letters, digits, \"-\", \"_\" and \".\", not first, are accepted",
            ),
            (&study, "", "expected.toml: has no claim, so nothing would be judged; accepted: [[claim]] tables"),
            (&study, &claim.replace("id = \"c\"", "id = \"\""), "line 1: claim \"\": its id is empty"),
            (
                &study,
                &format!("{claim}within = 0.1\n"),
                "it has within, and min or max; accepted: within alone, or min and max",
            ),
            (&study, CLAIM, "expected.toml: line 1: claim \"c\": it accepts anything: within, min or max is missing"),
            (&study, &format!("{claim}{claim}"), "expected.toml: line 9: claim \"c\": another has the same id"),
            (
                &study,
                &format!("{claim}source = \"measure\"\n"),
                "expected.toml: line 1: claim \"c\": source is \"measure\", but neither of its studies is measured",
            ),
            (
                &format!("{study}driver = \"measure\"\n"),
                &format!("{claim}source = \"emulate\"\n"),
                "expected.toml: line 1: claim \"c\": source is \"emulate\", but its studies are not emulated, or measured",
            ),
        ] {
            let error = opened(study, claims).unwrap_err();
            assert!(error.ends_with(message), "{error}, not {message}");
        }
    }

    #[test]
    fn claims_are_of_the_source_of_their_studies() {
        let dir = tempfile::tempdir().unwrap();
        for (driver, source) in
            [("simulate", Source::Simulate), ("emulate", Source::Emulate), ("measure", Source::Measure)]
        {
            let other = STUDY.split_once("[[study]]").unwrap().1.replace("id = \"s\"", "id = \"other\"");
            let study = format!("{STUDY}seeds = 5\n[[study]]{other}seeds = 5\ndriver = \"{driver}\"\n");
            let claims = format!("{CLAIM}min = 0\nmeasure = \"ratio\"\nfrom = {{}}\nfrom-study = \"other\"\n");
            let folder = dir.path().join(driver);
            write(&folder, &study, &claims);
            assert_eq!(Paper::open(&folder).unwrap().claims()[0].source(), source);
        }
    }

    #[test]
    fn two_papers_of_one_name_are_refused_and_a_repeated_one_is_listed_once() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("kdd");
        write(&folder, &format!("{STUDY}seeds = 5\n"), &format!("{CLAIM}min = 0\n"));
        let path = folder.to_str().unwrap();
        let names = |names: &[&str]| {
            let found = Paper::find_all(names).map_err(|e| e.to_string())?;
            Ok(found.iter().map(|paper| paper.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["kdd", "kdd"]), Ok(vec!["kdd"]));
        assert_eq!(names(&[path, path]), Ok(vec!["kdd"]));
        assert_eq!(names(&["cellsim", path]), Ok(vec!["cellsim", "kdd"]));
        let refused: Result<_, String> = names(&["kdd", path]);
        assert_eq!(refused, Err("two different papers are called \"kdd\": rename the folder of one".to_owned()));
    }
}
