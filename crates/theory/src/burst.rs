//! Packets back to back through a step down in rate.
//!
//! Cell i of N has arrived completely at i/h and the line sends one every 1/c from 1/h on. When the last has arrived,
//! 1 + ⌊(N − 1)c/h⌋ have left the queue for the line and N − 1 − ⌊(N − 1)c/h⌋ wait: the fluid value N(1 − c/h) less at
//! most one cell.

use cellway_units::{Cells, Rate};

use crate::arguments::{Argument, Arguments, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// Returns the buffer for a burst of `cells` that arrives at `peak` and leaves at `rate`, in waiting cells without the
/// one on the line; exact.
///
/// # Errors
/// [`Error::Undefined`] for a rate of zero.
pub fn burst_buffer(cells: Cells, peak: Rate, rate: Rate) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    let step = step_down(equation, peak, rate)?;
    let value = match step {
        Some((c, h)) => {
            let n = u128::from(cells.0.saturating_sub(1));
            (n - n * c / h) as f64
        }
        None => 0.0,
    };
    Ok(no_step(Predicted::new(value, "cell", equation), step.is_none()))
}

/// Returns the most cells back to back that a buffer of `buffer` waiting cells holds without loss; exact.
///
/// # Errors
/// [`Error::Undefined`] for a rate of zero.
pub fn burst_survives(buffer: Cells, peak: Rate, rate: Rate) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[1];
    let step = step_down(equation, peak, rate)?;
    let value = match step {
        // The largest N with ⌈(N − 1)(h − c)/h⌉ ≤ B.
        Some((c, h)) => (1 + u128::from(buffer.0) * h / (h - c)) as f64,
        None => f64::INFINITY,
    };
    Ok(no_step(Predicted::new(value, "cell", equation), step.is_none()))
}

/// Returns c and h if the rate steps down.
fn step_down(equation: &'static Equation, peak: Rate, rate: Rate) -> Result<Option<(u128, u128)>, Error> {
    if peak.as_bps() == 0 || rate.as_bps() == 0 {
        return Err(undefined(equation.id, "a line does not move", "rates above 0"));
    }
    Ok((rate < peak).then(|| (u128::from(rate.as_bps()), u128::from(peak.as_bps()))))
}

fn no_step(predicted: Predicted, none: bool) -> Predicted {
    predicted.unless(none, || "the rate does not step down: cells do not gather, whatever the burst".to_owned())
}

const PEAK: Argument = Argument::required("peak", Kind::Rate, "h: the rate at which the burst comes");
const RATE: Argument = Argument::required("rate", Kind::Rate, "c: the rate at which it leaves");
const DOMAIN: &str = "c < h; the queue empty before the burst, nothing else on the line, cells equally spaced";
const SOURCE: &str = "Ewy et al. 1994, Table 2 (the effect); derived in docs/models/theory.md";

fn packets(a: &Arguments) -> Result<Cells, Error> {
    let product = a.count("packets").checked_mul(a.cells("packet").0);
    product.map(Cells).ok_or_else(|| undefined("burst-loss", "that many cells cannot be counted", "fewer packets"))
}

pub(crate) const EQUATIONS: &[Equation] = &[
    Equation {
        id: "burst-loss",
        title: "buffer that packets back to back need at a step down in rate",
        source: SOURCE,
        formula: "lost if k n (1 − c/h) > B; exactly ⌈(kn − 1)(1 − c/h)⌉ > B",
        arguments: &[
            Argument::required("packets", Kind::Count, "k: packets back to back"),
            Argument::required("packet", Kind::Cells, "n: cells of a packet"),
            PEAK,
            RATE,
        ],
        domain: DOMAIN,
        compute: |a| burst_buffer(packets(a)?, a.rate("peak"), a.rate("rate")),
    },
    Equation {
        id: "burst-survives",
        title: "largest burst without loss at a step down in rate",
        source: SOURCE,
        formula: "N = 1 + ⌊B / (1 − c/h)⌋",
        arguments: &[Argument::required("buffer", Kind::Cells, "B: cells that may wait"), PEAK, RATE],
        domain: DOMAIN,
        compute: |a| burst_survives(a.cells("buffer"), a.rate("peak"), a.rate("rate")),
    },
];
