//! Problems of one tree, and the texts that they point into.

use std::collections::BTreeSet;

use crate::problem::{Error, Excerpt, Problem};
use crate::tree::{At, Node, Step};

/// A text with values.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name in messages, unless it is the file: `override tcp.mss = 1460`.
    pub setting: Option<String>,
    /// The text.
    pub text: String,
}

/// All texts with values.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The name of the file. Empty for a text that a program wrote: its problems have keys, and no lines.
    pub file: String,
    /// The texts, the file first.
    pub all: Vec<Source>,
}

impl Sources {
    /// The text of a file alone.
    pub fn of_file(file: impl Into<String>, text: impl Into<String>) -> Sources {
        Sources { file: file.into(), all: vec![Source { setting: None, text: text.into() }] }
    }

    /// Adds a text that is not the file. Returns its number.
    pub fn add(&mut self, setting: String, text: String) -> usize {
        self.all.push(Source { setting: Some(setting), text });
        self.all.len() - 1
    }

    /// Returns a problem for display: with the location in the file, or with the name of the text or of the `setting` in it.
    pub fn tell(&self, found: &Found, setting: Option<String>) -> Problem {
        let source = &self.all[found.at.source];
        let mut problem = Problem {
            file: self.file.clone(),
            line: None,
            column: None,
            setting: source.setting.clone().or(setting),
            key: found.key.clone(),
            message: found.message.clone(),
            suggestion: found.suggestion.clone(),
            accepted: found.accepted.clone(),
            default: found.default.clone(),
            excerpt: None,
        };
        if source.setting.is_none() && !self.file.is_empty() {
            let start = floor_boundary(&source.text, found.at.start);
            let end = floor_boundary(&source.text, found.at.end.max(start));
            let line_start = source.text[..start].rfind('\n').map_or(0, |i| i + 1);
            let line_end = source.text[start..].find('\n').map_or(source.text.len(), |i| start + i);
            let text = source.text[line_start..line_end].trim_end_matches('\r');
            problem.line = Some(source.text[..start].matches('\n').count() + 1);
            problem.column = Some(source.text[line_start..start].chars().count() + 1);
            let width = source.text[start..end.min(line_end).max(start)].trim_end().chars().count();
            // A table that the file lacks has no location in it.
            let nowhere = found.at.end == 0 || text.is_empty();
            let before = source.text[line_start..start].chars().count();
            problem.excerpt = (!nowhere).then(|| Excerpt::new(text, before, width));
        }
        problem
    }
}

fn floor_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// One problem, still in terms of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The location of the value.
    pub at: At,
    /// The path of the key; empty for the file as a whole.
    pub key: String,
    /// The problem, with the value.
    pub message: String,
    /// The likeliest key or value that was meant.
    pub suggestion: Option<String>,
    /// The accepted values, in words.
    pub accepted: Option<String>,
    /// The default of the key, in words, if the schema gives it no value.
    pub default: Option<String>,
}

impl Found {
    /// A problem without a suggestion.
    pub fn new(at: impl Into<At>, key: impl Into<String>, message: impl Into<String>) -> Found {
        Found {
            at: at.into(),
            key: key.into(),
            message: message.into(),
            suggestion: None,
            accepted: None,
            default: None,
        }
    }
    /// A problem at the value of `path` in `tree`.
    pub fn in_tree(tree: &Node, path: &[Step], message: impl Into<String>) -> Found {
        Found::new(tree.place(path), tree.display(path), message)
    }
    /// Adds the accepted values, in words.
    #[must_use]
    pub fn accepted(mut self, accepted: impl Into<String>) -> Found {
        self.accepted = Some(accepted.into());
        self
    }
    /// Adds a suggestion.
    #[must_use]
    pub fn suggest(mut self, suggestion: Option<String>) -> Found {
        self.suggestion = suggestion;
        self
    }
}

/// The most problems that are listed; the others are counted.
pub const LISTED: usize = 100;
/// The most words that a message lists.
const WORDS: usize = 30;

/// Problems without duplicates, each with the first point of the sweep at which it was found, if any.
#[derive(Debug, Default)]
pub struct Problems {
    known: BTreeSet<Found>,
    all: Vec<(Found, Option<String>)>,
}

impl Problems {
    /// Adds problems of the point `setting` of a sweep, or of the file.
    pub fn add(&mut self, found: impl IntoIterator<Item = Found>, setting: Option<&str>) {
        for one in found {
            if self.known.insert(one.clone()) {
                self.all.push((one, setting.map(str::to_owned)));
            }
        }
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// Returns the error with all problems, in file order.
pub fn error(sources: &Sources, mut found: Problems) -> Error {
    found.all.sort_by_key(|(one, _)| one.at);
    let more = found.all.len().saturating_sub(LISTED);
    let problems = found.all.into_iter().take(LISTED).map(|(one, setting)| sources.tell(&one, setting)).collect();
    Error { problems, more }
}

/// Returns the error with problems of the file itself, not of one point.
pub fn error_of(sources: &Sources, found: impl IntoIterator<Item = Found>) -> Error {
    let mut problems = Problems::default();
    problems.add(found, None);
    error(sources, problems)
}

/// Formats "a, b or c", each quoted; of a long list the first words, and the number of the others.
pub fn one_of<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let mut words = words.into_iter().map(|w| format!("\"{}\"", w.as_ref()));
    let mut shown: Vec<String> = words.by_ref().take(WORDS).collect();
    let more = words.count();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    match shown.as_slice() {
        [] => "none exists".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
