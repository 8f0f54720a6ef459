//! The keys that a text has, for forms, and settings that are written into a text, whose comments stay.

use serde::Serialize;
use toml_edit::{DocumentMut, InlineTable, Item, Value as TomlValue};

use crate::found::{self, Found, Sources};
use crate::path;
use crate::plan::Override;
use crate::problem::Error;
use crate::schema;
use crate::tree::{Entry, Node, Step, Value};
use cellway_settings::schema::Shape;

/// A key that a text gives a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Key {
    /// Its path, as [`Override`] has it.
    pub path: String,
    /// Its value as the text has it, with quotation marks.
    pub value: String,
    /// The line of its value in the text, from 1.
    pub line: usize,
    /// Its description in the schema.
    pub about: &'static str,
    /// The JSON type of its value.
    pub kind: &'static str,
    /// The words that it accepts, if it is one of them.
    pub words: Option<Vec<&'static str>>,
}

/// Returns the keys of `text` that an [`Override`] can set, in the order of the text. Keys that the schema does not have are
/// left out, as is a sweep. `file_name` is for messages.
///
/// # Errors
/// If the text is no TOML. Other problems are those of [`Plan::parse`](crate::Plan::parse).
pub fn keys(text: &str, file_name: &str) -> Result<Vec<Key>, Error> {
    let sources = Sources::of_file(file_name, text);
    let tree = Node::parse(text, 0).map_err(|found| found::error_of(&sources, found))?;
    let mut search = Search { text, tree: &tree, keys: Vec::new() };
    search.table(&tree, schema::root(), &mut Vec::new());
    search.keys.sort_by_key(|(start, _)| *start);
    Ok(search.keys.into_iter().map(|(_, key)| key).collect())
}

struct Search<'t> {
    text: &'t str,
    tree: &'t Node,
    /// Each with the first byte of its value.
    keys: Vec<(usize, Key)>,
}

impl Search<'_> {
    fn table(&mut self, node: &Node, shape: Shape, steps: &mut Vec<Step>) {
        for Entry { key, node, .. } in node.table().into_iter().flat_map(|table| table.entries()) {
            let is_set_by_path = !(steps.is_empty() && key == "sweep");
            let Some(inner) = shape.key(key).filter(|_| is_set_by_path) else { continue };
            steps.push(Step::from(key.as_str()));
            self.value(key, node, shape, inner, steps);
            steps.pop();
        }
    }

    fn value(&mut self, key: &str, node: &Node, outer: Shape, shape: Shape, steps: &mut Vec<Step>) {
        match &node.value {
            Value::Table(_) if shape.is_table() => self.table(node, shape, steps),
            Value::Array(items) if shape.is_named_array() => {
                let inner = shape.items().expect("a named array has elements");
                for (index, item) in items.iter().enumerate() {
                    steps.push(Step::from(index));
                    self.table(item, inner, steps);
                    steps.pop();
                }
            }
            _ => {
                let path = self.tree.display(steps);
                // The name of an element, and a value in an array without names.
                if path::resolve(self.tree, &path).is_ok_and(|targets| targets == [&**steps]) {
                    let (start, end) = (node.at.start, node.at.end);
                    let key = Key {
                        path,
                        value: self.text[start..end].to_owned(),
                        line: self.text[..start].matches('\n').count() + 1,
                        about: outer.description(key).unwrap_or_default(),
                        kind: shape.kind().unwrap_or_default(),
                        words: shape.words(),
                    };
                    self.keys.push((start, key));
                }
            }
        }
    }
}

/// Returns `text` with settings written into it, in their order, as [`Plan::parse_with`](crate::Plan::parse_with) would apply
/// them. Everything else in the text stays as it is. `file_name` is for messages.
///
/// # Errors
/// If the text is no TOML, or a setting names no key. Values are not checked.
pub fn written(text: &str, file_name: &str, settings: &[Override]) -> Result<String, Error> {
    let mut sources = Sources::of_file(file_name, text);
    let mut tree = Node::parse(text, 0).map_err(|found| found::error_of(&sources, found))?;
    let mut document: DocumentMut = text.parse().expect("the text has just been parsed");
    for Override { path, value } in settings {
        let source = sources.add(format!("override {path} = {value}"), value.clone());
        let node = Node::parse_value(value, source);
        let targets = path::resolve(&tree, path).map_err(|reason| {
            let problem = Found::new(node.at, path.as_str(), reason.message);
            let problem = Found { suggestion: reason.suggestion, accepted: reason.accepted, ..problem };
            found::error_of(&sources, [problem])
        })?;
        for target in targets {
            path::set(&mut tree, &target, node.clone());
            set(document.as_item_mut(), &target, toml_value(value));
        }
    }
    Ok(document.to_string())
}

/// Returns a value as [`Node::parse_value`] reads it.
fn toml_value(text: &str) -> TomlValue {
    text.trim().parse().unwrap_or_else(|_| TomlValue::from(text.trim()))
}

fn set(item: &mut Item, target: &[Step], value: TomlValue) {
    let Some((step, rest)) = target.split_first() else { return replace(item, value) };
    match step {
        Step::Index(index) => match item {
            Item::ArrayOfTables(tables) => {
                let table = tables.get_mut(*index).expect("the target was found in this text");
                set_key(table, rest, value);
            }
            _ => {
                let element = item.as_array_mut().and_then(|array| array.get_mut(*index));
                let table =
                    element.and_then(TomlValue::as_inline_table_mut).expect("the target was found in this text");
                set_key(table, rest, value);
            }
        },
        Step::Key(_) => set_key(item.as_table_like_mut().expect("the target was found in this text"), target, value),
    }
}

fn set_key(table: &mut dyn toml_edit::TableLike, target: &[Step], value: TomlValue) {
    let Some((Step::Key(key), rest)) = target.split_first() else { return };
    match table.get_mut(key) {
        Some(item) => set(item, rest, value),
        None => {
            // Tables that are missing are made on one line, within the one that is there.
            let made = rest.iter().rev().fold(value, |value, step| {
                let Step::Key(key) = step else { return value };
                let mut table = InlineTable::new();
                table.insert(key, value);
                TomlValue::from(table)
            });
            table.insert(key, Item::Value(made));
        }
    }
}

/// Puts a value in the place of another, with the blanks and the comment beside it.
fn replace(item: &mut Item, mut value: TomlValue) {
    if let Some(before) = item.as_value() {
        *value.decor_mut() = before.decor().clone();
    }
    *item = Item::Value(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# A comment.
version = 1
name = "small" # of the scenario

[run]
duration = "2 s"   # short

[[node]]
name = "a"
kind = "router"

[[link]]
between = ["a", "b"]
rate = "1.5 Mbit/s"
forward = { delay = "5 ms" }
"#;

    fn write(settings: &[(&str, &str)]) -> Result<String, Error> {
        let settings: Vec<Override> = settings.iter().map(|(path, value)| Override::new(*path, *value)).collect();
        written(TEXT, "a.toml", &settings)
    }

    #[test]
    fn keys_have_their_paths_values_and_lines() {
        let keys = keys(TEXT, "a.toml").unwrap();
        let found: Vec<(&str, &str, usize)> = keys.iter().map(|key| (&*key.path, &*key.value, key.line)).collect();
        let expected = [
            ("version", "1", 2),
            ("name", "\"small\"", 3),
            ("run.duration", "\"2 s\"", 6),
            ("node.a.kind", "\"router\"", 10),
            ("link.a-b.between", "[\"a\", \"b\"]", 13),
            ("link.a-b.rate", "\"1.5 Mbit/s\"", 14),
            ("link.a-b.forward.delay", "\"5 ms\"", 15),
        ];
        assert_eq!(found, expected);
        let kind = keys.iter().find(|key| key.path == "node.a.kind").unwrap();
        assert!(kind.words.as_ref().is_some_and(|words| words.contains(&"gateway")) && !kind.about.is_empty());
    }

    /// A key that a misspelt one stands for is not offered; the check reports it.
    #[test]
    fn unknown_keys_and_sweeps_are_left_out() {
        let text = "version = 1\nnme = 'x'\n[sweep]\naxes = { 'run.seed' = [1, 2] }\n";
        assert_eq!(keys(text, "a.toml").unwrap().iter().map(|key| &*key.path).collect::<Vec<_>>(), ["version"]);
        let error = keys("version = \n", "a.toml").unwrap_err();
        assert_eq!(error.problems[0].line, Some(1));
    }

    #[test]
    fn only_the_value_changes() {
        let text = write(&[("run.duration", "90 s"), ("link.a-b.rate", "\"3 Mbit/s\"")]).unwrap();
        let expected = TEXT.replace("\"2 s\"", "\"90 s\"").replace("1.5 Mbit", "3 Mbit");
        assert_eq!(text, expected);
    }

    #[test]
    fn missing_keys_and_tables_are_made() {
        let text = write(&[("run.seed", "7"), ("tcp.window", "64 KiB"), ("link.*.back.loss", "1 %")]).unwrap();
        let keys = keys(&text, "a.toml").unwrap();
        let value = |path: &str| keys.iter().find(|key| key.path == path).map(|key| key.value.as_str());
        assert_eq!(value("run.seed"), Some("7"), "{text}");
        assert_eq!(value("tcp.window"), Some("\"64 KiB\""), "{text}");
        assert_eq!(value("link.a-b.back.loss"), Some("\"1 %\""), "{text}");
        assert!(text.starts_with("# A comment.\nversion = 1\nname = \"small\" # of the scenario\n"), "{text}");
    }

    #[test]
    fn a_setting_that_names_no_key_is_refused() {
        let error = write(&[("link.c.rate", "1 Mbit/s")]).unwrap_err();
        assert!(error.problems[0].message.contains("no link called \"c\""), "{error:?}");
    }
}
