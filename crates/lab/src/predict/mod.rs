//! Predictions from theory, without a run: of one equation, of a path, of each traffic group of a scenario.

mod equation;
mod path;
mod scenario;

pub use cellway_theory::{
    Answer, Equation, GroupPrediction, LegPrediction, Predicted, Prediction, UdpPrediction, equations,
};
pub use equation::{argument, equations_json, evaluate, predicted_json};
pub use path::{PATH, path, path_json};
pub use scenario::{PointPrediction, scenario, scenario_json};
