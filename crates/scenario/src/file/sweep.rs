//! The sweep, for the schema only.

use cellway_settings::table;
use serde_json::{Map, Value};

table! {
    /// The runs to make of this file: every combination of the axes' values. The first axis varies
    /// slowest, the variants fastest.
    pub(crate) struct SweepFile {
        /// Paths of keys, each with the values to try: { "traffic.ftp.count" = [1, 2, 3] }. Nodes,
        /// links, traffic, shapers and the like are meant by name; * means all of them.
        axes: Option<Map<String, Value>>,
        /// Named settings of several keys: one more axis.
        #[length(min = 1)]
        variant: Option<Vec<VariantFile>>,
    }
}

table! {
    /// A named setting of several keys.
    pub(crate) struct VariantFile {
        /// Its name in the results.
        #[length(min = 1)]
        name: String,
        /// Paths of keys and their values; may be empty.
        set: Map<String, Value>,
    }
}
