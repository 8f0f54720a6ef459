//! The knots of a distribution: as they are in a file, with their rules, and as a model.

use cellway_apps::{Knot, QuantileModel};
use cellway_settings::in_file::InFile;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

/// The most knots of a distribution.
pub const MAX_KNOTS: usize = 200;

/// The knots as they are in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KnotsFile(pub(crate) Vec<(f64, f64)>);

impl InFile for KnotsFile {
    fn read(value: Value) -> Result<KnotsFile, serde_json::Error> {
        serde_json::from_value(value).map(KnotsFile)
    }
    fn schema(_: &mut SchemaGenerator) -> Schema {
        let knot = json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 });
        let knots = json!({ "type": "array", "items": knot, "minItems": 1, "maxItems": MAX_KNOTS });
        Schema::try_from(knots).unwrap_or_default()
    }
}

/// A fault of a knot, by its place from 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) place: usize,
    pub(crate) message: String,
    pub(crate) accepted: String,
}

/// Returns a number for a message: one of more digits than anybody counts by its exponent.
pub(crate) fn shown(value: f64) -> String {
    if value.abs() < 1e16 { format!("{value}") } else { format!("{value:e}") }
}

/// Returns the distribution of knots whose values are at most `most`.
pub(crate) fn model(knots: &KnotsFile, most: f64) -> Result<QuantileModel, Fault> {
    let knots = &knots.0;
    let fault = |place, message, accepted: &str| Fault { place, message, accepted: accepted.to_owned() };
    for (place, &(probability, value)) in knots.iter().enumerate() {
        if !(0.0..=1.0).contains(&probability) {
            let message = format!("has the probability {probability}");
            return Err(fault(place, message, "a probability from 0 to 1, then the value, like [0.5, 1200]"));
        }
        if !(0.0..=most).contains(&value) {
            return Err(fault(place, format!("has the value {}", shown(value)), &format!("a value from 0 to {most}")));
        }
        let Some(&before) = place.checked_sub(1).and_then(|before| knots.get(before)) else { continue };
        if probability <= before.0 {
            let message =
                format!("has the probability {probability}, which is not above {} of the knot before", before.0);
            return Err(fault(place, message, "probabilities that rise"));
        }
        if value < before.1 {
            let message = format!("has the value {value}, which is below {} of the knot before", before.1);
            return Err(fault(place, message, "values that do not fall"));
        }
    }
    let last = knots.len().saturating_sub(1);
    match knots.last() {
        Some(&(probability, _)) if probability != 1.0 => {
            let message = format!("is the last and has the probability {probability}");
            Err(fault(last, message, "a last knot with the probability 1 and the largest value"))
        }
        _ => quantiles(knots.iter().copied()).ok_or_else(|| fault(last, "is no knot".to_owned(), "one knot at least")),
    }
}

/// Returns the distribution of pairs of a probability and a value; `None` if they break the rules of a file. A single
/// one is a distribution of one value.
pub fn quantiles(knots: impl IntoIterator<Item = (f64, f64)>) -> Option<QuantileModel> {
    let mut knots: Vec<Knot> =
        knots.into_iter().map(|(probability, value)| Knot { probability, value }).take(MAX_KNOTS + 1).collect();
    if let [Knot { probability: 1.0, value }] = knots[..] {
        knots.insert(0, Knot { probability: 0.0, value });
    }
    if knots.len() > MAX_KNOTS {
        return None;
    }
    QuantileModel::with_atoms(knots, "knots").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_and_equal_values_are_distributions() {
        let one = model(&KnotsFile(vec![(1.0, 0.0)]), 10.0).unwrap();
        assert_eq!([one.quantile(0.0), one.quantile(1.0)], [0.0; 2]);
        let atom = model(&KnotsFile(vec![(0.0, 1.0), (0.5, 2.0), (0.75, 2.0), (1.0, 9.0)]), 10.0).unwrap();
        assert_eq!([atom.quantile(0.5), atom.quantile(0.7)], [2.0; 2]);
        let many = (0..=MAX_KNOTS).map(|k| (k as f64 / MAX_KNOTS as f64, k as f64));
        assert_eq!(quantiles(many), None);
        assert_eq!(quantiles([]), None);
    }
}
