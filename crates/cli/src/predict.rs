//! `cellway predict`.

use cellway_lab::predict::{self, Equation, Predicted};
use cellway_lab::reproduce::short;
use serde_json::{Value, json};

use crate::args::Predict;
use crate::{Failure, output};

pub(crate) fn run(options: &Predict) -> Result<(), Failure> {
    if options.equations {
        return list(options.json);
    }
    if let Some(id) = &options.equation {
        return one(id, options);
    }
    Ok(())
}

/// All equations.
fn list(as_json: bool) -> Result<(), Failure> {
    if as_json {
        let all: Vec<Value> = predict::equations().iter().map(predict::equation_json).collect();
        output::json(&json!(all));
        return Ok(());
    }
    for (place, equation) in predict::equations().iter().enumerate() {
        if place > 0 {
            output::line("");
        }
        tell(equation);
    }
    Ok(())
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
    output::line(&value(&predicted));
    output::line(&format!("{}, {}", predicted.equation, predicted.source));
    predicted.caveats.iter().for_each(|caveat| output::line(&format!("caveat: {caveat}")));
    Ok(())
}

/// A value with its unit, rates in the prefix that makes them short.
pub(crate) fn value(predicted: &Predicted) -> String {
    let Predicted { value, unit, .. } = predicted;
    let (scale, prefix) = match (*unit, value.abs()) {
        ("bit/s", v) if v >= 1e9 => (1e9, "G"),
        ("bit/s", v) if v >= 1e6 => (1e6, "M"),
        ("bit/s", v) if v >= 1e3 => (1e3, "k"),
        ("s", v) if v < 1.0 && v > 0.0 => (1e-3, "m"),
        _ => (1.0, ""),
    };
    let unit = if *unit == "1" { String::new() } else { format!(" {prefix}{unit}") };
    format!("{}{unit}", short(value / scale))
}
