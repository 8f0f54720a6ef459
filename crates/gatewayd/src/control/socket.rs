//! The socket of `status`: a request and an answer, each a line of JSON.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cellway_units::Span;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;

use super::{Controlled, Next, Snapshot, take_snapshot};

/// Most octets of a request.
const REQUEST: u64 = 4 << 10;
/// The longest time without octets on a connection.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most connections at once; more wait in the kernel.
const AT_ONCE: usize = 16;
/// The time for which `ask` waits for a connection, and for an answer: longer than a snapshot may take.
const WAIT: Duration = Duration::from_secs(15);

/// A request.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Set to list connections.
    #[serde(default)]
    connections: bool,
    /// Accept no new connections, and end when there are none.
    #[serde(default)]
    drain: bool,
    /// Hand over to the program that is installed now.
    #[serde(default)]
    upgrade: bool,
    /// With `drain`: the time after which the remaining connections are reset (s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within: Option<f64>,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Answer {
    Snapshot(Box<Snapshot>),
    Error { error: String },
}

/// The interval at which the file of the socket is checked.
const CHECK: Duration = Duration::from_secs(2);

/// The socket; dropping it removes its file.
#[derive(Debug)]
pub(super) struct StatusSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of its file.
    file: (u64, u64),
    /// The last problem with its file that was logged.
    problem: String,
}

/// Returns the device and the inode of the file at `path`.
fn file_at(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

/// Returns true if a process listens at `path`. Does not wait for it to accept.
fn is_in_use(path: &Path) -> io::Result<bool> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?).map_err(|error| (error.kind(), error)) {
        // EAGAIN: its backlog is full (connect(2)).
        Ok(()) | Err((io::ErrorKind::WouldBlock, _)) => Ok(true),
        Err((io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused, _)) => Ok(false),
        Err((kind, error)) => {
            let what = format!("it is unknown whether another gateway listens there ({error}): remove the file if not");
            Err(io::Error::new(kind, what))
        }
    }
}

impl StatusSocket {
    /// Opens it, for owner and group; one that a dead daemon has left is replaced.
    pub(super) fn open(path: &Path) -> io::Result<StatusSocket> {
        if std::fs::symlink_metadata(path).is_ok_and(|file| !file.file_type().is_socket()) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is no socket is there"));
        }
        if is_in_use(path)? {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another gateway listens there"));
        }
        // No client may connect before its mode is set: it is renamed to its path last.
        let mut early = path.as_os_str().to_owned();
        early.push(format!(".{}", std::process::id()));
        let early = PathBuf::from(early);
        match std::fs::remove_file(&early) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&early)?;
        std::fs::set_permissions(&early, std::fs::Permissions::from_mode(0o660))?;
        let file = file_at(&early)?;
        std::fs::rename(&early, path)?;
        Ok(StatusSocket { listener, path: path.to_owned(), file, problem: String::new() })
    }

    /// Restores its file if it was removed: clients could not connect any more.
    fn restore(&mut self) {
        let there = file_at(&self.path);
        if there.as_ref().is_ok_and(|file| *file == self.file) {
            self.problem.clear();
            return;
        }
        match StatusSocket::open(&self.path) {
            Ok(new) => {
                tracing::warn!("the status socket {} was deleted, and is made again", self.path.display());
                // Dropping the old socket leaves the new file, which has another inode.
                *self = new;
            }
            Err(error) => {
                let problem = error.to_string();
                if problem != self.problem {
                    tracing::warn!(
                        "the status socket {} was deleted, and cannot be made again: {problem}",
                        self.path.display()
                    );
                    self.problem = problem;
                }
            }
        }
    }

    /// Serves requests until dropped.
    pub(super) async fn serve<W: Controlled>(mut self, watched: W, next: Next) {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut check = tokio::time::interval(CHECK);
        check.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let client = async {
                let place = places.clone().acquire_owned().await;
                (place, self.listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                client = client => client,
                _ = check.tick() => {
                    self.restore();
                    continue;
                }
            };
            let Ok(place) = place else { return };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!("status: {error}");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
            };
            let (watched, next) = (watched.clone(), next.clone());
            tokio::spawn(async move {
                let _ = answer(stream, &watched, &next).await;
                drop(place);
            });
        }
    }
}

impl Drop for StatusSocket {
    fn drop(&mut self) {
        // Another socket may have replaced it.
        if file_at(&self.path).is_ok_and(|file| file == self.file) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

async fn answer<W: Controlled>(stream: tokio::net::UnixStream, watched: &W, next: &Next) -> io::Result<()> {
    // Snapshots are for the group as well.
    let may_command = stream.peer_cred().is_ok_and(|peer| [0, geteuid().as_raw()].contains(&peer.uid()));
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
            Err(wrong) => error(format!(
                "{wrong}; accepted: {{\"connections\": true}}, {{\"drain\": true}}, {{\"upgrade\": true}} or {{}}"
            )),
            Ok(Request { drain: true, .. } | Request { upgrade: true, .. }) if !may_command => {
                error("only root and the gateway's own user may drain or upgrade it".to_owned())
            }
            Ok(Request { upgrade: true, .. }) => match upgrade(watched, next).await {
                Ok(snapshot) => Answer::Snapshot(Box::new(snapshot)),
                Err(why) => error(why),
            },
            Ok(request) => match drain_and_take_snapshot(watched, &request).await {
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

/// Executes the request, then takes a snapshot.
async fn drain_and_take_snapshot<W: Controlled>(watched: &W, request: &Request) -> Option<Snapshot> {
    if request.drain {
        watched.drain(request.within.map(Span::from_secs_f64));
    }
    take_snapshot(watched, request.connections).await
}

/// Makes the gateway hand over to the program that is installed now; returns its status before.
async fn upgrade<W: Controlled>(watched: &W, next: &Next) -> Result<Snapshot, String> {
    let (watched, next) = (watched.clone(), next.clone());
    let done = tokio::task::spawn_blocking(move || {
        let config = next.check()?;
        let before = watched.snapshot(false).ok_or("the gateway does not answer")?;
        watched.hand_over(config)?;
        Ok(before)
    });
    let result = done.await.unwrap_or_else(|error| Err(error.to_string()));
    if let Err(why) = &result {
        tracing::warn!("upgrade: {why}; this program continues");
    }
    result
}

/// Requests the status of the gateway whose socket is at `path`.
pub(crate) fn ask(path: &Path, connections: bool) -> io::Result<Snapshot> {
    request(path, &Request { connections, ..Request::default() })
}
/// Makes the gateway accept no new connections, and end when none are left, or after `within`.
pub(crate) fn request_drain(path: &Path, within: Option<Span>) -> io::Result<Snapshot> {
    request(path, &Request { drain: true, within: within.map(Span::as_secs_f64), ..Request::default() })
}

/// Makes the gateway hand over to the program that is installed now; returns its status before.
pub(crate) fn request_upgrade(path: &Path) -> io::Result<Snapshot> {
    request(path, &Request { upgrade: true, ..Request::default() })
}

fn request(path: &Path, request: &Request) -> io::Result<Snapshot> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM.cloexec(), None)?;
    socket.set_read_timeout(Some(WAIT))?;
    // Also limits the wait for the backlog (unix(7)).
    socket.set_write_timeout(Some(WAIT))?;
    socket.connect(&SockAddr::unix(path)?)?;
    let stream = UnixStream::from(OwnedFd::from(socket));
    let mut request = serde_json::to_vec(request)?;
    request.push(b'\n');
    (&stream).write_all(&request)?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    match serde_json::from_str(&line)? {
        Answer::Snapshot(snapshot) => Ok(*snapshot),
        Answer::Error { error } => Err(io::Error::other(error)),
    }
}
