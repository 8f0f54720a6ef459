//! What is wrong with a scenario, where, and what would be accepted.

use std::fmt;

use cellway_units::printable;
use serde::Serialize;

/// A scenario that was refused: the problems found, in file order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Error {
    /// At least one, at most 100.
    pub problems: Vec<Problem>,
    /// The number of problems that are not listed.
    pub more: usize,
}

/// One thing that is wrong.
///
/// Displayed as `file:line:column: key: message; accepted: ...` with the source line under it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The file name, as it was handed in.
    pub file: String,
    /// The line, from 1; absent if the text at fault is not in the file (see `setting`).
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The override or the sweep values at fault: `override tcp.mss = 1460`.
    pub setting: Option<String>,
    /// The path of the key, elements by name: `link.r1-s1.rate`. Empty for the file as a whole.
    pub key: String,
    /// What is wrong, with the value.
    pub message: String,
    /// The likeliest meant key or value.
    pub suggestion: Option<String>,
    /// What would be accepted.
    pub accepted: Option<String>,
    /// The line of the text at fault, and how many of its characters from `column` on are at
    /// fault; for display.
    #[serde(skip)]
    pub(crate) excerpt: Option<(String, usize)>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column, &self.setting) {
            (Some(line), Some(column), _) => write!(f, "{}:{line}:{column}: ", printable(&self.file))?,
            (.., Some(setting)) => write!(f, "{}: {}: ", printable(&self.file), printable(setting))?,
            _ => write!(f, "{}: ", printable(&self.file))?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", printable(&self.key))?;
        }
        f.write_str(&printable(&self.message))?;
        if let (Some(_), Some(setting)) = (self.line, &self.setting) {
            write!(f, " ({})", printable(setting))?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean {}?", printable(suggestion))?;
        }
        if let Some(accepted) = &self.accepted {
            write!(f, "; accepted: {}", printable(accepted))?;
        }
        if let (Some(line), Some(column), Some((text, width))) = (self.line, self.column, &self.excerpt) {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs stay tabs, so that the caret lands under what it means.
            // Characters that are printed as numbers are wider.
            let blank = |c: char| if c == '\t' { "\t".to_owned() } else { " ".repeat(shown(c)) };
            let indent: String = text.chars().take(column - 1).map(blank).collect();
            let marks: usize = text.chars().skip(column - 1).take(*width).map(shown).sum();
            let text = printable(text);
            write!(f, "\n{margin} |\n{number} | {text}\n{margin} | {indent}{}", "^".repeat(marks.max(1)))?;
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more problems"),
        }
    }
}

impl std::error::Error for Error {}

/// Returns the number of printed characters for `c`.
fn shown(c: char) -> usize {
    printable(c.encode_utf8(&mut [0; 4])).chars().count()
}

/// The word of `known` that is nearest to `word`, if it is near enough to have been meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase().replace('_', "-");
    let limit = (lower.chars().count() / 3).clamp(1, 4);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
        if distance <= limit && distance < candidate.chars().count() && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
