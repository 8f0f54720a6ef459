//! The values of a file, each with its location.
//!
//! Overrides and sweep values are written into this tree before it is checked, so that a problem points at the text that
//! caused it, in the file or elsewhere.

use std::collections::BTreeMap;

use toml_edit::{Document, Item, TableLike};

use crate::found::Found;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The number of the text; 0 is the file.
    pub source: usize,
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
}

impl From<std::ops::Range<usize>> for At {
    /// A part of the file.
    fn from(bytes: std::ops::Range<usize>) -> At {
        At { source: 0, start: bytes.start, end: bytes.end }
    }
}

/// A value with its location.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its location.
    pub at: At,
    /// The value itself.
    pub value: Value,
}

/// A value of TOML.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A table.
    Table(Table),
    /// An array.
    Array(Vec<Node>),
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A date or time, which no key accepts.
    Date,
    /// A value that was refused: later checks skip it.
    Bad,
}

/// The keys of a table with their values, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    entries: Vec<Entry>,
    /// The index of each key in `entries`.
    places: BTreeMap<String, usize>,
    /// True if it is written as `a.b = ...`, which sets `b` and not the table.
    pub dotted: bool,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The location of the key.
    pub key_at: At,
    /// The value.
    pub node: Node,
}

/// One step from a table or an array to what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the value of a key.
    Key(String),
    /// To an element of an array, from 0.
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
#[macro_export]
macro_rules! at {
    ($($step:expr),* $(,)?) => { [$($crate::tree::Step::from($step)),*] };
}
pub use crate::at;

impl Table {
    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.places.get(key).map(|&place| &self.entries[place].node)
    }
    /// Returns the value of a key.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.places.get(key).map(|&place| &mut self.entries[place].node)
    }
    /// Returns the entries in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
    /// Adds an entry whose key is not there yet.
    pub fn push(&mut self, entry: Entry) {
        self.places.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry);
    }
    /// Removes an entry.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let place = self.places.remove(key)?;
        self.places.values_mut().filter(|other| **other > place).for_each(|other| *other -= 1);
        Some(self.entries.remove(place).node)
    }
}

impl Node {
    /// Parses a TOML text into a tree.
    ///
    /// # Errors
    /// The text is not TOML: the first place at which it is not. What is reported after it is mostly its consequence.
    pub fn parse(text: &str, source: usize) -> Result<Node, Vec<Found>> {
        let document =
            Document::parse(text).map_err(|first| vec![syntax(text, source, first.span(), first.message())])?;
        Ok(Node { at: At { source, start: 0, end: 0 }, value: table(document.as_table(), source, false) })
    }

    /// Returns the tree of one TOML value, or of a string if the text is not a TOML value.
    pub fn parse_value(text: &str, source: usize) -> Node {
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

    /// Returns the table, if it is one.
    pub fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
    /// Returns the elements, if it is an array.
    pub fn array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }
    /// Returns the string, if it is one.
    pub fn text(&self) -> Option<&str> {
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

    /// Returns the value at `path`.
    pub fn find(&self, path: &[Step]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| node.child(step))
    }

    /// Returns the location of the value at `path`, or of the nearest table or array above it.
    pub fn place(&self, path: &[Step]) -> At {
        let mut node = self;
        for step in path {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.at
    }

    /// Returns true if the value at `path`, or a table or array above it, was refused.
    pub fn is_bad(&self, path: &[Step]) -> bool {
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

    /// Returns the name of this element of an array of tables in paths: its `name`, or "a-b" of a link between a and b.
    pub fn element_name(&self) -> Option<String> {
        let table = self.table()?;
        if let Some(name) = table.get("name") {
            return name.text().map(str::to_owned);
        }
        match table.get("between")?.array()? {
            [a, b] => Some(format!("{}-{}", a.text()?, b.text()?)),
            _ => None,
        }
    }

    /// Returns `path` as text. A table in an array goes by its name or, as in overrides, by its number from 1; any other
    /// element has its number in brackets.
    pub fn display(&self, path: &[Step]) -> String {
        let mut text = String::new();
        let mut node = Some(self);
        for step in path {
            let child = node.and_then(|n| n.child(step));
            match step {
                Step::Key(key) if text.is_empty() => text.push_str(key),
                Step::Key(key) => text.push_str(&format!(".{key}")),
                Step::Index(i) => match child.and_then(Node::element_name) {
                    // A name that is refused may hold anything.
                    Some(name) if name.contains(char::is_control) => {
                        text.push_str(&format!(".{}", name.escape_debug()))
                    }
                    Some(name) => text.push_str(&format!(".{name}")),
                    None if child.and_then(Node::table).is_some() => text.push_str(&format!(".{}", i + 1)),
                    None => text.push_str(&format!("[{}]", i + 1)),
                },
            }
            node = child;
        }
        text
    }

    /// Returns it for reading: a refused value of a key is null, which no file can give.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Table(table) => {
                let value = |node: &Node| if node.value == Value::Bad { Json::Null } else { node.to_json() };
                Json::Object(table.entries.iter().map(|e| (e.key.clone(), value(&e.node))).collect())
            }
            Value::Array(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Text(text) => Json::from(text.as_str()),
            Value::Integer(i) => Json::from(*i),
            Value::Float(x) => Json::from(*x),
            Value::Bool(b) => Json::from(*b),
            // Elements of arrays keep their places: an empty table stands for a refused one.
            Value::Date | Value::Bad => Json::Object(serde_json::Map::new()),
        }
    }

    /// Returns the value as TOML on one line, for messages and names of axes.
    pub fn to_toml(&self) -> String {
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

/// Returns the problem that the parser of TOML reports at `span`.
fn syntax(text: &str, source: usize, span: Option<std::ops::Range<usize>>, message: &str) -> Found {
    let span = span.unwrap_or(0..0);
    let at = At { source, start: span.start, end: span.end };
    // The parser also names a kind of string that is one of several.
    let message = message.trim().replace('\n', ", ").replace(", expected literal string", "");
    let key = text.get(span).unwrap_or_default();
    twice(text, key, at.start, &message).map_or_else(
        || Found::new(at, "", format!("this is not TOML: {message}")),
        |(message, accepted)| Found::new(at, key, message).accepted(accepted),
    )
}

/// Returns the message and the accepted input for a `key` at `start` that TOML refuses because it was given before.
/// `message` is that of the parser, which names neither the key nor a remedy.
fn twice(text: &str, key: &str, start: usize, message: &str) -> Option<(String, String)> {
    let closed = message.contains("inline table");
    if key.is_empty() || !(closed || message.contains("duplicate key")) {
        return None;
    }
    // `key = ...`, or a header.
    let gives = |line: &str| {
        let rest = line.trim_start().trim_start_matches('[').trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.', ']']))
    };
    let header = |line: &str| line.trim_start().starts_with('[');
    let before = text.get(..start)?;
    let here = before.rfind('\n').map_or(0, |end| end + 1);
    let lines: Vec<(usize, &str)> = (1..).zip(before[..here].lines()).collect();
    let (number, line) = if header(&text[here..]) {
        // A table is given by another header, or by a key before the first.
        let root = lines.iter().take_while(|(_, line)| !header(line)).count();
        let mut places = lines.iter().enumerate();
        *places.find(|(place, (_, line))| (*place < root || header(line)) && gives(line))?.1
    } else {
        // A key is given by one of the same table.
        *lines.iter().rev().take_while(|(_, line)| !header(line)).filter(|(_, line)| gives(line)).last()?
    };
    let is_header = header(line);
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

/// Returns `text` as a TOML string.
pub fn quoted(text: &str) -> String {
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
