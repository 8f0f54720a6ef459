//! The values of a scenario file, each with the place in the text that it comes from.
//!
//! Overrides and sweep values are written into this tree before it is checked, so that a problem
//! points at the text that caused it, wherever that stands.

use std::collections::BTreeMap;

use toml_edit::{Document, Item, TableLike};

use crate::found::Found;

/// A stretch of a source text: source number and byte range. Source 0 is the scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) source: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Table(Table),
    Array(Vec<Node>),
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// A date or time: nothing in a scenario is one.
    Date,
    /// Refused already; nothing more is said about it.
    Bad,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    /// The index of each key in `entries`.
    places: BTreeMap<String, usize>,
    /// Written as `a.b = ...`, so that the table itself is not what is set.
    pub(crate) dotted: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: At,
    pub(crate) node: Node,
}

/// One step from a table or an array to what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Step {
        Step::Key(key.to_owned())
    }
}
impl From<usize> for Step {
    fn from(index: usize) -> Step {
        Step::Index(index)
    }
}

/// `at!["link", i, "rate"]`: the steps to a value.
macro_rules! at {
    ($($step:expr),* $(,)?) => { [$($crate::tree::Step::from($step)),*] };
}
pub(crate) use at;

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.places.get(key).map(|&place| &self.entries[place].node)
    }
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.places.get(key).map(|&place| &mut self.entries[place].node)
    }
    /// Returns the entries in the order of the text.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
    /// Adds an entry whose key is not there yet.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.places.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry);
    }
    /// Removes an entry.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Node> {
        let place = self.places.remove(key)?;
        self.places.values_mut().filter(|other| **other > place).for_each(|other| *other -= 1);
        Some(self.entries.remove(place).node)
    }
}

impl Node {
    /// Parses a TOML text into a tree.
    pub(crate) fn parse(text: &str, source: usize) -> Result<Node, Found> {
        let document = Document::parse(text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            let at = At { source, start: span.start, end: span.end };
            let message = e.message().trim().replace('\n', ", ");
            let key = text.get(span).unwrap_or_default();
            twice(text, key, at.start, &message).map_or_else(
                || Found::new(at, "", format!("this is not TOML: {message}")),
                |(message, accepted)| Found::new(at, key, message).accepted(accepted),
            )
        })?;
        Ok(Node { at: At { source, start: 0, end: 0 }, value: table(document.as_table(), source, false) })
    }

    /// The tree of one TOML value, or of a bare string where the text is no TOML value.
    pub(crate) fn parse_value(text: &str, source: usize) -> Node {
        const PREFIX: &str = "v=";
        let whole = At { source, start: 0, end: text.len() };
        let parsed = Document::parse(format!("{PREFIX}{text}")).ok();
        let value = match parsed.as_ref().map(|d| d.as_table()) {
            // More than one key: the text had line breaks and went on as TOML of its own.
            Some(root) if root.len() == 1 => root.get("v").map(|item| item_value(item, source)),
            _ => None,
        };
        let mut node = match value {
            Some(value) => Node { at: whole, value },
            None => Node { at: whole, value: Value::Text(text.trim().to_owned()) },
        };
        node.place_at(whole);
        node
    }

    /// Gives the whole branch one place.
    fn place_at(&mut self, at: At) {
        self.at = at;
        match &mut self.value {
            Value::Table(table) => {
                for entry in &mut table.entries {
                    entry.key_at = at;
                    entry.node.place_at(at);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| item.place_at(at)),
            _ => {}
        }
    }

    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
    pub(crate) fn array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn child(&self, step: &Step) -> Option<&Node> {
        match (step, &self.value) {
            (Step::Key(key), Value::Table(table)) => table.get(key),
            (Step::Index(i), Value::Array(items)) => items.get(*i),
            _ => None,
        }
    }

    pub(crate) fn find(&self, path: &[Step]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| node.child(step))
    }

    /// The place of the value at `path`, or of the nearest thing above it that exists.
    pub(crate) fn place(&self, path: &[Step]) -> At {
        let mut node = self;
        for step in path {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.at
    }

    /// Whether the value at `path`, or anything above it, has been refused.
    pub(crate) fn is_bad(&self, path: &[Step]) -> bool {
        let mut node = self;
        for step in path {
            if node.value == Value::Bad {
                return true;
            }
            match node.child(step) {
                Some(child) => node = child,
                None => return false,
            }
        }
        node.value == Value::Bad
    }

    /// The name by which paths mean this element of an array of tables: its `name`, or "a-b" of
    /// a link between a and b.
    pub(crate) fn element_name(&self) -> Option<String> {
        let table = self.table()?;
        if let Some(name) = table.get("name") {
            return name.text().map(str::to_owned);
        }
        match table.get("between")?.array()? {
            [a, b] => Some(format!("{}-{}", a.text()?, b.text()?)),
            _ => None,
        }
    }

    /// `path` as a person would write it, elements by name where they have one.
    pub(crate) fn display(&self, path: &[Step]) -> String {
        let mut text = String::new();
        let mut node = Some(self);
        for step in path {
            let child = node.and_then(|n| n.child(step));
            match step {
                Step::Key(key) if text.is_empty() => text.push_str(key),
                Step::Key(key) => text.push_str(&format!(".{key}")),
                Step::Index(i) => match child.and_then(Node::element_name) {
                    Some(name) => text.push_str(&format!(".{name}")),
                    None => text.push_str(&format!("[{}]", i + 1)),
                },
            }
            node = child;
        }
        text
    }

    /// For deserializing: refused values are left out.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Table(table) => Json::Object(
                table
                    .entries
                    .iter()
                    .filter(|e| e.node.value != Value::Bad)
                    .map(|e| (e.key.clone(), e.node.to_json()))
                    .collect(),
            ),
            Value::Array(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Text(text) => Json::from(text.as_str()),
            Value::Integer(i) => Json::from(*i),
            Value::Float(x) => Json::from(*x),
            Value::Bool(b) => Json::from(*b),
            // Elements of arrays keep their places: an empty table stands for a refused one.
            Value::Date | Value::Bad => Json::Object(serde_json::Map::new()),
        }
    }

    /// The value as TOML text on one line, for messages and axis names.
    pub(crate) fn to_toml(&self) -> String {
        match &self.value {
            Value::Table(table) => {
                let entries: Vec<String> =
                    table.entries.iter().map(|e| format!("{} = {}", e.key, e.node.to_toml())).collect();
                format!("{{ {} }}", entries.join(", "))
            }
            Value::Array(items) => {
                format!("[{}]", items.iter().map(Node::to_toml).collect::<Vec<_>>().join(", "))
            }
            Value::Text(text) => quoted(text),
            Value::Integer(i) => i.to_string(),
            Value::Float(x) => format!("{x:?}"),
            Value::Bool(b) => b.to_string(),
            Value::Date => "a date".to_owned(),
            Value::Bad => "?".to_owned(),
        }
    }
}

/// Returns the message and the accepted input for a `key` at `start` that TOML refuses because it was given before.
/// `message` is that of the parser, which names neither the key nor a remedy.
fn twice(text: &str, key: &str, start: usize, message: &str) -> Option<(String, String)> {
    let closed = message.contains("inline table");
    if key.is_empty() || !(closed || message.contains("duplicate key")) {
        return None;
    }
    // The first line that gives the key: `key = ...`, or a header.
    let gives = |line: &str| {
        let rest = line.trim_start().trim_start_matches('[').trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.', ']']))
    };
    let lines = text.get(..start)?.lines();
    let (number, line) = lines.enumerate().find(|(_, line)| gives(line))?;
    let number = number + 1;
    let is_header = line.trim_start().starts_with('[');
    let value = line.split_once('=').map(|(_, value)| value.trim_start());
    match value.and_then(|value| value.chars().next()).filter(|_| !is_header) {
        Some('{') => Some((
            format!("{key} is complete in line {number}, where it is written as {key} = {{ ... }}"),
            format!("more keys inside those braces, or [{key}] in place of {key} = {{ ... }}"),
        )),
        Some('[') if !closed => Some((
            format!("{key} is complete in line {number}, where it is written as {key} = [ ... ]"),
            format!("more elements inside those brackets, or [[{key}]] in place of {key} = [ ... ]"),
        )),
        _ => Some((format!("{key} is given already, in line {number}"), "each key and each [table] once".to_owned())),
    }
}

/// `text` as a TOML string.
pub(crate) fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

fn span(range: Option<std::ops::Range<usize>>, source: usize) -> At {
    let range = range.unwrap_or(0..0);
    At { source, start: range.start, end: range.end }
}

fn table(from: &dyn TableLike, source: usize, dotted: bool) -> Value {
    let mut table = Table { dotted, ..Table::default() };
    for (name, item) in from.iter() {
        let key_at = span(from.key(name).and_then(|k| k.span()), source);
        let mut at = span(item.span(), source);
        if at.end == 0 {
            at = key_at;
        }
        table.push(Entry { key: name.to_owned(), key_at, node: Node { at, value: item_value(item, source) } });
    }
    Value::Table(table)
}

fn item_value(item: &Item, source: usize) -> Value {
    match item {
        Item::None => Value::Bad,
        Item::Table(inner) => table(inner, source, inner.is_dotted()),
        Item::ArrayOfTables(tables) => Value::Array(
            tables.iter().map(|t| Node { at: span(t.span(), source), value: table(t, source, false) }).collect(),
        ),
        Item::Value(inner) => value(inner, source),
    }
}

fn value(from: &toml_edit::Value, source: usize) -> Value {
    match from {
        toml_edit::Value::String(text) => Value::Text(text.value().clone()),
        toml_edit::Value::Integer(i) => Value::Integer(*i.value()),
        toml_edit::Value::Float(x) => Value::Float(*x.value()),
        toml_edit::Value::Boolean(b) => Value::Bool(*b.value()),
        toml_edit::Value::Datetime(_) => Value::Date,
        toml_edit::Value::Array(items) => {
            Value::Array(items.iter().map(|v| Node { at: span(v.span(), source), value: value(v, source) }).collect())
        }
        toml_edit::Value::InlineTable(inner) => table(inner, source, inner.is_dotted()),
    }
}
