//! The socket that `status` asks: a line of JSON there, a line of JSON back.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;

use super::{Snapshot, Watched, look};

/// Most octets of a request.
const REQUEST: u64 = 4 << 10;
/// How long a connection may be silent.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most connections at once; more wait in the kernel.
const AT_ONCE: usize = 16;
/// How long `ask` waits for an answer: longer than a snapshot may take.
const WAIT: Duration = Duration::from_secs(5);

/// What can be asked.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Whether to list connections.
    #[serde(default)]
    connections: bool,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Answer {
    Snapshot(Box<Snapshot>),
    Error { error: String },
}

/// The socket; its file goes with it.
#[derive(Debug)]
pub(super) struct StatusSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl StatusSocket {
    /// Opens it, for owner and group; one that a dead daemon has left is replaced.
    pub(super) fn open(path: &Path) -> io::Result<StatusSocket> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another gateway answers there"));
        }
        // Nobody may reach it before its mode is set: it gets its name last.
        let mut early = path.as_os_str().to_owned();
        early.push(format!(".{}", std::process::id()));
        let early = PathBuf::from(early);
        match std::fs::remove_file(&early) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&early)?;
        std::fs::set_permissions(&early, std::fs::Permissions::from_mode(0o660))?;
        std::fs::rename(&early, path)?;
        Ok(StatusSocket { listener, path: path.to_owned() })
    }

    /// Answers until dropped.
    pub(super) async fn serve<W: Watched>(self, watched: W) {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!("status: {error}");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
            };
            let watched = watched.clone();
            tokio::spawn(async move {
                let _ = answer(stream, &watched).await;
                drop(place);
            });
        }
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer<W: Watched>(stream: tokio::net::UnixStream, watched: &W) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = tokio::io::BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut read).take(REQUEST);
        let Ok(got) = tokio::time::timeout(PATIENCE, limited.read_until(b'\n', &mut line)).await else { return Ok(()) };
        if got? == 0 {
            return Ok(());
        }
        let error = |error: String| Answer::Error { error };
        let whole = line.ends_with(b"\n");
        let answer = match serde_json::from_slice::<Request>(&line) {
            _ if !whole => error(format!("a request is one line of at most {REQUEST} octets")),
            Err(wrong) => error(format!("{wrong}; accepted: {{\"connections\": true}} or {{}}")),
            Ok(request) => match look(watched, request.connections).await {
                Some(snapshot) => Answer::Snapshot(Box::new(snapshot)),
                None => error("the gateway does not answer".to_owned()),
            },
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        match tokio::time::timeout(PATIENCE, write.write_all(&text)).await {
            Ok(Ok(())) if whole => {}
            _ => return Ok(()),
        }
    }
}

/// Asks the gateway whose socket is at `path`.
pub(crate) fn ask(path: &Path, connections: bool) -> io::Result<Snapshot> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.set_write_timeout(Some(WAIT))?;
    let mut request = serde_json::to_vec(&Request { connections })?;
    request.push(b'\n');
    (&stream).write_all(&request)?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    match serde_json::from_str(&line)? {
        Answer::Snapshot(snapshot) => Ok(*snapshot),
        Answer::Error { error } => Err(io::Error::other(error)),
    }
}
