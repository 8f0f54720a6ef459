//! The upper bound of a window on a round trip.

use cellway_units::{Bytes, Span};

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// Returns 8W / RTT, in bit/s: the largest throughput of a window, for any line.
///
/// # Errors
/// [`Error::Undefined`] for a round trip of zero.
pub fn window_over_rtt(window: Bytes, rtt: Span) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    if rtt.is_zero() {
        return Err(undefined(equation.id, "a window per no time is no rate", "a round trip above 0"));
    }
    Ok(Predicted::new(window.bits().0 as f64 / rtt.as_secs_f64(), "bit/s", equation)
        .unless(window.0 == 0, || "nothing can be sent into a window of 0".to_owned()))
}

pub(crate) const EQUATIONS: &[Equation] = &[Equation {
    id: "window-over-rtt",
    title: "largest throughput of a window",
    source: "Ewy et al. 1994, Table 1",
    formula: "8W / RTT",
    arguments: &[
        Argument::required("window", Kind::Bytes, "W"),
        Argument::required("rtt", Kind::Time, "the round trip, the time to send a segment included"),
    ],
    domain: "any window below the bandwidth-delay product; an upper bound beyond it",
    compute: |a| window_over_rtt(a.bytes("window"), a.time("rtt")),
}];
