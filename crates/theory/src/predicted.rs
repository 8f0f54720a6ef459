//! A value with its unit, its source and its caveats.

/// One result of one equation.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Predicted {
    /// The number, in `unit`.
    pub value: f64,
    /// "bit/s", "s", "B", "cell" or "segment".
    pub unit: &'static str,
    /// The id of the equation, as in [`equations`](crate::equations).
    pub equation: &'static str,
    /// The source of the equation.
    pub source: &'static str,
    /// The reasons for which the value may not hold, each in a sentence. Empty inside the domain.
    pub caveats: Vec<String>,
}

impl Predicted {
    /// Creates `value` without caveats, named and sourced by `equation`.
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
