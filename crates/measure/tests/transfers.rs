//! Whole tests over loopback, in this process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cellway_measure::{Error, Limit, Limits, Outcome, Server, Sweep, Test, run};
use cellway_units::{Bytes, Rate, Span};

/// A server on a thread; dropped, it ends.
struct Running {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Running {
    fn start(address: &str, limits: Limits) -> Running {
        let mut server = Server::bind(Some(address.parse::<IpAddr>().unwrap()), 0, limits).unwrap();
        let (at, stop) = (server.address(), Arc::new(AtomicBool::new(false)));
        let flag = stop.clone();
        let thread = thread::spawn(move || {
            let mut told = Vec::new();
            let mut tell = |_, done: Result<(Test, Outcome), Error>| {
                told.push(match done {
                    Ok((_, outcome)) => format!("{} B", outcome.bytes()),
                    Err(e) => e.to_string(),
                });
            };
            let ended = server.serve(false, &mut tell, &mut || flag.load(Ordering::Relaxed));
            assert!(matches!(ended, Err(Error::Stopped)), "{ended:?}");
            told
        });
        Running { at, stop, thread: Some(thread) }
    }

    fn run(&self, test: &Test) -> Result<Outcome, Error> {
        run(&self.at.ip().to_string(), self.at.port(), test, &mut || false)
    }

    /// Ends the server; returns its messages about each connection.
    fn end(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn bytes(n: u64) -> Test {
    Test { limit: Limit::Bytes(Bytes(n)), ..Test::default() }
}

#[test]
fn every_byte_is_counted() {
    for address in ["127.0.0.1", "::1"] {
        if address == "::1" && std::net::TcpListener::bind("[::1]:0").is_err() {
            println!("no IPv6 on this host: not tested");
            continue;
        }
        let server = Running::start(address, Limits::default());
        for (streams, reverse) in [(1, false), (3, false), (1, true), (3, true)] {
            let test = Test { streams, reverse, ..bytes(10_000_001) };
            let outcome = server.run(&test).unwrap();
            assert_eq!(outcome.bytes(), 10_000_001);
            assert_eq!(outcome.received.len(), streams as usize);
            for (received, sent) in outcome.received.iter().zip(&outcome.sent) {
                assert_eq!(received.bytes, sent.bytes);
                assert_eq!(received.intervals.iter().sum::<u64>(), received.bytes);
                assert!(!sent.samples.is_empty() && received.first_ns <= received.last_ns);
            }
        }
        assert_eq!(server.end(), ["10000001 B"; 4]);
    }
}

#[test]
fn options_reach_the_sender_and_go_away_again() {
    let server = Running::start("127.0.0.1", Limits::default());
    for reverse in [false, true] {
        let narrow = Test { window: Some(Bytes(8 << 10)), mss: Some(Bytes(1012)), reverse, ..bytes(1_000_000) };
        let outcome = server.run(&narrow).unwrap();
        assert_eq!(outcome.bytes(), 1_000_000);
        assert!([1000, 1012].contains(&outcome.sent[0].mss), "{:?}", outcome.sent[0]);
        let wide = server.run(&Test { reverse, ..bytes(1_000_000) }).unwrap();
        assert!(wide.sent[0].mss > 10_000, "as large as loopback has them: {:?}", wide.sent[0]);
    }
}

/// 40 Mbit/s with headers, of a loopback that does many Gbit/s: within a tenth below, since the pace counts headers and
/// starts after the first ten segments, and a tenth above.
#[test]
fn a_pace_holds() {
    let server = Running::start("127.0.0.1", Limits::default());
    let test = Test {
        pace: Some(Rate::from_bps(40_000_000)),
        mss: Some(Bytes(1460)),
        limit: Limit::Time(Span::from_secs(2)),
        interval: Span::from_ms(500),
        // Bytes in the buffer at the end must not take longer than the test.
        send_buffer: Some(Bytes(256 << 10)),
        ..Test::default()
    };
    let outcome = server.run(&test).unwrap();
    let goodput = outcome.goodput().unwrap();
    assert!((36e6..44e6).contains(&goodput), "{goodput}");
    let record = outcome.record();
    let bins = record.series.iter().filter(|r| &*r.subject == "total" && r.metric == "goodput").count();
    assert!((3..=5).contains(&bins), "{bins} bins of half a second");
    for metric in ["goodput", "sent_rate", "retransmissions", "rtt_mean", "rtt_min", "cwnd_max", "delivery_rate"] {
        assert!(record.summary.iter().any(|r| &*r.subject == "stream-1" && r.metric == metric), "{metric}");
    }
}

#[test]
fn a_sweep_has_all_combinations() {
    let sweep = Sweep {
        window: vec![Bytes(8 << 10), Bytes(64 << 10)],
        write: vec![Bytes(1024)],
        streams: vec![1, 2, 4],
        congestion: vec!["reno".to_owned(), "cubic".to_owned()],
        ..Sweep::default()
    };
    let tests = sweep.tests().unwrap();
    assert_eq!(tests.len(), 12);
    let names: Vec<&str> = tests[0].0.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["window", "streams", "congestion"], "a single value is no axis");
    for (i, (axes, test)) in tests.iter().enumerate() {
        assert_eq!(test.write, Bytes(1024));
        assert!(tests[..i].iter().all(|(other, _)| other != axes), "{axes:?} stands twice");
    }
    let wrong = Sweep { streams: vec![1, 0], ..Sweep::default() };
    assert!(wrong.tests().unwrap_err().to_string().contains("1 to 128"));
}

#[test]
fn requests_above_the_limits_are_refused_with_a_message() {
    let limits = Limits { max_time: Span::from_secs(5), max_bytes: Bytes(1 << 20) };
    let server = Running::start("127.0.0.1", limits);
    for (test, words) in [
        (Test { limit: Limit::Time(Span::from_secs(6)), ..Test::default() }, "5 s or less"),
        (bytes((1 << 20) + 1), "1 MiB or less"),
        (Test { congestion: Some("vegas-2000".to_owned()), reverse: true, ..bytes(10) }, "reno"),
    ] {
        let error = server.run(&test).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }) && error.to_string().contains(words), "{error}");
    }
    let error = server.run(&Test { congestion: Some("vegas-2000".to_owned()), ..bytes(10) }).unwrap_err();
    assert!(matches!(error, Error::Congestion { .. }), "{error}");
    assert_eq!(server.run(&bytes(1 << 20)).unwrap().bytes(), 1 << 20);
}

#[test]
fn garbage_is_rejected_and_the_server_continues() {
    let server = Running::start("127.0.0.1", Limits::default());
    let long = [&b"CELLWAY1C"[..], &u32::MAX.to_be_bytes(), &[b' '; 100]].concat();
    let nonsense = [&b"CELLWAY1C"[..], &3u32.to_be_bytes(), b"{]}"].concat();
    let stray = [&b"CELLWAY1D"[..], &[0; 20]].concat();
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 1000], &long, &nonsense, &stray, b"CEL", b""] {
        let mut stream = TcpStream::connect(server.at).unwrap();
        stream.write_all(garbage).unwrap();
        // It may have been reset already.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // Its end or a reset; not a timeout.
        let left = stream.read(&mut [0]).or_else(|e| match e.kind() {
            std::io::ErrorKind::ConnectionReset => Ok(0),
            _ => Err(e),
        });
        assert_eq!(left.unwrap(), 0, "{garbage:?}");
    }
    assert_eq!(server.run(&bytes(1000)).unwrap().bytes(), 1000);
    let told = server.end();
    assert_eq!(told.len(), 8, "{told:?}");
    assert!(told[2].contains("4294967295 B") && told[7] == "1000 B", "{told:?}");
}

/// The client disconnects during the test: the server reports it, and serves the next.
#[test]
fn a_client_that_dies_does_not_hold_the_server() {
    let server = Running::start("127.0.0.1", Limits::default());
    for reverse in [false, true] {
        let mut looks = 0;
        let mut gone = || {
            looks += 1;
            looks > 4
        };
        let test = Test { reverse, ..Test::default() };
        let ended = run("127.0.0.1", server.at.port(), &test, &mut gone);
        assert!(matches!(ended, Err(Error::Stopped)), "{ended:?}");
        assert_eq!(server.run(&bytes(1000)).unwrap().bytes(), 1000);
    }
    let told = server.end();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!([0, 2].iter().all(|&i: &usize| told[i].contains("other side") || told[i].contains("ended")), "{told:?}");
}

/// The server answers and then disconnects.
#[test]
fn a_server_that_dies_does_not_hold_the_client() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mute = thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        let limits = r#"{"max_time":"10 s","max_bytes":"1 GB"}"#;
        let ready = format!(r#"{{"ready":{{"token":[{}],"limits":{limits}}}}}"#, ["0"; 16].join(","));
        control.read_exact(&mut [0; 13]).unwrap();
        control.write_all(&(ready.len() as u32).to_be_bytes()).unwrap();
        control.write_all(ready.as_bytes()).unwrap();
        let data = listener.accept().unwrap();
        control.write_all(&[&4u32.to_be_bytes()[..], b"\"go\""].concat()).unwrap();
        thread::sleep(Duration::from_millis(300));
        drop((control, data));
    });
    let ended = run("127.0.0.1", port, &Test::default(), &mut || false);
    assert!(matches!(ended, Err(Error::Peer { .. })), "{ended:?}");
    mute.join().unwrap();
    let ended = run("127.0.0.1", port, &Test::default(), &mut || false);
    assert!(matches!(ended, Err(Error::Connect { .. })), "{ended:?}");
}
