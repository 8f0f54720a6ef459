//! What theory says, without a run: of one equation, of a path, of each traffic group of a scenario.

mod equation;
mod path;

pub use cellway_theory::{Bound, Equation, Limit, Predicted, Prediction, equations};
pub use equation::{argument, equations_json, evaluate, predicted_json};
pub use path::{PATH, path, path_json};
