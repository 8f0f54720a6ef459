//! What theory says, without a run.

use std::collections::BTreeMap;

use crate::error::Error;

/// TEMPORARY until the theory crate is there.
pub struct Predicted {
    /// v
    pub value: f64,
    /// c
    pub caveats: Vec<String>,
}

/// TEMPORARY
pub fn evaluate(id: &str, _arguments: &BTreeMap<String, String>) -> Result<Predicted, Error> {
    Err(Error::Option(format!("no equation {id}")))
}
