//! Problems of a file: where, what is wrong, and what would be accepted.

use std::borrow::Cow;
use std::fmt;

use cellway_units::printable;
use serde::Serialize;

/// A file that was refused: the problems found, in file order.
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
    /// The file name, as it was handed in. Empty for a text that a program wrote.
    pub file: String,
    /// The line, from 1; absent if the text at fault is not in the file (see `setting`), or there is no file.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The override or the sweep values at fault: `override tcp.mss = 1460`.
    pub setting: Option<String>,
    /// The path of the key, elements by name or number: `link.r1-s1.rate`. Empty for the file as a whole.
    pub key: String,
    /// The problem, with the value.
    pub message: String,
    /// The likeliest meant key or value.
    pub suggestion: Option<String>,
    /// The accepted values.
    pub accepted: Option<String>,
    /// The meaning of a file without the key, of a value that is out of range.
    pub default: Option<String>,
    /// The line of the text at fault, for display.
    #[serde(skip)]
    pub(crate) excerpt: Option<Excerpt>,
}

/// The part of a line around what is at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    text: String,
    /// Characters of `text` before those at fault, and how many are at fault.
    before: usize,
    marked: usize,
}

/// The longest part of a line that is shown, and how much of it comes before what is at fault (characters).
const SHOWN: usize = 160;
const SHOWN_BEFORE: usize = 60;
/// The longest text of a problem that is shown whole, and what is shown of the beginning and the end of a longer one
/// (characters).
const LONGEST: usize = 600;
const ENDS: [usize; 2] = [300, 100];
/// The longest word that a known one may be suggested for (octets).
const LONGEST_WORD: usize = 100;

impl Excerpt {
    /// The part of `line` around `marked` characters that follow the first `before`.
    pub(crate) fn new(line: &str, before: usize, marked: usize) -> Excerpt {
        let from = if line.chars().count() > SHOWN { before.saturating_sub(SHOWN_BEFORE) } else { 0 };
        let mut rest = line.chars().skip(from);
        let mut text = if from > 0 { "…".to_owned() } else { String::new() };
        let before = before - from + text.chars().count();
        text.extend(rest.by_ref().take(SHOWN));
        let marked = marked.min(text.chars().count().saturating_sub(before));
        if rest.next().is_some() {
            text.push('…');
        }
        Excerpt { text, before, marked }
    }
}

/// The beginning and the end of a long text.
fn brief(text: &str) -> Cow<'_, str> {
    // No character is longer than four octets.
    if text.len() <= LONGEST || text.chars().nth(LONGEST).is_none() {
        return Cow::Borrowed(text);
    }
    let start: String = text.chars().take(ENDS[0]).collect();
    let end = text.char_indices().rev().nth(ENDS[1] - 1).map_or(0, |(at, _)| at);
    Cow::Owned(format!("{start} ... {}", &text[end..]))
}

impl Problem {
    /// A problem with a whole file, such as one that cannot be read.
    pub fn of_file(file: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem {
            file: file.into(),
            line: None,
            column: None,
            setting: None,
            key: String::new(),
            message: message.into(),
            suggestion: None,
            accepted: None,
            default: None,
            excerpt: None,
        }
    }
    /// Returns it without the line of the text, for a text that is not a file.
    #[must_use]
    pub fn without_excerpt(self) -> Problem {
        Problem { excerpt: None, ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&printable(&self.file))?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, ":{line}:{column}")?;
            }
            f.write_str(": ")?;
        }
        if let (None, Some(setting)) = (self.line, &self.setting) {
            write!(f, "{}: ", printable(&brief(setting)))?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", printable(&brief(&self.key)))?;
        }
        f.write_str(&printable(&brief(&self.message)))?;
        if let (Some(_), Some(setting)) = (self.line, &self.setting) {
            write!(f, " ({})", printable(&brief(setting)))?;
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean {}?", printable(&brief(suggestion)))?;
        }
        if let Some(accepted) = &self.accepted {
            write!(f, "; accepted: {}", printable(&brief(accepted)))?;
        }
        if let Some(default) = &self.default {
            write!(f, "; without the key: {}", printable(&brief(default)))?;
        }
        if let (Some(line), Some(Excerpt { text, before, marked })) = (self.line, &self.excerpt) {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs stay tabs, so that the caret lands under what it means.
            // Characters that are printed as numbers are wider.
            let blank = |c: char| if c == '\t' { "\t".to_owned() } else { " ".repeat(shown(c)) };
            let indent: String = text.chars().take(*before).map(blank).collect();
            let marks: usize = text.chars().skip(*before).take(*marked).map(shown).sum();
            let text = printable(text);
            write!(f, "\n{margin} |\n{number} | {text}\n{margin} | {indent}{}", "^".repeat(marks.max(1)))?;
        }
        Ok(())
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error { problems: vec![problem], more: 0 }
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

/// Returns the word of `known` that is nearest to `word`, if it is near enough for a misspelling.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let lower = word.to_lowercase().replace('_', "-");
    let limit = (lower.chars().count() / 3).clamp(1, 4);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase().replace('_', "-"));
        if distance <= limit && distance < candidate.chars().count() && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
