//! The JSON schema of scenario files: the one definition of keys, types and words that editors,
//! the checks and the path language share.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::file::File;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::schema_for!(File).to_value();
    tidy(&mut schema);
    // Sorted whatever features other crates switch on in serde_json.
    schema.sort_all_objects();
    schema
});

/// The JSON schema of scenario files, as text that ends with a line break.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&*SCHEMA).expect("a JSON value is printable");
    text.push('\n');
    text
}

/// TOML has no null, so a key that may be left out has nothing but its own type.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.get("default").is_some_and(|d| d.is_null() || d.is_object()) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|t| t != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(any)) = object.get_mut("anyOf") {
                any.retain(|s| s.get("type").is_none_or(|t| t != "null"));
                if let [Value::Object(only)] = any.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    object.extend(only);
                }
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// The schema of one place in the file, references followed.
#[derive(Clone, Copy)]
pub(crate) struct Shape(&'static Map<String, Value>);

impl Shape {
    pub(crate) fn root() -> Shape {
        Shape::of(&SCHEMA)
    }

    fn of(value: &'static Value) -> Shape {
        let object = value.as_object().expect("our schemas are objects");
        match object.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let name = reference.trim_start_matches("#/$defs/");
                Shape::of(&SCHEMA["$defs"][name])
            }
            None => Shape(object),
        }
    }

    fn properties(self) -> Option<&'static Map<String, Value>> {
        self.0.get("properties").and_then(Value::as_object)
    }

    /// The keys of a table, sorted; `None` where any key will do.
    pub(crate) fn keys(self) -> Option<Vec<&'static str>> {
        Some(self.properties()?.keys().map(String::as_str).collect())
    }

    pub(crate) fn key(self, key: &str) -> Option<Shape> {
        self.properties()?.get(key).map(Shape::of)
    }

    pub(crate) fn required(self) -> Vec<&'static str> {
        self.0.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The shape of the elements of an array.
    pub(crate) fn items(self) -> Option<Shape> {
        self.0.get("items").map(Shape::of)
    }

    /// Whether this is an array whose elements are meant by name.
    pub(crate) fn is_named_array(self) -> bool {
        self.items().is_some_and(|items| items.is_table())
    }

    pub(crate) fn is_table(self) -> bool {
        self.kind() == Some("object")
    }

    pub(crate) fn kind(self) -> Option<&'static str> {
        self.0.get("type").and_then(Value::as_str)
    }

    pub(crate) fn format(self) -> Option<&'static str> {
        self.0.get("format").and_then(Value::as_str)
    }

    /// A limit: `minimum`, `maximum`, `minItems`, `maxItems`, `minLength`.
    pub(crate) fn limit(self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    /// The words of an enumeration.
    pub(crate) fn words(self) -> Option<Vec<&'static str>> {
        let alternatives = self.0.get("oneOf").or_else(|| self.0.get("enum"))?.as_array()?;
        let mut words = Vec::new();
        for alternative in alternatives {
            match alternative {
                Value::String(word) => words.push(word.as_str()),
                Value::Object(object) => {
                    words.extend(object.get("const").and_then(Value::as_str));
                    words.extend(
                        object.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str),
                    );
                }
                _ => {}
            }
        }
        Some(words)
    }
}
