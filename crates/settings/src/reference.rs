//! The reference page of a kind of file, in Markdown, printed from its schema.

use std::fmt::Write;

use crate::schema::{FileSchema, Shape};
use crate::shape::describe;

/// The parts of a reference page that the schema does not have.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The title.
    pub title: &'a str,
    /// The command that prints the page again.
    pub command: &'a str,
    /// The Markdown between the title and the keys.
    pub introduction: &'a str,
    /// The tables of the file in the order of the page. Others follow in alphabetical order.
    pub order: &'a [&'a str],
}

impl FileSchema {
    /// Prints the page: a section for each table, a row for each key. The keys of a table that several keys have are listed
    /// once.
    pub fn reference(&'static self, page: &Page<'_>) -> String {
        let Page { title, command, introduction, order } = page;
        let mut out = format!(
            "# {title}\n\n<!-- Made from the schema by a test: {command} -->\n\n{introduction}\n## At the top, before the first table\n\n"
        );
        let root = self.root();
        rows(&mut out, root);
        let keys = tables(root);
        let first = order.iter().filter_map(|name| keys.iter().find(|key| *key == name));
        let rest = keys.iter().filter(|key| !order.contains(key));
        let mut printed = Vec::new();
        for key in first.chain(rest) {
            section(&mut out, root, "", key, &mut printed);
        }
        out
    }
}

/// Prints the section of the table `key` of `parent`, whose path is `path`, and of the tables in it.
fn section(out: &mut String, parent: Shape, path: &str, key: &str, printed: &mut Vec<(Shape, String)>) {
    let Some(shape) = parent.key(key) else { return };
    let (path, inner) = (if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }, element(shape));
    let header = if shape.items().is_some() { format!("[[{path}]]") } else { format!("[{path}]") };
    let level = "#".repeat(2 + path.matches('.').count().min(2));
    let meaning = parent.description(key).or(inner.text("description")).unwrap_or_default();
    let _ = writeln!(out, "\n{level} `{header}`\n\n{}\n", line(meaning));
    if let Some((_, first)) = printed.iter().find(|(other, _)| other.is(inner)) {
        let _ = writeln!(out, "It has the keys of [`{first}`](#{}).", anchor(first));
        return;
    }
    printed.push((inner, header));
    rows(out, inner);
    for key in tables(inner) {
        section(out, inner, &path, key, printed);
    }
}

/// Returns the anchor of a header, as GitHub makes them.
fn anchor(header: &str) -> String {
    header.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c)).collect::<String>().to_lowercase()
}

/// Returns a table, also where there can be several.
fn element(shape: Shape) -> Shape {
    shape.items().unwrap_or(shape)
}

/// Returns the keys whose values are tables with known keys.
fn tables(shape: Shape) -> Vec<&'static str> {
    let is_table = |key: &&str| shape.key(key).is_some_and(|inner| element(inner).keys().is_some());
    shape.keys().unwrap_or_default().into_iter().filter(is_table).collect()
}

/// Returns a string of several lines as one.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Prints a row for each key that is no table: those that are required first.
fn rows(out: &mut String, shape: Shape) {
    let (tables, required) = (tables(shape), shape.required());
    let keys = shape.keys().unwrap_or_default().into_iter().filter(|key| !tables.contains(key));
    let (first, rest): (Vec<&str>, Vec<&str>) = keys.partition(|key| required.contains(key));
    if first.is_empty() && rest.is_empty() {
        return;
    }
    out.push_str("| key | what it is | accepted | default |\n|---|---|---|---|\n");
    for key in first.into_iter().chain(rest) {
        let Some(inner) = shape.key(key) else { continue };
        let mut meaning = line(shape.description(key).unwrap_or_default());
        for (value, means) in inner.meanings() {
            let _ = write!(meaning, "<br>`{value}`: {}", line(means));
        }
        if let Some((format, means)) = inner.other_texts() {
            let _ = write!(meaning, "<br>{}: {}", format.accepted(None), line(means));
        }
        let default = match shape.default(key) {
            Some(value) => format!("`{value}`"),
            None if required.contains(&key) => "required".to_owned(),
            None => "-".to_owned(),
        };
        let accepted = accepted(inner);
        let cells = [&meaning, &accepted].map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(out, "| `{key}` | {} | {} | {default} |", cells[0], cells[1]);
    }
}

/// Returns the accepted values for a reader who knows the units, and who sees the meaning of each choice beside them.
fn accepted(shape: Shape) -> String {
    if shape.meanings().next().is_some() {
        return "one of these".to_owned();
    }
    let all = describe(shape);
    let all = all.strip_prefix("a string with ").unwrap_or(&all);
    match (all.find(UNITS), all.find(EXAMPLE)) {
        (Some(units), Some(example)) if units < example => {
            format!("{}a quantity{}", &all[..units], &all[example + 1..])
        }
        _ => all.to_owned(),
    }
}

/// The beginning of a list of units, and of the example after it.
const UNITS: &str = "a number and one of ";
const EXAMPLE: &str = ", like ";
