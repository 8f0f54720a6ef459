//! Rates of lines.

use cellway_settings::quantity::{CELL_RATE_UNITS, Compare, Error, Text};
use cellway_spec::Framing;
use cellway_units::{CellRate, Line, Rate, split_quantity};

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
    const COMPARE: Compare<LineRate> = |a, b| Some(a.rate.cmp(&b.rate));
    fn read(text: &str) -> Result<LineRate, Error> {
        if let Ok(line) = text.trim().parse::<Line>() {
            return Ok(LineRate { rate: line.rate(), framing: Some(framing(line)) });
        }
        let CellRate(rate) = text.parse()?;
        let in_cells = matches!(split_quantity(text), Some((_, "cell/s")));
        Ok(LineRate { rate, framing: in_cells.then_some(Framing::Atm) })
    }
}

/// Returns the framing of a line of that name.
const fn framing(line: Line) -> Framing {
    match line {
        Line::Ethernet | Line::FastEthernet => Framing::Ethernet,
        Line::Fddi => Framing::Fddi,
        Line::E1 | Line::Ds1 | Line::E3 | Line::Ds3 | Line::Oc3c | Line::Oc12c | Line::Taxi => Framing::Atm,
    }
}
