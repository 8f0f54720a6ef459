//! Whole segments of a window.

use cellway_units::Bytes;

use crate::arguments::{Argument, Kind};
use crate::error::{Error, undefined};
use crate::predicted::Predicted;
use crate::registry::Equation;

/// Returns ⌊W / MSS⌋: the full segments that a window permits at once.
///
/// # Errors
/// [`Error::Undefined`] for segments of no byte.
pub fn window_segments(window: Bytes, mss: Bytes) -> Result<Predicted, Error> {
    let equation = &EQUATIONS[0];
    if mss.0 == 0 {
        return Err(undefined(equation.id, "segments carry nothing", "mss of at least 1 B"));
    }
    Ok(Predicted::new((window.0 / mss.0) as f64, "segment", equation)
        .unless(window < mss, || "below one segment: smaller ones are sent".to_owned()))
}

pub(crate) const EQUATIONS: &[Equation] = &[Equation {
    id: "window-segments",
    title: "full segments of a window",
    source: "RFC 9293 section 3.8.6.2.1: small segments are avoided",
    formula: "⌊W / MSS⌋",
    arguments: &[
        Argument::required("window", Kind::Bytes, "W: the smaller of window and send buffer"),
        Argument::required("mss", Kind::Bytes, "payload of a segment"),
    ],
    domain: "W of at least one segment; an application that writes ahead of TCP",
    compute: |a| window_segments(a.bytes("window"), a.bytes("mss")),
}];
