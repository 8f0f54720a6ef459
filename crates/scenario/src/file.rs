//! The file as it is written. The doc comments here are the help that the schema shows in
//! editors; the same schema decides which keys, types and words are accepted (see `shape`).
//!
//! Every field is optional in Rust even where the schema requires it: what is missing has been
//! reported before these types are filled, and the checks go on with the rest.

mod control;
mod emulate;
mod network;
mod sweep;
mod traffic;

pub(crate) use control::*;
pub(crate) use emulate::*;
pub(crate) use network::*;
use sweep::SweepFile;
pub(crate) use traffic::*;

use cellway_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{AbrSwitchKeys, EmulateKeys, MultiplexingKeys, TcpKeys};
use crate::quantity::{Quantity, RttSpan};

/// A network, the traffic on it, and what to observe. Quantities are strings with units;
/// whole numbers are for counts only.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Cellway scenario")]
pub(crate) struct File {
    /// The version of this format: 1.
    #[schemars(required, range(min = 1, max = 1))]
    #[expect(dead_code, reason = "its only value is checked by the schema")]
    pub(crate) version: Option<u64>,
    /// A short name, used for result folders and titles: any text without / and control characters.
    #[schemars(required, length(min = 1))]
    pub(crate) name: Option<String>,
    /// What the scenario is for.
    pub(crate) description: Option<String>,
    #[schemars(required)]
    pub(crate) run: Option<RunFile>,
    pub(crate) multiplexing: Option<MultiplexingKeys>,
    #[schemars(required)]
    pub(crate) buffer: Option<BufferKeys>,
    /// TCP of all traffic; a group may override single keys. Keys that are left out have the values of `profile`, which is
    /// "linux-6" unless the file names another.
    pub(crate) tcp: Option<TcpKeys>,
    /// The nodes of the network. Hosts that belong to one conversation need not be written: see
    /// `traffic.from`.
    #[schemars(required, length(min = 1))]
    pub(crate) node: Option<Vec<NodeFile>>,
    /// The links of the network.
    #[schemars(required, length(min = 1))]
    pub(crate) link: Option<Vec<LinkFile>>,
    /// Groups of like conversations; required unless there is a `run.command`.
    #[schemars(length(min = 1))]
    pub(crate) traffic: Option<Vec<TrafficFile>>,
    /// Cell spacers and shapers at output ports.
    pub(crate) shaper: Option<Vec<ShaperFile>>,
    /// Classes of traffic groups at gateways; what a gateway sends to its peer is shared among them.
    pub(crate) class: Option<Vec<ClassFile>>,
    /// Policers before output ports.
    pub(crate) policer: Option<Vec<PolicerFile>>,
    /// Rates that change while it runs.
    pub(crate) change: Option<Vec<ChangeFile>>,
    pub(crate) abr: Option<AbrSwitchKeys>,
    pub(crate) observe: Option<ObserveFile>,
    #[expect(dead_code, reason = "read from the tree, which knows the order and the places of its values")]
    pub(crate) sweep: Option<SweepFile>,
}

/// How long to run, and how often.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RunFile {
    /// Simulated time of one run, the warm-up included.
    #[schemars(required)]
    pub(crate) duration: Option<Quantity<RttSpan>>,
    /// The first part of the run, left out of every summary.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) warmup: Option<Quantity<RttSpan>>,
    /// The seed of the first replication; replication i (from 0) uses seed + i.
    #[schemars(range(max = 9_000_000_000_000_000_000u64), extend("default" = 1))]
    pub(crate) seed: Option<u64>,
    /// How many replications, each with its own seed.
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1))]
    pub(crate) seeds: Option<u64>,
    /// The round trip that "rtt" and "bdp" stand for. Default: the propagation round trip of the
    /// longest path of a traffic group, access links included (also of groups with count 0); without
    /// traffic that of the longest path between two hosts.
    #[schemars(extend("x-above" = "0 s"))]
    pub(crate) rtt: Option<Quantity<Span>>,
    /// Programs that an emulation starts in hosts; a simulation leaves them out.
    #[schemars(length(min = 1))]
    pub(crate) command: Option<Vec<CommandFile>>,
    pub(crate) emulate: Option<EmulateKeys>,
}

/// What is recorded besides the summary.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ObserveFile {
    /// Bin of the recorded series. Default: 100 rtt, or the whole run if that is shorter.
    #[schemars(extend("default" = "100 rtt"))]
    pub(crate) interval: Option<Quantity<RttSpan>>,
    /// Window over which fairness between the slots of a group is computed. Default: 100 rtt,
    /// or what is counted of the run if that is shorter.
    #[schemars(extend("default" = "100 rtt"))]
    pub(crate) fairness_window: Option<Quantity<RttSpan>>,
    /// Conversations whose send window is recorded at each change: slots like "ftp-1", or all
    /// slots of a group by its name.
    pub(crate) trace: Option<Vec<String>>,
    /// Output ports whose queue length is recorded at each change: "s1>b" for that of s1 towards its neighbour b, or
    /// with the name of a link in place of b.
    pub(crate) queue: Option<Vec<String>>,
    /// Whether binned series are recorded.
    #[schemars(extend("default" = true))]
    pub(crate) series: Option<bool>,
    /// The most rows that one run writes for its bins, all subjects together, and for each quantity that is recorded at
    /// its changes. Beyond it bins are longer, and of the changes the first, last, lowest and highest of equal intervals
    /// are kept; a warning says so.
    #[schemars(range(min = 100, max = 100_000_000), extend("default" = 100_000))]
    pub(crate) max_rows: Option<u64>,
}
