//! The JSON schema of scenario files, and the reference that is printed from it.

use std::sync::LazyLock;

use cellway_settings::reference::Page;
use cellway_settings::schema::{FileSchema, Shape};

use crate::file::File;
use crate::quantity::FORMATS;

static SCHEMA: LazyLock<FileSchema> = LazyLock::new(|| FileSchema::of::<File>(FORMATS));

/// Returns the JSON schema of scenario files, as text that ends with a line break.
pub fn schema() -> String {
    SCHEMA.text()
}

const INTRODUCTION: &str = "\
Every key of a scenario, by table. [Scenario files](../guide/scenarios.md) has the tasks, the rules between keys and examples.

- Quantities are strings with units: `\"22.5 ms\"`, `\"30 Mbit/s\"`, `\"64 KiB\"`. `\"rtt\"` is the round trip of
  `run.rtt`, `\"bdp\"` that round trip times the rate of the link.
- `[name]` is one table; `[[name]]` starts each of several.
- Where several tables have the same keys, the first section lists them.

`cellway check FILE` reports all problems of a file, with their locations; `cellway schema` prints these keys as a JSON
schema, for completion in an editor.
";

/// The tables in the order of the page.
const ORDER: [&str; 14] = [
    "run",
    "tcp",
    "buffer",
    "node",
    "link",
    "traffic",
    "multiplexing",
    "shaper",
    "policer",
    "class",
    "abr",
    "change",
    "observe",
    "sweep",
];

/// Returns the reference of scenario files in Markdown.
pub fn reference() -> String {
    SCHEMA.reference(&Page {
        title: "Keys of scenario files",
        command: "UPDATE_GOLDEN=1 cargo test -p cellway-scenario",
        introduction: INTRODUCTION,
        order: &ORDER,
    })
}

/// Returns the schema of a whole file.
pub(crate) fn root() -> Shape {
    SCHEMA.root()
}
