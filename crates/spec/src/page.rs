//! Pages of HTTP/1.1.

use cellway_units::{Bytes, Span};

use crate::flows::FlowSizes;

/// A page: a document, and the objects that it names, fetched over parallel connections.
#[derive(Clone, Debug, PartialEq)]
pub struct PageSpec {
    /// The response with the document. Never zero.
    pub html: Bytes,
    /// The number of objects, at least 1.
    pub objects: u32,
    /// The distribution of the sizes of their responses.
    pub sizes: FlowSizes,
    /// The most connections that are open at once, at least 1.
    pub connections: u32,
    /// Each request. Never zero.
    pub request: Bytes,
    /// The least time from the end of the load of a page to the beginning of the next.
    pub think: Span,
}

impl PageSpec {
    /// The default of the most connections, that of Chromium (`g_max_sockets_per_group` in
    /// `net/socket/client_socket_pool_manager.cc`) and Firefox (`network.http.max-persistent-connections-per-server`).
    pub const CONNECTIONS: u32 = 6;
    /// The default size of a request. M. Belshe, R. Peon, "SPDY: An experimental protocol for a faster web", 2009:
    /// headers of 700 B to 800 B are common.
    pub const REQUEST: Bytes = Bytes(700);
}
