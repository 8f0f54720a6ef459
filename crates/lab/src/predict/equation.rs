//! Single equations.

use std::collections::BTreeMap;

use cellway_theory::{Argument, Equation, Predicted};
use serde_json::{Value, json};

use crate::error::Error;
use crate::metrics::did_you_mean;

/// Evaluates the equation called `id`; its arguments are texts with units.
pub fn evaluate(id: &str, arguments: &BTreeMap<String, String>) -> Result<Predicted, Error> {
    cellway_theory::evaluate(id, arguments).map_err(|error| match error {
        cellway_theory::Error::UnknownEquation { id, accepted } => {
            let meant = did_you_mean(&id, cellway_theory::equations().iter().map(|equation| equation.id));
            Error::Option(format!("there is no equation {id:?}{meant}; accepted: {accepted}"))
        }
        error => error.into(),
    })
}

/// Parses an argument "NAME=VALUE".
pub fn argument(text: &str) -> Result<(String, String), Error> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err(Error::Option(format!("{text:?} is not an argument; accepted: NAME=VALUE, for example window=8KiB"))),
    }
}

/// Returns a predicted value, as JSON.
pub fn predicted_json(predicted: &Predicted) -> Value {
    json!({
        "equation": predicted.equation, "value": predicted.value, "unit": predicted.unit,
        "source": predicted.source, "caveats": predicted.caveats,
    })
}

/// Returns all equations, as JSON.
pub fn equations_json() -> Value {
    cellway_theory::equations().iter().map(equation_json).collect()
}

fn equation_json(equation: &Equation) -> Value {
    let arguments: Vec<Value> = equation.arguments.iter().map(argument_json).collect();
    json!({
        "id": equation.id, "title": equation.title, "source": equation.source, "formula": equation.formula,
        "domain": equation.domain, "arguments": arguments,
    })
}

fn argument_json(argument: &Argument) -> Value {
    // An empty default is that of an argument that may be left out altogether.
    let default = argument.default.filter(|default| !default.is_empty());
    json!({
        "name": argument.name, "help": argument.help, "accepted": argument.kind.accepted(),
        "required": argument.default.is_none(), "default": default,
    })
}
