//! The JSON schema of scenario files.

use std::sync::LazyLock;

use cellway_settings::schema::{FileSchema, Shape};

use crate::file::File;
use crate::quantity::FORMATS;

static SCHEMA: LazyLock<FileSchema> = LazyLock::new(|| FileSchema::of::<File>(FORMATS));

/// Returns the JSON schema of scenario files, as text that ends with a line break.
pub fn schema() -> String {
    SCHEMA.text()
}

/// Returns the schema of a whole file.
pub(crate) fn root() -> Shape {
    SCHEMA.root()
}
