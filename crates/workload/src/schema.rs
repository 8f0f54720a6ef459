//! The JSON schema of workload files, and the reference that is printed from it.

use std::sync::LazyLock;

use cellway_settings::reference::Page;
use cellway_settings::schema::{FileSchema, Shape};

use crate::file::File;

static SCHEMA: LazyLock<FileSchema> = LazyLock::new(|| FileSchema::of::<File>(&[]));

const INTRODUCTION: &str = "\
Every key of a workload file. [Measured workloads](../models/workload.md) has the model and an example; a traffic group
plays a class with `app = \"workload:FILE#CLASS\"`.

- Times are in seconds and sizes in octets, as numbers without units.
- Each distribution is a table of its own, `[class.request]`, behind the `[[class]]` that it belongs to.
- `knots = [[0, 40], [0.5, 300], [1, 9000]]`: half of the values are from 40 to 300, half from 300 to 9000. Two knots of
  one value are the probability of just that value; a single knot `[[1, 0]]` is one value for all.

Editors that know JSON schemas find the one of this format in `schema/workload.schema.json`.
";

/// Returns the schema of the whole file.
pub(crate) fn root() -> Shape {
    SCHEMA.root()
}

/// Returns the JSON schema of workload files, as text that ends with a line break.
pub fn schema() -> String {
    SCHEMA.text()
}

/// Returns the reference of workload files in Markdown.
pub fn reference() -> String {
    SCHEMA.reference(&Page {
        title: "Keys of workload files",
        command: "UPDATE_GOLDEN=1 cargo test -p cellway-workload",
        introduction: INTRODUCTION,
        order: &["class"],
    })
}
