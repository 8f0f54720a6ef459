//! Each traffic group of a scenario, at each point of its sweep.

use cellway_scenario::{AxisValue, Plan};
use cellway_theory::{GroupPrediction, LegPrediction, predict};
use serde_json::{Map, Value, json};

use super::path::path_json;
use crate::error::Error;

/// What theory says at one point of a sweep.
pub struct PointPrediction {
    /// Where the point lies.
    pub axes: Vec<(String, AxisValue)>,
    /// Each traffic group, in the order of the file.
    pub groups: Vec<GroupPrediction>,
}

/// Predicts each traffic group of a scenario, taken alone, at each point of its sweep.
pub fn scenario(plan: &Plan) -> Result<Vec<PointPrediction>, Error> {
    let points = plan.points()?.into_iter();
    Ok(points.map(|point| PointPrediction { groups: predict(&point.scenario), axes: point.axes }).collect())
}

/// The points, as JSON.
pub fn scenario_json(name: &str, points: &[PointPrediction]) -> Value {
    json!({ "name": name, "points": points.iter().map(point_json).collect::<Vec<_>>() })
}

fn point_json(point: &PointPrediction) -> Value {
    let value = |value: &AxisValue| match value {
        AxisValue::Text(text) => json!(text),
        AxisValue::Number(number) => json!(number),
    };
    let axes: Map<String, Value> = point.axes.iter().map(|(name, at)| (name.clone(), value(at))).collect();
    json!({ "axes": axes, "groups": point.groups.iter().map(group_json).collect::<Vec<_>>() })
}

fn group_json(group: &GroupPrediction) -> Value {
    json!({
        "group": group.group, "connections": group.connections, "goodput": group.goodput, "loss": group.loss,
        "binding": group.binding, "caveats": group.caveats,
        "legs": group.legs.iter().map(leg_json).collect::<Vec<_>>(),
    })
}

fn leg_json(leg: &LegPrediction) -> Value {
    let prediction = path_json(&leg.prediction);
    json!({ "from": leg.from, "to": leg.to, "transport": leg.transport, "loss": leg.loss, "prediction": prediction })
}
