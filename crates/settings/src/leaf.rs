//! A value of a file with its key and its location. Reading it cannot fail: a refused value is kept as such, so that one pass
//! finds the problems of all values.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Value, json};

use crate::found::Found;
use crate::schema::ACCEPTS;
use crate::tree::At;

/// The reason for which a value is not of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, with the value.
    pub message: String,
    /// The likeliest value that was meant.
    pub suggestion: Option<String>,
}

impl Refusal {
    /// A reason without a suggestion.
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), suggestion: None }
    }
    /// Adds a suggestion.
    #[must_use]
    pub fn suggest(self, suggestion: impl Into<String>) -> Refusal {
        Refusal { suggestion: Some(suggestion.into()), ..self }
    }
}

/// A kind of value.
pub trait Kind: Sized {
    /// Reads it from a string, an integer or a boolean.
    ///
    /// # Errors
    /// The value is not of this kind.
    fn read(value: &Value) -> Result<Self, Refusal>;
    /// Returns the accepted values, in words.
    fn accepted() -> String;
    /// Returns its JSON schema, which has a `type`.
    fn schema() -> Value;
}

/// A value, or the reason for which it is refused.
#[derive(Clone, Debug)]
pub struct Leaf<T> {
    /// The path of its key, elements by name: `peer.tokyo.rate`.
    pub key: String,
    /// Its location.
    pub at: At,
    /// The value.
    pub read: Result<T, Refusal>,
}

/// Returns the JSON from which a [`Leaf`] is deserialized.
pub(crate) fn encode(key: &str, at: At, value: Value) -> Value {
    json!({ "key": key, "source": at.source, "start": at.start, "end": at.end, "value": value })
}

impl<'de, T: Kind> Deserialize<'de> for Leaf<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Leaf<T>, D::Error> {
        #[derive(Deserialize)]
        struct Encoded {
            key: String,
            source: usize,
            start: usize,
            end: usize,
            value: Value,
        }
        let Encoded { key, source, start, end, value } = Encoded::deserialize(from).map_err(D::Error::custom)?;
        Ok(Leaf { key, at: At { source, start, end }, read: T::read(&value) })
    }
}

impl<T: Kind> Leaf<T> {
    /// Returns a problem of this value.
    pub fn wrong(&self, message: impl Into<String>) -> Found {
        Found::new(self.at, self.key.clone(), message)
    }
    /// Returns the value. If it was refused, the problem is added to `found`.
    pub fn take(self, found: &mut Vec<Found>) -> Option<T> {
        match self.read {
            Ok(value) => Some(value),
            Err(refusal) => {
                let problem = Found::new(self.at, self.key, refusal.message);
                found.push(problem.suggest(refusal.suggestion).accepted(T::accepted()));
                None
            }
        }
    }
    /// Returns the value, if it was not refused.
    pub fn get(&self) -> Option<&T> {
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
            object.insert(ACCEPTS.to_owned(), Value::from(T::accepted()));
        }
        Schema::try_from(schema).unwrap_or_default()
    }
    fn inline_schema() -> bool {
        true
    }
}
