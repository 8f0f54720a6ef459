//! The file as it is written. The doc comments here are the help that the schema shows in
//! editors; the same schema decides which keys, types and words are accepted (see `shape`).
//!
//! A field is `None` if its value was refused, or is missing though the schema requires it: both have been
//! reported before these types are filled, and the checks go on with the rest. A key that is left out has its default.

mod control;
mod emulate;
mod flows;
mod network;
mod sweep;
mod traffic;

pub(crate) use control::*;
pub(crate) use emulate::*;
pub(crate) use flows::*;
pub(crate) use network::*;
use sweep::SweepFile;
pub(crate) use traffic::*;

use cellway_settings::table;
use cellway_units::Span;

use crate::model::{AbrSwitchKeys, EmulateKeys, Engine, MultiplexingKeys, TcpKeys};
use crate::quantity::RttSpan;

table! {
    /// A network, the traffic on it, and what to observe. Quantities are strings with units;
    /// whole numbers are for counts only.
    pub(crate) struct File as "Cellway scenario" {
        /// The number 1, which is the version of this format.
        #[range(min = 1, max = 1)]
        version: u64,
        /// A short name for result folders and titles, without / and control characters.
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
        /// The nodes of the network. Most hosts need no node: see `traffic.from`.
        #[length(min = 1)]
        node: Vec<NodeFile>,
        /// The links of the network.
        #[length(min = 1)]
        link: Vec<LinkFile>,
        /// Groups of similar conversations. At least one, unless there is a `run.command`.
        #[length(min = 1)]
        traffic: Option<Vec<TrafficFile>>,
        /// Cell spacers and shapers at output ports.
        shaper: Option<Vec<ShaperFile>>,
        /// Classes of traffic groups at gateways. A gateway divides the rate to its peer among them by their shares.
        class: Option<Vec<ClassFile>>,
        /// Policers before output ports.
        policer: Option<Vec<PolicerFile>>,
        /// Rates that change during the run.
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
        /// The length of one run, with the warm-up.
        duration: RttSpan,
        /// The first part of the run, which no summary counts. It is shorter than the run.
        warmup: RttSpan = RttSpan::ZERO,
        /// The seed of the first replication; replication i (from 0) uses seed + i.
        #[range(max = 9_000_000_000_000_000_000u64)]
        seed: u64 = 1,
        /// The number of replications, each with its own seed.
        #[range(min = 1, max = 100_000)]
        seeds: u64 = 1,
        /// The round trip that "rtt" and "bdp" stand for. Default: the propagation round trip of the
        /// longest path of a group, with access links. Groups with count 0 are included; without traffic it is the longest
        /// path between two hosts.
        #[range(above = "0 s")]
        rtt: Option<Span>,
        /// The way in which the network is computed. The results are the same to the last bit.
        engine: Engine = Engine::Windows,
        /// Programs that an emulation starts in hosts. A simulation skips them with a message.
        #[length(min = 1)]
        command: Option<Vec<CommandFile>>,
        emulate: Option<EmulateKeys>,
    }
}

table! {
    /// A set of flows with figures of its own.
    pub(crate) struct SetFile {
        /// Letters, digits, - and _. The subject of its rows, so no group, slot or node has it.
        name: String,
        /// Its flows: slots like "ftp-1", all slots of a group by its name, or "all".
        #[length(min = 1)]
        flows: Vec<String>,
    }
}

table! {
    /// The records of a run besides its summary.
    pub(crate) struct ObserveFile {
        /// The bin of the series. Default: 100 rtt, at most the run.
        interval: RttSpan = RttSpan::rtts(100),
        /// The window over which the fairness between the slots of a group is computed. Default: 100 rtt, at most the run
        /// without its warm-up.
        fairness_window: RttSpan = RttSpan::rtts(100),
        /// Conversations whose send window, and the variables of a control that models the path, are recorded at each
        /// change: slots like "ftp-1", or all slots of a group by its name.
        trace: Option<Vec<String>>,
        /// Output ports whose queue length is recorded at each change. "s1>b" is the port of node s1 to its neighbour b. If
        /// several links join the two, "s1>b/spare" is the port of the link spare.
        queue: Option<Vec<String>>,
        /// Flows whose congestion window, smoothed round-trip time, data in flight, one-way delay and queue sojourn are
        /// recorded in each bin: slots like "ftp-1", all slots of a group by its name, or "all".
        flows: Option<Vec<String>>,
        /// Sets of flows with a loss ratio, percentiles of round-trip time and one-way delay, and Jain's index of their own.
        set: Option<Vec<SetFile>>,
        /// True: series of bins are recorded.
        series: bool = true,
        /// The maximum number of rows of one run for its bins, and for each quantity that is recorded at its changes. Above
        /// it the bins are longer, and of the changes those that a figure needs are kept, with a warning.
        #[range(min = 100, max = 100_000_000)]
        max_rows: u64 = 100_000,
    }
}
