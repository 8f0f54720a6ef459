//! The file as it is written. The doc comments here are the help that the schema shows in
//! editors; the same schema decides which keys, types and words are accepted (see `shape`).
//!
//! Every field is optional in Rust even where the schema requires it: what is missing has been
//! reported before these types are filled, and the checks go on with the rest.

use cellway_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{
    BufferCount, BufferPer, BufferSharing, Channel, DataConnection, Discard, Draw, Encapsulation, Framing, NodeKind,
    TcpVariant,
};
use crate::quantity::{AckDelay, Quantity, RttSpan, Size};

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
    /// A short name, used for result folders and titles.
    #[schemars(required, length(min = 1))]
    pub(crate) name: Option<String>,
    /// What the scenario is for.
    pub(crate) description: Option<String>,
    #[schemars(required)]
    pub(crate) run: Option<RunFile>,
    pub(crate) multiplexing: Option<MultiplexingFile>,
    #[schemars(required)]
    pub(crate) buffer: Option<BufferFile>,
    /// TCP of all traffic; a group may override single keys. `variant`, `mss` and `window` have no
    /// default: give them here or in every group.
    pub(crate) tcp: Option<TcpFile>,
    /// The nodes of the network. Hosts that belong to one conversation need not be written: see
    /// `traffic.from`.
    #[schemars(required, length(min = 1))]
    pub(crate) node: Option<Vec<NodeFile>>,
    /// The links of the network.
    #[schemars(required, length(min = 1))]
    pub(crate) link: Option<Vec<LinkFile>>,
    /// Groups of like conversations.
    #[schemars(required, length(min = 1))]
    pub(crate) traffic: Option<Vec<TrafficFile>>,
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
    /// longest path of a traffic group, access links included (also of groups with count 0).
    pub(crate) rtt: Option<Quantity<Span>>,
}

/// How conversations are mapped to channels, and packets to frames.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MultiplexingFile {
    /// Which conversations between the same two routers share a channel, and so a cell queue.
    #[schemars(extend("default" = "per-conversation"))]
    pub(crate) channel: Option<Channel>,
    /// What stands before the packet in its AAL5 frame (RFC 2684).
    #[schemars(extend("default" = "vc-mux"))]
    pub(crate) encapsulation: Option<Encapsulation>,
}

/// The output buffers of routers and switches. Hosts queue without limit: TCP windows bound them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct BufferFile {
    /// The size, in cells, bytes, or bandwidth-delay products. One bdp is the rate of the slowest
    /// ATM link on the path of any traffic group, times rtt: one size for all ports, also where
    /// groups take several paths. Bytes and cells are converted at 53 bytes a cell, rounded down.
    #[schemars(required)]
    pub(crate) size: Option<Quantity<Size>>,
    /// What the size is meant for.
    #[schemars(extend("default" = "conversation"))]
    pub(crate) per: Option<BufferPer>,
    /// Who may fill which part of it.
    #[schemars(extend("default" = "pool"))]
    pub(crate) sharing: Option<BufferSharing>,
    /// What fills it.
    #[schemars(extend("default" = "cell"))]
    pub(crate) count: Option<BufferCount>,
    /// What a router drops when a packet's cells do not all fit; a switch always drops cells.
    #[schemars(extend("default" = "frame"))]
    pub(crate) discard: Option<Discard>,
}

/// TCP.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TcpFile {
    /// How loss is recovered from.
    pub(crate) variant: Option<TcpVariant>,
    /// Payload of a full segment; the packet has 40 bytes of headers more.
    pub(crate) mss: Option<Quantity<Bytes>>,
    /// Receive window.
    pub(crate) window: Option<Quantity<Bytes>>,
    /// Send buffer. Default: as large as the window.
    pub(crate) send_buffer: Option<Quantity<Bytes>>,
    /// Offer the window scale option (RFC 7323); needed for windows past 65535 B.
    #[schemars(extend("default" = false))]
    pub(crate) window_scaling: Option<bool>,
    /// Congestion window at the start, in segments.
    #[schemars(range(min = 1, max = 1000), extend("default" = 1))]
    pub(crate) initial_window: Option<u32>,
    /// How long an acknowledgement may wait for company, or "off": each segment is acknowledged.
    #[schemars(extend("default" = "off"))]
    pub(crate) delayed_ack: Option<Quantity<AckDelay>>,
    /// Hold small segments back while data is unacknowledged (RFC 896).
    #[schemars(extend("default" = false))]
    pub(crate) nagle: Option<bool>,
    /// Duplicate acknowledgements that stand for a loss.
    #[schemars(range(min = 1, max = 100), extend("default" = 3))]
    pub(crate) duplicate_threshold: Option<u32>,
    /// The tick of the clock that retransmission timers run on: 500 ms in BSD systems of 1993.
    #[schemars(extend("default" = "500 ms"))]
    pub(crate) timer_granularity: Option<Quantity<Span>>,
    /// Retransmission timeout before the first round trip is measured.
    #[schemars(extend("default" = "3 s"))]
    pub(crate) rto_initial: Option<Quantity<Span>>,
    /// Smallest retransmission timeout.
    #[schemars(extend("default" = "1 s"))]
    pub(crate) rto_min: Option<Quantity<Span>>,
    /// Largest retransmission timeout.
    #[schemars(extend("default" = "64 s"))]
    pub(crate) rto_max: Option<Quantity<Span>>,
    /// Retransmissions of one segment before the connection is given up.
    #[schemars(range(min = 1, max = 1000), extend("default" = 12))]
    pub(crate) max_retransmissions: Option<u32>,
    /// How long a closed connection lingers (TIME-WAIT).
    #[schemars(extend("default" = "60 s"))]
    pub(crate) time_wait: Option<Quantity<Span>>,
}

/// A node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct NodeFile {
    /// Letters, digits, - and _; unique among nodes.
    #[schemars(required)]
    pub(crate) name: Option<String>,
    /// What it does.
    #[schemars(required)]
    pub(crate) kind: Option<NodeKind>,
}

/// A link, the same in both directions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LinkFile {
    /// Unique among links. Default: "a-b" for a link between a and b.
    pub(crate) name: Option<String>,
    /// The names of the two nodes.
    #[schemars(required, length(min = 2, max = 2))]
    pub(crate) between: Option<Vec<String>>,
    /// The rate of each direction, as available to cells or packets.
    #[schemars(required)]
    pub(crate) rate: Option<Quantity<Rate>>,
    /// The propagation delay of each direction.
    #[schemars(required)]
    pub(crate) delay: Option<Quantity<Span>>,
    /// What travels on it. Default: "packet" where an end is a host, else "atm".
    pub(crate) framing: Option<Framing>,
}

/// A group of like conversations. Slot i (from 1) is called "name-i"; when a conversation ends,
/// its slot begins the next one at once.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TrafficFile {
    /// Letters, digits, - and _; unique among groups.
    #[schemars(required)]
    pub(crate) name: Option<String>,
    /// What the conversations do.
    #[schemars(required)]
    pub(crate) app: Option<AppKind>,
    /// How many run side by side; may be 0.
    #[schemars(range(max = 65_535), extend("default" = 1))]
    pub(crate) count: Option<u32>,
    /// Where the originators are: a router, to which a host of its own is attached for each
    /// conversation, or a host.
    #[schemars(required)]
    pub(crate) from: Option<String>,
    /// Where the responders are: a router or a host, as for `from`.
    #[schemars(required)]
    pub(crate) to: Option<String>,
    /// When slot 1 starts.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) start: Option<Quantity<RttSpan>>,
    /// How much later each further slot starts.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) stagger: Option<Quantity<RttSpan>>,
    /// The link between an own host and its router; needed if `from` or `to` is a router.
    pub(crate) access: Option<AccessFile>,
    /// Keys of [tcp] that differ for this group.
    pub(crate) tcp: Option<TcpFile>,
    /// Options of the application.
    pub(crate) workload: Option<WorkloadFile>,
}

/// What a conversation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AppKind {
    /// File transfer, after tcplib.
    Ftp,
    /// Network news, after tcplib.
    Nntp,
    /// Electronic mail, after tcplib.
    Smtp,
    /// Remote terminal, after tcplib.
    Telnet,
    /// One transfer as fast as TCP allows.
    Bulk,
}

/// The link between an implicit host and its router.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct AccessFile {
    /// The rate of each direction.
    #[schemars(required)]
    pub(crate) rate: Option<Quantity<Rate>>,
    /// The propagation delay of each direction.
    #[schemars(required)]
    pub(crate) delay: Option<Quantity<Span>>,
}

/// Options of the application; each says which applications have it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct WorkloadFile {
    /// ftp, nntp, smtp, telnet: how values are drawn from the tables.
    #[schemars(extend("default" = "tcplib"))]
    pub(crate) draw: Option<Draw>,
    /// ftp, nntp, smtp, telnet: a folder of full tables, relative to this file. Default: the
    /// built-in models of the tcplib tables.
    pub(crate) tables: Option<String>,
    /// ftp: an extra point mass on the item size.
    pub(crate) spike: Option<SpikeFile>,
    /// ftp: which connections carry the items.
    #[schemars(extend("default" = "shared"))]
    pub(crate) data_connection: Option<DataConnection>,
    /// ftp, nntp, smtp: control round trips before each item.
    #[schemars(range(max = 100), extend("default" = 1))]
    pub(crate) handshake: Option<u32>,
    /// telnet: whether the far end echoes what it receives.
    #[schemars(extend("default" = true))]
    pub(crate) echo: Option<bool>,
    /// bulk: how much to transfer. Default: without end.
    pub(crate) size: Option<Quantity<Bytes>>,
}

/// With probability `weight` an item has exactly `size` bytes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SpikeFile {
    /// The size of such an item.
    #[schemars(required)]
    pub(crate) size: Option<Quantity<Bytes>>,
    /// Its probability, from 0 to 1.
    #[schemars(required, range(min = 0, max = 1))]
    pub(crate) weight: Option<f64>,
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
    /// Whether binned series are recorded.
    #[schemars(extend("default" = true))]
    pub(crate) series: Option<bool>,
}

/// The runs to make of this file: every combination of the axes' values. The first axis varies
/// slowest, the variants fastest.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "for the schema; see `File::sweep`")]
pub(crate) struct SweepFile {
    /// Paths of keys, each with the values to try: { "traffic.ftp.count" = [1, 2, 3] }. Nodes,
    /// links and traffic are meant by name; * means all of them.
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
