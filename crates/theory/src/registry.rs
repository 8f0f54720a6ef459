//! All equations by id, with arguments from text.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::arguments::{Argument, Arguments};
use crate::error::Error;
use crate::predicted::Predicted;

/// A published or derived result.
#[derive(Clone, Copy, Debug)]
pub struct Equation {
    /// Its name in claims and on the command line.
    pub id: &'static str,
    /// Its result, in a few words.
    pub title: &'static str,
    /// Its source.
    pub source: &'static str,
    /// The equation as text.
    pub formula: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// Its domain. Outside, the value has a caveat.
    pub domain: &'static str,
    pub(crate) compute: fn(&Arguments) -> Result<Predicted, Error>,
}

static LISTS: &[&[Equation]] = &[
    crate::window_limited::EQUATIONS,
    crate::window_over_rtt::EQUATIONS,
    crate::window_segments::EQUATIONS,
    crate::bandwidth_delay::EQUATIONS,
    crate::line::EQUATIONS,
    crate::framing::EQUATIONS,
    crate::spacer::EQUATIONS,
    crate::burst::EQUATIONS,
    crate::gcra::EQUATIONS,
    crate::mathis::EQUATIONS,
    crate::pftk::EQUATIONS,
    crate::cubic::EQUATIONS,
    crate::fair_queue::EQUATIONS,
    crate::datagrams::EQUATIONS,
];

/// Returns all equations, in the order of the documentation.
pub fn equations() -> &'static [Equation] {
    static ALL: LazyLock<Vec<Equation>> = LazyLock::new(|| LISTS.concat());
    &ALL
}

/// Returns the equation `id`.
///
/// # Errors
/// [`Error::UnknownEquation`] with the known ids.
pub fn equation(id: &str) -> Result<&'static Equation, Error> {
    equations().iter().find(|e| e.id == id).ok_or_else(|| Error::UnknownEquation {
        id: id.to_owned(),
        accepted: equations().iter().map(|e| e.id).collect::<Vec<_>>().join(", "),
    })
}

/// Evaluates the equation called `id` with arguments as text: "8 KiB", "200 ms", "36000 cell/s".
///
/// # Errors
/// If there is no such equation or argument, if one is missing or not of its kind, or if there is no result for the
/// values. A value outside the domain is no error: it has a caveat.
///
/// ```
/// let arguments = [("window", "128 KiB"), ("rtt", "8.8 ms")].map(|(k, v)| (k.to_owned(), v.to_owned()));
/// let result = cellway_theory::evaluate("window-over-rtt", &arguments.into()).unwrap();
/// assert_eq!((result.value / 1e6).round(), 119.0);
/// ```
pub fn evaluate(id: &str, arguments: &BTreeMap<String, String>) -> Result<Predicted, Error> {
    let equation = equation(id)?;
    (equation.compute)(&Arguments::read(equation, arguments)?)
}
