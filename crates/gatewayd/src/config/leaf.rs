//! A value of the file with its key and its place, read without ever failing: what is wrong with it is
//! kept, so that one pass finds the problems of all values.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Value, json};

use cellway_settings::found::Found;

/// Why a value is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) suggestion: Option<String>,
}

impl Refusal {
    pub(super) fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), suggestion: None }
    }
    pub(super) fn suggest(self, suggestion: impl Into<String>) -> Refusal {
        Refusal { suggestion: Some(suggestion.into()), ..self }
    }
}

/// A kind of value.
pub(super) trait Kind: Sized {
    /// From a string, a number or a truth value; tables and arrays are refused before.
    fn read(value: &Value) -> Result<Self, Refusal>;
    /// What is accepted, in words.
    fn accepted() -> String;
    /// Its JSON schema: at least `type`.
    fn schema() -> Value;
}

/// A value, or why it is none.
#[derive(Clone, Debug)]
pub(super) struct Leaf<T> {
    pub(super) key: String,
    pub(super) span: Range<usize>,
    pub(super) read: Result<T, Refusal>,
}

/// What stands for a value in the JSON that the file's structures are filled from.
pub(super) fn encode(key: &str, span: &Range<usize>, value: Value) -> Value {
    json!({ "key": key, "start": span.start, "end": span.end, "value": value })
}

impl<'de, T: Kind> Deserialize<'de> for Leaf<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Leaf<T>, D::Error> {
        #[derive(Deserialize)]
        struct Encoded {
            key: String,
            start: usize,
            end: usize,
            value: Value,
        }
        let Encoded { key, start, end, value } = Encoded::deserialize(from).map_err(D::Error::custom)?;
        Ok(Leaf { key, span: start..end, read: T::read(&value) })
    }
}

impl<T: Kind> Leaf<T> {
    /// A problem at this value.
    pub(super) fn wrong(&self, message: impl Into<String>) -> Found {
        Found::new(self.span.clone(), self.key.clone(), message)
    }
    /// The value; if it was refused, that is told.
    pub(super) fn take(self, found: &mut Vec<Found>) -> Option<T> {
        match self.read {
            Ok(value) => Some(value),
            Err(refusal) => {
                let problem = Found::new(self.span, self.key, refusal.message);
                found.push(problem.suggest(refusal.suggestion).accepted(T::accepted()));
                None
            }
        }
    }
    /// The value, if it was not refused.
    pub(super) fn get(&self) -> Option<&T> {
        self.read.as_ref().ok()
    }
}

impl<T: Kind> JsonSchema for Leaf<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("leaf")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = T::schema();
        if let Some(object) = schema.as_object_mut() {
            object.insert(super::schema::ACCEPTS.to_owned(), Value::from(T::accepted()));
        }
        Schema::try_from(schema).unwrap_or_default()
    }
    fn inline_schema() -> bool {
        true
    }
}
