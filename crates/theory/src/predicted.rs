//! A number with its unit, its source and what is to be said against it.

/// One result of one equation.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Predicted {
    /// The number, in `unit`.
    pub value: f64,
    /// "bit/s", "s", "B", "cell" or "segment".
    pub unit: &'static str,
    /// The id of the equation, as in [`equations`](crate::equations).
    pub equation: &'static str,
    /// Where the equation comes from.
    pub source: &'static str,
    /// Each reason why the value may not hold, in a sentence. Empty inside the domain.
    pub caveats: Vec<String>,
}

impl Predicted {
    /// `value` without caveats, named and sourced by `equation`.
    pub(crate) fn new(value: f64, unit: &'static str, equation: &crate::Equation) -> Predicted {
        Predicted { value, unit, equation: equation.id, source: equation.source, caveats: Vec::new() }
    }
    /// Adds `caveat` if `doubtful`.
    pub(crate) fn unless(mut self, doubtful: bool, caveat: impl FnOnce() -> String) -> Predicted {
        if doubtful {
            self.caveats.push(caveat());
        }
        self
    }
}
