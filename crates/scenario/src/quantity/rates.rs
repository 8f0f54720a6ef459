//! Rates of lines, and fractions.

use cellway_units::{CellRate, Line, Rate, split_quantity};

use crate::model::{Fraction, Framing};
use cellway_settings::quantity::{CELL_RATE_UNITS, Error, Text};

/// A rate of a line: a number, or the name of a line. A name or a number of cells also determines the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRate {
    pub(crate) rate: Rate,
    pub(crate) framing: Option<Framing>,
}

impl Text for LineRate {
    const FORMAT: &'static str = "line-rate";
    const UNITS: &'static [&'static str] = CELL_RATE_UNITS;
    const EXAMPLES: &'static [&'static str] = &["1.5 Mbit/s", "oc3c", "96000 cell/s"];
    const WORDS: &'static [&'static str] = &Line::NAMES;
    fn read(text: &str) -> Result<LineRate, Error> {
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

impl Text for Fraction {
    const FORMAT: &'static str = "fraction";
    const UNITS: &'static [&'static str] = &[];
    const EXAMPLES: &'static [&'static str] = &["1/16", "1/32768"];
    fn read(text: &str) -> Result<Fraction, Error> {
        let parts = text.split_once('/').and_then(|(num, den)| {
            let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
            let [num, den] = [num.trim(), den.trim()];
            (plain(num) && plain(den)).then(|| Some((num.parse().ok()?, den.parse().ok()?)))?
        });
        match parts {
            Some((num, den)) if den > 0 && num <= den => Ok(Fraction { num, den }),
            _ => Err(Error::NoFraction),
        }
    }
    fn accepted() -> String {
        "two whole numbers with / between them, the second at least 1 and not smaller, like \"1/16\"".to_owned()
    }
    fn pattern() -> String {
        "^[0-9]+ */ *[0-9]+$".to_owned()
    }
}
