//! Ranges of the keys of a [`section!`](crate::section!): numbers, and quantities such as sizes, times and rates.

use std::cmp::Ordering;
use std::fmt::Display;
use std::str::FromStr;

use crate::section::key;

/// One side of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound<'a> {
    limit: Limit,
    /// The value, as in a file without quotes.
    value: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Min,
    Max,
    Above,
}

impl<'a> Bound<'a> {
    /// The least value.
    pub const fn min(value: &'a str) -> Bound<'a> {
        Bound { limit: Limit::Min, value }
    }
    /// The greatest value.
    pub const fn max(value: &'a str) -> Bound<'a> {
        Bound { limit: Limit::Max, value }
    }
    /// The value that all accepted ones exceed.
    pub const fn above(value: &'a str) -> Bound<'a> {
        Bound { limit: Limit::Above, value }
    }
    /// Returns the value, as in a file without quotes.
    pub const fn value(self) -> &'a str {
        self.value
    }
    /// Returns true for a value that compares to that of the bound as `ordering`; a value without an order, such as
    /// "off", is accepted.
    pub fn accepts(self, ordering: Option<Ordering>) -> bool {
        match self.limit {
            Limit::Min => ordering != Some(Ordering::Less),
            Limit::Max => ordering != Some(Ordering::Greater),
            Limit::Above => !matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        }
    }
}

/// Returns the values within `bounds` in words, each bound printed by `print`: "from 1 B to 64 KiB".
pub fn in_words(bounds: &[Bound<'_>], print: impl Fn(&str) -> String) -> String {
    let of = |limit| bounds.iter().find(|bound| bound.limit == limit).map(|bound| print(bound.value));
    match (of(Limit::Min), of(Limit::Above), of(Limit::Max)) {
        (Some(min), _, Some(max)) => format!("from {min} to {max}"),
        (Some(min), _, None) => format!("at least {min}"),
        (None, Some(above), Some(max)) => format!("more than {above}, at most {max}"),
        (None, Some(above), None) => format!("more than {above}"),
        (None, None, Some(max)) => format!("at most {max}"),
        (None, None, None) => "any".to_owned(),
    }
}

/// A value outside of the range of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// The key.
    pub key: String,
    /// The problem, with the value.
    pub message: String,
    /// The accepted values.
    pub accepted: String,
}

/// Checks a value against the range of the key of `field`.
///
/// # Errors
/// The value is outside.
///
/// # Panics
/// A bound is no value of the key.
pub fn in_range<T>(field: &str, value: &T, bounds: &[Bound<'_>]) -> Result<(), OutOfRange>
where
    T: PartialOrd + FromStr + Display,
{
    let accepts = |bound: &Bound<'_>| {
        let Ok(limit) = bound.value.parse::<T>() else { panic!("{field}: the bound {:?} is no value", bound.value) };
        bound.accepts(value.partial_cmp(&limit))
    };
    let is_a_number = value.partial_cmp(value).is_some();
    if is_a_number && bounds.iter().all(accepts) {
        return Ok(());
    }
    let accepted = in_words(bounds, str::to_owned);
    Err(OutOfRange { key: key(field), message: format!("{value} is out of range"), accepted })
}
