//! `cellway predict`.

use std::collections::BTreeMap;

use cellway_lab::predict::{self, Equation, Predicted, Prediction};
use cellway_lab::reproduce::short;

use crate::args::{PathFlags, Predict};
use crate::{Failure, output};

pub(crate) fn run(options: &Predict) -> Result<(), Failure> {
    if options.equations {
        list(options.json);
        return Ok(());
    }
    if let Some(id) = &options.equation {
        return one(id, options);
    }
    path(&options.path, options.json)
}

/// All equations.
fn list(as_json: bool) {
    if as_json {
        output::json(&predict::equations_json());
        return;
    }
    for (place, equation) in predict::equations().iter().enumerate() {
        if place > 0 {
            output::line("");
        }
        tell(equation);
    }
}

fn tell(equation: &Equation) {
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

/// One equation with its arguments.
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
    let PathFlags { rate, rtt, window, mss, framing, loss, buffer, delayed_ack, source, shaping, connections } = flags;
    let given = [rate, rtt, window, mss, framing, loss, buffer, delayed_ack, source, shaping, connections];
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

/// What is known of a path: the figures, then all bounds.
pub(crate) fn show(prediction: &Prediction) {
    let binding = prediction.binding();
    // A window is at the window: nothing is said by that.
    let named = !binding.at.is_empty() && binding.at != binding.limit.name();
    let at = if named { format!(" ({})", binding.at) } else { String::new() };
    let goodput = quantity(prediction.goodput, "bit/s");
    output::line(&format!("{:24}{goodput}, bound by: {}{at}", "goodput", binding.limit.name()));
    let line = |name: &str, value: f64, unit| output::line(&format!("{name:24}{}", quantity(value, unit)));
    line("round trip", prediction.round_trip, "s");
    line("bandwidth x delay", prediction.bandwidth_delay_product, "B");
    line("window needed", prediction.window_needed.0 as f64, "B");
    line("buffer needed", prediction.buffer_needed.value, prediction.buffer_needed.unit);
    if let Some(buffer) = &prediction.spacer_buffer {
        line("buffer of a shaper", buffer.value, buffer.unit);
    }
    output::line(&format!("{:24}{}", "advice: ", prediction.advice));
    output::line("");
    let mut table = output::table(&["bound", "at", "value", "equation"].map(str::to_owned), |c| c == 2);
    for bound in &prediction.bounds {
        let value = quantity(bound.value, "bit/s");
        table.add_row([bound.limit.name(), &bound.at, &value, bound.equation]);
    }
    output::print(&table);
    output::line("");
    let of_bounds = prediction
        .bounds
        .iter()
        .flat_map(|bound| bound.caveats.iter().map(|caveat| format!("{}: {caveat}", bound.equation)));
    let caveats: Vec<String> = prediction.caveats.iter().cloned().chain(of_bounds).collect();
    caveats.iter().for_each(|caveat| output::line(&format!("caveat: {caveat}")));
}

/// A value with its unit, in the prefix that makes it short.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
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
