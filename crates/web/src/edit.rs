//! The keys of a text, and settings that are written into it.

use serde_json::{Value, json};

use crate::request::{NAME, Refused, Request};

/// Lists the keys that the text has, as an array, or answers with the reason why it has none.
pub fn keys(request: &Request) -> Value {
    match cellway_scenario::keys(&request.text, NAME) {
        Ok(keys) => json!(keys),
        Err(error) => Refused::from(error).0,
    }
}

/// Writes the settings of the request into its text: `{"text": "…"}`, or the reason why not.
pub fn written(request: &Request) -> Value {
    match cellway_scenario::written(&request.text, NAME, &request.overrides()) {
        Ok(text) => json!({ "text": text }),
        Err(error) => Refused::from(error).0,
    }
}
