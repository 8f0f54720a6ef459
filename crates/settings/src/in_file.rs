//! Values of keys as they are in a file: read, described in the schema, and printed.

use std::fmt::Display;

use schemars::{Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::{Error, Map, Value, json};

use crate::choice::text;
use crate::quantity::{Text, parse, schema_of};
use crate::schema::{ABOVE, MAX, MIN};
use crate::tree::quoted;

/// The value of a key.
pub trait InFile: Sized {
    /// Reads it from a file that fits the schema.
    ///
    /// # Errors
    /// The value is of another type.
    fn read(value: Value) -> Result<Self, Error>;
    /// Returns its schema.
    fn schema(generator: &mut SchemaGenerator) -> Schema;
    /// Returns the value of a key without a default that a table leaves out; `None` if the table has to give it.
    fn left_out() -> Option<Self> {
        None
    }
}

/// A value that can be a default, and be printed.
pub trait Printed: InFile {
    /// Returns it as TOML.
    fn print(&self) -> String;
}

impl<T: Text> InFile for T {
    fn read(value: Value) -> Result<T, Error> {
        let text = match value {
            Value::Number(number) if T::NUMBERS => number.to_string(),
            other => String::deserialize(other)?,
        };
        parse(&text).map_err(|refusal| Error::custom(refusal.message))
    }
    fn schema(_: &mut SchemaGenerator) -> Schema {
        Schema::try_from(schema_of::<T>()).unwrap_or_default()
    }
}

impl<T: Text + Display> Printed for T {
    fn print(&self) -> String {
        quoted(&self.to_string())
    }
}

impl<T: InFile> InFile for Option<T> {
    fn read(value: Value) -> Result<Option<T>, Error> {
        T::read(value).map(Some)
    }
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }
    fn left_out() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: InFile> InFile for Vec<T> {
    fn read(value: Value) -> Result<Vec<T>, Error> {
        Vec::deserialize(value)?.into_iter().map(T::read).collect()
    }
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        Schema::try_from(json!({ "type": "array", "items": T::schema(generator) })).unwrap_or_default()
    }
}

impl<T: Printed> Printed for Vec<T> {
    fn print(&self) -> String {
        format!("[{}]", self.iter().map(Printed::print).collect::<Vec<_>>().join(", "))
    }
}

/// Implements [`InFile`](crate::in_file::InFile) for types that serde reads and schemars describes, and for those that are
/// `printed` also [`Printed`](crate::in_file::Printed).
#[macro_export]
macro_rules! in_file {
    (printed: $($type:ty),+ $(,)?) => {
        $crate::in_file!($($type),+);
        $(impl $crate::in_file::Printed for $type {
            fn print(&self) -> String {
                $crate::in_file::json(self)
            }
        })+
    };
    ($($type:ty),+ $(,)?) => {
        $(impl $crate::in_file::InFile for $type {
            fn read(value: $crate::serde_json::Value) -> Result<$type, $crate::serde_json::Error> {
                $crate::serde_json::from_value(value)
            }
            fn schema(generator: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                generator.subschema_for::<$type>()
            }
        })+
    };
}

in_file!(printed: bool, f64, u16, u32, u64, String);
in_file!(Map<String, Value>);

/// Returns a number, boolean or string as JSON, which is TOML as well.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plain value is printable")
}

/// The keys of a table that are not read yet.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Keys(Map<String, Value>);

impl Keys {
    /// Returns the keys of a table.
    ///
    /// # Errors
    /// It is none.
    pub fn of(table: Value) -> Result<Keys, Error> {
        Keys::deserialize(table)
    }
    /// Reads `key`; `left_out` if it is not there, `None` if its value was refused.
    ///
    /// # Errors
    /// The value is of another type.
    pub fn take<T: InFile>(&mut self, key: &str, left_out: Option<T>) -> Result<Option<T>, Error> {
        match self.0.remove(key) {
            None => Ok(left_out),
            Some(Value::Null) => Ok(None),
            Some(value) => T::read(value).map(Some),
        }
    }
    /// Ends reading.
    ///
    /// # Errors
    /// A key is left that the table does not have, and was not refused for that.
    pub fn end(self) -> Result<(), Error> {
        match self.0.iter().find(|(_, value)| !value.is_null()) {
            Some((other, _)) => Err(Error::custom(format!("unknown field {other:?}"))),
            None => Ok(()),
        }
    }
}

/// The keys of a [`table!`](crate::table!), which can also be a part of another table.
pub trait Table: Sized {
    /// Reads them, and leaves the others.
    ///
    /// # Errors
    /// A value is of another type.
    fn take(keys: &mut Keys) -> Result<Self, Error>;
    /// Adds them to a schema.
    fn describe(table: &mut TableSchema, generator: &mut SchemaGenerator);
}

/// The schema of a table under construction.
#[derive(Debug)]
pub struct TableSchema {
    about: String,
    keys: Vec<(String, Schema)>,
    required: Vec<String>,
}

impl TableSchema {
    /// A table without keys.
    pub fn new(about: &[&str]) -> TableSchema {
        TableSchema { about: text(about), keys: Vec::new(), required: Vec::new() }
    }
    fn last(&mut self) -> &mut Schema {
        &mut self.keys.last_mut().expect("a key was added").1
    }
    /// Adds `key`.
    pub fn add<T: InFile>(&mut self, generator: &mut SchemaGenerator, key: &str, help: &[&str]) {
        let mut schema = T::schema(generator);
        if !help.is_empty() {
            schema.insert("description".to_owned(), Value::from(text(help)));
        }
        self.keys.push((key.to_owned(), schema));
    }
    /// Requires the key added last if it is of a type that no table may leave out.
    pub fn require<T: InFile>(&mut self) {
        if T::left_out().is_none() {
            self.required.extend(self.keys.last().map(|(key, _)| key.clone()));
        }
    }
    /// Limits the key added last, or the elements of its array: `min`, `max` or `above`.
    pub fn limit(&mut self, limit: &str, bound: impl Into<Value>) {
        let bound = bound.into();
        let keyword = match (limit, bound.is_string()) {
            ("min", false) => "minimum",
            ("max", false) => "maximum",
            ("above", false) => "exclusiveMinimum",
            ("min", true) => MIN,
            ("max", true) => MAX,
            _ => ABOVE,
        };
        let schema = self.last();
        match schema.get_mut("items").and_then(Value::as_object_mut) {
            Some(items) => items.insert(keyword.to_owned(), bound),
            None => schema.insert(keyword.to_owned(), bound),
        };
    }
    /// Limits the number of elements, or of characters, of the key added last: `min` or `max`.
    pub fn length(&mut self, end: &str, length: u64) {
        let what = if self.last().get("items").is_some() { "Items" } else { "Length" };
        self.last().insert(format!("{end}{what}"), Value::from(length));
    }
    /// Sets the default of the key added last.
    pub fn default_of<T: Printed>(&mut self, value: &T) {
        let value = serde_json::from_str(&value.print()).expect("numbers, booleans and strings are JSON as well");
        self.last().insert("default".to_owned(), value);
    }
    /// Returns the schema.
    pub fn finish(self) -> Schema {
        let keys: Map<String, Value> = self.keys.into_iter().map(|(key, schema)| (key, schema.to_value())).collect();
        let mut schema = json!({
            "type": "object",
            "description": self.about,
            "properties": keys,
            "additionalProperties": false,
        });
        if !self.required.is_empty() {
            schema["required"] = Value::from(self.required);
        }
        Schema::try_from(schema).unwrap_or_default()
    }
}
