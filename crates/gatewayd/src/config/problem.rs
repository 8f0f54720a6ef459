//! What is wrong with a configuration file, where, and what would be accepted.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

/// A configuration that was refused: every problem found, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigErrors {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong, displayed as `file:line:column: key: message; accepted: ...` with the line
/// of the file under it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; none if it could not be read at all.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The path of the key, peers by name: `peer.tokyo.rate`. Empty for the file as a whole.
    pub key: String,
    /// What is wrong, with the value.
    pub message: String,
    /// The likeliest meant key or value.
    pub suggestion: Option<String>,
    /// What would be accepted.
    pub accepted: Option<String>,
    /// The line of the text, and how many of its characters from `column` on are meant.
    #[serde(skip)]
    excerpt: Option<(String, usize)>,
}

/// A problem in terms of the octets of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) span: Range<usize>,
    pub(super) key: String,
    pub(super) message: String,
    pub(super) suggestion: Option<String>,
    pub(super) accepted: Option<String>,
}

impl Found {
    pub(super) fn new(span: Range<usize>, key: impl Into<String>, message: impl Into<String>) -> Found {
        Found { span, key: key.into(), message: message.into(), suggestion: None, accepted: None }
    }
    /// What the parser of TOML says.
    pub(super) fn of_toml(error: &toml::de::Error) -> Found {
        let message = error.message().trim().replace('\n', ", ");
        Found::new(error.span().unwrap_or(0..0), "", format!("this is not TOML: {message}"))
    }
    pub(super) fn accepted(self, accepted: impl Into<String>) -> Found {
        Found { accepted: Some(accepted.into()), ..self }
    }
    pub(super) fn suggest(self, suggestion: Option<String>) -> Found {
        Found { suggestion, ..self }
    }
}

impl ConfigErrors {
    /// A file that cannot be read.
    pub(super) fn unreadable(file: &str, error: &std::io::Error) -> ConfigErrors {
        let problem = Problem {
            file: file.to_owned(),
            line: None,
            column: None,
            key: String::new(),
            message: format!("cannot be read: {error}"),
            suggestion: None,
            accepted: None,
            excerpt: None,
        };
        ConfigErrors { problems: vec![problem] }
    }

    /// Sorts into the order of the file and drops repetitions.
    pub(super) fn new(file: &str, text: &str, mut found: Vec<Found>) -> ConfigErrors {
        found.sort_by_key(|f| (f.span.start, f.span.end));
        let mut problems: Vec<Problem> = Vec::new();
        for one in found {
            let problem = tell(file, text, one);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        ConfigErrors { problems }
    }
}

/// The last boundary of a character that is not beyond `index`.
fn floor_boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

fn tell(file: &str, text: &str, found: Found) -> Problem {
    let start = floor_boundary(text, found.span.start);
    let end = floor_boundary(text, found.span.end.max(start));
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    let line = text[line_start..line_end].trim_end_matches('\r');
    let width = text[start..end.min(line_end).max(start)].trim_end().chars().count();
    // What the file as a whole lacks stands nowhere in it.
    let nowhere = found.span.end == 0 || line.is_empty();
    Problem {
        file: file.to_owned(),
        line: Some(text[..start].matches('\n').count() + 1),
        column: Some(text[line_start..start].chars().count() + 1),
        key: found.key,
        message: found.message,
        suggestion: found.suggestion,
        accepted: found.accepted,
        excerpt: (!nowhere).then(|| (line.to_owned(), width)),
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "{}:{line}:{column}: ", self.file)?,
            _ => write!(f, "{}: ", self.file)?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean {suggestion}?")?;
        }
        if let Some(accepted) = &self.accepted {
            write!(f, "; accepted: {accepted}")?;
        }
        if let (Some(line), Some(column), Some((text, width))) = (self.line, self.column, &self.excerpt) {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs stay tabs, so that the caret stands under what it means.
            let indent: String = text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(f, "\n{margin} |\n{number} | {text}\n{margin} | {indent}{}", "^".repeat((*width).max(1)))?;
        }
        Ok(())
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            let separator = if i > 0 { "\n" } else { "" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// The word of `known` that is nearest to `word`, if it is near enough to have been meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase().replace('_', "-");
    let limit = (lower.chars().count() / 3).clamp(1, 4);
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    known
        .into_iter()
        .map(|candidate| (distance(candidate), candidate))
        .filter(|&(distance, candidate)| distance <= limit && distance < candidate.chars().count())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// "a, b or c", each quoted.
pub(super) fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|w| format!("\"{w}\"")).collect();
    match words.as_slice() {
        [] => "none exists".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
