//! `/metrics` over HTTP/1.1 (RFC 9112): one answer per connection, which is all that a scraper needs.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::format::Format;
use super::{Controlled, metrics, take_snapshot};

/// Most octets of a request.
const REQUEST: usize = 8 << 10;
/// The time limit of a request and its answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most requests at once; more wait in the kernel.
const AT_ONCE: usize = 16;

/// Opens the port.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Serves requests until dropped.
pub(super) async fn serve<W: Controlled>(listener: TcpListener, watched: W) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Temporary errors, such as no free descriptors.
                tracing::warn!("metrics: {error}");
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
        };
        let watched = watched.clone();
        tokio::spawn(async move {
            // A client that is too slow or disconnects gets no answer, and nothing is logged.
            let _ = tokio::time::timeout(PATIENCE, answer(stream, &watched)).await;
            drop(place);
        });
    }
}

async fn answer<W: Controlled>(mut stream: TcpStream, watched: &W) -> io::Result<()> {
    let mut request = Vec::with_capacity(1024);
    let whole = loop {
        if request.windows(4).any(|w| w == b"\r\n\r\n") {
            break true;
        }
        if request.len() >= REQUEST {
            break false;
        }
        if (&mut stream).take((REQUEST - request.len()) as u64).read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    };
    let line = request.split(|&b| b == b'\r').next().unwrap_or_default();
    let mut words = line.split(|&b| b == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|&b| b == b'?').next().unwrap_or_default();
    const PLAIN: &str = "text/plain; charset=utf-8";
    let (status, kind, body) = match (whole, method, path) {
        (false, ..) => ("431 Request Header Fields Too Large", PLAIN, "the request is too long\n".to_owned()),
        (_, b"GET" | b"HEAD", b"/metrics") => match take_snapshot(watched, false).await {
            Some(snapshot) => {
                let format = Format::asked(fields(&request, "accept"));
                ("200 OK", format.content_type(), metrics::text(snapshot, format))
            }
            None => ("503 Service Unavailable", PLAIN, "the gateway does not answer\n".to_owned()),
        },
        (_, b"GET" | b"HEAD", _) => ("404 Not Found", PLAIN, "here is only /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", PLAIN, "only GET and HEAD\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n",
        body.len(),
        match &status[..3] {
            "405" => "Allow: GET, HEAD\r\n",
            "200" => "Vary: Accept\r\n",
            _ => "",
        },
    );
    stream.write_all(head.as_bytes()).await?;
    if method != b"HEAD" {
        stream.write_all(body.as_bytes()).await?;
    }
    stream.shutdown().await
}

/// Returns the values of the fields `name` of a request.
fn fields<'a>(request: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = request.split(|&b| b == b'\n').skip(1).map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| std::str::from_utf8(line).ok())
        .filter_map(|line| line.split_once(':'))
        .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
        .map(|(_, v)| v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_fields_after_an_invalid_one_are_read_and_those_in_the_body_are_not() {
        let request = b"GET / HTTP/1.1\r\nX: \xff\r\nAccept: a/b\r\naccept: c/d\r\n\r\nAccept: e/f\r\n";
        assert_eq!(fields(request, "accept").map(str::trim).collect::<Vec<_>>(), ["a/b", "c/d"]);
    }
}
