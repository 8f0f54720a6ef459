//! The JSON schema of configuration files: the one definition of keys that editors, the checks and the
//! reference share.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::file::File;

/// The keyword of our own that says in words what a key accepts.
pub(super) const ACCEPTS: &str = "x-accepts";

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::schema_for!(File).to_value();
    tidy(&mut schema);
    // Sorted whatever features other crates switch on in serde_json.
    schema.sort_all_objects();
    schema
});

/// The JSON schema of configuration files, as text that ends with a line break.
pub(crate) fn schema() -> String {
    format!("{:#}\n", *SCHEMA)
}

/// TOML has no null, so a key that may be left out has nothing but its own type; and there are no
/// other keys than ours.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
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
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), Value::from(false));
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// The schema of one place in the file, references followed.
#[derive(Clone, Copy)]
pub(super) struct Shape(&'static Map<String, Value>);

impl Shape {
    pub(super) fn root() -> Shape {
        static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        Shape::of(&SCHEMA).unwrap_or(Shape(&EMPTY))
    }
    fn of(value: &'static Value) -> Option<Shape> {
        let object = value.as_object()?;
        match object.get("$ref").and_then(Value::as_str) {
            Some(reference) => Shape::of(&SCHEMA["$defs"][reference.trim_start_matches("#/$defs/")]),
            None => Some(Shape(object)),
        }
    }
    /// The keys of a table, sorted.
    pub(super) fn keys(self) -> Vec<&'static str> {
        self.0
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect()
    }
    pub(super) fn key(self, key: &str) -> Option<Shape> {
        self.0.get("properties")?.get(key).and_then(Shape::of)
    }
    pub(super) fn required(self) -> Vec<&'static str> {
        self.0.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }
    /// The shape of the elements of an array.
    pub(super) fn items(self) -> Option<Shape> {
        self.0.get("items").and_then(Shape::of)
    }
    pub(super) fn is_table(self) -> bool {
        self.0.contains_key("properties")
    }
    /// A text of this schema: `description`, [`ACCEPTS`].
    pub(super) fn text(self, keyword: &str) -> Option<&'static str> {
        self.0.get(keyword).and_then(Value::as_str)
    }
    /// The value if the key is left out.
    pub(super) fn default(self) -> Option<&'static Value> {
        self.0.get("default")
    }
    /// The words of an enumeration, each with what it means.
    pub(super) fn words(self) -> Vec<(&'static str, &'static str)> {
        let words = self.0.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        words.filter_map(|word| Some((word.get("const")?.as_str()?, word.get("description")?.as_str()?))).collect()
    }
    /// What is accepted here, in words.
    pub(super) fn accepted(self) -> String {
        match self.items() {
            Some(items) if items.is_table() => "one or more tables, each headed [[..]]".to_owned(),
            Some(items) => format!("an array, each {}", items.text(ACCEPTS).unwrap_or_default()),
            None if self.is_table() => format!("a table with {}", self.keys().join(", ")),
            None => self.text(ACCEPTS).unwrap_or_default().to_owned(),
        }
    }
}
