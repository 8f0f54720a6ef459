//! Real programs, if they are installed, and a file server whose every octet is known.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cellway_sys::{Child, Group, Namespace};
use socket2::Socket;

use super::tcp::{listen, octet, send, socket};
use super::world::start;

/// The time until a program must serve; only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time until a program must end; the same.
const END: Duration = Duration::from_secs(120);

/// A file server (HTTP/1.0, RFC 1945) at `at` that ends with its namespace. `/SEED/SIZE` is the stream SEED of SIZE
/// octets; `/SEED/SIZE/open` the same without a length, whose end is that of the connection.
pub(crate) fn serve_files(namespace: &Namespace, at: IpAddr) -> SocketAddr {
    let (listener, at) = namespace.run(move || listen((at, 0).into(), 1_024));
    start(namespace, move || {
        listener.set_read_timeout(None).unwrap();
        while let Ok((socket, _)) = listener.accept() {
            thread::spawn(move || serve_file(&socket));
        }
    });
    at
}

/// Serves one request; `None` if it is malformed.
fn serve_file(socket: &Socket) -> Option<()> {
    let mut lines = BufReader::new(socket).lines();
    let request = lines.next()?.ok()?;
    while !lines.next()?.ok()?.is_empty() {}
    let mut parts = request.split(' ').nth(1)?.split('/').skip(1);
    let [seed, size] = [parts.next()?, parts.next()?].map(|number| number.parse::<u64>());
    let (seed, size) = (seed.ok()?, size.ok()?);
    let mut head = "HTTP/1.0 200 OK\r\n".to_owned();
    if parts.next().is_none() {
        write!(head, "Content-Length: {size}\r\n").ok()?;
    }
    let mut writer = socket;
    writer.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    // A slow reader is permitted: a write waits as long as it takes.
    socket.set_write_timeout(None).ok()?;
    send(socket, seed, size).1.ok()
}

/// Returns the URL of a file of [`serve_files`].
pub(crate) fn file(at: SocketAddr, seed: u64, size: u64) -> String {
    format!("http://{at}/{seed}/{size}")
}

/// Returns true if a file on disk is the stream `seed` of `size` octets.
pub(crate) fn is_whole(path: &Path, seed: u64, size: u64) -> bool {
    let Ok(content) = std::fs::read(path) else { return false };
    content.len() as u64 == size && (0..).zip(content).all(|(index, value)| octet(seed, index) == value)
}

/// `curl`, quiet but for errors, with its arguments, in `namespace`.
pub(crate) fn curl<'a>(namespace: &Namespace, arguments: impl IntoIterator<Item = &'a str>) -> Child {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--globoff", "--noproxy", "*"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    namespace.spawn(command, Group::Own).unwrap()
}

/// Waits for a program. Returns its exit code (`None` if a signal ended it) and its error output.
pub(crate) fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut complaint = String::new();
    if let Some(mut stderr) = child.take_stderr() {
        stderr.read_to_string(&mut complaint).unwrap();
    }
    (child.wait().unwrap().code(), complaint)
}

/// The result of a program that ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) complained: String,
}

/// Runs a program in `namespace` until it has ended, which it must.
pub(crate) fn finish(namespace: &Namespace, mut command: Command) -> Finished {
    let name = command.get_program().to_string_lossy().into_owned();
    // Files, not pipes: children of the program may outlive it and hold a pipe open.
    let mut files = [(); 2].map(|()| tempfile::tempfile().unwrap());
    command.stdin(Stdio::null()).stdout(files[0].try_clone().unwrap()).stderr(files[1].try_clone().unwrap());
    let mut child = namespace.spawn(command, Group::Own).unwrap();
    let begin = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if begin.elapsed() > END => break None,
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    let [said, complained] = files.each_mut().map(|file| {
        let mut content = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut content).unwrap();
        String::from_utf8_lossy(&content).into_owned()
    });
    let Some(status) = status else { panic!("{name} does not end: {said}{complained}") };
    Finished { code: status.code(), said, complained }
}

/// `python3 -m http.server` for the files of `folder`.
pub(crate) fn python_server(namespace: &Namespace, at: SocketAddr, folder: &Path) -> Child {
    let mut command = Command::new("python3");
    command.args(["-m", "http.server", &at.port().to_string(), "--bind", &at.ip().to_string()]);
    command.arg("--directory").arg(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    serving(namespace, command, at)
}

/// `iperf3 --server`.
pub(crate) fn iperf3_server(namespace: &Namespace, at: SocketAddr) -> Child {
    let mut command = Command::new("iperf3");
    command.args(["--server", "--port", &at.port().to_string(), "--bind", &at.ip().to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    serving(namespace, command, at)
}

/// Returns the report of `iperf3 --client --json`; `arguments` such as `--reverse`.
pub(crate) fn iperf3(namespace: &Namespace, to: SocketAddr, arguments: &[&str]) -> serde_json::Value {
    let mut command = Command::new("iperf3");
    command.args(["--client", &to.ip().to_string(), "--port", &to.port().to_string(), "--json"]).args(arguments);
    let output = namespace.run(move || command.output().unwrap());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "iperf3: {}", report["error"]);
    report
}

/// Starts a server program and waits until it answers at `at`.
pub(crate) fn serving(namespace: &Namespace, command: Command, at: SocketAddr) -> Child {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = namespace.spawn(command, Group::Own).unwrap();
    let begin = Instant::now();
    while namespace.run(move || socket(at.ip()).connect(&at.into())).is_err() {
        assert!(child.try_wait().unwrap().is_none(), "{name} ended");
        assert!(begin.elapsed() < PATIENCE, "{name} does not answer at {at}");
        thread::sleep(Duration::from_millis(50));
    }
    child
}
