//! The sweep, for the schema only.

use schemars::JsonSchema;
use serde::Deserialize;

/// The runs to make of this file: every combination of the axes' values. The first axis varies
/// slowest, the variants fastest.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "for the schema; see `File::sweep`")]
pub(crate) struct SweepFile {
    /// Paths of keys, each with the values to try: { "traffic.ftp.count" = [1, 2, 3] }. Nodes,
    /// links, traffic, shapers and the like are meant by name; * means all of them.
    pub(crate) axes: Option<serde_json::Map<String, serde_json::Value>>,
    /// Named settings of several keys: one more axis.
    #[schemars(length(min = 1))]
    pub(crate) variant: Option<Vec<VariantFile>>,
}

/// A named setting of several keys.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "for the schema; see `File::sweep`")]
pub(crate) struct VariantFile {
    /// How the results call it.
    #[schemars(required, length(min = 1))]
    pub(crate) name: Option<String>,
    /// Paths of keys and their values; may be empty.
    #[schemars(required)]
    pub(crate) set: Option<serde_json::Map<String, serde_json::Value>>,
}
