//! Choices of applications.

use cellway_settings::choice;
use cellway_units::Bytes;

choice! {
    /// The application of a conversation.
    pub enum AppKind {
        /// File transfer, after tcplib.
        Ftp = "ftp",
        /// Network news, after tcplib.
        Nntp = "nntp",
        /// Electronic mail, after tcplib.
        Smtp = "smtp",
        /// Remote terminal, after tcplib.
        Telnet = "telnet",
        /// One transfer as fast as TCP allows.
        Bulk = "bulk",
        /// One transfer of a number of writes, as the program of that name does.
        Ttcp = "ttcp",
        /// A file fetched over its own connection, after an exchange on the control connection.
        FtpGet = "ftp-get",
        /// Several files, one connection for each after the other (HTTP/1.0).
        Www = "www",
        /// Frames at a steady pace; a write that blocks delays the next frame.
        Animation = "animation",
        /// Transfers of random sizes that arrive by themselves, each over its own connection; with the table `flows`.
        Flows = "flows",
        /// Requests and responses that take turns over one connection.
        RequestResponse = "request-response",
        /// Pages of a document and its objects, over parallel connections that persist within a page (HTTP/1.1).
        Page = "page",
        /// Conversations drawn from a class of a workload file; written "workload:FILE#CLASS".
        Workload = "workload",
    }
}

/// The default size of a write of ttcp.
pub const TTCP_WRITE: Bytes = Bytes(8192);

/// The default size of a request of HTTP/1.0, with the headers of a browser of 1996, about.
pub const WWW_REQUEST: Bytes = Bytes(300);

/// The default size of a request that takes turns with responses: that of netperf's TCP_RR.
pub const SHORT_REQUEST: Bytes = Bytes(1);

choice! {
    /// The rule by which a value is drawn from a table.
    pub enum Draw {
        /// As tcplib does (USC-CS-91-495): from 1000 equally likely probabilities; integers are truncated.
        Tcplib = "tcplib",
        /// By continuous inversion of the interpolated distribution; integers are rounded, which keeps their mean.
        Continuous = "continuous",
    }
}

choice! {
    /// Which connections carry the items of a file transfer conversation.
    pub enum DataConnection {
        /// Control and all items use one connection.
        Shared = "shared",
        /// Each item has its own connection, opened by the responder (RFC 959, active mode).
        PerItem = "per-item",
    }
}

/// An extra point mass: with probability `weight` an item has exactly `size` bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// The size of such an item, 1 B or more.
    pub size: Bytes,
    /// Its probability, from 0 to 1.
    pub weight: f64,
}
