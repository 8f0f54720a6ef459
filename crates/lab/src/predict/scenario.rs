//! Each traffic group of a scenario, at each point of its sweep.

use std::path::Path;

use cellway_apps::{GroupWorkload, MeasuredArrivals, MeasuredDatagrams, Workload};
use cellway_scenario::{AxisValue, Plan, Point};
use cellway_theory::{ClassRate, GroupPrediction, LegPrediction, UdpPrediction, predict, predict_class, predict_udp};
use cellway_units::Bytes;
use serde_json::{Map, Value, json};

use super::path::path_json;
use crate::error::Error;
use crate::load::TableFolders;

/// The predictions at one point of a sweep.
pub struct PointPrediction {
    /// The axis values of the point.
    pub axes: Vec<(String, AxisValue)>,
    /// Each traffic group over TCP, in the order of the file.
    pub groups: Vec<GroupPrediction>,
    /// Each group of UDP datagrams, in the order of the file.
    pub udp: Vec<UdpPrediction>,
}

/// Predicts each traffic group of a scenario, taken alone, at each point of its sweep. `folder` is the base of the paths
/// of workload files.
///
/// # Errors
/// A workload file cannot be read or has no such class, or a fitted law has no mean.
pub fn scenario(plan: &Plan, folder: &Path) -> Result<Vec<PointPrediction>, Error> {
    let mut files = TableFolders::new(folder);
    plan.points()?.into_iter().map(|point| predicted(plan, point, &mut files)).collect()
}

fn predicted(plan: &Plan, mut point: Point, files: &mut TableFolders) -> Result<PointPrediction, Error> {
    let classes = files.classes(plan, &mut point)?;
    let scenario = &point.scenario;
    let (mut groups, mut udp) = (predict(scenario), predict_udp(scenario));
    for (index, workload) in classes {
        match workload {
            GroupWorkload::MeasuredDatagrams(measured) => {
                let rate = rate_of(&measured).ok_or_else(|| {
                    let message = "uses laws without a mean, so that there is no rate to predict";
                    plan.refuse_traffic(point.index, index, &["workload", "fits"], message, "fits = false")
                })?;
                udp.push(predict_class(scenario, index, rate));
            }
            GroupWorkload::Conversations(Workload::Measured(measured)) => {
                let name = &scenario.traffic[index].name;
                let group = groups.iter_mut().find(|group| group.group == *name);
                let caveats = class_caveats(measured.model.mean_octets(measured.fits), &measured.arrivals);
                group.into_iter().for_each(|group| group.caveats.extend(caveats.iter().cloned()));
            }
            GroupWorkload::Conversations(_) | GroupWorkload::Datagrams(_) => {}
        }
    }
    udp.sort_by_key(|one| scenario.traffic.iter().position(|group| group.name == one.group));
    Ok(PointPrediction { groups, udp, axes: point.axes })
}

/// Returns the packets that the originators of a class of UDP send; `None` if a mean is infinite, or no time passes
/// between conversations.
fn rate_of(class: &MeasuredDatagrams) -> Option<ClassRate> {
    let MeasuredDatagrams { model, fits, scale, family, largest, .. } = class;
    let gap = model.arrival_gap.as_ref()?.mean(*fits).filter(|gap| *gap > 0.0)?;
    let payload = model.size.mean(*fits)?.round() as u64;
    let packets = scale * model.packets.mean(*fits)? / gap;
    Some(ClassRate { packets, packet: Bytes((payload + family.udp_headers()).min(largest.0)) })
}

/// Returns the limitations of the prediction of a class of TCP, whose mean octets from originator and responder are given
/// unless they are infinite.
fn class_caveats(octets: Option<[f64; 2]>, arrivals: &MeasuredArrivals) -> Vec<String> {
    let mut caveats = Vec::new();
    if octets.is_some_and(|[there, back]| there > back) {
        caveats.push("the originators of the class send more; predicted for what the responders send".to_owned());
    }
    if let (Some([there, back]), MeasuredArrivals::Open { .. }) = (octets, arrivals) {
        caveats.push(format!("a conversation has {:.0} B on average, not a transfer without end", there + back));
    }
    caveats
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
