//! A web server (HTTP/1.1, RFC 9112) with persistent connections and documents in memory.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cellway_sys::Namespace;
use socket2::Socket;

use crate::common::tcp::listen;
use crate::common::world::start;

/// The document of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// Its media type.
    pub(crate) kind: &'static str,
    pub(crate) content: Vec<u8>,
}

/// All documents by their paths, such as `/index.html`.
pub(crate) type Documents = BTreeMap<String, Document>;

/// A server that ends with its namespace.
#[derive(Debug)]
pub(crate) struct Site {
    /// The address of its listener.
    pub(crate) at: SocketAddr,
    connections: Arc<AtomicU64>,
}

impl Site {
    pub(crate) fn open(namespace: &Namespace, at: IpAddr, documents: &Arc<Documents>) -> Site {
        let (listener, at) = namespace.run(move || listen((at, 0).into(), 1_024));
        let connections = Arc::new(AtomicU64::new(0));
        let (count, documents) = (connections.clone(), documents.clone());
        start(namespace, move || {
            listener.set_read_timeout(None).unwrap();
            while let Ok((socket, _)) = listener.accept() {
                count.fetch_add(1, Ordering::Relaxed);
                let documents = documents.clone();
                thread::spawn(move || serve(&socket, &documents));
            }
        });
        Site { at, connections }
    }

    /// Returns the number of accepted connections.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Returns the URL of a document.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }
}

/// Answers GET requests on one connection, until it must be closed.
fn serve(mut socket: &Socket, documents: &Documents) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    let mut lines = BufReader::new(socket).lines();
    while let Some(request) = lines.next().transpose()? {
        let mut words = request.split(' ').skip(1);
        let (path, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut kept = version == "HTTP/1.1";
        loop {
            let Some(field) = lines.next().transpose()? else { return Ok(()) };
            if field.is_empty() {
                break;
            }
            // HTTP/1.0 requires a header for it (RFC 9112, section 9.3).
            if let Some(wish) = field.to_ascii_lowercase().strip_prefix("connection:") {
                kept = wish.trim() == "keep-alive";
            }
        }
        let (status, kind, content) = match documents.get(path) {
            Some(document) => ("200 OK", document.kind, &document.content[..]),
            None => ("404 Not Found", "text/plain", &[][..]),
        };
        let (length, connection) = (content.len(), if kept { "keep-alive" } else { "close" });
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: {connection}\r\n\r\n"
        );
        socket.write_all(&[head.as_bytes(), content].concat())?;
        if !kept {
            break;
        }
    }
    Ok(())
}
