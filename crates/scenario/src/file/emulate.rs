//! The programs that an emulation starts.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::quantity::{Quantity, RttSpan};

/// A program that an emulation starts in a host; a simulation leaves it out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CommandFile {
    /// Unique among commands, and no group or slot. Default: by host and place in the file, "HOST-command-1".
    pub(crate) name: Option<String>,
    /// Where it runs: a node that is a host, or the own host of a slot, like "bulk-1" or "bulk-1-sink".
    #[schemars(required)]
    pub(crate) host: Option<String>,
    /// The program and its arguments, word by word; no shell reads them. $CELLWAY_HOST_NAME in a word stands for the
    /// address of host NAME, with _ for each - of its name.
    #[schemars(required, length(min = 1))]
    pub(crate) run: Option<Vec<String>>,
    /// When it is started, from the start of the run.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) start: Option<Quantity<RttSpan>>,
    /// When it is ended. Default: not before the end of the run.
    pub(crate) stop: Option<Quantity<RttSpan>>,
    /// The exit status that is no failure. To be ended by the emulator is none.
    #[schemars(range(max = 255), extend("default" = 0))]
    pub(crate) expect: Option<u32>,
    /// When the program is ready, for one that starts with the run: the run begins once it is. A port ("5201") on which
    /// something listens in its host (TCP) or is bound (UDP), or a regular expression that matches a line of its output.
    #[schemars(length(min = 1))]
    pub(crate) ready: Option<String>,
    /// What to record of what it prints on standard output.
    #[schemars(length(min = 1))]
    pub(crate) figure: Option<Vec<FigureFile>>,
}

/// A figure that a command prints; one of `json` and `pattern`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FigureFile {
    /// How results call it; unique among the figures of the command.
    #[schemars(required)]
    pub(crate) metric: Option<String>,
    /// The unit of the recorded value, "1" for a ratio or a count.
    #[schemars(required, length(min = 1))]
    pub(crate) unit: Option<String>,
    /// Where it stands in the JSON that the command prints: keys, and numbers of elements from 0, joined by points, like
    /// "end.sum_received.bits_per_second".
    #[schemars(length(min = 1))]
    pub(crate) json: Option<String>,
    /// A regular expression with one group that is the number; the last match counts.
    #[schemars(length(min = 1))]
    pub(crate) pattern: Option<String>,
    /// What the number is multiplied with to be in `unit`.
    #[schemars(range(min = -1e12, max = 1e12), extend("default" = 1.0))]
    pub(crate) times: Option<f64>,
}
