//! The file as it is written. The doc comments here are the help that the schema shows in
//! editors; the same schema decides which keys, types and words are accepted (see `shape`).
//!
//! A field is `None` if its value was refused, or is missing though the schema requires it: both have been
//! reported before these types are filled, and the checks go on with the rest. A key that is left out has its default.

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

use cellway_settings::table;
use cellway_units::Span;

use crate::model::{AbrSwitchKeys, EmulateKeys, MultiplexingKeys, TcpKeys};
use crate::quantity::RttSpan;

table! {
    /// A network, the traffic on it, and what to observe. Quantities are strings with units;
    /// whole numbers are for counts only.
    pub(crate) struct File as "Cellway scenario" {
        /// The version of this format: 1.
        #[range(min = 1, max = 1)]
        version: u64,
        /// A short name, used for result folders and titles: any text without / and control characters.
        #[length(min = 1)]
        name: String,
        /// The purpose of the scenario.
        description: Option<String>,
        run: RunFile,
        multiplexing: Option<MultiplexingKeys>,
        buffer: BufferKeys,
        /// TCP of all traffic; a group may override single keys. Keys that are left out have the values of `profile`, which is
        /// "linux-6" unless the file names another.
        tcp: Option<TcpKeys>,
        /// The nodes of the network. Hosts that belong to one conversation need not be written: see
        /// `traffic.from`.
        #[length(min = 1)]
        node: Vec<NodeFile>,
        /// The links of the network.
        #[length(min = 1)]
        link: Vec<LinkFile>,
        /// Groups of like conversations; required unless there is a `run.command`.
        #[length(min = 1)]
        traffic: Option<Vec<TrafficFile>>,
        /// Cell spacers and shapers at output ports.
        shaper: Option<Vec<ShaperFile>>,
        /// Classes of traffic groups at gateways; what a gateway sends to its peer is shared among them.
        class: Option<Vec<ClassFile>>,
        /// Policers before output ports.
        policer: Option<Vec<PolicerFile>>,
        /// Rates that change while it runs.
        change: Option<Vec<ChangeFile>>,
        abr: Option<AbrSwitchKeys>,
        observe: Option<ObserveFile>,
        // Read from the tree, which knows the order and the places of its values.
        sweep: Option<SweepFile>,
    }
}

table! {
    /// The length and the number of runs.
    pub(crate) struct RunFile {
        /// Simulated time of one run, the warm-up included.
        duration: RttSpan,
        /// The first part of the run, left out of every summary.
        warmup: RttSpan = RttSpan::ZERO,
        /// The seed of the first replication; replication i (from 0) uses seed + i.
        #[range(max = 9_000_000_000_000_000_000u64)]
        seed: u64 = 1,
        /// The number of replications, each with its own seed.
        #[range(min = 1, max = 100_000)]
        seeds: u64 = 1,
        /// The round trip that "rtt" and "bdp" stand for. Default: the propagation round trip of the
        /// longest path of a traffic group, access links included (also of groups with count 0); without
        /// traffic that of the longest path between two hosts.
        #[range(above = "0 s")]
        rtt: Option<Span>,
        /// Programs that an emulation starts in hosts; a simulation leaves them out.
        #[length(min = 1)]
        command: Option<Vec<CommandFile>>,
        emulate: Option<EmulateKeys>,
    }
}

table! {
    /// The records besides the summary.
    pub(crate) struct ObserveFile {
        /// Bin of the recorded series. Default: 100 rtt, or the whole run if that is shorter.
        interval: RttSpan = RttSpan::rtts(100),
        /// Window over which fairness between the slots of a group is computed. Default: 100 rtt,
        /// or what is counted of the run if that is shorter.
        fairness_window: RttSpan = RttSpan::rtts(100),
        /// Conversations whose send window is recorded at each change: slots like "ftp-1", or all
        /// slots of a group by its name.
        trace: Option<Vec<String>>,
        /// Output ports whose queue length is recorded at each change: "s1>b" for that of s1 towards its neighbour b, or
        /// with the name of a link in place of b.
        queue: Option<Vec<String>>,
        /// Record binned series.
        series: bool = true,
        /// The most rows that one run writes for its bins, all subjects together, and for each quantity that is recorded at
        /// its changes. Beyond it bins are longer, and of the changes the first, last, lowest and highest of equal intervals
        /// are kept; a warning says so.
        #[range(min = 100, max = 100_000_000)]
        max_rows: u64 = 100_000,
    }
}
