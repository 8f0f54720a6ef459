//! Arguments of equations as text with units.

use std::collections::BTreeMap;

use cellway_units::{Bytes, CELL_BITS, Cells, Line, ParseError, Rate, Span, split_quantity};

use crate::error::Error;
use crate::registry::Equation;

/// The largest values of each kind, far above any network; all arithmetic with them is within 64 bits.
pub(crate) mod most {
    /// Of a rate, in bit/s: 1 Tbit/s.
    pub(crate) const RATE: u64 = 1_000_000_000_000;
    /// Of a time, in s: a day.
    pub(crate) const SECONDS: u64 = 86_400;
    /// Of an amount, in bytes: 1 TiB.
    pub(crate) const BYTES: u64 = 1 << 40;
    /// Of cells.
    pub(crate) const CELLS: u64 = 1_000_000_000_000;
    /// Of the segments of a window: the model of the spacer iterates over them.
    pub(crate) const SEGMENTS: u64 = 1_000_000;
    /// Of anything counted.
    pub(crate) const COUNT: u64 = 1_000_000_000;
    /// Of connections that share a path.
    pub(crate) const CONNECTIONS: u32 = 1_000_000;
}

/// The kind of quantity of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// "15.264 Mbit/s", "36000 cell/s" of 53 octets, or the name of a line such as "oc3c".
    Rate,
    /// "200 ms".
    Time,
    /// "8 KiB".
    Bytes,
    /// "256 cell".
    Cells,
    /// "41 segment", or "1312 cell" if that is a multiple of a segment.
    Segments,
    /// A number from 0 to 1 without a unit.
    Probability,
    /// A whole number.
    Count,
    /// One of these names.
    Word(&'static [&'static str]),
}

impl Kind {
    /// Returns a description of the accepted values.
    pub fn accepted(self) -> String {
        match self {
            Kind::Rate => {
                "a rate like \"6 Mbit/s\" or \"36000 cell/s\", or a line like \"oc3c\"; at most 1000 Gbit/s".to_owned()
            }
            Kind::Time => "a time like \"200 ms\", at most 24 h".to_owned(),
            Kind::Bytes => "an amount like \"8 KiB\", at most 1024 GiB".to_owned(),
            Kind::Cells => format!("cells like \"256 cell\", at most {}", most::CELLS),
            Kind::Segments => {
                format!("segments like \"41 segment\", at most {}, or cells like \"1312 cell\"", most::SEGMENTS)
            }
            Kind::Probability => "a number from 0 to 1 like \"0.01\"".to_owned(),
            Kind::Count => format!("a whole number like \"2\", at most {}", most::COUNT),
            Kind::Word(words) => words.join(", "),
        }
    }

    fn parse(self, text: &str) -> Result<Value, String> {
        let quantity = |e: ParseError| e.to_string();
        let value = match self {
            Kind::Rate => Value::Rate(parse_rate(text)?),
            Kind::Time => Value::Time(text.parse().map_err(quantity)?),
            Kind::Bytes => Value::Bytes(text.parse().map_err(quantity)?),
            Kind::Cells => Value::Cells(text.parse().map_err(quantity)?),
            Kind::Segments => match split_quantity(text) {
                Some((number, "segment" | "segments")) => Value::Segments(whole(number)?),
                _ => Value::Cells(text.parse().map_err(quantity)?),
            },
            Kind::Probability => match text.trim().parse::<f64>() {
                Ok(p) if (0.0..=1.0).contains(&p) => Value::Number(p),
                _ => return Err(format!("{text:?} is not a number from 0 to 1")),
            },
            Kind::Count => Value::Count(whole(text)?),
            Kind::Word(words) => match words.iter().find(|w| **w == text.trim()) {
                Some(word) => Value::Word(word),
                None => return Err(format!("{text:?} is not a word that fits here")),
            },
        };
        if value.is_too_much() { Err(format!("{text:?} is too much")) } else { Ok(value) }
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is not a whole number"))
}

/// Parses a rate in bit/s or cell/s, or the name of a line.
fn parse_rate(text: &str) -> Result<Rate, String> {
    if let Ok(line) = text.trim().parse::<Line>() {
        return Ok(line.rate());
    }
    match split_quantity(text) {
        Some((number, "cell/s" | "cells/s")) => cells_per_second(number)
            .ok_or_else(|| format!("{text:?} is not a whole number of bit/s, at {} bit a cell", CELL_BITS.0)),
        _ => text.parse().map_err(|e: ParseError| e.to_string()),
    }
}

/// Parses `number` cells of 53 octets per second; `None` if that is no integer in bit/s.
fn cells_per_second(number: &str) -> Option<Rate> {
    let number = number.replace('_', "");
    let (units, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits: u64 = format!("{units}{fraction}").parse().ok()?;
    let scale = 10u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = digits.checked_mul(CELL_BITS.0)?;
    scaled.is_multiple_of(scale).then(|| Rate::from_bps(scaled / scale))
}

/// An argument of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its kind of quantity.
    pub kind: Kind,
    /// Its meaning.
    pub help: &'static str,
    /// Its default; required if `None`, optional without a value if empty.
    pub default: Option<&'static str>,
}

impl Argument {
    pub(crate) const fn required(name: &'static str, kind: Kind, help: &'static str) -> Argument {
        Argument { name, kind, help, default: None }
    }
    pub(crate) const fn or(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Argument {
        Argument { name, kind, help, default: Some(default) }
    }
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Rate(Rate),
    Time(Span),
    Bytes(Bytes),
    Cells(Cells),
    Segments(u64),
    Number(f64),
    Count(u64),
    Word(&'static str),
}

impl Value {
    fn is_too_much(self) -> bool {
        match self {
            Value::Rate(rate) => rate.as_bps() > most::RATE,
            Value::Time(time) => time > Span::from_secs(most::SECONDS),
            Value::Bytes(bytes) => bytes.0 > most::BYTES,
            Value::Cells(cells) => cells.0 > most::CELLS,
            Value::Segments(segments) => segments > most::SEGMENTS,
            Value::Count(count) => count > most::COUNT,
            Value::Number(_) | Value::Word(_) => false,
        }
    }
}

/// The checked arguments of one evaluation.
pub(crate) struct Arguments {
    equation: &'static str,
    values: BTreeMap<&'static str, Value>,
}

/// The getters rely on the kinds that their equation declares.
macro_rules! getter {
    ($($get:ident $variant:ident $type:ty;)*) => { $(
        pub(crate) fn $get(&self, name: &str) -> $type {
            match self.values.get(name) {
                Some(Value::$variant(value)) => *value,
                other => panic!("{}: {name} is declared otherwise: {other:?}", self.equation),
            }
        }
    )* };
}

impl Arguments {
    /// Reads `texts` as the arguments of `equation`.
    pub(crate) fn read(equation: &'static Equation, texts: &BTreeMap<String, String>) -> Result<Arguments, Error> {
        let declared = equation.arguments;
        if let Some(name) = texts.keys().find(|name| declared.iter().all(|a| a.name != name.as_str())) {
            let accepted = declared.iter().map(|a| a.name).collect::<Vec<_>>().join(", ");
            return Err(Error::UnknownArgument { equation: equation.id, name: name.clone(), accepted });
        }
        let mut values = BTreeMap::new();
        for argument in declared {
            let name = argument.name;
            let text = match (texts.get(name).map(String::as_str), argument.default) {
                (Some(text), _) => text,
                (None, Some("")) => continue,
                (None, Some(default)) => default,
                (None, None) => {
                    return Err(Error::Missing { equation: equation.id, name, accepted: argument.kind.accepted() });
                }
            };
            let value = argument.kind.parse(text).map_err(|what| Error::BadValue {
                equation: equation.id,
                name,
                what,
                accepted: argument.kind.accepted(),
            })?;
            values.insert(name, value);
        }
        Ok(Arguments { equation: equation.id, values })
    }

    getter! {
        rate Rate Rate;
        time Time Span;
        bytes Bytes Bytes;
        cells Cells Cells;
        number Number f64;
        count Count u64;
        word Word &'static str;
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }
    /// Returns the segments in `cells` cells.
    pub(crate) fn segments(&self, name: &str, cells: u64) -> u64 {
        match self.values.get(name) {
            Some(Value::Segments(n)) => *n,
            Some(Value::Cells(n)) => n.0 / cells.max(1),
            other => panic!("{}: {name} is declared otherwise: {other:?}", self.equation),
        }
    }
    /// Returns true if `name` was given in cells that are no multiple of a segment of `cells` cells.
    pub(crate) fn is_ragged(&self, name: &str, cells: u64) -> bool {
        matches!(self.values.get(name), Some(Value::Cells(n)) if !n.0.is_multiple_of(cells.max(1)))
    }
}
