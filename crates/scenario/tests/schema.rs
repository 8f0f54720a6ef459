//! The committed schema is the one that the checks use.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::repository;
use serde_json::Value;

/// A committed file that the crate prints. The environment variable `update` writes it anew.
fn committed(name: &str, printed: &str, update: &str) {
    let path = repository(name);
    if std::env::var_os(update).is_some() {
        std::fs::write(&path, printed).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == printed, "{name} is old: {update}=1 cargo test -p cellway-scenario");
}

#[test]
fn the_committed_schema_has_not_drifted() {
    committed("schema/scenario.schema.json", &cellway_scenario::schema(), "UPDATE_SCHEMA");
}

#[test]
fn the_committed_reference_has_not_drifted() {
    committed("docs/reference/scenario.md", &cellway_scenario::reference(), "UPDATE_GOLDEN");
}

/// Editors show help for every key; every quantity has a pattern that its own examples fit.
#[test]
fn every_key_has_help_and_every_quantity_examples() {
    fn visit(value: &Value, keys: &mut u32, quantities: &mut u32) {
        if let Some(properties) = value.get("properties").and_then(Value::as_object) {
            for (key, property) in properties {
                *keys += 1;
                let referred = property.get("$ref").is_some();
                assert!(referred || property.get("description").is_some(), "{key} has no help: {property}");
                assert!(property["type"] != "null", "{key}: TOML has no null");
            }
        }
        // A path can be any text.
        if value.get("pattern").is_some_and(Value::is_string) && value["format"] != "path" {
            *quantities += 1;
            assert!(value["examples"].as_array().is_some_and(|e| !e.is_empty()), "{value}");
        }
        match value {
            Value::Object(object) => object.values().for_each(|v| visit(v, keys, quantities)),
            Value::Array(items) => items.iter().for_each(|v| visit(v, keys, quantities)),
            _ => {}
        }
    }
    let schema: Value = serde_json::from_str(&cellway_scenario::schema()).unwrap();
    let (mut keys, mut quantities) = (0, 0);
    visit(&schema, &mut keys, &mut quantities);
    assert!(keys > 60 && quantities > 20, "{keys} keys, {quantities} quantities");
    let required = schema["required"].as_array().unwrap();
    for key in ["version", "name", "run", "buffer", "node", "link"] {
        assert!(required.contains(&Value::from(key)), "{key}");
    }
    assert_eq!(schema["$defs"]["TcpKeys"]["additionalProperties"], Value::from(false));
}
