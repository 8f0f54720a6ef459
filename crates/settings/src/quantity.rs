//! Texts of a certain form in a file: quantities, which are a number with a unit in quotes, and others.

use std::cmp::Ordering;

use cellway_units::{Bytes, CellRate, Cells, ParseError, Probability, Rate, Span, meant};
use serde_json::{Value, json};

use crate::problem::nearest;
use crate::range::Bound;

/// The reason for which a text is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, with the text.
    pub message: String,
    /// The likeliest text that was meant.
    pub suggestion: Option<String>,
}

impl Refusal {
    /// A reason without a suggestion.
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), suggestion: None }
    }
    /// Adds a suggestion.
    #[must_use]
    pub fn suggest(self, suggestion: impl Into<String>) -> Refusal {
        Refusal { suggestion: Some(suggestion.into()), ..self }
    }
}

/// A function that compares two values; `None` if they have no order.
pub type Compare<T> = fn(&T, &T) -> Option<Ordering>;

/// A quantity, or another value that is written as a text of a certain form.
pub trait Text: Sized {
    /// Its name in the schema (`format`).
    const FORMAT: &'static str;
    /// The units that are accepted. A text that is no quantity has none.
    const UNITS: &'static [&'static str];
    /// True if a file may also give a whole number, which is read as the text of its digits.
    const NUMBERS: bool = false;
    /// Examples, the first for error messages.
    const EXAMPLES: &'static [&'static str];
    /// Words that are accepted besides quantities.
    const WORDS: &'static [&'static str] = &[];
    /// Compares two values, for the ranges of keys; keys of a type without an order have none.
    const COMPARE: Compare<Self> = |_, _| None;
    /// Parses a text.
    ///
    /// # Errors
    /// The text does not have the form.
    fn read(text: &str) -> Result<Self, Error>;
    /// Returns the accepted form in words, with an example if it is a quantity.
    fn accepted(example: &str) -> String {
        let words: String = Self::WORDS.iter().map(|word| format!("\"{word}\", ")).collect();
        let or = if words.is_empty() { "" } else { "or " };
        format!("{words}{or}a number and one of {}, like \"{example}\"", Self::UNITS.join(", "))
    }
    /// Returns the accepted form as a regular expression.
    fn pattern() -> String {
        let words: String = Self::WORDS.iter().map(|word| format!("{word}|")).collect();
        format!("^({words}[0-9][0-9_]*(\\.[0-9_]+)? *({}))$", Self::UNITS.join("|"))
    }
}

/// The reason for which [`Text::read`] fails.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// It is not a number with one of the units; or it is, but is negative, too large, or not a whole number of the
    /// smallest unit.
    Parse(ParseError),
    /// It is a multiple of a unit of the network (rtt, bdp) with more than 30 digits.
    TooLarge,
    /// It is not a fraction.
    NoFraction,
    /// It has another fault.
    Other(Refusal),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Other(refusal)
    }
}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Error {
        Error::Parse(error)
    }
}

/// A text format of a schema; a check finds it by its name.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) refuse: fn(&str) -> Option<Refusal>,
    accepted: fn(&str) -> String,
    examples: &'static [&'static str],
    pub(crate) is_quantity: bool,
    pub(crate) numbers: bool,
    /// The words that are accepted besides quantities.
    pub(crate) words: &'static [&'static str],
    /// Compares two texts; `None` if they have no order.
    pub(crate) compare: fn(&str, &str) -> Option<Ordering>,
}

impl Format {
    /// Returns the format of `T`.
    pub const fn of<T: Text>() -> Format {
        Format {
            name: T::FORMAT,
            refuse: |text| parse::<T>(text).err(),
            accepted: T::accepted,
            examples: T::EXAMPLES,
            is_quantity: !T::UNITS.is_empty(),
            numbers: T::NUMBERS,
            words: T::WORDS,
            compare: |text, other| T::COMPARE(&T::read(text).ok()?, &T::read(other).ok()?),
        }
    }
    /// Returns true if `text` is within `bounds`; a text without an order, such as "off", counts as within.
    pub(crate) fn is_within(&self, text: &str, bounds: &[Bound<'_>]) -> bool {
        bounds.iter().all(|bound| bound.accepts((self.compare)(text, bound.value())))
    }
    /// Returns this form in words, with the key's own example if given, else the first of the form.
    pub fn accepted(&self, of_key: Option<&str>) -> String {
        (self.accepted)(of_key.or(self.examples.first().copied()).unwrap_or_default())
    }
    /// Returns why `text` is refused; `None` if it has this form.
    pub fn refusal(&self, text: &str) -> Option<Refusal> {
        (self.refuse)(text)
    }
}

/// The units of rates that may be counted in cells.
pub const CELL_RATE_UNITS: &[&str] = &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "cell/s"];

impl Text for Rate {
    const FORMAT: &'static str = "rate";
    const UNITS: &'static [&'static str] = &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
    const EXAMPLES: &'static [&'static str] = &["1.5 Mbit/s", "149.76 Mbit/s"];
    const COMPARE: Compare<Rate> = PartialOrd::partial_cmp;
    fn read(text: &str) -> Result<Rate, Error> {
        Ok(text.parse()?)
    }
}

impl Text for Span {
    const FORMAT: &'static str = "time";
    const UNITS: &'static [&'static str] = &["ps", "ns", "us", "µs", "ms", "s", "min", "h"];
    const EXAMPLES: &'static [&'static str] = &["22.5 ms", "2 s"];
    const COMPARE: Compare<Span> = PartialOrd::partial_cmp;
    fn read(text: &str) -> Result<Span, Error> {
        Ok(text.parse()?)
    }
}

impl Text for Bytes {
    const FORMAT: &'static str = "bytes";
    const UNITS: &'static [&'static str] = &["B", "kB", "KiB", "MB", "MiB", "GB", "GiB"];
    const EXAMPLES: &'static [&'static str] = &["8 KiB", "512 B"];
    const COMPARE: Compare<Bytes> = PartialOrd::partial_cmp;
    fn read(text: &str) -> Result<Bytes, Error> {
        Ok(text.parse()?)
    }
}

impl Text for CellRate {
    const FORMAT: &'static str = "cell-rate";
    const UNITS: &'static [&'static str] = CELL_RATE_UNITS;
    const EXAMPLES: &'static [&'static str] = &["15.264 Mbit/s", "36000 cell/s"];
    const COMPARE: Compare<CellRate> = PartialOrd::partial_cmp;
    fn read(text: &str) -> Result<CellRate, Error> {
        Ok(text.parse()?)
    }
}

impl Text for Cells {
    const FORMAT: &'static str = "cells";
    const UNITS: &'static [&'static str] = &["cell", "cells"];
    const EXAMPLES: &'static [&'static str] = &["64 cell", "200 cells"];
    const COMPARE: Compare<Cells> = PartialOrd::partial_cmp;
    fn read(text: &str) -> Result<Cells, Error> {
        Ok(text.parse()?)
    }
}

impl Text for Probability {
    const FORMAT: &'static str = "probability";
    const UNITS: &'static [&'static str] = &["%"];
    const EXAMPLES: &'static [&'static str] = &["0.1%", "0.02 %"];
    const COMPARE: Compare<Probability> = PartialOrd::partial_cmp;
    fn read(text: &str) -> Result<Probability, Error> {
        Ok(text.parse()?)
    }
    fn accepted(example: &str) -> String {
        format!("a number from 0 to below 100 and %, like \"{example}\"")
    }
}

/// Parses `text`, with suggestions for what was meant.
///
/// # Errors
/// The text does not have the form of a `T`.
pub fn parse<T: Text>(text: &str) -> Result<T, Refusal> {
    let error = match T::read(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mut suggestion = None;
    let message = match error {
        Error::Parse(ParseError::NoNumber { .. }) => {
            match nearest(text, T::WORDS.iter().copied().filter(|word| is_near(text, word))) {
                Some(word) => {
                    suggestion = Some(format!("\"{word}\""));
                    format!("{text:?} is neither \"{word}\" nor a number with a unit")
                }
                None => format!("{text:?} does not start with a number"),
            }
        }
        Error::Parse(ParseError::NoUnit { .. }) => format!("{text:?} has no unit"),
        Error::Parse(ParseError::WrongUnit { unit, .. }) => {
            suggestion = quoted_meant::<T>(text);
            format!("{unit:?} in {text:?} is not a unit that fits here")
        }
        Error::Parse(ParseError::Exponent { .. }) => {
            suggestion = quoted_meant::<T>(text);
            format!("{text:?} has an exponent, which quantities do not have")
        }
        Error::Parse(ParseError::Comma { .. }) => {
            format!("{text:?} has a comma in its number; decimals follow a point")
        }
        Error::Parse(ParseError::Negative { .. }) => format!("{text:?} is negative"),
        Error::Parse(ParseError::Certain { .. }) => format!("{text:?} is not below 100 %"),
        Error::Parse(other) => other.to_string(),
        Error::Other(refusal) => return Err(refusal),
        Error::NoFraction => format!("{text:?} is not a fraction from 0 to 1"),
        Error::TooLarge => format!("{text:?} is too large, or has too many digits"),
    };
    Err(Refusal { message, suggestion })
}

/// Returns `text` in an accepted spelling, if the amount is certain.
fn quoted_meant<T: Text>(text: &str) -> Option<String> {
    meant(text, T::UNITS).map(|meant| format!("\"{meant}\""))
}

/// Returns true if `text` may be a misspelling of `word`: their digits must be the same, as ds1 and ds3 are different
/// lines.
fn is_near(text: &str, word: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    digits(text) == digits(word)
}

/// Returns the schema of a text.
pub(crate) fn schema_of<T: Text>() -> Value {
    let types = if T::NUMBERS { json!(["integer", "string"]) } else { json!("string") };
    json!({ "type": types, "format": T::FORMAT, "pattern": T::pattern(), "examples": T::EXAMPLES })
}
