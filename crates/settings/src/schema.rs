//! The JSON schema of a file: the one definition of its keys, types and strings, which editors and checks share.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::quantity::Format;
use crate::range::Bound;

/// The keyword of our own with the least value of a quantity.
pub const MIN: &str = "x-minimum";
/// The keyword of our own with the greatest value of a quantity.
pub const MAX: &str = "x-maximum";
/// The keyword of our own with the value that a quantity must exceed.
pub const ABOVE: &str = "x-above";

/// The schema of a kind of file.
#[derive(Debug)]
pub struct FileSchema {
    json: Value,
    formats: &'static [Format],
}

impl FileSchema {
    /// Returns the schema of files that are read into `T`, whose quantities have `formats`.
    ///
    /// # Panics
    /// A bound of a range is no value of its key, or the format has no order.
    pub fn of<T: JsonSchema>(formats: &'static [Format]) -> FileSchema {
        let mut json = schemars::schema_for!(T).to_value();
        tidy(&mut json);
        // Sorted whatever features other crates switch on in serde_json.
        json.sort_all_objects();
        check_bounds(&json, formats);
        fit_examples(&mut json, formats);
        FileSchema { json, formats }
    }
    /// Returns it as JSON text that ends with a line break.
    pub fn text(&self) -> String {
        format!("{:#}\n", self.json)
    }
    /// Returns the schema of the whole file.
    pub fn root(&'static self) -> Shape {
        Shape::of(self, &self.json)
    }
}

/// TOML has no null, so a key that may be left out has nothing but its own type. A table has no keys but those listed.
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
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), Value::from(false));
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Checks that the bounds of quantities are values of their keys, which have an order.
fn check_bounds(value: &Value, formats: &[Format]) {
    match value {
        Value::Object(object) => {
            for bound in [MIN, MAX, ABOVE].iter().filter_map(|keyword| object.get(*keyword)?.as_str()) {
                let format = formats.iter().find(|format| object.get("format").is_some_and(|f| f == format.name));
                let equal = format.and_then(|format| (format.compare)(bound, bound)) == Some(Ordering::Equal);
                assert!(equal, "the bound {bound:?} is no value with an order in {object:?}");
            }
            object.values().for_each(|value| check_bounds(value, formats));
        }
        Value::Array(items) => items.iter().for_each(|item| check_bounds(item, formats)),
        _ => {}
    }
}

/// Returns the bounds of a quantity.
fn bounds(object: &Map<String, Value>) -> Vec<Bound<'_>> {
    let bounds = [(MIN, Bound::min as fn(_) -> _), (ABOVE, Bound::above), (MAX, Bound::max)];
    bounds.into_iter().filter_map(|(keyword, bound)| Some(bound(object.get(keyword)?.as_str()?))).collect()
}

/// Removes the examples of texts that their keys do not accept.
fn fit_examples(value: &mut Value, formats: &[Format]) {
    match value {
        Value::Object(object) => {
            if let Some(format) = formats.iter().find(|format| object.get("format").is_some_and(|f| f == format.name)) {
                let examples = object.get("examples").and_then(Value::as_array).into_iter().flatten();
                let bounds = bounds(object);
                let fits = |example: &&Value| example.as_str().is_some_and(|text| format.is_within(text, &bounds));
                let fitting: Vec<Value> = examples.filter(fits).cloned().collect();
                match fitting.is_empty() {
                    true => object.remove("examples"),
                    false => object.insert("examples".to_owned(), Value::from(fitting)),
                };
            }
            object.values_mut().for_each(|value| fit_examples(value, formats));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fit_examples(item, formats)),
        _ => {}
    }
}

/// The schema of one place in the file, references followed.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    object: &'static Map<String, Value>,
    schema: &'static FileSchema,
}

impl Shape {
    fn of(schema: &'static FileSchema, value: &'static Value) -> Shape {
        let object = value.as_object().expect("schemas of files are objects");
        match object.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let name = reference.trim_start_matches("#/$defs/");
                Shape::of(schema, &schema.json["$defs"][name])
            }
            None => Shape { object, schema },
        }
    }

    /// Returns the schema of the whole file.
    pub fn root(self) -> Shape {
        self.schema.root()
    }

    fn properties(self) -> Option<&'static Map<String, Value>> {
        self.object.get("properties").and_then(Value::as_object)
    }

    /// Returns the keys of a table, sorted; `None` if any key is accepted.
    pub fn keys(self) -> Option<Vec<&'static str>> {
        Some(self.properties()?.keys().map(String::as_str).collect())
    }

    /// Returns the shape of the value of `key`.
    pub fn key(self, key: &str) -> Option<Shape> {
        self.properties()?.get(key).map(|value| Shape::of(self.schema, value))
    }

    /// Returns true if it is the same place of the schema.
    pub(crate) fn is(self, other: Shape) -> bool {
        std::ptr::eq(self.object, other.object)
    }

    /// Returns the string of a keyword, such as `description`.
    pub fn text(self, keyword: &str) -> Option<&'static str> {
        self.object.get(keyword).and_then(Value::as_str)
    }

    /// Returns the help for `key`, or else for its value.
    pub fn description(self, key: &str) -> Option<&'static str> {
        let own = self.properties()?.get(key)?.get("description").and_then(Value::as_str);
        own.or_else(|| self.key(key)?.text("description"))
    }

    /// Returns the value of `key` if it is left out.
    pub(crate) fn default(self, key: &str) -> Option<&'static Value> {
        self.properties()?.get(key)?.get("default").or_else(|| self.key(key)?.object.get("default"))
    }

    /// Returns the values of an enumeration that have a description, with it.
    pub(crate) fn meanings(self) -> impl Iterator<Item = (&'static Value, &'static str)> {
        let alternatives = self.object.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        alternatives.filter_map(|one| Some((one.get("const")?, one.get("description")?.as_str()?)))
    }

    /// Returns true for an enumeration that has booleans beside its strings.
    pub(crate) fn takes_booleans(self) -> bool {
        self.meanings().any(|(value, _)| value.is_boolean())
    }

    /// Returns the keys that a table must have.
    pub fn required(self) -> Vec<&'static str> {
        self.object.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Returns the shape of the elements of an array.
    pub fn items(self) -> Option<Shape> {
        self.object.get("items").map(|value| Shape::of(self.schema, value))
    }

    /// Returns true for an array of tables, whose elements are named in paths.
    pub fn is_named_array(self) -> bool {
        self.items().is_some_and(|items| items.is_table())
    }

    /// Returns true for a table.
    pub fn is_table(self) -> bool {
        self.kind() == Some("object")
    }

    /// Returns its JSON type; "string" for a text that may be a number as well.
    pub fn kind(self) -> Option<&'static str> {
        match self.object.get("type")? {
            Value::Array(types) => types.iter().filter_map(Value::as_str).find(|kind| *kind == "string"),
            kind => kind.as_str(),
        }
    }

    /// Returns the form of a text.
    pub fn format(self) -> Option<Format> {
        let name = self.object.get("format").and_then(Value::as_str)?;
        self.schema.formats.iter().copied().find(|format| format.name == name)
    }

    /// Returns the bounds of a quantity.
    pub(crate) fn bounds(self) -> Vec<Bound<'static>> {
        bounds(self.object)
    }

    /// Returns an example of a quantity with a range: the first within it of its default, its examples and its bounds.
    pub(crate) fn example(self, bounds: &[Bound<'static>]) -> Option<&'static str> {
        let format = self.format()?;
        let is_within = |text: &&str| {
            let compared = || bounds.iter().map(|bound| (bound, (format.compare)(text, bound.value())));
            compared().all(|(bound, ordering)| ordering.is_some() && bound.accepts(ordering))
        };
        let examples = self.object.get("examples").and_then(Value::as_array).into_iter().flatten();
        let known = self.object.get("default").into_iter().chain(examples).filter_map(Value::as_str);
        known.chain(bounds.iter().map(|bound| bound.value())).find(is_within)
    }

    /// Returns the meaning of a key that is left out and has no default value, as its help states after "Default: ".
    pub(crate) fn without(self) -> Option<String> {
        let help = self.text("description").filter(|_| !self.object.contains_key("default"))?;
        let (_, meaning) = help.split_once("Default: ").or_else(|| help.split_once("default: "))?;
        let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = meaning.split_once(". ").map_or(&*meaning, |(sentence, _)| sentence);
        Some(sentence.trim_end_matches('.').to_owned())
    }

    /// Returns a limit: `minimum`, `maximum`, `exclusiveMinimum`, `minItems`, `maxItems`, `minLength`.
    pub fn limit(self, name: &str) -> Option<f64> {
        self.object.get(name).and_then(Value::as_f64)
    }

    /// Returns the form of the texts that an enumeration accepts beside its values, with the help for them.
    pub(crate) fn other_texts(self) -> Option<(Format, &'static str)> {
        let alternatives = self.object.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        let (format, help) = alternatives
            .filter_map(|one| Some((one.get("format")?.as_str()?, one.get("description")?.as_str()?)))
            .next()?;
        let format = self.schema.formats.iter().copied().find(|known| known.name == format)?;
        Some((format, help))
    }

    /// Returns the strings of an enumeration.
    pub fn words(self) -> Option<Vec<&'static str>> {
        let alternatives = self.object.get("oneOf").or_else(|| self.object.get("enum"))?.as_array()?;
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
