//! Rates of lines and cells, numbers of cells, chances and fractions.

use cellway_units::{CellRate, Cells, Line, Probability, Rate, split_quantity};

use crate::model::{Fraction, Framing};
use crate::quantity::{Problem, Text};

/// A rate of a line: a number, or the name of a line. A name or a number of cells also determines the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRate {
    pub(crate) rate: Rate,
    pub(crate) framing: Option<Framing>,
}

const CELL_RATE_UNITS: &[&str] = &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "cell/s"];

impl Text for LineRate {
    const FORMAT: &'static str = "line-rate";
    const UNITS: &'static [&'static str] = CELL_RATE_UNITS;
    const EXAMPLES: &'static [&'static str] = &["1.5 Mbit/s", "oc3c", "96000 cell/s"];
    const WORDS: &'static [&'static str] = &Line::NAMES;
    fn read(text: &str) -> Result<LineRate, Problem> {
        if let Ok(line) = text.trim().parse::<Line>() {
            return Ok(LineRate { rate: line.rate(), framing: Some(framing(line)) });
        }
        let CellRate(rate) = text.parse()?;
        let in_cells = matches!(split_quantity(text), Some((_, "cell/s")));
        Ok(LineRate { rate, framing: in_cells.then_some(Framing::Atm) })
    }
}

/// What travels on a line of that name.
const fn framing(line: Line) -> Framing {
    match line {
        Line::Ethernet | Line::FastEthernet => Framing::Ethernet,
        Line::Fddi => Framing::Fddi,
        Line::E1 | Line::Ds1 | Line::E3 | Line::Ds3 | Line::Oc3c | Line::Oc12c | Line::Taxi => Framing::Atm,
    }
}

impl Text for CellRate {
    const FORMAT: &'static str = "cell-rate";
    const UNITS: &'static [&'static str] = CELL_RATE_UNITS;
    const EXAMPLES: &'static [&'static str] = &["15.264 Mbit/s", "36000 cell/s"];
    fn read(text: &str) -> Result<CellRate, Problem> {
        Ok(text.parse()?)
    }
}

impl Text for Cells {
    const FORMAT: &'static str = "cells";
    const UNITS: &'static [&'static str] = &["cell", "cells"];
    const EXAMPLES: &'static [&'static str] = &["64 cell", "200 cells"];
    fn read(text: &str) -> Result<Cells, Problem> {
        Ok(text.parse()?)
    }
}

impl Text for Probability {
    const FORMAT: &'static str = "probability";
    const UNITS: &'static [&'static str] = &["%"];
    const EXAMPLES: &'static [&'static str] = &["0.1%", "0.02 %"];
    fn read(text: &str) -> Result<Probability, Problem> {
        Ok(text.parse()?)
    }
    fn accepted() -> String {
        "a number from 0 to below 100 and %, like \"0.1%\"".to_owned()
    }
}

impl Text for Fraction {
    const FORMAT: &'static str = "fraction";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["1/16", "1/32768"];
    fn read(text: &str) -> Result<Fraction, Problem> {
        let parts = text.split_once('/').and_then(|(num, den)| {
            let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
            let [num, den] = [num.trim(), den.trim()];
            (plain(num) && plain(den)).then(|| Some((num.parse().ok()?, den.parse().ok()?)))?
        });
        match parts {
            Some((num, den)) if den > 0 && num <= den => Ok(Fraction { num, den }),
            _ => Err(Problem::NoFraction),
        }
    }
    fn accepted() -> String {
        "two whole numbers with / between them, the second at least 1 and not smaller, like \"1/16\"".to_owned()
    }
    fn pattern() -> String {
        "^[0-9]+ */ *[0-9]+$".to_owned()
    }
}
