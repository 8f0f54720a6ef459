//! Each traffic group of a scenario, at each point of its sweep.

use cellway_scenario::{AxisValue, Plan, Point};
use cellway_theory::{GroupPrediction, LegPrediction, UdpPrediction, predict, predict_udp};
use serde_json::{Map, Value, json};

use super::path::path_json;
use crate::error::Error;

/// The predictions at one point of a sweep.
pub struct PointPrediction {
    /// The axis values of the point.
    pub axes: Vec<(String, AxisValue)>,
    /// Each traffic group over TCP, in the order of the file.
    pub groups: Vec<GroupPrediction>,
    /// Each group of UDP datagrams, in the order of the file.
    pub udp: Vec<UdpPrediction>,
}

/// Predicts each traffic group of a scenario, taken alone, at each point of its sweep.
pub fn scenario(plan: &Plan) -> Result<Vec<PointPrediction>, Error> {
    let points = plan.points()?.into_iter();
    let predicted = |point: Point| {
        let (groups, udp) = (predict(&point.scenario), predict_udp(&point.scenario));
        PointPrediction { groups, udp, axes: point.axes }
    };
    Ok(points.map(predicted).collect())
}

/// Returns the points, as JSON.
pub fn scenario_json(name: &str, points: &[PointPrediction]) -> Value {
    json!({ "name": name, "points": points.iter().map(point_json).collect::<Vec<_>>() })
}

fn point_json(point: &PointPrediction) -> Value {
    let value = |value: &AxisValue| match value {
        AxisValue::Text(text) => json!(text),
        AxisValue::Number(number) => json!(number),
    };
    let axes: Map<String, Value> = point.axes.iter().map(|(name, at)| (name.clone(), value(at))).collect();
    let mut json = json!({ "axes": axes, "groups": point.groups.iter().map(group_json).collect::<Vec<_>>() });
    if !point.udp.is_empty() {
        json["udp"] = point.udp.iter().map(udp_json).collect();
    }
    json
}

fn udp_json(group: &UdpPrediction) -> Value {
    let (line, utilisation) = &group.busiest;
    json!({
        "group": group.group, "sources": group.sources, "rate": group.rate, "path_delay": group.path_delay,
        "line": line, "utilisation": utilisation, "delay_mean": group.delay_mean, "loss_ratio": group.loss_ratio,
    })
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
