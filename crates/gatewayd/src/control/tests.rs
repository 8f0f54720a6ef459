//! The control thread of a mock gateway, through real sockets.

mod exposition;
mod in_use;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::format::Format;
use super::*;
use crate::status::{ClassStatus, ConnectionStatus, Counters, PeerStatus};
use cellway_settings::kinds::FilePath;

/// A gateway that always answers with the same snapshot, or not at all.
#[derive(Clone, Default)]
struct MockGateway {
    snapshot: Snapshot,
    silent: Arc<AtomicBool>,
    drained: Arc<Mutex<Vec<Option<Span>>>>,
}

impl Controlled for MockGateway {
    fn snapshot(&self, connections: bool) -> Option<Snapshot> {
        let mut snapshot = self.snapshot.clone();
        if !connections {
            snapshot.connections.clear();
        }
        (!self.silent.load(Ordering::SeqCst)).then_some(snapshot)
    }
    fn reload(&self, _: Config) {}
    fn not_reloaded(&self) {}
    fn drain(&self, within: Option<Span>) {
        self.drained.lock().unwrap().push(within);
    }
    fn hand_over(&self, _: Config) -> Result<(), String> {
        Err("it is pretended".to_owned())
    }
    fn stop(&self) {}
}

/// Returns a program that cannot take over.
fn next(file: PathBuf) -> Next {
    Next { file, program: "/bin/true".into() }
}

fn counted(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn class(name: &str, ceiling: Option<f64>) -> ClassStatus {
    let name = name.to_owned();
    ClassStatus {
        name,
        share: 3,
        ceiling,
        connections: 5,
        frames: 7,
        sent_bytes: 700,
        line_octets: 900,
        at_ceiling: 1.5,
    }
}

fn picture() -> Snapshot {
    let peer = PeerStatus {
        name: "tokyo".to_owned(),
        up: true,
        transport: "quic".to_owned(),
        address: Some("192.0.2.1:4433".parse().unwrap()),
        rtt: 0.175,
        rate: 30e6,
        fits: Some(24e6),
        line_octets: 12_345,
        packets_sent: 99,
        packets_lost: 3,
        classes: vec![class("customer-a", Some(2e6)), class("default", None)],
        ..PeerStatus::default()
    };
    let down =
        PeerStatus { name: "a \"b\" \\c".to_owned(), why_down: "never dialled".to_owned(), ..PeerStatus::default() };
    let connection = ConnectionStatus {
        peer: "tokyo".to_owned(),
        opened_here: true,
        client: Some("[2001:db8::1]:4000".parse().unwrap()),
        server: "www.example.net:80".to_owned(),
        state: "open".to_owned(),
        age: 1.5,
        sent_bytes: 10,
        received_bytes: 20,
        buffered_bytes: 5,
    };
    Snapshot {
        name: "paris".to_owned(),
        uptime: 12.5,
        draining: Some(3),
        opening: 7,
        silent: 2,
        receive_drops: 9,
        longest_pass: 0.004,
        long_passes: 3,
        peers: vec![peer, down],
        connections: vec![connection],
        counters: Counters {
            opened: counted(&[("intercepted", 7), ("socks", 1)]),
            refused: counted(&[("refused", 2), ("busy", 1)]),
            ended: counted(&[("clean", 4), ("reset", 1)]),
            connect_seconds: vec![(0.1, 3), (0.2, 2), (f64::MAX, 1)],
            connect_seconds_sum: 1.25,
            held_back: 6,
            passed: 4,
            answered_first: 6,
            rules_restored: 3,
            errors: counted(&[("decode", 1)]),
            strangers: counted(&[("silent", 5)]),
        },
    }
}

/// Starts a control thread on a free port and in `folder`.
fn watched(folder: &Path) -> (Control, MockGateway) {
    let pretended = MockGateway { snapshot: picture(), ..MockGateway::default() };
    let config = config::Control {
        socket: Some(FilePath(folder.join("control.sock"))),
        metrics: Some("127.0.0.1:0".parse().unwrap()),
        drain: None,
    };
    (Control::start(&config, next(folder.join("none.toml")), pretended.clone()).unwrap(), pretended)
}

#[test]
fn a_file_that_is_no_socket_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paris.key");
    std::fs::write(&path, "a key").unwrap();
    let config = config::Control { socket: Some(FilePath(path.clone())), ..config::Control::default() };
    let refused = Control::start(&config, next(folder.path().join("none.toml")), MockGateway::default());
    assert!(refused.is_err_and(|error| error.to_string().contains("no socket")));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a key");
}

fn http(control: &Control, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(control.metrics().unwrap()).unwrap();
    // The answer may arrive, and the connection end, before all is written.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn it_is_drained_through_the_socket() {
    let dir = tempfile::tempdir().unwrap();
    let (control, pretended) = watched(dir.path());
    let path = dir.path().join("control.sock");
    for within in [None, Some(Span::from_ms(1_500))] {
        assert_eq!(request_drain(&path, within).unwrap().draining, Some(3));
        assert_eq!(pretended.drained.lock().unwrap().pop(), Some(within));
    }
    ask(&path, false).unwrap();
    assert!(pretended.drained.lock().unwrap().is_empty());
    control.end();
}

#[test]
fn http_answers_metrics_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (control, pretended) = watched(dir.path());
    let get = |path: &str| http(&control, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    let answer = get("/metrics?x=1");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    assert_eq!(body, metrics::text(picture(), Format::Classic));
    let asked = "GET /metrics HTTP/1.1\r\nHost: x\r\naccept: application/openmetrics-text;version=1.0.0\r\n\r\n";
    let answer = http(&control, asked.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/openmetrics-text; version=1.0.0") && head.contains("Vary: Accept"), "{head}");
    assert_eq!(body, metrics::text(picture(), Format::OpenMetrics));
    let answer = http(&control, b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(get("/").starts_with("HTTP/1.1 404 "));
    assert!(get("/metrics/x").starts_with("HTTP/1.1 404 "));
    assert!(http(&control, b"POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    let long = [&b"GET /metrics HTTP/1.1\r\nX: "[..], &[b'x'; 10_000], b"\r\n\r\n"].concat();
    // Unread octets make the kernel reset the connection, perhaps before the answer is read.
    let answer = http(&control, &long);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_eq!(http(&control, b"\x00\xff nonsense\r\n\r\n").split(' ').nth(1), Some("405"));
    pretended.silent.store(true, Ordering::SeqCst);
    assert!(get("/metrics").starts_with("HTTP/1.1 503 "));
    control.end();
}

#[test]
fn status_is_asked_over_a_socket() {
    let dir = tempfile::tempdir().unwrap();
    let (control, pretended) = watched(dir.path());
    let path = dir.path().join("control.sock");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    assert_eq!(ask(&path, true).unwrap(), picture());
    assert_eq!(ask(&path, false).unwrap(), Snapshot { connections: Vec::new(), ..picture() });
    // Several requests on one connection, one of them wrong.
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"{}\nnonsense\n{\"connections\": true}\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("\"connections\":[]"));
    assert!(lines.next().unwrap().starts_with("{\"error\":"));
    assert!(lines.next().unwrap().contains("www.example.net:80"));
    // A request without end is answered, once.
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(&[b' '; 5_000]).unwrap();
    let mut answer = String::new();
    let _ = BufReader::new(stream).read_line(&mut answer);
    assert!(answer.contains("at most 4096 octets"), "{answer}");
    pretended.silent.store(true, Ordering::SeqCst);
    assert!(ask(&path, false).unwrap_err().to_string().contains("does not answer"));
    // One gateway does not take the socket of another; a dead one's is replaced.
    let again = socket::StatusSocket::open(&path).unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AddrInUse);
    control.end();
    assert!(!path.exists() && std::fs::read_dir(dir.path()).unwrap().next().is_none());
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "left by a dead one");
    let (control, _) = watched(dir.path());
    assert_eq!(ask(&path, true).unwrap(), picture());
    control.end();
}

#[test]
fn a_status_socket_that_was_removed_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    std::fs::create_dir(&folder).unwrap();
    let (control, _) = watched(&folder);
    let path = folder.join("control.sock");
    let answers = || ask(&path, false).is_ok();
    assert!(answers());
    std::fs::remove_file(&path).unwrap();
    until(answers);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    // The file of a socket on which no process listens is replaced.
    std::fs::remove_file(&path).unwrap();
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    until(answers);
    // Also when the folder was gone for a while, as after `rm -r` and `mkdir` of a folder in /run.
    std::fs::remove_dir_all(&folder).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert!(!answers());
    std::fs::create_dir(&folder).unwrap();
    until(answers);
    // The socket of another gateway is left alone, also at the end.
    std::fs::remove_file(&path).unwrap();
    let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    control.end();
    assert!(
        path.exists() && other.set_nonblocking(true).is_ok() && other.accept().is_ok(),
        "it was asked who is there"
    );
}

/// The requests that signals have made of a gateway.
#[derive(Clone, Default)]
struct Steered {
    reloaded: Arc<std::sync::Mutex<Vec<String>>>,
    stopped: Arc<AtomicBool>,
    drained: Arc<Mutex<Vec<Option<Span>>>>,
}

impl Controlled for Steered {
    fn snapshot(&self, _: bool) -> Option<Snapshot> {
        None
    }
    fn reload(&self, config: Config) {
        self.reloaded.lock().unwrap().push(config.name);
    }
    fn hand_over(&self, _: Config) -> Result<(), String> {
        Err("it is pretended".to_owned())
    }
    fn not_reloaded(&self) {
        self.reloaded.lock().unwrap().push("nothing".to_owned());
    }
    fn drain(&self, within: Option<Span>) {
        self.drained.lock().unwrap().push(within);
    }
    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}

/// Waits for a condition; panics on a timeout.
fn until(what: impl Fn() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !what() {
        assert!(std::time::Instant::now() < end, "it did not happen");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn signals_reload_and_stop() {
    use rustix::process::{Signal, getpid, kill_process};
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("g.toml");
    let write = |name: &str| {
        let text = format!("name = \"{name}\"\n[[peer]]\nname = \"peer\"\naddress = \"127.0.0.1:1\"\n");
        std::fs::write(&file, text).unwrap();
    };
    let steered = Steered::default();
    let control = Control::start(&config::Control::default(), next(file.clone()), steered.clone()).unwrap();
    let reloaded = || steered.reloaded.lock().unwrap().clone();
    write("first");
    kill_process(getpid(), Signal::HUP).unwrap();
    until(|| reloaded() == ["first"]);
    // An invalid file changes nothing and is counted; the next one is applied.
    write("NO NAME");
    kill_process(getpid(), Signal::HUP).unwrap();
    until(|| reloaded() == ["first", "nothing"]);
    write("second");
    kill_process(getpid(), Signal::HUP).unwrap();
    until(|| reloaded() == ["first", "nothing", "second"]);
    assert!(!steered.stopped.load(Ordering::SeqCst));
    kill_process(getpid(), Signal::TERM).unwrap();
    until(|| steered.stopped.load(Ordering::SeqCst));
    control.end();
    assert!(steered.drained.lock().unwrap().is_empty());
    // Draining on a signal is tested with a separate process: every gateway of this one gets the signal.
}
