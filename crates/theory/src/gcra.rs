//! The longest conforming bursts of the generic cell rate algorithm, and the tolerance that a burst needs.

use cellway_units::{CELL_BITS, Cells, Rate, Span};

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

const PS: u128 = 1_000_000_000_000;

/// Returns N = 1 + ⌊τ / (T − δ)⌋: the most cells in a row, `interval` apart, that conform to GCRA(`increment`,
/// `tolerance`). `None` if the cells arrive no faster than the increment: any number conforms.
pub fn conforming_burst(increment: Span, tolerance: Span, interval: Span) -> Option<u64> {
    (interval < increment).then(|| 1 + tolerance.as_ps() / (increment - interval).as_ps())
}

/// Returns the same for rates, whose cell times need not be integers of picoseconds; exact. In cells.
///
/// # Errors
/// [`Error::Undefined`] for a rate of zero, or a tolerance past 128 bits.
pub fn gcra_burst(rate: Rate, line: Rate, tolerance: Span) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    let (r, l) = rates(equation, rate, line)?;
    let predicted = |value| Predicted::new(value, "cell", equation);
    if line <= rate {
        return Ok(predicted(f64::INFINITY)
            .unless(true, || "the line is no faster than the rate: all cells conform".to_owned()));
    }
    // τ / (1/r − 1/l) with cell times of 424 bit.
    let product = u128::from(tolerance.as_ps()).checked_mul(r * l);
    let product =
        product.ok_or_else(|| undefined(equation.id, "the product is past 128 bits", "a smaller tolerance"))?;
    Ok(predicted((1 + product / (PS * u128::from(CELL_BITS.0) * (l - r))) as f64))
}

/// Returns τ = (MBS − 1)(T − δ), in s: the tolerance with which `burst` cells conform at the rate of `line`; the burst
/// tolerance of SCR if `rate` is SCR and `line` PCR.
///
/// # Errors
/// [`Error::Undefined`] for a rate of zero or a burst of no cell.
pub fn gcra_tolerance(rate: Rate, line: Rate, burst: Cells) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[1];
    let (r, l) = rates(equation, rate, line)?;
    if burst.0 == 0 {
        return Err(undefined(equation.id, "a burst of no cell needs no tolerance", "at least 1 cell"));
    }
    let apart = CELL_BITS.0 as f64 * (1.0 / r as f64 - 1.0 / l as f64);
    Ok(Predicted::new((burst.0 - 1) as f64 * apart.max(0.0), "s", equation)
        .unless(line <= rate, || "the line is no faster than the rate: no tolerance is needed".to_owned()))
}

fn rates(equation: &'static Equation, rate: Rate, line: Rate) -> Result<(u128, u128), Error> {
    match (rate.as_bps(), line.as_bps()) {
        (0, _) | (_, 0) => Err(undefined(equation.id, "cells at a rate of 0 never come", "rates above 0")),
        (r, l) => Ok((u128::from(r), u128::from(l))),
    }
}

const RATE: Argument = Argument::required("rate", Kind::Rate, "the contracted rate 1/T, of whole cells: PCR, or SCR");
const LINE: Argument =
    Argument::required("line", Kind::Rate, "the rate 1/δ at which the burst comes: the line, or PCR");
const SOURCE: &str = "ITU-T I.371 annex A; ATM Forum TM 4.0 section 4.4";
const DOMAIN: &str = "T > δ; the first cell finds the bucket empty, cells equally spaced";

pub(crate) const EQUATIONS: &[Equation] = &[
    Equation {
        id: "gcra-burst",
        title: "largest conforming burst of cells",
        source: SOURCE,
        formula: "N = 1 + ⌊τ / (T − δ)⌋",
        arguments: &[RATE, LINE, Argument::required("tolerance", Kind::Time, "τ: CDVT, or the burst tolerance")],
        domain: DOMAIN,
        compute: |a| gcra_burst(a.rate("rate"), a.rate("line"), a.time("tolerance")),
    },
    Equation {
        id: "gcra-tolerance",
        title: "tolerance that a burst of cells needs",
        source: SOURCE,
        formula: "τ = (MBS − 1)(T − δ)",
        arguments: &[RATE, LINE, Argument::required("burst", Kind::Cells, "MBS")],
        domain: DOMAIN,
        compute: |a| gcra_tolerance(a.rate("rate"), a.rate("line"), a.cells("burst")),
    },
];
