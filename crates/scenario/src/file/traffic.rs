//! Traffic groups.

use cellway_settings::table;
use cellway_units::{Bytes, Probability, Rate, Span};

use crate::file::ServiceFile;
use crate::model::{AppKind, DataConnection, Draw, Framing, HostKeys, SourceKind, TcpKeys};
use crate::quantity::{LineRate, RttSpan};

/// A request of HTTP/1.0 with the headers of a browser of 1996, about.
const WWW_REQUEST: Bytes = Bytes(300);

table! {
    /// A group of like conversations. Slot i (from 1) is called "name-i"; when a conversation ends,
    /// its slot begins the next one at once.
    pub(crate) struct TrafficFile {
        /// Letters, digits, - and _; unique among groups.
        name: String,
        /// The application of the conversations, over TCP. A group has this or `udp`.
        app: Option<AppKind>,
        /// A source of UDP datagrams, in place of conversations over TCP.
        udp: Option<UdpFile>,
        /// The number that run side by side; may be 0.
        #[range(max = 65_535)]
        count: u32 = 1,
        /// The place of the originators: a router, switch or gateway, to which a host of its own is attached for each
        /// conversation, or a host.
        from: String,
        /// The place of the responders, as for `from`.
        to: String,
        /// The start of slot 1.
        start: RttSpan = RttSpan::ZERO,
        /// The time by which each further slot starts later.
        stagger: RttSpan = RttSpan::ZERO,
        /// Each slot starts later by a time drawn evenly from 0 to this.
        jitter: RttSpan = RttSpan::ZERO,
        /// app: whether a slot begins the next conversation when one ends.
        repeat: bool = true,
        /// The link between an own host and its router, switch or gateway; needed unless `from` and `to` are hosts.
        access: Option<AccessFile>,
        /// The limits and costs of own hosts. Default: no limit.
        host: Option<HostKeys>,
        /// app: whether gateways on the path split the connections; if not they are routers to this group, as they always
        /// are to UDP.
        gateway: bool = true,
        /// The service that the group's channels ask of the network.
        service: Option<ServiceFile>,
        /// Keys of [tcp] that differ for this group.
        tcp: Option<TcpKeys>,
        /// Options of the application.
        workload: Option<WorkloadFile>,
    }
}

table! {
    /// Datagrams of one size, from the originator to the responder, which only counts them.
    pub(crate) struct UdpFile {
        /// The times at which packets leave.
        source: SourceKind = SourceKind::Constant,
        /// The size of an IP packet, of which 28 bytes are the headers of IPv4 and UDP, and 16 a sequence number and the send
        /// time.
        #[range(min = "44 B", max = "65535 B")]
        packet: Bytes,
        /// Bits of IP packets per second: the mean; of an on-off source the rate while it is on.
        #[range(above = "0 bit/s")]
        rate: Rate,
        /// on-off: the mean length of a period on; required.
        #[range(above = "0 s")]
        on: Option<Span>,
        /// on-off: the mean length of a period off; required.
        #[range(above = "0 s")]
        off: Option<Span>,
        /// The time for which each slot sends, from its start. Default: to the end of the run.
        #[range(above = "0 s")]
        duration: Option<Span>,
    }
}

table! {
    /// The link between an implicit host and its router, switch or gateway.
    pub(crate) struct AccessFile {
        /// The rate of each direction, or the name of a line.
        #[range(above = "0 bit/s")]
        rate: LineRate,
        /// The propagation delay of each direction.
        delay: Span,
        /// The framing. Default: by the name of the line, else "packet".
        framing: Option<Framing>,
        /// The largest IP packet. Default: by the framing, as for links.
        #[range(min = "68 B", max = "65535 B")]
        mtu: Option<Bytes>,
        /// The chance that a cell or packet is lost on it, as for links.
        loss: Probability = Probability::ZERO,
    }
}

table! {
    /// Options of the application; each says which applications have it.
    pub(crate) struct WorkloadFile {
        /// ftp, nntp, smtp, telnet: how values are drawn from the tables.
        draw: Draw = Draw::Tcplib,
        /// ftp, nntp, smtp, telnet: a folder of full tables, relative to this file. Default: the
        /// built-in models of the tcplib tables.
        tables: Option<String>,
        /// ftp: an extra point mass on the item size.
        spike: Option<SpikeFile>,
        /// ftp: which connections carry the items.
        data_connection: DataConnection = DataConnection::Shared,
        /// ftp, nntp, smtp, ftp-get: control round trips before each item.
        #[range(max = 100)]
        handshake: u32 = 1,
        /// telnet: whether the far end echoes what it receives.
        echo: bool = true,
        /// bulk: how much to transfer; default: without end. ftp-get: the size of the file; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        size: Option<Bytes>,
        /// bulk, ttcp: bytes of each write. Default: for ttcp 8192 B; for bulk more than TCP can take at once.
        #[range(min = "1 B", max = "1048576 GiB")]
        write: Option<Bytes>,
        /// ttcp: how many writes.
        #[range(min = 1, max = 4_294_967_295u64)]
        buffers: u64 = 2048,
        /// bulk, ttcp: time that the application needs for each write.
        write_cost: Span = Span::ZERO,
        /// ftp-get: the largest rate of the disks at both ends. Default: no limit.
        #[range(above = "0 bit/s")]
        disk_rate: Option<Rate>,
        /// www: the sizes of the files, in order; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        #[length(min = 1)]
        sizes: Option<Vec<Bytes>>,
        /// www: the size of each request.
        #[range(min = "1 B", max = "1048576 GiB")]
        request: Bytes = WWW_REQUEST,
        /// www: the largest rate at which the originator displays what arrives. Default: no limit.
        #[range(above = "0 bit/s")]
        display_rate: Option<Rate>,
        /// animation: the size of each frame; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        frame: Option<Bytes>,
        /// animation: frames a second; required.
        #[range(above = 0, max = 1_000_000)]
        rate: Option<f64>,
        /// animation: how long frames are sent. Default: without end.
        #[range(above = "0 s")]
        duration: Option<Span>,
    }
}

table! {
    /// With probability `weight` an item has exactly `size` bytes.
    pub(crate) struct SpikeFile {
        /// The size of such an item.
        #[range(min = "1 B", max = "1048576 GiB")]
        size: Bytes,
        /// Its probability, from 0 to 1.
        #[range(min = 0, max = 1)]
        weight: f64,
    }
}
