//! Scenarios as Python gives them.

use std::path::{Path, PathBuf};

use cellway_lab::{Override, Plan};
use pyo3::FromPyObject;

/// Key and TOML value of each key to set.
pub(crate) type Changes = Vec<(String, String)>;

/// A scenario, as Python gives it.
#[derive(FromPyObject)]
pub(crate) enum Source {
    /// The text of one, the folder at which its relative paths start, and its name in messages: empty for a text that
    /// Python wrote.
    Text(String, PathBuf, String),
    /// The path of a file.
    File(PathBuf),
}

impl Source {
    /// Reads and checks it. Returns it with the folder at which its relative paths start.
    pub(crate) fn plan(self, set: Changes) -> Result<(Plan, PathBuf), cellway_lab::Error> {
        let overrides: Vec<Override> = set.into_iter().map(|(key, value)| Override::new(key, value)).collect();
        match self {
            Source::Text(text, folder, name) => Ok((cellway_lab::plan_from_text(&text, &name, &overrides)?, folder)),
            Source::File(path) => {
                let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                Ok((cellway_lab::plan_from_file(&path, &overrides)?, folder.to_owned()))
            }
        }
    }
}
