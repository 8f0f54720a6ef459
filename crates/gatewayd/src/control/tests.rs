//! A gateway that is made up, watched through real sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A gateway that answers with the same picture, or not at all.
#[derive(Clone, Default)]
struct Pretended {
    snapshot: Snapshot,
    silent: Arc<AtomicBool>,
}

impl Watched for Pretended {
    fn snapshot(&self, connections: bool) -> Option<Snapshot> {
        let mut snapshot = self.snapshot.clone();
        if !connections {
            snapshot.connections.clear();
        }
        (!self.silent.load(Ordering::SeqCst)).then_some(snapshot)
    }
    fn reload(&self, _: Config) {}
    fn not_reloaded(&self) {}
    fn stop(&self) {}
}

fn counted(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
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
            errors: counted(&[("decode", 1)]),
        },
    }
}

/// A control thread on a free port and in `folder`.
fn watched(folder: &Path) -> (Control, Pretended) {
    let pretended = Pretended { snapshot: picture(), ..Pretended::default() };
    let config =
        config::Control { socket: Some(folder.join("control.sock")), metrics: Some("127.0.0.1:0".parse().unwrap()) };
    (Control::start(&config, folder.join("none.toml"), pretended.clone()).unwrap(), pretended)
}

fn http(control: &Control, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(control.metrics().unwrap()).unwrap();
    // An answer may come, and the connection end, before all is written.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// The samples of an OpenMetrics text, checked line by line against its grammar.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut family = String::new();
    let (body, end) = text.split_at(text.len() - "# EOF\n".len());
    assert_eq!(end, "# EOF\n");
    for line in body.lines() {
        if let Some(meta) = line.strip_prefix("# ") {
            let mut words = meta.splitn(3, ' ');
            let (kind, name) = (words.next().unwrap(), words.next().unwrap());
            assert!(["HELP", "TYPE", "UNIT"].contains(&kind) && words.next().is_some_and(|w| !w.is_empty()), "{line}");
            family = name.to_owned();
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        let plain = name.split('{').next().unwrap();
        assert!(plain.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
        assert!(plain.starts_with(&family), "{line} is not of {family}");
        assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line} twice");
    }
    samples
}

#[test]
fn metrics_are_open_metrics() {
    let samples = samples(&metrics::text(picture()));
    let of = |name: &str| samples.get(&format!("cellway_gateway_{name}")).copied();
    assert_eq!(of("peer_up{peer=\"tokyo\"}"), Some(1.0));
    assert_eq!(of("peer_up{peer=\"a \\\"b\\\" \\\\c\"}"), Some(0.0), "{samples:?}");
    assert_eq!(of("peer_rtt_seconds{peer=\"tokyo\"}"), Some(0.175));
    assert_eq!(of("peer_line_bytes_total{peer=\"tokyo\"}"), Some(12_345.0));
    assert_eq!(of("peer_line_rate{peer=\"tokyo\"}"), Some(3.75e6));
    assert_eq!(of("peer_line_rate_fits{peer=\"tokyo\"}"), Some(3e6));
    assert_eq!(of("peer_packets_lost_total{peer=\"tokyo\"}"), Some(3.0));
    assert_eq!(of("peer_transport_info{peer=\"tokyo\",transport=\"quic\"}"), Some(1.0), "{samples:?}");
    assert_eq!(of("opened_total{class=\"intercepted\"}"), Some(7.0));
    assert_eq!(of("refused_total{reason=\"busy\"}"), Some(1.0));
    assert_eq!((of("held_back_total"), of("silent")), (Some(6.0), Some(2.0)));
    assert_eq!((of("longest_pass_seconds"), of("long_passes_total")), (Some(0.004), Some(3.0)));
    assert_eq!((of("receive_drops_total"), of("passed_total")), (Some(9.0), Some(4.0)));
    assert_eq!(
        (of("peer_responsive{peer=\"tokyo\"}"), of("peer_stalls_total{peer=\"tokyo\"}")),
        (Some(1.0), Some(0.0))
    );
    // Buckets hold all that were not above their bound.
    assert_eq!(of("connect_seconds_bucket{le=\"0.1\"}"), Some(3.0));
    assert_eq!(of("connect_seconds_bucket{le=\"0.2\"}"), Some(5.0));
    assert_eq!(of("connect_seconds_bucket{le=\"+Inf\"}"), Some(6.0));
    assert_eq!((of("connect_seconds_count"), of("connect_seconds_sum")), (Some(6.0), Some(1.25)));
}

#[test]
fn the_dashboard_asks_only_for_what_there_is() {
    let there: BTreeSet<String> =
        samples(&metrics::text(picture())).into_keys().map(|name| name.split('{').next().unwrap().to_owned()).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/grafana.json");
    let board: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut asked = BTreeSet::new();
    for panel in board["panels"].as_array().unwrap() {
        assert!(panel["title"].is_string() && panel["targets"].as_array().is_some_and(|t| !t.is_empty()), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let names: Vec<_> = words.filter(|word| word.starts_with("cellway_")).collect();
            assert!(!names.is_empty(), "{expression}");
            for name in names {
                assert!(there.contains(name), "{name} of {:?} is not exported", panel["title"]);
                asked.insert(name.to_owned());
            }
        }
    }
    assert!(asked.len() >= 15, "{asked:?}");
}

#[test]
fn http_answers_metrics_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (control, pretended) = watched(dir.path());
    let get = |path: &str| http(&control, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
    let answer = get("/metrics?x=1");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("application/openmetrics-text"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    assert_eq!(body, metrics::text(picture()));
    let answer = http(&control, b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(get("/").starts_with("HTTP/1.1 404 "));
    assert!(get("/metrics/x").starts_with("HTTP/1.1 404 "));
    assert!(http(&control, b"POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    let long = [&b"GET /metrics HTTP/1.1\r\nX: "[..], &[b'x'; 10_000], b"\r\n\r\n"].concat();
    // What was not read makes the kernel reset the connection, perhaps before the answer is read.
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

/// What was asked of a gateway by signals.
#[derive(Clone, Default)]
struct Steered {
    reloaded: Arc<std::sync::Mutex<Vec<String>>>,
    stopped: Arc<AtomicBool>,
}

impl Watched for Steered {
    fn snapshot(&self, _: bool) -> Option<Snapshot> {
        None
    }
    fn reload(&self, config: Config) {
        self.reloaded.lock().unwrap().push(config.name);
    }
    fn not_reloaded(&self) {
        self.reloaded.lock().unwrap().push("nothing".to_owned());
    }
    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}

/// Waits for something to happen; a test that waits in vain fails.
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
    let control = Control::start(&config::Control::default(), file.clone(), steered.clone()).unwrap();
    let reloaded = || steered.reloaded.lock().unwrap().clone();
    write("first");
    kill_process(getpid(), Signal::HUP).unwrap();
    until(|| reloaded() == ["first"]);
    // A file that is wrong changes nothing, which is told; the one after it does.
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
}
