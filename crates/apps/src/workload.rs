//! The settings of each kind of application, with the tables inside.

use std::sync::Arc;

use cellway_spec::{AppKind, DataConnection, Draw, PageSpec, SHORT_REQUEST, Spike, TTCP_WRITE, UdpSource, WWW_REQUEST};
use cellway_units::{Bytes, Rate, Span};

use crate::flow_sizes::SizeLaw;
use crate::flows::{FlowProcess, FlowsWorkload};
use crate::measured::{ExchangeModel, MeasuredArrivals, MeasuredDatagrams, MeasuredWorkload};
use crate::tables::Tables;

/// Request-and-reply exchanges, each a pause of one round trip between the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshakes {
    /// Between the greeting and the first item.
    pub opening: u32,
    /// Before each item, besides the reply that follows it.
    pub per_item: u32,
}

/// File transfers: see [`Workload::Ftp`].
#[derive(Clone, Debug, PartialEq)]
pub struct FtpWorkload {
    /// Sizes and counts.
    pub tables: Tables,
    /// The rule for drawing them.
    pub draw: Draw,
    /// An item size with its own probability.
    pub spike: Option<Spike>,
    /// 2 (user, password) and 1 (store) by default: RFC 959, section 5.4.
    pub handshakes: Handshakes,
    /// The connection of the items.
    pub data_connection: DataConnection,
}

/// Network news: see [`Workload::Nntp`].
#[derive(Clone, Debug, PartialEq)]
pub struct NntpWorkload {
    /// Sizes and counts.
    pub tables: Tables,
    /// The rule for drawing them.
    pub draw: Draw,
    /// 0 and 1 (offer) by default: RFC 977, section 4.5.
    pub handshakes: Handshakes,
}

/// Electronic mail: see [`Workload::Smtp`].
#[derive(Clone, Debug, PartialEq)]
pub struct SmtpWorkload {
    /// Sizes.
    pub tables: Tables,
    /// The rule for drawing them.
    pub draw: Draw,
    /// 3 (hello, sender, recipient) and 1 (data) by default: RFC 821, section 3.
    pub handshakes: Handshakes,
}

/// Terminal sessions: see [`Workload::Telnet`].
#[derive(Clone, Debug, PartialEq)]
pub struct TelnetWorkload {
    /// Sizes and times.
    pub tables: Tables,
    /// The rule for drawing them.
    pub draw: Draw,
    /// True if the responder echoes received bytes.
    pub echo: bool,
}

/// One transfer: see [`Workload::Bulk`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkWorkload {
    /// The number of bytes; without end if absent.
    pub size: Option<Bytes>,
    /// The number of bytes in a write.
    pub write: Bytes,
    /// `None`: the application keeps between one and two writes beyond the acknowledged bytes, so that a window of at
    /// most one write always has data to send. Otherwise each write blocks until the socket has accepted all of it and
    /// keeps the application busy for this time.
    pub blocking: Option<Span>,
}

/// One transfer by blocking writes: see [`Workload::Ttcp`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtcpWorkload {
    /// The size of a write: ttcp's `-l`, 8192 B by default.
    pub write: Bytes,
    /// The number of writes: ttcp's `-n`, 2048 by default.
    pub buffers: u64,
    /// The time that each write keeps the application busy.
    pub write_cost: Span,
}

/// One file fetched: see [`Workload::FtpGet`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FtpGetWorkload {
    /// The file.
    pub size: Bytes,
    /// The rate at which the server reads it from disk, in blocks of 8192 B; at once if absent.
    pub disk_rate: Option<Rate>,
    /// Round trips on the control connection between the greeting and the request.
    pub handshake: u32,
}

/// Files fetched one by one and shown: see [`Workload::Www`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WwwWorkload {
    /// The files, in the order of fetching.
    pub sizes: Vec<Bytes>,
    /// The request for each.
    pub request: Bytes,
    /// The rate at which the browser displays received bytes, and so reads them; at once if absent.
    pub display_rate: Option<Rate>,
}

/// Frames at a constant pace: see [`Workload::Animation`].
#[derive(Clone, Debug, PartialEq)]
pub struct AnimationWorkload {
    /// A frame.
    pub frame: Bytes,
    /// Frames per second, above 0 and at most a million. The time between two is rounded to a
    /// picosecond.
    pub rate: f64,
    /// The duration of the writes of frames; without end if absent.
    pub duration: Option<Span>,
}

/// Requests and responses that take turns: see [`Workload::RequestResponse`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResponseWorkload {
    /// Each request: 1 B by default, as in netperf's TCP_RR.
    pub request: Bytes,
    /// Each response: 1 B by default, as there.
    pub response: Bytes,
    /// The time from the arrival of a response to the next request.
    pub think: Span,
    /// The time after which no request is sent, from the establishment of the connection; without end if absent.
    pub duration: Option<Span>,
}

/// A page and its objects: see [`Workload::Page`].
#[derive(Clone, Debug, PartialEq)]
pub struct PageWorkload {
    /// The response with the document.
    pub html: Bytes,
    /// The number of objects.
    pub objects: u32,
    /// The distribution of the sizes of their responses.
    pub sizes: SizeLaw,
    /// The most connections that are open at once.
    pub connections: u32,
    /// Each request.
    pub request: Bytes,
    /// The least time from the end of the load to that of the conversation.
    pub think: Span,
}

/// The application of each slot of a traffic group.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupWorkload {
    /// Conversations of an application over TCP, one after the other.
    Conversations(Workload),
    /// Datagrams of a source, in one direction.
    Datagrams(UdpSource),
    /// Datagrams of measured conversations, in both directions.
    MeasuredDatagrams(Box<MeasuredDatagrams>),
}

/// A kind of application with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// The originator logs in and sends files to the responder, one by one.
    Ftp(FtpWorkload),
    /// The originator offers and sends articles to the responder, one by one.
    Nntp(NntpWorkload),
    /// The originator sends one message to the responder.
    Smtp(SmtpWorkload),
    /// The originator sends small packets at its own times; the responder echoes them.
    Telnet(TelnetWorkload),
    /// The originator sends as fast as it may.
    Bulk(BulkWorkload),
    /// The originator sends a number of buffers by blocking writes.
    Ttcp(TtcpWorkload),
    /// The originator logs in and fetches one file from the responder.
    FtpGet(FtpGetWorkload),
    /// The originator requests files from the responder, each over its own connection, and displays them.
    Www(WwwWorkload),
    /// The originator draws frames on the responder's display.
    Animation(AnimationWorkload),
    /// Transfers from the originator to the responder arrive by themselves, each over its own connection.
    Flows(FlowsWorkload),
    /// The originator sends requests to the responder, each after the response to the one before it.
    RequestResponse(RequestResponseWorkload),
    /// The originator fetches a page and its objects from the responder over parallel connections.
    Page(PageWorkload),
    /// The originator has measured exchanges of requests and responses with the responder.
    Measured(MeasuredWorkload),
}

impl Workload {
    /// Returns the default settings of a kind, with the shipped tables.
    pub fn new(kind: AppKind) -> Workload {
        let (tables, draw) = (Tables::shipped(), Draw::Tcplib);
        match kind {
            AppKind::Ftp => Workload::Ftp(FtpWorkload {
                tables,
                draw,
                spike: None,
                handshakes: Handshakes { opening: 2, per_item: 1 },
                data_connection: DataConnection::Shared,
            }),
            AppKind::Nntp => {
                Workload::Nntp(NntpWorkload { tables, draw, handshakes: Handshakes { opening: 0, per_item: 1 } })
            }
            AppKind::Smtp => {
                Workload::Smtp(SmtpWorkload { tables, draw, handshakes: Handshakes { opening: 3, per_item: 1 } })
            }
            AppKind::Telnet => Workload::Telnet(TelnetWorkload { tables, draw, echo: true }),
            AppKind::Bulk => Workload::Bulk(BulkWorkload { size: None, write: Bytes(16 << 20), blocking: None }),
            AppKind::Ttcp => Workload::Ttcp(TtcpWorkload { write: TTCP_WRITE, buffers: 2048, write_cost: Span::ZERO }),
            AppKind::FtpGet => {
                Workload::FtpGet(FtpGetWorkload { size: Bytes(1_000_000), disk_rate: None, handshake: 2 })
            }
            AppKind::Www => {
                Workload::Www(WwwWorkload { sizes: vec![Bytes(100_000)], request: WWW_REQUEST, display_rate: None })
            }
            AppKind::Animation => {
                Workload::Animation(AnimationWorkload { frame: Bytes(40_000), rate: 50.0, duration: None })
            }
            AppKind::Flows => Workload::Flows(FlowsWorkload {
                process: FlowProcess::Poisson { interval: Span::from_ms(100), sizes: SizeLaw::Fixed(Bytes(100_000)) },
                count: None,
                duration: None,
                limit: 10_000,
            }),
            AppKind::RequestResponse => Workload::RequestResponse(RequestResponseWorkload {
                request: SHORT_REQUEST,
                response: Bytes(1),
                think: Span::ZERO,
                duration: None,
            }),
            AppKind::Page => Workload::Page(PageWorkload {
                html: Bytes(30_000),
                objects: 30,
                sizes: SizeLaw::Fixed(Bytes(20_000)),
                connections: PageSpec::CONNECTIONS,
                request: PageSpec::REQUEST,
                think: Span::ZERO,
            }),
            AppKind::Workload => Workload::Measured(MeasuredWorkload {
                model: Arc::new(ExchangeModel::single(300, 20_000)),
                fits: false,
                arrivals: MeasuredArrivals::Closed { gap: Span::ZERO },
            }),
        }
    }

    /// Returns the kind.
    pub fn kind(&self) -> AppKind {
        match self {
            Workload::Ftp(_) => AppKind::Ftp,
            Workload::Nntp(_) => AppKind::Nntp,
            Workload::Smtp(_) => AppKind::Smtp,
            Workload::Telnet(_) => AppKind::Telnet,
            Workload::Bulk(_) => AppKind::Bulk,
            Workload::Ttcp(_) => AppKind::Ttcp,
            Workload::FtpGet(_) => AppKind::FtpGet,
            Workload::Www(_) => AppKind::Www,
            Workload::Animation(_) => AppKind::Animation,
            Workload::Flows(_) => AppKind::Flows,
            Workload::RequestResponse(_) => AppKind::RequestResponse,
            Workload::Page(_) => AppKind::Page,
            Workload::Measured(_) => AppKind::Workload,
        }
    }
}
