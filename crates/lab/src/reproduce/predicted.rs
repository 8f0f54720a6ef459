//! The value of the equation of a claim.

use super::claim::{Claim, Predict};
use crate::error::Error;

/// A predicted value, in the unit of the row.
pub(super) struct Prediction {
    pub(super) value: f64,
    pub(super) equation: String,
    pub(super) caveats: Vec<String>,
}

impl Claim {
    /// Returns the value of its equation; `None` for a claim without one.
    pub(super) fn predicted(&self) -> Result<Option<Prediction>, Error> {
        let Some(Predict { equation, arguments, per }) = &self.predict else { return Ok(None) };
        let predicted = crate::predict::evaluate(equation, arguments)?;
        Ok(Some(Prediction { value: predicted.value / per, equation: equation.clone(), caveats: predicted.caveats }))
    }
}
