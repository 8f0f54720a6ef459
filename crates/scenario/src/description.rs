//! The description of a checked scenario as JSON: that of `cellway check --json`.

use serde_json::{Value, json};

use crate::plan::Plan;
use crate::{Error, Problem};

impl Plan {
    /// Describes its runs; `points` is the number of its points, all of which were found right, and `warnings` are those
    /// of [`Plan::warnings`].
    pub fn description(&self, points: usize, warnings: &[Problem]) -> Value {
        let (base, run) = (self.base(), &self.base().run);
        let axis = |(name, values): (&str, Vec<&crate::AxisValue>)| {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            json!({ "name": name, "values": values })
        };
        let axes: Vec<Value> = self.axes().into_iter().map(axis).collect();
        json!({
            "valid": true, "name": base.name, "points": points, "seeds": run.seeds, "runs": run.seeds * points as u64,
            "duration_s": run.duration.as_secs_f64(), "warmup_s": run.warmup.as_secs_f64(),
            "rtt_s": run.rtt.as_secs_f64(), "axes": axes, "warnings": warnings,
        })
    }
}

/// Describes why a scenario was refused.
pub fn refusal(error: &Error) -> Value {
    json!({ "valid": false, "problems": error.problems, "more": error.more })
}

/// Describes why a scenario cannot be run, if that is about no key of it.
pub fn refusal_in_words(message: &str) -> Value {
    json!({ "valid": false, "problems": [{ "message": message }], "more": 0 })
}
