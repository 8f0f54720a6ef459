//! Throughput under rare loss: proportional to the inverse square root of the loss.

use cellway_units::{Bytes, Span};

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// Returns MSS/RTT × √(3 / 2bp), in bit/s, for one loss in every 1/p packets and b packets acknowledged at a time.
///
/// # Errors
/// [`Error::Undefined`] if the round trip or the loss is 0, or all packets are lost.
pub fn mathis(mss: Bytes, rtt: Span, loss: f64, delayed_ack: bool) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    if rtt.is_zero() || !(loss > 0.0 && loss < 1.0) {
        let what = format!("no rate for a loss of {loss} at a round trip of {rtt}");
        return Err(undefined(equation.id, what, "0 < loss < 1 and a round trip above 0"));
    }
    let b = if delayed_ack { 2.0 } else { 1.0 };
    let value = mss.bits().0 as f64 / rtt.as_secs_f64() * libm::sqrt(3.0 / (2.0 * b * loss));
    Ok(Predicted::new(value, "bit/s", equation)
        .unless(loss > 0.02, || format!("a loss of {loss} is above 0.02: timeouts, left out here, decide")))
}

pub(crate) const EQUATIONS: &[Equation] = &[Equation {
    id: "mathis",
    title: "throughput under rare loss",
    source: "M. Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR 27(3), 1997, equation (3)",
    formula: "8 MSS/RTT × √(3 / 2bp)",
    arguments: &[
        Argument::required("mss", Kind::Bytes, "payload of a segment"),
        Argument::required("rtt", Kind::Time, "the round trip"),
        Argument::required("loss", Kind::Probability, "p: losses per packet"),
        Argument::or("delayed-ack", Kind::Word(&["no", "yes"]), "no", "b = 1, or b = 2 packets acknowledged at a time"),
    ],
    domain: "p up to about 0.02, periodic loss mended without timeouts, window not limited by the receiver",
    compute: |a| mathis(a.bytes("mss"), a.time("rtt"), a.number("loss"), a.word("delayed-ack") == "yes"),
}];
