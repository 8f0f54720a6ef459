//! The keys that a text has, for forms, and settings that are written into a text, whose comments stay.

use std::collections::{BTreeMap, BTreeSet};

use cellway_settings::schema::Shape;
use serde::Serialize;
use toml_edit::{DocumentMut, InlineTable, Item, Value as TomlValue};

use crate::found::{self, Sources};
use crate::path::{self, NoTarget};
use crate::plan::Override;
use crate::problem::Error;
use crate::schema;
use crate::sweep;
use crate::tree::{Entry, Node, Step, Value};

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
    /// The values that it accepts, if it is an enumeration.
    pub values: Option<Vec<&'static str>>,
    /// True if the sweep sets it, or what contains it, so that no [`Override`] can.
    pub swept: bool,
}

/// Returns the keys of `text` that have a path, in the order of the text. Keys that the schema does not have are left out,
/// as is a sweep. `file_name` is for messages.
///
/// # Errors
/// If the text is no TOML. Other problems are those of [`Plan::parse`](crate::Plan::parse).
pub fn keys(text: &str, file_name: &str) -> Result<Vec<Key>, Error> {
    let sources = Sources::of_file(file_name, text);
    let mut tree = Node::parse(text, 0).map_err(|found| found::error_of(&sources, found))?;
    // A sweep with problems sets what it can; the check reports them.
    let axes = sweep::from_tree(&mut tree, &[], &mut Vec::new());
    let settings = axes.iter().flat_map(|axis| &axis.choices).flat_map(|choice| &choice.settings);
    let swept: BTreeSet<String> = settings.map(|(target, _)| tree.display(target)).collect();
    let lines = text.match_indices('\n').map(|(at, _)| at).collect();
    let mut search = Search { text, lines, swept, keys: Vec::new() };
    search.table(&tree, schema::root(), "");
    search.keys.sort_by_key(|(start, _)| *start);
    Ok(search.keys.into_iter().map(|(_, key)| key).collect())
}

struct Search<'t> {
    text: &'t str,
    /// The ends of its lines.
    lines: Vec<usize>,
    /// The paths that the sweep sets.
    swept: BTreeSet<String>,
    /// Each with the first byte of its value.
    keys: Vec<(usize, Key)>,
}

impl Search<'_> {
    fn table(&mut self, node: &Node, shape: Shape, path: &str) {
        for Entry { key, node, .. } in node.table().into_iter().flat_map(|table| table.entries()) {
            let Some(inner) = shape.key(key) else { continue };
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match &node.value {
                Value::Table(_) if inner.is_table() => self.table(node, inner, &path),
                Value::Array(items) if inner.is_named_array() => self.elements(items, inner, &path),
                _ => self.key(key, node, shape, inner, path),
            }
        }
    }

    /// Searches the elements of an array, each called by its name or by its number from 1. Those of which a name says too
    /// little or too much are left out.
    fn elements(&mut self, items: &[Node], shape: Shape, path: &str) {
        let inner = shape.items().expect("a named array has elements");
        let name = |(index, item): (usize, &Node)| item.element_name().unwrap_or((index + 1).to_string());
        let names: Vec<String> = items.iter().enumerate().map(name).collect();
        let mut counts = BTreeMap::<&str, usize>::new();
        names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        for (item, name) in items.iter().zip(&names) {
            if counts[&**name] == 1 && path::is_segment(name) {
                self.table(item, inner, &format!("{path}.{name}"));
            }
        }
    }

    fn key(&mut self, key: &str, node: &Node, outer: Shape, shape: Shape, path: String) {
        // The name of an element is no key that can be set.
        let is_name = key == "name" && path.contains('.');
        if is_name || shape.is_named_array() {
            return;
        }
        let (start, end) = (node.at.start, node.at.end);
        let starts = std::iter::successors(Some(&*path), |path| Some(path.rsplit_once('.')?.0));
        let swept = starts.into_iter().any(|path| self.swept.contains(path));
        let key = Key {
            value: self.text[start..end].to_owned(),
            line: self.lines.partition_point(|&end| end < start) + 1,
            about: outer.description(key).unwrap_or_default(),
            kind: shape.kind().unwrap_or_default(),
            values: shape.words(),
            swept,
            path,
        };
        self.keys.push((start, key));
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
        let refused = |reason: NoTarget| found::error_of(&sources, [reason.found(node.at, path)]);
        let targets = path::resolve(&tree, path).map_err(refused)?;
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
        assert!(kind.values.as_ref().is_some_and(|values| values.contains(&"gateway")) && !kind.about.is_empty());
    }

    /// A key that a misspelt one stands for is not offered; the check reports it.
    #[test]
    fn unknown_keys_and_sweeps_are_left_out() {
        let text = "version = 1\nnme = 'x'\n[sweep]\naxes = { 'run.seed' = [1, 2] }\n";
        assert_eq!(keys(text, "a.toml").unwrap().iter().map(|key| &*key.path).collect::<Vec<_>>(), ["version"]);
        let error = keys("version = \n", "a.toml").unwrap_err();
        assert_eq!(error.problems[0].line, Some(1));
    }

    /// An axis sets a key or all of a kind, a variant several; a key within what is set is set, too.
    #[test]
    fn keys_that_a_sweep_sets_are_marked() {
        let sweep = r#"
            [sweep]
            axes = { "link.*.rate" = ["1 Mbit/s", "2 Mbit/s"], "link.a-b.forward" = [{ delay = "1 ms" }, { delay = "2 ms" }] }
            [[sweep.variant]]
            name = "long"
            set = { "run.duration" = "9 s" }
        "#;
        let keys = keys(&format!("{TEXT}{sweep}"), "a.toml").unwrap();
        let swept: Vec<&str> = keys.iter().filter(|key| key.swept).map(|key| &*key.path).collect();
        assert_eq!(swept, ["run.duration", "link.a-b.rate", "link.a-b.forward.delay"]);
    }

    #[test]
    fn elements_that_no_path_names_are_left_out() {
        let text =
            "node = [{ name = 'a', kind = 'host' }, { name = 'a', kind = 'host' }, { name = 'b.c', kind = 'host' }]";
        assert!(keys(text, "a.toml").unwrap().is_empty());
        // As many as fit into an address: each costs the same.
        let many: String = (0..9000).map(|i| format!("[[node]]\nname = 'n{i}'\nkind = 'host'\n")).collect();
        let found = keys(&many, "a.toml").unwrap();
        assert_eq!((found.len(), found[8999].line, &*found[8999].path), (9000, 27_000, "node.n8999.kind"));
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
