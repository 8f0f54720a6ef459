//! Quantities as they stand in a file: text with a unit, some relative to the round trip.

mod rates;

use std::borrow::Cow;

use cellway_units::{Bytes, CellRate, Cells, ParseError, Probability, Rate, Span, meant, split_quantity};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::model::Fraction;
use crate::problem::nearest;

pub(crate) use rates::LineRate;

/// Why a text is not the quantity that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) suggestion: Option<String>,
    pub(crate) accepted: String,
}

/// A kind of text that a key may ask for; named in the schema by `FORMAT`.
pub(crate) trait Text: Sized {
    const FORMAT: &'static str;
    const UNITS: &'static [&'static str];
    const EXAMPLES: &'static [&'static str];
    /// Words accepted besides quantities.
    const WORDS: &'static [&'static str] = &[];
    fn read(text: &str) -> Result<Self, Problem>;
    /// What a text must look like, in words.
    fn accepted() -> String {
        let words: String = Self::WORDS.iter().map(|word| format!("\"{word}\", ")).collect();
        let or = if words.is_empty() { "" } else { "or " };
        format!("{words}{or}a number and one of {}, like \"{}\"", Self::UNITS.join(", "), Self::EXAMPLES[0])
    }
    /// What a text must look like, as a regular expression.
    fn pattern() -> String {
        let words: String = Self::WORDS.iter().map(|word| format!("{word}|")).collect();
        format!("^({words}[0-9][0-9_]*(\\.[0-9_]+)? *({}))$", Self::UNITS.join("|"))
    }
}

/// A parse error, or a multiple of the round trip past 128 bits, or a text that is no fraction.
pub(crate) enum Problem {
    Parse(ParseError),
    TooLarge,
    NoFraction,
}

impl From<ParseError> for Problem {
    fn from(error: ParseError) -> Problem {
        Problem::Parse(error)
    }
}

/// An exact decimal multiple: `digits / 10^decimals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Multiple {
    digits: u128,
    decimals: u32,
}

impl Multiple {
    /// `self × of`, rounded down; `None` past 64 bits.
    pub(crate) fn times(self, of: u64) -> Option<u64> {
        let product = self.digits.checked_mul(u128::from(of))?;
        u64::try_from(product / 10u128.pow(self.decimals)).ok()
    }

    /// `number` as split off by [`split_quantity`]; `text` is for messages.
    fn parse(number: &str, text: &str, example: &'static str) -> Result<Multiple, Problem> {
        if number.starts_with('-') {
            return Err(ParseError::Negative { text: text.to_owned(), example }.into());
        }
        let number = number.trim_start_matches('+').replace('_', "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        if fraction.contains('.') {
            return Err(ParseError::NoNumber { text: text.to_owned(), example }.into());
        }
        let fraction = fraction.trim_end_matches('0');
        // 10^30 keeps the product with 64 bits checkable and the power in range.
        let (whole, decimals) = (whole.trim_start_matches('0'), fraction.len());
        if whole.len() + decimals > 30 {
            return Err(Problem::TooLarge);
        }
        let digits = format!("0{whole}{fraction}").parse().map_err(|_| Problem::TooLarge)?;
        Ok(Multiple { digits, decimals: decimals as u32 })
    }
}

/// A span, absolute or in round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RttSpan {
    Span(Span),
    Rtt(Multiple),
}

impl RttSpan {
    /// The span if a round trip takes `rtt`; `None` past 64 bits of picoseconds.
    pub(crate) fn resolve(self, rtt: Span) -> Option<Span> {
        match self {
            RttSpan::Span(span) => Some(span),
            RttSpan::Rtt(multiple) => multiple.times(rtt.as_ps()).map(Span::from_ps),
        }
    }
}

/// A buffer size, absolute or in bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Cells(Cells),
    Bytes(Bytes),
    Bdp(Multiple),
}

/// How long an acknowledgement may wait; `None` is "off".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckDelay(pub(crate) Option<Span>);

impl Text for Rate {
    const FORMAT: &'static str = "rate";
    const UNITS: &'static [&'static str] = &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
    const EXAMPLES: &'static [&'static str] = &["1.5 Mbit/s", "149.76 Mbit/s"];
    fn read(text: &str) -> Result<Rate, Problem> {
        Ok(text.parse()?)
    }
}

impl Text for Span {
    const FORMAT: &'static str = "time";
    const UNITS: &'static [&'static str] = &["ps", "ns", "us", "µs", "ms", "s", "min", "h"];
    const EXAMPLES: &'static [&'static str] = &["22.5 ms", "2 s"];
    fn read(text: &str) -> Result<Span, Problem> {
        Ok(text.parse()?)
    }
}

impl Text for RttSpan {
    const FORMAT: &'static str = "time-or-rtt";
    const UNITS: &'static [&'static str] = &["ps", "ns", "us", "µs", "ms", "s", "min", "h", "rtt"];
    const EXAMPLES: &'static [&'static str] = &["100 rtt", "60 s"];
    fn read(text: &str) -> Result<RttSpan, Problem> {
        match split_quantity(text) {
            Some((number, "rtt")) => Ok(RttSpan::Rtt(Multiple::parse(number, text, "\"100 rtt\"")?)),
            _ => Ok(RttSpan::Span(text.parse()?)),
        }
    }
}

impl Text for Bytes {
    const FORMAT: &'static str = "bytes";
    const UNITS: &'static [&'static str] = &["B", "kB", "KiB", "MB", "MiB", "GB", "GiB"];
    const EXAMPLES: &'static [&'static str] = &["8 KiB", "512 B"];
    fn read(text: &str) -> Result<Bytes, Problem> {
        Ok(text.parse()?)
    }
}

impl Text for Size {
    const FORMAT: &'static str = "buffer-size";
    const UNITS: &'static [&'static str] = &["cell", "cells", "B", "kB", "KiB", "MB", "MiB", "GB", "GiB", "bdp"];
    const EXAMPLES: &'static [&'static str] = &["1 bdp", "160 cell", "8 KiB"];
    fn read(text: &str) -> Result<Size, Problem> {
        match split_quantity(text) {
            Some((number, "bdp")) => Ok(Size::Bdp(Multiple::parse(number, text, "\"1 bdp\"")?)),
            Some((_, "cell" | "cells")) => Ok(Size::Cells(text.parse()?)),
            _ => Ok(Size::Bytes(text.parse()?)),
        }
    }
}

impl Text for AckDelay {
    const FORMAT: &'static str = "time-or-off";
    const UNITS: &'static [&'static str] = Span::UNITS;
    const EXAMPLES: &'static [&'static str] = &["200 ms", "off"];
    const WORDS: &'static [&'static str] = &["off"];
    fn read(text: &str) -> Result<AckDelay, Problem> {
        if text.trim() == "off" { Ok(AckDelay(None)) } else { Ok(AckDelay(Some(text.parse()?))) }
    }
}

fn parse<T: Text>(text: &str) -> Result<T, Refusal> {
    let error = match T::read(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mut suggestion = None;
    let message = match error {
        Problem::Parse(ParseError::NoNumber { .. }) => {
            match nearest(text, T::WORDS.iter().copied().filter(|word| is_near(text, word))) {
                Some(word) => {
                    suggestion = Some(format!("\"{word}\""));
                    format!("{text:?} is neither \"{word}\" nor a number with a unit")
                }
                None => format!("{text:?} does not start with a number"),
            }
        }
        Problem::Parse(ParseError::NoUnit { .. }) => format!("{text:?} has no unit"),
        Problem::Parse(ParseError::WrongUnit { unit, .. }) => {
            suggestion = quoted_meant::<T>(text);
            format!("{unit:?} in {text:?} is not a unit that fits here")
        }
        Problem::Parse(ParseError::Exponent { .. }) => {
            suggestion = quoted_meant::<T>(text);
            format!("{text:?} has an exponent, which quantities do not have")
        }
        Problem::Parse(ParseError::Negative { .. }) => format!("{text:?} is negative"),
        Problem::Parse(ParseError::Certain { .. }) => format!("{text:?} is not below 100 %"),
        Problem::Parse(other) => other.to_string(),
        Problem::NoFraction => format!("{text:?} is not a fraction from 0 to 1"),
        Problem::TooLarge => format!("{text:?} is too large, or has too many digits"),
    };
    Err(Refusal { message, suggestion, accepted: T::accepted() })
}

/// Returns `text` in an accepted spelling, if the amount is certain.
fn quoted_meant<T: Text>(text: &str) -> Option<String> {
    meant(text, T::UNITS).map(|meant| format!("\"{meant}\""))
}

/// Returns whether `word` may be a misspelling of `text`. The digits must be the same: ds1 and ds3 are different lines.
fn is_near(text: &str, word: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    digits(text) == digits(word)
}

/// Why `text` is not of the kind that the schema calls `format`; `None` if it is, or if the
/// format is not one of these.
pub(crate) fn refuse(format: &str, text: &str) -> Option<Refusal> {
    fn of<T: Text>(text: &str) -> Option<Refusal> {
        parse::<T>(text).err()
    }
    match format {
        Rate::FORMAT => of::<Rate>(text),
        CellRate::FORMAT => of::<CellRate>(text),
        LineRate::FORMAT => of::<LineRate>(text),
        Fraction::FORMAT => of::<Fraction>(text),
        Probability::FORMAT => of::<Probability>(text),
        Cells::FORMAT => of::<Cells>(text),
        Span::FORMAT => of::<Span>(text),
        RttSpan::FORMAT => of::<RttSpan>(text),
        Bytes::FORMAT => of::<Bytes>(text),
        Size::FORMAT => of::<Size>(text),
        AckDelay::FORMAT => of::<AckDelay>(text),
        _ => None,
    }
}

/// What a key whose schema format is `format` accepts.
pub(crate) fn describe(format: &str) -> Option<String> {
    refuse(format, "").map(|refusal| refusal.accepted)
}

/// A quantity as a string in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quantity<T>(pub(crate) T);

impl<'de, T: Text> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Quantity<T>, D::Error> {
        let text = String::deserialize(from)?;
        let value = parse(&text).map_err(|r| serde::de::Error::custom(r.message))?;
        Ok(Quantity(value))
    }
}

impl<T: Text> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed(T::FORMAT)
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": T::FORMAT,
            "pattern": T::pattern(),
            "examples": T::EXAMPLES,
        })
    }
    fn inline_schema() -> bool {
        true
    }
}
