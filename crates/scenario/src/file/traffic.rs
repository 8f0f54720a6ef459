//! Traffic groups.

use cellway_units::{Bytes, Probability, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::ServiceFile;
use crate::model::{AppKind, DataConnection, Draw, Framing, HostKeys, SourceKind, TcpKeys};
use crate::quantity::{LineRate, Quantity, RttSpan};

/// A group of like conversations. Slot i (from 1) is called "name-i"; when a conversation ends,
/// its slot begins the next one at once.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TrafficFile {
    /// Letters, digits, - and _; unique among groups.
    #[schemars(required)]
    pub(crate) name: Option<String>,
    /// What the conversations do, over TCP. A group has this or `udp`.
    pub(crate) app: Option<AppKind>,
    /// A source of UDP datagrams, in place of conversations over TCP.
    pub(crate) udp: Option<UdpFile>,
    /// How many run side by side; may be 0.
    #[schemars(range(max = 65_535), extend("default" = 1))]
    pub(crate) count: Option<u32>,
    /// Where the originators are: a router, switch or gateway, to which a host of its own is attached for each
    /// conversation, or a host.
    #[schemars(required)]
    pub(crate) from: Option<String>,
    /// Where the responders are, as for `from`.
    #[schemars(required)]
    pub(crate) to: Option<String>,
    /// When slot 1 starts.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) start: Option<Quantity<RttSpan>>,
    /// How much later each further slot starts.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) stagger: Option<Quantity<RttSpan>>,
    /// Each slot starts later by a time drawn evenly from 0 to this.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) jitter: Option<Quantity<RttSpan>>,
    /// app: whether a slot begins the next conversation when one ends.
    #[schemars(extend("default" = true))]
    pub(crate) repeat: Option<bool>,
    /// The link between an own host and its router, switch or gateway; needed unless `from` and `to` are hosts.
    pub(crate) access: Option<AccessFile>,
    /// What the machines of own hosts cost. Default: no limit.
    pub(crate) host: Option<HostKeys>,
    /// app: whether gateways on the path split the connections; if not they are routers to this group, as they always
    /// are to UDP.
    #[schemars(extend("default" = true))]
    pub(crate) gateway: Option<bool>,
    /// The service that the group's channels ask of the network.
    pub(crate) service: Option<ServiceFile>,
    /// Keys of [tcp] that differ for this group.
    pub(crate) tcp: Option<TcpKeys>,
    /// Options of the application.
    pub(crate) workload: Option<WorkloadFile>,
}

/// Datagrams of one size, from the originator to the responder, which only counts them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct UdpFile {
    /// When packets leave.
    #[schemars(extend("default" = "constant"))]
    pub(crate) source: Option<SourceKind>,
    /// The size of an IP packet, of which 28 bytes are the headers of IPv4 and UDP, and 16 a sequence number and the send
    /// time.
    #[schemars(required, extend("x-minimum" = "44 B"), extend("x-maximum" = "65535 B"))]
    pub(crate) packet: Option<Quantity<Bytes>>,
    /// Bits of IP packets per second: the mean; of an on-off source the rate while it is on.
    #[schemars(required, extend("x-above" = "0 bit/s"))]
    pub(crate) rate: Option<Quantity<Rate>>,
    /// on-off: the mean length of a period on; required.
    #[schemars(extend("x-above" = "0 s"))]
    pub(crate) on: Option<Quantity<Span>>,
    /// on-off: the mean length of a period off; required.
    #[schemars(extend("x-above" = "0 s"))]
    pub(crate) off: Option<Quantity<Span>>,
    /// How long each slot sends, from its start. Default: to the end of the run.
    #[schemars(extend("x-above" = "0 s"))]
    pub(crate) duration: Option<Quantity<Span>>,
}

/// The link between an implicit host and its router, switch or gateway.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct AccessFile {
    /// The rate of each direction, or the name of a line.
    #[schemars(required, extend("x-above" = "0 bit/s"))]
    pub(crate) rate: Option<Quantity<LineRate>>,
    /// The propagation delay of each direction.
    #[schemars(required)]
    pub(crate) delay: Option<Quantity<Span>>,
    /// The framing. Default: by the name of the line, else "packet".
    pub(crate) framing: Option<Framing>,
    /// The largest IP packet. Default: by the framing, as for links.
    #[schemars(extend("x-minimum" = "68 B"), extend("x-maximum" = "65535 B"))]
    pub(crate) mtu: Option<Quantity<Bytes>>,
    /// The chance that a cell or packet is lost on it, as for links.
    #[schemars(extend("default" = "0%"))]
    pub(crate) loss: Option<Quantity<Probability>>,
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
    /// ftp, nntp, smtp, ftp-get: control round trips before each item.
    #[schemars(range(max = 100), extend("default" = 1))]
    pub(crate) handshake: Option<u32>,
    /// telnet: whether the far end echoes what it receives.
    #[schemars(extend("default" = true))]
    pub(crate) echo: Option<bool>,
    /// bulk: how much to transfer; default: without end. ftp-get: the size of the file; required.
    #[schemars(extend("x-minimum" = "1 B"), extend("x-maximum" = "1048576 GiB"))]
    pub(crate) size: Option<Quantity<Bytes>>,
    /// bulk, ttcp: bytes of each write. Default: for ttcp 8192 B; for bulk more than TCP can take at once.
    #[schemars(extend("x-minimum" = "1 B"), extend("x-maximum" = "1048576 GiB"))]
    pub(crate) write: Option<Quantity<Bytes>>,
    /// ttcp: how many writes.
    #[schemars(range(min = 1, max = 4_294_967_295u64), extend("default" = 2048))]
    pub(crate) buffers: Option<u64>,
    /// bulk, ttcp: time that the application needs for each write.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) write_cost: Option<Quantity<Span>>,
    /// ftp-get: the largest rate of the disks at both ends. Default: no limit.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) disk_rate: Option<Quantity<Rate>>,
    /// www: the sizes of the files, in order; required.
    #[schemars(length(min = 1))]
    pub(crate) sizes: Option<Vec<Quantity<Bytes>>>,
    /// www: the size of each request.
    #[schemars(extend("default" = "300 B"), extend("x-minimum" = "1 B"), extend("x-maximum" = "1048576 GiB"))]
    pub(crate) request: Option<Quantity<Bytes>>,
    /// www: the largest rate at which the originator displays what arrives. Default: no limit.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) display_rate: Option<Quantity<Rate>>,
    /// animation: the size of each frame; required.
    #[schemars(extend("x-minimum" = "1 B"), extend("x-maximum" = "1048576 GiB"))]
    pub(crate) frame: Option<Quantity<Bytes>>,
    /// animation: frames a second; required.
    #[schemars(range(max = 1_000_000), extend("exclusiveMinimum" = 0))]
    pub(crate) rate: Option<f64>,
    /// animation: how long frames are sent. Default: without end.
    #[schemars(extend("x-above" = "0 s"))]
    pub(crate) duration: Option<Quantity<Span>>,
}

/// With probability `weight` an item has exactly `size` bytes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SpikeFile {
    /// The size of such an item.
    #[schemars(required, extend("x-minimum" = "1 B"), extend("x-maximum" = "1048576 GiB"))]
    pub(crate) size: Option<Quantity<Bytes>>,
    /// Its probability, from 0 to 1.
    #[schemars(required, range(min = 0, max = 1))]
    pub(crate) weight: Option<f64>,
}
