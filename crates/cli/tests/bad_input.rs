//! Errors are reported with their location, and nothing is written.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::process::Stdio;

use common::{Place, Ran, SMALL};

/// Returns [`SMALL`] with one text replaced by another, and the line of it.
fn edited(from: &str, to: &str) -> (String, usize) {
    let at = SMALL.find(from).unwrap_or_else(|| panic!("{from:?} is not in the text"));
    (SMALL.replacen(from, to, 1), SMALL[..at].matches('\n').count() + 1)
}

/// Asserts that `simulate --out`, `simulate --json` and `check` refuse the scenario alike, naming file, line and key;
/// the folder is unchanged.
fn assert_refused(text: &str, line: Option<usize>, key: &str, words: &[&str]) {
    let place = Place::new(text);
    for args in [
        &["simulate", "study.toml", "--out", "out"][..],
        &["simulate", "study.toml", "--json", "--out", "out", "--force"],
        &["simulate", "study.toml", "--pcap", "r1"],
        &["check", "study.toml"],
    ] {
        let ran = place.run(args);
        assert_eq!(ran.out(), "", "{args:?}: nothing on standard output");
        let told = ran.refused();
        if let Some(line) = line {
            assert!(told.contains(&format!("study.toml:{line}:")), "{args:?}: line {line}:\n{told}");
        }
        for word in [&[key, "study.toml"], words].concat() {
            assert!(told.contains(word), "{args:?}: {word:?} is missing:\n{told}");
        }
        assert_eq!(place.names(), ["study.toml"], "{args:?}: nothing is written");
    }
}

#[test]
fn an_unknown_key() {
    let (text, line) = edited("warmup = ", "warmpu = ");
    assert_refused(&text, Some(line), "run.warmpu", &["did you mean", "warmup"]);
}

#[test]
fn a_missing_unit() {
    let (text, line) = edited("\"512 B\"", "512");
    assert_refused(&text, Some(line), "tcp.mss", &["512 has no unit", "KiB"]);
    let (text, line) = edited("\"22.5 ms\"", "\"22.5\"");
    assert_refused(&text, Some(line), "link.r1-s1.delay", &["ms"]);
}

#[test]
fn a_negative_rate() {
    let (text, line) = edited("\"1.5 Mbit/s\"", "\"-1.5 Mbit/s\"");
    assert_refused(&text, Some(line), "link.r1-s1.rate", &["-1.5"]);
}

#[test]
fn a_window_smaller_than_a_segment() {
    let (text, line) = edited("\"8 KiB\"", "\"511 B\"");
    assert_refused(&text, Some(line), "tcp.window", &["511 B", "512 B"]);
}

#[test]
fn a_route_that_does_not_exist() {
    let (text, _) = edited("between = [\"s1\", \"r2\"]", "name = \"again\"\nbetween = [\"s1\", \"r1\"]");
    let line = text.lines().position(|l| l == "to = \"r2\"").unwrap() + 1;
    assert_refused(&text, Some(line), "traffic.ftp.to", &["r1", "r2"]);
    let (text, line) = edited("to = \"r2\"", "to = \"r3\"");
    assert_refused(&text, Some(line), "traffic.ftp.to", &["r3", "r2"]);
}

#[test]
fn a_buffer_of_zero() {
    let (text, line) = edited("\"1 bdp\"", "\"0 cell\"");
    assert_refused(&text, Some(line), "buffer.size", &["0 cell"]);
}

#[test]
fn a_sweep_over_nothing() {
    let line = SMALL.lines().count() + 2;
    assert_refused(&format!("{SMALL}\n[sweep]\n"), Some(line), "sweep", &[]);
    assert_refused(&format!("{SMALL}\n[sweep]\naxes = {{}}\n"), Some(line), "sweep", &[]);
    let empty = format!("{SMALL}\n[sweep]\naxes = {{ \"tcp.mss\" = [] }}\n");
    assert_refused(&empty, Some(line + 1), "tcp.mss", &[]);
    let unknown = format!("{SMALL}\n[sweep]\naxes = {{ \"tcp.msss\" = [\"512 B\"] }}\n");
    assert_refused(&unknown, Some(line + 1), "tcp.msss", &["tcp.mss"]);
}

#[test]
fn a_value_of_a_sweep_that_is_wrong_at_one_point_only() {
    let line = SMALL.lines().count() + 3;
    let text = format!("{SMALL}\n[sweep]\naxes = {{ \"tcp.window\" = [\"8 KiB\", \"100 B\"] }}\n");
    assert_refused(&text, Some(line), "tcp.window", &["100 B", "512 B"]);
}

#[test]
fn a_file_that_is_no_toml_or_does_not_exist() {
    let (text, line) = edited("name = \"small\"", "name = small");
    assert_refused(&text, Some(line), "name", &["TOML"]);
    let place = Place::new(SMALL);
    for command in ["simulate", "check"] {
        let told = place.run(&[command, "study.tml"]).refused();
        assert!(told.contains("study.tml") && told.contains("No such file"), "{told}");
    }
}

/// All problems are reported at once, not one in each run.
#[test]
fn several_problems_are_reported_together() {
    let text = SMALL.replacen("\"512 B\"", "512", 1).replacen("\"tahoe\"", "\"tahoo\"", 1).replacen(
        "\"1 bdp\"",
        "\"0 cell\"",
        1,
    );
    assert_refused(&text, None, "tcp.mss", &["tcp.variant", "tahoe", "buffer.size"]);
}

#[test]
fn an_override_that_is_wrong_is_named() {
    let place = Place::new(SMALL);
    for (set, words) in [
        ("tcp.mss=512", &["tcp.mss", "512"][..]),
        ("tcp.mms=512 B", &["tcp.mms", "did you mean mss?"]),
        ("traffic.fpt.count=3", &["traffic.fpt", "ftp"]),
        ("link.*.rate=-1 Mbit/s", &["link", "rate", "-1"]),
        ("tcp.mss", &["tcp.mss"]),
    ] {
        for command in ["simulate", "check"] {
            let told = place.run(&[command, "study.toml", "--set", set]).refused();
            words.iter().for_each(|word| assert!(told.contains(word), "{set}: {word:?} is missing:\n{told}"));
        }
    }
    assert_eq!(place.names(), ["study.toml"]);
}

#[test]
fn options_that_make_no_sense() {
    let place = Place::new(SMALL);
    for args in [
        &["simulate", "study.toml", "--seeds", "0", "--out", "out"][..],
        &["simulate", "study.toml", "--seeds", "-1", "--out", "out"],
        &["simulate", "study.toml", "--seeds", "100001", "--out", "out"],
        &["compare", "study.toml", "--seeds", "100001", "--no-emulate", "--out", "out"],
        &["compare", "study.toml", "--repeat", "0", "--out", "out"],
        &["compare", "study.toml", "--repeat", "100001", "--out", "out"],
        &["simulate", "study.toml", "--threads", "0", "--out", "out"],
        &["simulate", "study.toml", "--tables"],
        &["simulate"],
        &["simulte", "study.toml"],
        &["reproduce", "celsim", "--out", "out"],
        &["report", "out"],
    ] {
        let ran = place.run(args);
        // Without the Python package there are no reports at all: that is no fault of the input.
        let code = if args[0] == "report" { 1 } else { 2 };
        assert_eq!(ran.code(), code, "{args:?}: {}", ran.err());
        assert!(!ran.err().is_empty() && ran.out().is_empty(), "{args:?}");
        assert_eq!(place.names(), ["study.toml"], "{args:?}");
    }
    let told = place.run(&["reproduce", "celsim"]).refused();
    assert!(told.contains("celsim") && told.contains("accepted: bbr, cellsim"), "{told}");
}

#[test]
fn a_capture_at_an_unknown_node_writes_nothing() {
    let place = Place::new(SMALL);
    let told = place.run(&["simulate", "study.toml", "--pcap", "r9"]).refused();
    assert!(told.contains("\"r9\"") && told.contains("r1") && told.contains("ftp-1"), "{told}");
    assert_eq!(place.names(), ["study.toml"]);
    place.run(&["simulate", "study.toml", "--pcap", "r9", "--out", "out"]).refused();
    assert_eq!(place.names(), ["study.toml"], "nor a result");
}

#[test]
fn a_record_of_an_unknown_slot_writes_nothing() {
    let place = Place::new(SMALL);
    let told = place.run(&["simulate", "study.toml", "--qlog", "ftp-9", "--out", "out"]).refused();
    assert!(told.contains("cannot record \"ftp-9\" as qlog: there is no such slot; accepted: "), "{told}");
    assert_eq!(place.names(), ["study.toml"]);
    let told = place.run(&["simulate", "study.toml", "--qlog", "ftp-1:4000"]).refused();
    assert!(told.contains("the run does not open connection 4000; accepted: connections 1 to "), "{told}");
    assert_eq!(place.names(), ["study.toml"]);
}

#[test]
fn check_reports_problems_as_json() {
    let (text, line) = edited("\"512 B\"", "512");
    let place = Place::new(&text);
    let ran = place.run(&["check", "study.toml", "--json"]);
    assert_eq!(ran.code(), 2);
    let told = ran.json();
    assert_eq!(told["valid"], false);
    let problem = &told["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["line"], &problem["key"]),
        (&"study.toml".into(), &line.into(), &"tcp.mss".into())
    );
    assert!(
        problem["column"].is_u64() && problem["message"].is_string() && problem["accepted"].is_string(),
        "{problem}"
    );
}

#[test]
fn a_table_that_is_wrong_is_refused_before_anything_is_printed() {
    let place = Place::new(SMALL);
    std::fs::write(place.path().join("good.csv"), "value,cum_prob\n1,0.25\n2,0.5\n9,1\n").unwrap();
    for (text, words) in [
        ("value,prob\n1,1\n", "bad.csv:1: the header"),
        ("value,cum_prob\n1,0.5\n2;1\n", "bad.csv:3"),
        ("value,cum_prob\n1,0.5\n2,0.4\n", "bad.csv:3: cum_prob"),
        ("value,cum_prob\n1,0.5\n2,0.9\n", "it must be 1"),
        ("", "bad.csv:1"),
    ] {
        std::fs::write(place.path().join("bad.csv"), text).unwrap();
        let ran = place.run(&["workload", "fit", "good.csv", "bad.csv"]);
        assert_eq!(ran.out(), "", "{text:?}");
        let told = ran.refused();
        assert!(told.contains(words), "{told}");
    }
    assert!(place.run(&["workload", "fit", "none.csv"]).refused().contains("none.csv"));
}

/// A result that cannot be written is a failure of any command; a pipe that its reader has closed is not.
#[cfg(target_os = "linux")]
#[test]
fn a_result_that_does_not_get_out_is_a_failure() {
    let place = Place::new(SMALL);
    for args in [
        &["check", "study.toml"][..],
        &["check", "study.toml", "--json"],
        &["predict", "study.toml"],
        &["predict", "--rate", "ds3", "--rtt", "60ms", "--window", "64KiB"],
        &["predict", "--equations"],
        &["simulate", "study.toml", "--seeds", "1"],
        &["schema"],
        &["--help"],
        &["simulate", "--help"],
        &["--version"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran(place.command(args).stdout(full).output().unwrap());
        assert_eq!(ran.code(), 1, "{args:?}: {}", ran.err());
        assert!(
            ran.err().contains("cannot write to standard output: No space left on device"),
            "{args:?}: {}",
            ran.err()
        );
        // The pipe is closed before the program writes.
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = Ran(child.wait_with_output().unwrap());
        assert!(!ran.err().contains("cannot write"), "{args:?}: {}", ran.err());
    }
}

/// Escape sequences of a file are printed to neither output stream.
#[test]
fn escape_sequences_of_a_file_are_not_printed() {
    let place = Place::new(&SMALL.replace("[run]", "[run]\n\"ke\\u001b[31my\" = 1"));
    for args in [&["check", "study.toml"][..], &["check", "study.toml", "--json"]] {
        let ran = place.run(args);
        assert!(ran.err().contains(r"ke\u{1b}[31my"), "{}", ran.err());
        assert!(![ran.out(), ran.err()].concat().contains('\u{1b}'), "{args:?}");
    }
}

/// The error about a table file has the line of the scenario that names the file.
#[test]
fn unreadable_tables_are_reported_with_the_line_that_names_them() {
    let (text, line) = edited("app = \"ftp\"", "app = \"ftp\"\nworkload = { tables = \"./tabs\" }");
    let place = Place::new(&text);
    for args in [&["check", "study.toml"][..], &["simulate", "study.toml"]] {
        let told = place.run(args).refused();
        let expected = format!("study.toml:{}:23: traffic.ftp.workload.tables: cannot read ", line + 1);
        assert!(told.contains(&expected) && told.contains("tabs/ftp_nitems.csv"), "{told}");
    }
}
