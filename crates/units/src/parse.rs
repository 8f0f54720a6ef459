//! Conversion between text with a unit and exact integers.

use std::fmt;

/// The error for a text that is not a quantity of the requested kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// There is no number at the start.
    #[error("{text:?} does not start with a number; write it like {example}")]
    NoNumber {
        /// The text.
        text: String,
        /// An accepted text.
        example: &'static str,
    },
    /// A comma in the number.
    #[error("{text:?} has a comma in its number; decimals follow a point, like {example}")]
    Comma {
        /// The text.
        text: String,
        /// An accepted text.
        example: &'static str,
    },
    /// A number without a unit.
    #[error("{text:?} has no unit; add one of {units}, like {example}")]
    NoUnit {
        /// The text.
        text: String,
        /// The accepted units.
        units: String,
        /// An accepted text.
        example: &'static str,
    },
    /// A unit of another kind, or an unknown one.
    #[error("{unit:?} in {text:?} is not one of the units {units}, like {example}")]
    WrongUnit {
        /// The text.
        text: String,
        /// The unit in it.
        unit: String,
        /// The accepted units.
        units: String,
        /// An accepted text.
        example: &'static str,
    },
    /// A number with an exponent.
    #[error("{text:?} has an exponent; write the number out, like {example}")]
    Exponent {
        /// The refused text.
        text: String,
        /// An accepted text.
        example: &'static str,
    },
    /// A negative amount.
    #[error("{text:?} is negative; it must be 0 or more, like {example}")]
    Negative {
        /// The text.
        text: String,
        /// An accepted text.
        example: &'static str,
    },
    /// An amount that the smallest unit does not divide.
    #[error("{text:?} is not a whole number of {smallest}")]
    Fraction {
        /// The text.
        text: String,
        /// The smallest unit.
        smallest: &'static str,
    },
    /// A probability of 1 or more.
    #[error("{text:?} is not below 100 %, which would be certain; write it like {example}")]
    Certain {
        /// The text.
        text: String,
        /// An accepted text.
        example: &'static str,
    },
    /// An amount past 64 bits of the smallest unit.
    #[error("{text:?} is too large; the largest is {max} {smallest}")]
    TooLarge {
        /// The text.
        text: String,
        /// The smallest unit.
        smallest: &'static str,
        /// The limit in it.
        max: u64,
    },
}

/// A unit, as a multiple of the smallest one.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    name: &'static str,
    factor: u64,
}

impl Scale {
    pub(crate) const fn new(name: &'static str, factor: u64) -> Scale {
        Scale { name, factor }
    }
}

/// Splits `"22.5 ms"` into `("22.5", "ms")`, the space optional; `None` if it does not start with
/// a number. The number keeps its sign, its point and any `_` between digits.
pub fn split_quantity(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || c == '_' || (i == 0 && (c == '-' || c == '+'))))
        .map_or(text.len(), |(i, _)| i);
    let number = &text[..end];
    number.contains(|c: char| c.is_ascii_digit()).then(|| (number, text[end..].trim()))
}

/// Splits the rest after the number, `"e-3 s"` of `"1e-3 s"`, into the exponent and the unit.
pub(crate) fn exponent(unit: &str) -> Option<(&str, &str)> {
    let rest = unit.strip_prefix(['e', 'E'])?;
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let end = rest.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    digits.starts_with(|c: char| c.is_ascii_digit()).then(|| (&rest[..end], rest[end..].trim()))
}

/// Parses `text` exactly: decimal digits are scaled as integers, never through floating point.
pub(crate) fn quantity(text: &str, scales: &[Scale], example: &'static str) -> Result<u64, ParseError> {
    let own = || text.to_owned();
    let units = || scales.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
    let no_number = || ParseError::NoNumber { text: own(), example };
    let (number, unit) = split_quantity(text).ok_or_else(no_number)?;
    if unit.is_empty() {
        return Err(ParseError::NoUnit { text: own(), units: units(), example });
    }
    if exponent(unit).is_some() {
        return Err(ParseError::Exponent { text: own(), example });
    }
    if unit.starts_with(',') {
        return Err(ParseError::Comma { text: own(), example });
    }
    let scale = scales.iter().find(|s| s.name == unit).ok_or_else(|| ParseError::WrongUnit {
        text: own(),
        unit: unit.to_owned(),
        units: units(),
        example,
    })?;
    if number.starts_with('-') {
        return Err(ParseError::Negative { text: own(), example });
    }
    let digits = number.trim_start_matches('+').replace('_', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if fraction.contains('.') {
        return Err(no_number());
    }
    let fraction = fraction.trim_end_matches('0');
    let smallest = scales[0].name;
    let too_large = || ParseError::TooLarge { text: own(), smallest, max: u64::MAX };
    let value: u128 = format!("{whole}{fraction}").parse().or_else(|e: std::num::ParseIntError| {
        // Only an empty or an overlong string of digits leads here.
        if *e.kind() == std::num::IntErrorKind::Empty { Ok(0) } else { Err(too_large()) }
    })?;
    let parts = 10u128.checked_pow(fraction.len() as u32).ok_or_else(too_large)?;
    let scaled = value.checked_mul(u128::from(scale.factor)).ok_or_else(too_large)?;
    if !scaled.is_multiple_of(parts) {
        return Err(ParseError::Fraction { text: own(), smallest });
    }
    u64::try_from(scaled / parts).map_err(|_| too_large())
}

/// Prints `value` in the largest of `scales` that needs at most three decimals, so that the text parses to the same
/// value.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, value: u64, scales: &[Scale]) -> fmt::Result {
    let exact = |s: &&Scale| value >= s.factor && (value as u128 * 1000).is_multiple_of(u128::from(s.factor));
    let scale = scales.iter().rev().find(exact).unwrap_or(&scales[0]);
    let whole = value / scale.factor;
    let thousandths = ((value % scale.factor) as u128 * 1000 / u128::from(scale.factor)) as u64;
    let text = if thousandths == 0 {
        format!("{whole} {}", scale.name)
    } else {
        let fraction = format!("{thousandths:03}");
        format!("{whole}.{} {}", fraction.trim_end_matches('0'), scale.name)
    };
    f.pad(&text)
}
