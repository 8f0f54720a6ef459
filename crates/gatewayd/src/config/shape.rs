//! Does a TOML document have the shape of the schema? Unknown and missing keys, tables and arrays; what
//! fits becomes the JSON that the structures of `file` are filled from, each value with its place.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::leaf;
use super::schema::Shape;
use cellway_settings::found::Found;
use cellway_settings::problem::nearest;

/// What was read of a document.
pub(super) struct Read {
    pub(super) json: Value,
    pub(super) found: Vec<Found>,
    /// Where each top-level key stands.
    pub(super) places: BTreeMap<String, Range<usize>>,
}

/// Reads a whole document.
pub(super) fn read(document: &DeTable<'_>) -> Read {
    let mut found = Vec::new();
    let json = Value::Object(table(document, Shape::root(), "", 0..0, &mut found));
    let places = document.iter().map(|(key, _)| (key.get_ref().to_string(), key.span())).collect();
    Read { json, found, places }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn table(
    from: &DeTable<'_>,
    shape: Shape,
    path: &str,
    span: Range<usize>,
    found: &mut Vec<Found>,
) -> Map<String, Value> {
    let mut json = Map::new();
    for (key, value) in from {
        let (name, path) = (key.get_ref().as_ref(), join(path, key.get_ref()));
        let Some(inner) = shape.key(name) else {
            // The trap of TOML: what follows a [header] belongs to it.
            let misplaced = path != name && Shape::root().key(name).is_some_and(|shape| !shape.is_table());
            let message = match misplaced {
                true => "there is no such key here; at the top level it must stand before the first [table]",
                false => "there is no such key",
            };
            let meant = nearest(name, shape.keys()).map(str::to_owned);
            found.push(Found::new(key.span(), path, message).suggest(meant).accepted(shape.keys().join(", ")));
            continue;
        };
        if let Some(value) = node(value, inner, &path, key.span(), found) {
            json.insert(name.to_owned(), value);
        }
    }
    for key in shape.required() {
        if !from.iter().any(|(given, _)| given.get_ref() == key) {
            let accepted = shape.key(key).map(Shape::accepted).unwrap_or_default();
            found.push(Found::new(span.clone(), join(path, key), "is missing").accepted(accepted));
        }
    }
    json
}

fn node(
    from: &Spanned<DeValue<'_>>,
    shape: Shape,
    path: &str,
    key: Range<usize>,
    found: &mut Vec<Found>,
) -> Option<Value> {
    // Tables that are headed have no place of their own: their key's will do.
    let span = if from.span().is_empty() { key } else { from.span() };
    let wrong = |found: &mut Vec<Found>, what: &str| {
        found.push(Found::new(span.clone(), path, format!("{what} does not fit here")).accepted(shape.accepted()));
        None
    };
    match (from.get_ref(), shape.items()) {
        (DeValue::Table(inner), None) if shape.is_table() => {
            Some(Value::Object(table(inner, shape, path, span, found)))
        }
        (DeValue::Array(inner), Some(items)) => {
            let element = |(i, element): (usize, &Spanned<DeValue<'_>>)| {
                let name = element.get_ref().get("name").and_then(|name| name.get_ref().as_str());
                let path = name.map_or_else(|| format!("{path}[{}]", i + 1), |name| join(path, name));
                node(element, items, &path, span.clone(), found)
            };
            Some(Value::Array(inner.iter().enumerate().filter_map(element).collect()))
        }
        (DeValue::Table(_), Some(_)) => {
            let message = "is one table: its header is in single brackets, and there can be several";
            found.push(Found::new(span.clone(), path, message).suggest(Some(format!("[[{path}]]"))));
            None
        }
        (_, Some(_)) => wrong(found, &format!("the {} alone", from.get_ref().type_str())),
        (DeValue::Table(_), _) => wrong(found, "a table"),
        (DeValue::Array(_), _) => wrong(found, "an array"),
        (_, None) if shape.is_table() => wrong(found, &format!("the {} alone", from.get_ref().type_str())),
        (DeValue::String(text), None) => Some(leaf::encode(path, &span, Value::from(text.as_ref()))),
        (DeValue::Boolean(truth), None) => Some(leaf::encode(path, &span, Value::from(*truth))),
        (DeValue::Integer(digits), None) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) => Some(leaf::encode(path, &span, Value::from(number))),
            Err(_) => wrong(found, "so large a number"),
        },
        (DeValue::Float(_) | DeValue::Datetime(_), None) => wrong(found, &format!("the {}", from.get_ref().type_str())),
    }
}
