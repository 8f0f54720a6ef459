//! Many requests at once, as from a load generator: over a new connection each, and over persistent connections.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::Socket;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::programs::finish;
use crate::common::tcp::{octet, socket};
use crate::common::world::{World, start};
use crate::site::{Document, Documents, Site};
use crate::{VERSIONS, can, common, server};

const REQUESTS: u64 = 2_000;
const AT_ONCE: u64 = 50;
const SIZE: u64 = 2_000;

/// Returns the path of document `number`.
fn path(number: u64) -> String {
    format!("/{number}")
}

/// Returns one document for each number, all different.
fn documents() -> Arc<Documents> {
    let document = |number| {
        let content = (0..SIZE + number).map(|index| octet(number, index)).collect();
        (path(number), Document { kind: "application/octet-stream", content })
    };
    Arc::new((0..AT_ONCE).map(document).collect())
}

/// Requests a document and returns the answer.
fn get(connection: &mut BufReader<Socket>, path: &str, kept: bool) -> io::Result<Vec<u8>> {
    let wish = if kept { "keep-alive" } else { "close" };
    let request = format!("GET {path} HTTP/1.1\r\nHost: server\r\nConnection: {wish}\r\n\r\n");
    connection.get_mut().write_all(request.as_bytes())?;
    let mut content = Vec::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line)?;
        if let Some(length) = line.strip_prefix("Content-Length: ") {
            content = vec![0; length.trim().parse().map_err(io::Error::other)?];
        }
        if line.trim().is_empty() {
            break;
        }
    }
    connection.read_exact(&mut content)?;
    if !kept && connection.read(&mut [0])? > 0 {
        return Err(io::Error::other("more than was announced"));
    }
    Ok(content)
}

/// Sends [`REQUESTS`] requests, [`AT_ONCE`] at a time, and compares each answer with the document. Returns the time of
/// each.
fn load(world: &World, site: &Site, documents: &Arc<Documents>, kept: bool) -> Vec<Duration> {
    let at = site.at;
    let clients: Vec<_> = (0..AT_ONCE)
        .map(|client| {
            let documents = documents.clone();
            start(&world.client, move || {
                let mut connection = None;
                let once = |turn| {
                    let begin = Instant::now();
                    let mut open = connection.take().unwrap_or_else(|| {
                        let socket = socket(at.ip());
                        socket.connect(&at.into()).unwrap();
                        BufReader::new(socket)
                    });
                    let path = path((client + turn) % AT_ONCE);
                    let content = get(&mut open, &path, kept).unwrap();
                    assert!(content == documents[&path].content, "the answer is not {path}");
                    connection = kept.then_some(open);
                    begin.elapsed()
                };
                (0..REQUESTS / AT_ONCE).map(once).collect::<Vec<Duration>>()
            })
        })
        .collect();
    clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
}

#[test]
fn two_thousand_requests_are_answered_right() {
    if !can("load::two_thousand_requests_are_answered_right", &[]) {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    let _filter = world.carried_only();
    let documents = documents();
    let mut connections = 0;
    for version in VERSIONS {
        for (kept, expected) in [(false, REQUESTS), (true, AT_ONCE)] {
            let site = Site::open(&world.server, server(version), &documents);
            let begin = Instant::now();
            let mut took = load(&world, &site, &documents, kept);
            let rate = REQUESTS as f64 / begin.elapsed().as_secs_f64();
            took.sort_unstable();
            assert_eq!(took.len() as u64, REQUESTS);
            assert_eq!(site.connections(), expected, "{version:?}, kept: {kept}");
            connections += expected;
            let (median, last) = (took[took.len() / 2], took[took.len() - 1]);
            println!("{version:?}, kept: {kept}: {rate:.0} requests/s, median {median:.1?}, longest {last:.1?}");
        }
    }
    assert_eq!(pair.number(Side::Near, "/counters/opened/intercepted"), connections);
    pair.stop();
}

/// Returns the number after `name` in the report of `ab`; `None` if it is missing.
fn reported(report: &str, name: &str) -> Option<u64> {
    let line = report.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().find_map(|word| word.parse().ok())
}

#[test]
fn ab_finds_no_request_failed() {
    if !can("load::ab_finds_no_request_failed", &["ab"]) {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    let _filter = world.carried_only();
    let documents = documents();
    let mut all = 0;
    for version in VERSIONS {
        let site = Site::open(&world.server, server(version), &documents);
        for kept in [false, true] {
            let before = site.connections();
            let mut ab = Command::new("ab");
            ab.args(["-q", "-n", &REQUESTS.to_string(), "-c", &AT_ONCE.to_string()]);
            if kept {
                ab.arg("-k");
            }
            ab.arg(site.url(&path(7)));
            let finished = finish(&world.client, ab);
            let report = &finished.said;
            assert_eq!(finished.code, Some(0), "ab: {report}{}", finished.complained);
            let number = |name| reported(report, name);
            assert_eq!(number("Complete requests:"), Some(REQUESTS), "{report}");
            assert_eq!(number("Failed requests:"), Some(0), "{report}");
            assert_eq!(number("Non-2xx responses:"), None, "{report}");
            assert_eq!(number("HTML transferred:"), Some(REQUESTS * (SIZE + 7)), "{report}");
            let connections = site.connections() - before;
            all += connections;
            if kept {
                assert_eq!(number("Keep-Alive requests:"), Some(REQUESTS), "{report}");
                assert!(connections < REQUESTS / 10, "{connections} connections were made, none kept");
            } else {
                assert!(connections >= REQUESTS, "{connections} connections for {REQUESTS} requests");
            }
            let rate = report.lines().find(|line| line.starts_with("Requests per second:")).unwrap_or_default();
            println!("{version:?}, kept: {kept}: {rate}");
        }
    }
    assert!(pair.number(Side::Near, "/counters/opened/intercepted") >= all);
    pair.stop();
}
