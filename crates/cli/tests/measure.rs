//! `cellway measure`, both sides run as a user runs them, over loopback.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use common::{Place, SMALL, names};

/// A server, ended with the test.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(place: &Place, more: &[&str]) -> Server {
        let args = [&["measure", "--serve", "--bind", "127.0.0.1", "--port", "0"], more].concat();
        let mut child = place.command(&args).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut line).unwrap();
        std::thread::spawn(move || errors.lines().count());
        let address = line.split_whitespace().nth(2).unwrap_or_else(|| panic!("{line}"));
        Server { port: address.rsplit(':').next().unwrap().to_owned(), child }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_sweep_gives_a_table_a_folder_and_json() {
    let place = Place::new(SMALL);
    let server = Server::start(&place, &[]);
    let args = ["measure", "127.0.0.1", "--port", &server.port, "--bytes", "1MiB", "--window", "64KiB,1MiB"];
    let more = ["--streams", "1,2", "--repeat", "2", "--out", "out"];
    let ran = place.run(&[&args[..], &more[..]].concat()).done();
    let table = ran.out();
    let head = table.lines().next().unwrap();
    assert!(["window", "streams", "subject", "goodput", "sent_rate"].iter().all(|name| head.contains(name)), "{table}");
    // 2 windows, of 1 stream and of 2 streams, each with the total; two lines of head.
    assert_eq!(table.lines().count(), 2 + 2 * (2 + 3), "{table}");
    assert!(ran.err().contains("8 tests"), "{}", ran.err());
    let expected = ["manifest.json", "runs.parquet", "series.parquet", "summary.parquet"];
    assert_eq!(names(&place.path().join("out")), expected);
    let told = place.run(&[&args[..], &["--reverse", "--json"]].concat()).done().json();
    let points = told["points"].as_array().unwrap();
    assert_eq!((points.len(), &points[1]["axes"]["window"]), (2, &"1 MiB".into()));
    let figures = points[0]["figures"].as_array().unwrap();
    let bytes = figures.iter().find(|f| f["subject"] == "total" && f["metric"] == "bytes").unwrap();
    assert_eq!(bytes["mean"].as_f64(), Some(1_048_576.0));
}

#[test]
fn a_server_may_serve_only_once() {
    let place = Place::new(SMALL);
    let mut server = Server::start(&place, &["--once"]);
    place.run(&["measure", "127.0.0.1", "--port", &server.port, "--bytes", "1kB"]).done();
    assert!(server.child.wait().unwrap().success());
    let ran = place.run(&["measure", "127.0.0.1", "--port", &server.port, "--bytes", "1kB"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("--serve"), "{}", ran.err());
}

#[test]
fn wrong_options_are_refused_with_what_is_accepted() {
    let place = Place::new(SMALL);
    let server = Server::start(&place, &["--max-time", "10s", "--max-bytes", "1MiB"]);
    for (args, words) in [
        (&["--window", "64"][..], "has no unit"),
        (&["--window", "1KiB"], "4 KiB to 512 MiB"),
        (&["--streams", "0"], "1 to 128"),
        (&["--write", "1GiB"], "1 B to 16 MiB"),
        (&["--congestion", "vegas-2000"], "reno"),
        (&["--time", "11s"], "10 s or less"),
        (&["--bytes", "2MiB"], "1 MiB or less"),
        (&["--bytes", "1MB", "--time", "1s"], "cannot be used with"),
        (&["--serve"], "cannot be used with"),
        (&["--pace", "10 m/s"], "Mbit/s"),
    ] {
        let told = place.run(&[&["measure", "127.0.0.1", "--port", &server.port], args].concat()).refused();
        assert!(told.contains(words), "{args:?}: {told}");
    }
    assert!(place.run(&["measure"]).refused().contains("HOST"));
    for limit in [["--max-time", "0s"], ["--max-bytes", "0 B"]] {
        let told = place.run(&[&["measure", "--serve"], &limit[..]].concat()).refused();
        assert!(told.contains(limit[0]) && told.contains("accepted: more than 0"), "{told}");
    }
}
