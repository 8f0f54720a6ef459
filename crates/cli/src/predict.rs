//! `cellway predict`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cellway_lab::predict::{
    self, Answer, Equation, GroupPrediction, LegPrediction, PointPrediction, Predicted, Prediction,
};
use cellway_lab::reproduce::short;

use crate::args::{PathFlags, Predict};
use crate::check;
use crate::table::{LeftOut, Table};
use crate::{Failure, figures, output};

pub(crate) fn run(options: &Predict) -> Result<(), Failure> {
    if options.equations {
        list(options.json);
        return Ok(());
    }
    if let Some(id) = &options.equation {
        return one(id, options);
    }
    match &options.file {
        Some(file) => scenario(file, options),
        None => path(&options.path, options.json),
    }
}

/// Prints all equations.
fn list(as_json: bool) {
    if as_json {
        output::json(&predict::equations_json());
        return;
    }
    for (place, equation) in predict::equations().iter().enumerate() {
        if place > 0 {
            output::line("");
        }
        describe(equation);
    }
}

fn describe(equation: &Equation) {
    output::line(&format!("{}: {}", equation.id, equation.title));
    output::line(&format!("  {}", equation.formula));
    output::line(&format!("  source: {}", equation.source));
    output::line(&format!("  domain: {}", equation.domain));
    let width = equation.arguments.iter().map(|a| a.name.len()).max().unwrap_or_default();
    for argument in equation.arguments {
        let default = match argument.default {
            None => String::new(),
            Some("") => " (may be left out)".to_owned(),
            Some(default) => format!(" (default {default})"),
        };
        let accepted = argument.kind.accepted();
        output::line(&format!("  {:width$}  {}{default}: {accepted}", argument.name, argument.help));
    }
}

/// Evaluates one equation with its arguments.
fn one(id: &str, options: &Predict) -> Result<(), Failure> {
    let arguments = options.arg.iter().map(|text| predict::argument(text)).collect::<Result<_, _>>()?;
    let predicted = predict::evaluate(id, &arguments)?;
    if options.json {
        output::json(&predict::predicted_json(&predicted));
        return Ok(());
    }
    let Predicted { value, unit, equation, source, caveats } = predicted;
    output::line(&quantity(value, unit));
    output::line(&format!("{equation}, {source}"));
    caveats.iter().for_each(|caveat| output::line(&format!("caveat: {caveat}")));
    Ok(())
}

fn path(flags: &PathFlags, as_json: bool) -> Result<(), Failure> {
    let PathFlags { rate, rtt, window, mss, framing, loss, control, buffer, delayed_ack, source, shaping, connections } =
        flags;
    let given = [rate, rtt, window, mss, framing, loss, control, buffer, delayed_ack, source, shaping, connections];
    let names = predict::PATH.into_iter().map(|(name, _)| name.to_owned());
    let texts: BTreeMap<String, String> =
        names.zip(given).filter_map(|(name, text)| Some((name, text.clone()?))).collect();
    let prediction = predict::path(&texts)?;
    if as_json {
        output::json(&predict::path_json(&prediction));
    } else {
        show(&prediction);
    }
    Ok(())
}

/// Predicts all groups of a scenario file, at all points.
fn scenario(file: &Path, options: &Predict) -> Result<(), Failure> {
    let plan = check::read(file, &options.set)?;
    let points = predict::scenario(&plan, check::folder_of(file))?;
    if options.json {
        output::json(&predict::scenario_json(&plan.base().name, &points));
        return Ok(());
    }
    if points.iter().any(|point| !point.groups.is_empty()) {
        table(&points);
        if points.iter().flat_map(|point| &point.groups).any(|group| group.legs.len() > 1) {
            output::line("* the part that limits the group");
        }
        output::line("");
    }
    if points.iter().any(|point| !point.udp.is_empty()) {
        udp_table(&points);
        output::line("");
    }
    print_once(&points);
    Ok(())
}

/// Prints one row for each point and group; for a group that gateways split, one for each loop, with a star at the one
/// that limits.
fn table(points: &[PointPrediction]) {
    let axes = points.first().map(|point| &point.axes[..]).unwrap_or_default();
    let mut header: Vec<String> = axes.iter().map(|(name, _)| figures::axis_name(name)).collect();
    let fixed = header.len();
    let names = ["group", "connections", "goodput", "bound by", "round trip", "window\nneeded", "buffer for\nno loss"];
    header.extend(names.map(str::to_owned));
    let mut table = Table::with_numbers(&header, |column| [1, 2, 4, 5, 6].map(|c| fixed + c).contains(&column));
    table.may_leave_out(LeftOut::Last, [5, 6, 4].map(|c| fixed + c).into());
    for point in points {
        for group in &point.groups {
            for row in rows(group) {
                table.add_row(point.axes.iter().map(|(_, value)| value.to_string()).chain(row));
            }
        }
    }
    table.print();
}

/// Prints one row for each point and group of datagrams.
fn udp_table(points: &[PointPrediction]) {
    let axes = points.first().map(|point| &point.axes[..]).unwrap_or_default();
    let mut header: Vec<String> = axes.iter().map(|(name, _)| figures::axis_name(name)).collect();
    let fixed = header.len();
    let names = ["UDP group", "sources", "rate", "busiest line", "mean delay", "loss"];
    header.extend(names.map(str::to_owned));
    let mut table = Table::with_numbers(&header, |column| [1, 2, 4, 5].map(|c| fixed + c).contains(&column));
    table.may_leave_out(LeftOut::Last, vec![fixed + 1]);
    for point in points {
        for group in &point.udp {
            let answer = |answer: &Answer, scale, unit| match answer.value() {
                Some(value) => quantity(value * scale, unit),
                None => "no answer".to_owned(),
            };
            let (line, share) = &group.busiest;
            let row = [
                group.group.clone(),
                group.sources.to_string(),
                quantity(group.rate, "bit/s"),
                format!("{line}: {}", quantity(share * 100.0, "%")),
                answer(&group.delay_mean, 1.0, "s"),
                answer(&group.loss_ratio, 100.0, "%"),
            ];
            table.add_row(point.axes.iter().map(|(_, value)| value.to_string()).chain(row));
        }
    }
    table.print();
}

fn rows(group: &GroupPrediction) -> Vec<[String; 7]> {
    let split = group.legs.len() > 1;
    let row = |(place, leg): (usize, &LegPrediction)| {
        let star = if place == group.binding { " *" } else { "" };
        let named = |name: &str| if name.is_empty() { "hosts".to_owned() } else { name.to_owned() };
        let way = if split { format!(" {} to {}{star}", named(&leg.from), named(&leg.to)) } else { String::new() };
        let known = &leg.prediction;
        [
            format!("{}{way}", group.group),
            group.connections.to_string(),
            quantity(known.goodput, "bit/s"),
            binding(known),
            quantity(known.round_trip, "s"),
            quantity(known.window_needed.0 as f64, "B"),
            quantity(known.buffer_needed.value, known.buffer_needed.unit),
        ]
    };
    group.legs.iter().enumerate().map(row).collect()
}

/// Prints advice and caveats, each once.
fn print_once(points: &[PointPrediction]) {
    let groups = || points.iter().flat_map(|point| &point.groups);
    let advice = groups().filter_map(|group| Some((group, group.legs.get(group.binding)?)));
    let advice = advice.map(|(group, leg)| format!("{}: {}", group.group, leg.prediction.advice));
    let of_group = |group: &GroupPrediction| {
        let of_legs = group.legs.iter().flat_map(|leg| caveats(&leg.prediction));
        group.caveats.iter().cloned().chain(of_legs).collect::<Vec<_>>()
    };
    let caveats = groups().flat_map(of_group).map(|caveat| format!("caveat: {caveat}"));
    let none = |group: &str, what: &str, answer: &Answer| match answer {
        Answer::Value(_) => None,
        Answer::None(why) => Some(format!("{group}: no answer for {what}: {why}")),
    };
    let udp = points.iter().flat_map(|point| &point.udp).flat_map(|group| {
        [none(&group.group, "the delay", &group.delay_mean), none(&group.group, "the loss", &group.loss_ratio)]
    });
    let mut printed = BTreeSet::new();
    for line in advice.chain(caveats).chain(udp.flatten()) {
        if printed.insert(line.clone()) {
            output::line(&line);
        }
    }
}

/// Returns the caveats of the whole and of each bound.
fn caveats(prediction: &Prediction) -> Vec<String> {
    let of_bounds = prediction.bounds.iter();
    let of_bounds = of_bounds.flat_map(|b| b.caveats.iter().map(|caveat| format!("{}: {caveat}", b.equation)));
    prediction.caveats.iter().cloned().chain(of_bounds).collect()
}

/// Returns the least bound, and its location.
fn binding(prediction: &Prediction) -> String {
    let bound = prediction.binding();
    let name = bound.limit.name();
    // The location of a window bound adds nothing to its name.
    if bound.at.is_empty() || bound.at == name { name.to_owned() } else { format!("{name} ({})", bound.at) }
}

/// Prints the prediction of a path: the figures, then all bounds.
fn show(prediction: &Prediction) {
    let goodput = quantity(prediction.goodput, "bit/s");
    output::line(&format!("{:24}{goodput}, bound by: {}", "goodput", binding(prediction)));
    let line = |name: &str, value: f64, unit| output::line(&format!("{name:24}{}", quantity(value, unit)));
    line("round trip", prediction.round_trip, "s");
    line("bandwidth x delay", prediction.bandwidth_delay_product, "B");
    line("window needed", prediction.window_needed.0 as f64, "B");
    line("buffer for no loss", prediction.buffer_needed.value, prediction.buffer_needed.unit);
    if let Some(buffer) = &prediction.spacer_buffer {
        line("buffer of a shaper", buffer.value, buffer.unit);
    }
    output::line(&format!("{:24}{}", "advice: ", prediction.advice));
    output::line("");
    let mut table = Table::with_numbers(&["bound", "at", "value", "equation"].map(str::to_owned), |c| c == 2);
    for bound in &prediction.bounds {
        let value = quantity(bound.value, "bit/s");
        table.add_row([bound.limit.name(), &bound.at, &value, bound.equation]);
    }
    table.print();
    output::line("");
    caveats(prediction).iter().for_each(|caveat| output::line(&format!("caveat: {caveat}")));
}

/// Formats a value with its unit, with the prefix that makes it short.
fn quantity(value: f64, unit: &str) -> String {
    let (scale, prefix) = match (unit, value.abs()) {
        ("bit/s", v) if v >= 1e9 => (1e9, "G"),
        ("bit/s", v) if v >= 1e6 => (1e6, "M"),
        ("bit/s", v) if v >= 1e3 => (1e3, "k"),
        ("s", v) if v < 1.0 && v > 0.0 => (1e-3, "m"),
        _ => (1.0, ""),
    };
    let unit = if unit == "1" { String::new() } else { format!(" {prefix}{unit}") };
    format!("{}{unit}", short(value / scale))
}
