//! Quantities of scenario files: those of [`cellway_settings`], and those that are relative to the round trip.

mod app;
mod rates;

use std::fmt;

use cellway_settings::kinds::FilePath;
use cellway_settings::quantity::{Error, Format, Text};
use cellway_spec::QueueLength;
use cellway_units::{Bytes, CellRate, Cells, ParseError, Probability, Rate, Span, split_quantity};

use crate::model::{AckDelay, Fraction};

pub(crate) use app::{AppName, ClassName};
pub(crate) use rates::LineRate;

/// The formats of quantities in the schema.
pub(crate) const FORMATS: &[Format] = &[
    Format::of::<Rate>(),
    Format::of::<CellRate>(),
    Format::of::<LineRate>(),
    Format::of::<Fraction>(),
    Format::of::<Probability>(),
    Format::of::<Cells>(),
    Format::of::<Span>(),
    Format::of::<RttSpan>(),
    Format::of::<Bytes>(),
    Format::of::<Size>(),
    Format::of::<QueueLength>(),
    Format::of::<AckDelay>(),
    Format::of::<FilePath>(),
    Format::of::<ClassName>(),
];

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
    fn parse(number: &str, text: &str, example: &'static str) -> Result<Multiple, Error> {
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
            return Err(Error::TooLarge);
        }
        let digits = format!("0{whole}{fraction}").parse().map_err(|_| Error::TooLarge)?;
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
    /// No time.
    pub(crate) const ZERO: RttSpan = RttSpan::Span(Span::ZERO);

    /// A number of round trips.
    pub(crate) const fn rtts(number: u128) -> RttSpan {
        RttSpan::Rtt(Multiple { digits: number, decimals: 0 })
    }

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

impl fmt::Display for Multiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10u128.pow(self.decimals);
        write!(f, "{}", self.digits / unit)?;
        match self.decimals as usize {
            0 => Ok(()),
            width => write!(f, ".{:0width$}", self.digits % unit),
        }
    }
}

impl fmt::Display for RttSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RttSpan::Span(span) => write!(f, "{span}"),
            RttSpan::Rtt(multiple) => write!(f, "{multiple} rtt"),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Cells(cells) => write!(f, "{cells}"),
            Size::Bytes(bytes) => write!(f, "{bytes}"),
            Size::Bdp(multiple) => write!(f, "{multiple} bdp"),
        }
    }
}

impl Text for RttSpan {
    const FORMAT: &'static str = "time-or-rtt";
    const UNITS: &'static [&'static str] = &["ps", "ns", "us", "µs", "ms", "s", "min", "h", "rtt"];
    const EXAMPLES: &'static [&'static str] = &["100 rtt", "60 s"];
    fn read(text: &str) -> Result<RttSpan, Error> {
        match split_quantity(text) {
            Some((number, "rtt")) => Ok(RttSpan::Rtt(Multiple::parse(number, text, "\"100 rtt\"")?)),
            _ => Ok(RttSpan::Span(text.parse()?)),
        }
    }
}

impl Text for Size {
    const FORMAT: &'static str = "buffer-size";
    const UNITS: &'static [&'static str] = &["cell", "cells", "B", "kB", "KiB", "MB", "MiB", "GB", "GiB", "bdp"];
    const EXAMPLES: &'static [&'static str] = &["1 bdp", "160 cell", "8 KiB"];
    fn read(text: &str) -> Result<Size, Error> {
        match split_quantity(text) {
            Some((number, "bdp")) => Ok(Size::Bdp(Multiple::parse(number, text, "\"1 bdp\"")?)),
            Some((_, "cell" | "cells")) => Ok(Size::Cells(text.parse()?)),
            _ => Ok(Size::Bytes(text.parse()?)),
        }
    }
}
