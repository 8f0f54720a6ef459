//! The reference of configuration files, in Markdown, made from the schema.

use std::fmt::Write;

use super::schema::Shape;

/// The tables of the file, in the order of the reference.
const TABLES: [&str; 9] = ["identity", "listen", "peer", "class", "intercept", "forward", "socks", "limits", "control"];

const INTRODUCTION: &str = "\
A configuration is one file in [TOML](https://toml.io). Quantities are texts with units (`\"30 Mbit/s\"`, `\"60 s\"`,
`\"1 GiB\"`); relative paths start at the folder of the file. `cellway-gateway check --config FILE` tells everything that
is wrong with a file at once, with line and column; `kill -HUP`, or `systemctl reload cellway-gateway`, makes a running
gateway read it again, and a file with problems changes nothing. Editors that know JSON schemas find the one of this
format in `schema/gateway.schema.json`; `cellway-gateway schema` prints it.

The smallest file, beside which `keygen` has put `authority.pem`, `home.pem` and `home.key`, takes connections to port
8080 of this machine to a server behind another gateway:

```toml
name = \"home\"
[[peer]]
name = \"office\"
address = \"gateway.example.net:4433\"
[[forward]]
listen = \"127.0.0.1:8080\"
to = \"intranet:80\"
```
";

/// The reference of configuration files in Markdown.
pub(crate) fn reference() -> String {
    let root = Shape::root();
    let mut out = String::from("# Configuration of `cellway-gateway`\n\n");
    out.push_str("<!-- Made from the schema by a test: UPDATE_GOLDEN=1 cargo test -p cellway-gatewayd -->\n\n");
    out.push_str(INTRODUCTION);
    out.push_str("\n## At the top, before the first table\n\n");
    let is_section = |key: &&str| root.key(key).is_some_and(|shape| element(shape).is_table());
    let plain = root.keys().into_iter().filter(|key| !is_section(key));
    table(&mut out, root, plain);
    for name in TABLES {
        let Some(shape) = root.key(name) else { continue };
        let header = if shape.items().is_some() { format!("[[{name}]]") } else { format!("[{name}]") };
        let inner = element(shape);
        let _ = writeln!(out, "\n## `{header}`\n\n{}\n", line(inner.text("description").unwrap_or_default()));
        table(&mut out, inner, inner.keys().into_iter());
    }
    out
}

/// A table, also where there can be several.
fn element(shape: Shape) -> Shape {
    shape.items().unwrap_or(shape)
}

/// A text of several lines as one.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes a row for each key: those that are required first.
fn table(out: &mut String, shape: Shape, keys: impl Iterator<Item = &'static str>) {
    let required = shape.required();
    let (first, rest): (Vec<&str>, Vec<&str>) = keys.partition(|key| required.contains(key));
    out.push_str("| key | what it is | accepted | default |\n|---|---|---|---|\n");
    for key in first.into_iter().chain(rest) {
        let Some(inner) = shape.key(key) else { continue };
        let mut meaning = line(inner.text("description").unwrap_or_default());
        for (word, means) in inner.words() {
            let _ = write!(meaning, "<br>`\"{word}\"`: {}", line(means));
        }
        let default = match inner.default() {
            Some(value) => format!("`{value}`"),
            None if required.contains(&key) => "required".to_owned(),
            None => "-".to_owned(),
        };
        let _ = writeln!(out, "| `{key}` | {meaning} | {} | {default} |", inner.accepted());
    }
}
