//! Throughput of a window that does not fill the line.

use cellway_units::{Bytes, Rate, Span};

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// Returns Th = 8W / (RTT + 8M/C), in bit/s: a window is sent, and the next one after the acknowledgement of its first
/// segment.
///
/// # Errors
/// [`Error::Undefined`] if the rate is zero, or both the round trip and the segment are.
pub fn window_limited(window: Bytes, rtt: Span, segment: Bytes, rate: Rate) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    let c = rate.as_bps() as f64;
    if rate.as_bps() == 0 || (rtt.is_zero() && segment.0 == 0) {
        return Err(undefined(
            equation.id,
            "a round takes no time, or for ever",
            "a rate, and a round trip or segment, above 0",
        ));
    }
    let (bits, round) = (window.bits().0 as f64, rtt.as_secs_f64() + segment.bits().0 as f64 / c);
    let value = bits / round;
    Ok(Predicted::new(value, "bit/s", equation)
        .unless(window < segment, || {
            format!("the window of {window} is below one segment of {segment}: segments that small take less time")
        })
        .unless(value > c, || format!("the window is more than a round trip holds: the line of {rate} is the limit"))
        .unless(rtt.is_zero(), || "without a round trip time the line is the limit, not the window".to_owned()))
}

pub(crate) const EQUATIONS: &[Equation] = &[Equation {
    id: "window-limited",
    title: "throughput of a window below the bandwidth-delay product",
    source: "Kato et al. 1997, section 2.1, equation (1)",
    formula: "Th = 8W / (RTT + 8M/C)",
    arguments: &[
        Argument::required("window", Kind::Bytes, "W: the window as it is used, in whole segments"),
        Argument::required("rtt", Kind::Time, "RTT without the time to send a segment"),
        Argument::required("mtu", Kind::Bytes, "M: the MTU, or what a segment takes on the line"),
        Argument::required("rate", Kind::Rate, "C: the rate of the line"),
    ],
    domain: "M ≤ W, and 8W/C at most RTT + 8M/C; no loss; each segment acknowledged at once",
    compute: |a| window_limited(a.bytes("window"), a.time("rtt"), a.bytes("mtu"), a.rate("rate")),
}];
