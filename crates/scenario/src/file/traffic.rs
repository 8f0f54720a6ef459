//! Traffic groups.

use cellway_settings::table;
use cellway_spec::{DatagramEcn, Dscp, Family, PageSpec};
use cellway_units::{Bytes, Probability, Rate, Span};

use crate::file::{FlowsFile, ServiceFile, SizeKeys};
use crate::model::{ConversationArrivals, DataConnection, Draw, Framing, HostKeys, SourceKind, TcpKeys};
use crate::quantity::{AppName, LineRate, RttSpan};

table! {
    /// A group of like conversations. Slot i (from 1) is called "name-i"; when a conversation ends,
    /// its slot begins the next one at once.
    pub(crate) struct TrafficFile {
        /// Letters, digits, - and _; unique among groups.
        name: String,
        /// The application, over TCP, or a class of a workload file. A group has this, `udp` or `flows`.
        app: Option<AppName>,
        /// Transfers over TCP that arrive by themselves; `app` is "flows" then and need not be given.
        flows: Option<FlowsFile>,
        /// A source of UDP datagrams, in place of conversations over TCP.
        udp: Option<UdpFile>,
        /// The number of slots, which run side by side. It may be 0.
        #[range(max = 65_535)]
        count: u32 = 1,
        /// The originator: a host, which all slots share, or a router, switch or gateway, at which each slot gets a host of its
        /// own.
        from: String,
        /// The responder, likewise.
        to: String,
        /// When slot 1 starts, from the start of the run.
        start: RttSpan = RttSpan::ZERO,
        /// The time between the starts of two slots.
        stagger: RttSpan = RttSpan::ZERO,
        /// A random delay of each start, uniform from 0 to this.
        jitter: RttSpan = RttSpan::ZERO,
        /// app: whether a slot starts another conversation when one ends.
        repeat: bool = true,
        /// The link of each host that a slot gets. Required unless `from` and `to` are hosts.
        access: Option<AccessFile>,
        /// The speed of these hosts. Default: no limit.
        host: Option<HostKeys>,
        /// app: whether gateways on the path split the connections. If false, they forward them as routers do.
        gateway: bool = true,
        /// The class that its hosts write into packets (DSCP), by which the queue discipline "prio" sends them.
        dscp: Dscp = Dscp::Cs0,
        /// The version of IP of its packets. It sets the size of headers, and with that the default of `tcp.mss`.
        family: Family = Family::Ipv4,
        /// The ATM service of the channels of the group. Its rates count cells of 53 octets.
        service: Option<ServiceFile>,
        /// Keys of [tcp] that differ for this group.
        tcp: Option<TcpKeys>,
        /// Options of the application.
        workload: Option<WorkloadFile>,
    }
}

table! {
    /// Datagrams from the originator to the responder, which only counts them, or sends pings back: of one size, or of a
    /// video.
    pub(crate) struct UdpFile {
        /// The times at which packets leave.
        source: SourceKind = SourceKind::Constant,
        /// The size of an IP packet; of a video the largest. 28 bytes are headers of IPv4 and UDP, 48 of IPv6; 16 are a
        /// sequence number and the send time.
        #[range(min = "44 B", max = "65535 B")]
        packet: Bytes,
        /// All but ping: bits of IP packets per second; required. The mean, or of an on-off source the rate while it is on.
        #[range(above = "0 bit/s")]
        rate: Option<Rate>,
        /// ping: the time between two packets; required.
        #[range(min = "1 us")]
        interval: Option<Span>,
        /// on-off: the mean length of a period on; required.
        #[range(above = "0 s")]
        on: Option<Span>,
        /// on-off: the mean length of a period off; required.
        #[range(above = "0 s")]
        off: Option<Span>,
        /// video: frames per second; required.
        #[range(min = 1, max = 1000)]
        frame_rate: Option<f64>,
        /// video: frames from one key frame to the next. Default: 60.
        #[range(min = 1, max = 1_000_000)]
        key_frame_interval: Option<u32>,
        /// video: the mean size of a key frame, in those of other frames. Default: 5.
        #[range(min = 1, max = 1000)]
        key_frame_ratio: Option<f64>,
        /// video: the standard deviation of the natural logarithm of the size of a frame. Default: 0.25.
        #[range(min = 0, max = 3)]
        frame_sigma: Option<f64>,
        /// video: the time from the capture of a frame to its play-out. Default: 150 ms.
        #[range(above = "0 s")]
        playout_delay: Option<Span>,
        /// The time for which each slot sends, from its start. Default: to the end of the run.
        #[range(above = "0 s")]
        duration: Option<Span>,
        /// The ECN field of its packets.
        ecn: DatagramEcn = DatagramEcn::NotEct,
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
        /// ftp, nntp, smtp, telnet: the sampling of values from the tables.
        draw: Draw = Draw::Tcplib,
        /// ftp, nntp, smtp, telnet: a folder of full tables, relative to this file. Default: the
        /// built-in models of the tcplib tables.
        tables: Option<String>,
        /// ftp: a size that items have with a probability of its own.
        spike: Option<SpikeFile>,
        /// ftp: which connections carry the items.
        data_connection: DataConnection = DataConnection::Shared,
        /// ftp, nntp, smtp, ftp-get: control round trips before each item.
        #[range(max = 100)]
        handshake: u32 = 1,
        /// telnet: whether the far end echoes what it receives.
        echo: bool = true,
        /// bulk, ftp-get: the bytes to transfer; required for ftp-get. Default: without end.
        #[range(min = "1 B", max = "1048576 GiB")]
        size: Option<Bytes>,
        /// bulk, ttcp: the bytes of each write. Default: ttcp 8192 B, bulk more than TCP accepts at once.
        #[range(min = "1 B", max = "1048576 GiB")]
        write: Option<Bytes>,
        /// ttcp: the number of writes.
        #[range(min = 1, max = 4_294_967_295u64)]
        buffers: u64 = 2048,
        /// bulk, ttcp: the time that the application takes for each write.
        write_cost: Span = Span::ZERO,
        /// ftp-get: the largest rate of the disks at both ends. Default: no limit.
        #[range(above = "0 bit/s")]
        disk_rate: Option<Rate>,
        /// www: the sizes of the files, in order; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        #[length(min = 1)]
        sizes: Option<Vec<Bytes>>,
        /// www, request-response, page: the size of each request. Default: www 300 B, request-response 1 B, page 700 B.
        #[range(min = "1 B", max = "1048576 GiB")]
        request: Option<Bytes>,
        /// request-response: the size of each response.
        #[range(min = "1 B", max = "1048576 GiB")]
        response: Bytes = Bytes(1),
        /// request-response: the time from the arrival of a response to the next request. page: the least time from the
        /// end of the load of a page to the beginning of the next.
        think: Span = Span::ZERO,
        /// page: the size of the response with the document; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        html: Option<Bytes>,
        /// page: the objects that the document names; required.
        objects: Option<ObjectsFile>,
        /// page: the most connections that are open at once.
        #[range(min = 1, max = 1000)]
        connections: u32 = PageSpec::CONNECTIONS,
        /// www: the largest rate at which the originator displays what arrives. Default: no limit.
        #[range(above = "0 bit/s")]
        display_rate: Option<Rate>,
        /// animation: the size of each frame; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        frame: Option<Bytes>,
        /// animation: frames a second; required.
        #[range(above = 0, max = 1_000_000)]
        rate: Option<f64>,
        /// animation, request-response: the time for which frames or requests are sent. workload: the time for which
        /// conversations arrive. Default: without end.
        #[range(above = "0 s")]
        duration: Option<Span>,
        /// workload: when the conversations of a slot begin.
        arrivals: ConversationArrivals = ConversationArrivals::Open,
        /// workload, open: a factor on the rate of conversations. Default: 1, unless `load` is given.
        #[range(above = 0, max = 1_000_000)]
        scale: Option<f64>,
        /// workload, open: the octets of the conversations of all slots, as a share of the rate of the bottleneck link,
        /// in the direction that has more of them. It gives the rate of conversations, in place of `scale`.
        #[range(above = 0, max = 1000)]
        load: Option<f64>,
        /// workload, open: the number of conversations of each slot. Default: without end.
        #[range(min = 1)]
        conversations: Option<u64>,
        /// workload, open: the most conversations of a slot that are open at once; one that arrives beyond is rejected
        /// and counted. Default: 10000.
        #[range(min = 1, max = 1_000_000)]
        limit: Option<u32>,
        /// workload, closed: the time from the end of a conversation to the next one. Default: none.
        gap: Option<Span>,
        /// workload: whether values are drawn from the fitted laws, where a distribution has one, in place of its
        /// quantiles.
        fits: bool = false,
    }
}

table! {
    /// The objects of a page.
    pub(crate) struct ObjectsFile {
        /// The number of objects of each page.
        #[range(min = 1, max = 100_000)]
        count: u32,
        ..sizes: SizeKeys,
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
