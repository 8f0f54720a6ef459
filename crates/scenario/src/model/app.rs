//! Applications.

use cellway_spec::{
    AppKind, ConversationUse, DataConnection, Draw, FlowArrivals, FlowSpec, PageSpec, Spike, WorkloadSpec,
};
use cellway_units::{Bytes, Rate, Span};

/// The application of a group's conversations, with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum App {
    /// File transfer, after tcplib.
    Ftp {
        /// The source of the distributions.
        tables: Tables,
        /// An extra point mass on the item size.
        spike: Option<Spike>,
        /// Which connections carry the items.
        data_connection: DataConnection,
        /// Control round trips before each item.
        handshake: u32,
    },
    /// Network news, after tcplib.
    Nntp {
        /// The source of the distributions.
        tables: Tables,
        /// Control round trips before each article.
        handshake: u32,
    },
    /// Electronic mail, after tcplib.
    Smtp {
        /// The source of the distributions.
        tables: Tables,
        /// Control round trips before the message.
        handshake: u32,
    },
    /// Remote terminal, after tcplib.
    Telnet {
        /// The source of the distributions.
        tables: Tables,
        /// True if the responder echoes what it receives.
        echo: bool,
    },
    /// One transfer as fast as TCP allows.
    Bulk {
        /// Bytes to transfer; without end if absent.
        size: Option<Bytes>,
        /// Bytes that the application hands to TCP at once; more than TCP can take if absent.
        write: Option<Bytes>,
        /// Time that the application needs for each write.
        write_cost: Span,
    },
    /// One transfer of `buffers` writes.
    Ttcp {
        /// Bytes of each write. Never zero.
        write: Bytes,
        /// The number of writes; at least 1.
        buffers: u64,
        /// Time that the application needs for each write.
        write_cost: Span,
    },
    /// A file fetched from the responder over a connection of its own, after an exchange on the control connection.
    FtpGet {
        /// Bytes of the file. Never zero.
        size: Bytes,
        /// The largest rate at which the file is read or stored; no limit if absent.
        disk_rate: Option<Rate>,
        /// Control round trips before the data.
        handshake: u32,
    },
    /// Pages of several files, one connection for each after the other (HTTP/1.0).
    Www {
        /// Bytes of each file; at least one file, none empty.
        sizes: Vec<Bytes>,
        /// Bytes of each request. Never zero.
        request: Bytes,
        /// The largest rate at which the originator takes and displays what arrives; no limit if absent.
        display_rate: Option<Rate>,
    },
    /// Frames at a steady pace over one connection; a write that blocks delays the next frame.
    Animation {
        /// Bytes of each frame. Never zero.
        frame: Bytes,
        /// Frames a second, above zero.
        rate: f64,
        /// The time for which frames are sent; without end if absent.
        duration: Option<Span>,
    },
    /// Transfers of random sizes that arrive by themselves, each over a connection of its own.
    Flows(FlowSpec),
    /// Requests and responses that take turns over one connection.
    RequestResponse {
        /// Bytes of each request. Never zero.
        request: Bytes,
        /// Bytes of each response. Never zero.
        response: Bytes,
        /// The time from a response to the next request.
        think: Span,
        /// The time after which no request is sent; without end if absent.
        duration: Option<Span>,
    },
    /// A document and its objects, fetched over parallel connections (HTTP/1.1).
    Page(PageSpec),
    /// Conversations drawn from a class of a workload file.
    Workload(WorkloadSpec),
}

impl App {
    /// Returns its kind; conversations of one kind are of one type for
    /// [`Multiplexing::PerType`](crate::Multiplexing::PerType).
    pub const fn kind(&self) -> AppKind {
        match self {
            App::Ftp { .. } => AppKind::Ftp,
            App::Nntp { .. } => AppKind::Nntp,
            App::Smtp { .. } => AppKind::Smtp,
            App::Telnet { .. } => AppKind::Telnet,
            App::Bulk { .. } => AppKind::Bulk,
            App::Ttcp { .. } => AppKind::Ttcp,
            App::FtpGet { .. } => AppKind::FtpGet,
            App::Www { .. } => AppKind::Www,
            App::Animation { .. } => AppKind::Animation,
            App::Flows(_) => AppKind::Flows,
            App::RequestResponse { .. } => AppKind::RequestResponse,
            App::Page(_) => AppKind::Page,
            App::Workload(_) => AppKind::Workload,
        }
    }

    /// Returns true if its conversations begin whether or not earlier ones have ended.
    pub const fn arrives_by_itself(&self) -> bool {
        match self {
            App::Flows(_) => true,
            App::Workload(spec) => matches!(spec.arrivals, ConversationUse::Open { .. }),
            _ => false,
        }
    }

    /// Returns what it needs to be read before a run, with the key of the traffic group that names it.
    pub fn file(&self) -> Option<(AppFile<'_>, &'static [&'static str])> {
        match self {
            App::Ftp { tables, .. }
            | App::Nntp { tables, .. }
            | App::Smtp { tables, .. }
            | App::Telnet { tables, .. } => {
                tables.folder.as_deref().map(|folder| (AppFile::Tables(folder), &["workload", "tables"][..]))
            }
            App::Flows(flows) => {
                let file = match flows.source.arrivals() {
                    FlowArrivals::Trace => AppFile::Trace,
                    _ => AppFile::Sizes,
                };
                flows.source.file().map(|path| (file(path), &["flows", "file"][..]))
            }
            App::Page(page) => {
                page.sizes.file().map(|path| (AppFile::Sizes(path), &["workload", "objects", "file"][..]))
            }
            App::Workload(spec) => Some((AppFile::Workload { file: &spec.file, class: &spec.class }, &["app"][..])),
            App::Bulk { .. }
            | App::Ttcp { .. }
            | App::FtpGet { .. }
            | App::Www { .. }
            | App::Animation { .. }
            | App::RequestResponse { .. } => None,
        }
    }
}

/// Files that an application names, with their path as the scenario has it, relative to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppFile<'a> {
    /// A folder with a table of each quantity.
    Tables(&'a str),
    /// A table of sizes.
    Sizes(&'a str),
    /// Times and sizes of flows.
    Trace(&'a str),
    /// A class of a workload file.
    Workload {
        /// The file.
        file: &'a str,
        /// The class.
        class: &'a str,
    },
}

impl<'a> AppFile<'a> {
    /// Returns the path.
    pub const fn path(self) -> &'a str {
        match self {
            AppFile::Tables(path) | AppFile::Sizes(path) | AppFile::Trace(path) => path,
            AppFile::Workload { file, .. } => file,
        }
    }
}

/// The source of the distributions of a tcplib application, and the way of drawing from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The way in which a value is drawn from a table.
    pub draw: Draw,
    /// A folder of full tables, as written in the file (relative to it); the built-in models if
    /// absent.
    pub folder: Option<String>,
}
