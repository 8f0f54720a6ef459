//! The command line in a terminal: widths, idle lines, quiet and verbose, completions, manual pages, and stopping.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::{Place, Ran, SMALL, names};
use serde_json::Value;

/// Returns the words of a table that begin with a digit or are marks of an interval.
fn numbers(table: &str) -> Vec<String> {
    let words = table.split_whitespace();
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '[')).map(str::to_owned).collect()
}

#[test]
fn tables_fit_the_width_and_cut_no_number() {
    let place = Place::new(SMALL);
    for args in [
        &["simulate", "study.toml"][..],
        &["compare", "study.toml", "--no-emulate"],
        &["predict", "study.toml"],
        &["predict", "--rate", "ds3", "--rtt", "60ms", "--window", "64KiB"],
        &["reproduce", "--quick", "--only", "kdd/eq1,spacing/eq24,nasa/ds3-91"],
        &["metrics"],
    ] {
        let all = numbers(&place.run_at(500, args).done().out());
        for width in [80, 100, 120, 200] {
            let ran = place.run_at(width, args).done();
            let shown = ran.out();
            // Sentences, such as advice and caveats, wrap in the terminal.
            let table = shown.lines().filter(|line| !line.contains(": "));
            let widest = table.map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{args:?}: {widest} at {width}\n{shown}");
            for number in numbers(&shown) {
                assert!(all.contains(&number), "{args:?}: {number} at {width} is none of {all:?}\n{shown}");
            }
        }
    }
}

/// In a pipe, `grep` and `awk` get whole rows, and lines with little traffic, too: also where -q drops the notes about
/// what is left out.
#[test]
fn in_a_pipe_rows_are_whole() {
    let place = Place::new(SMALL);
    let table =
        |columns: &str, args: &[&str]| Ran(place.command(args).env("COLUMNS", columns).output().unwrap()).done().out();
    let simulate = ["simulate", "study.toml"];
    let piped = place.run(&simulate).done();
    let wide = place.run(&[&simulate[..], &["--wide"]].concat()).done();
    assert_eq!(piped.out(), wide.out());
    assert!(!piped.err().contains("not shown") && !piped.err().contains("left out"), "{}", piped.err());
    assert!(table("80", &simulate).len() < piped.out().len(), "{}", piped.out());
    // A value of COLUMNS that is not a width is ignored.
    assert_eq!([table("0", &simulate), table("wide", &simulate)], [(); 2].map(|()| piped.out()));
    let reproduce = ["reproduce", "--quick", "--only", "kdd/eq1,spacing/eq24,nasa/ds3-91"];
    let rows = |text: &str| text.lines().count();
    let piped = place.run(&reproduce).done().out();
    assert!(rows(&table("70", &reproduce)) > rows(&piped), "{piped}");
    let verdict = |row: &str| row.ends_with("reproduced") || row.ends_with("fitted");
    assert!(piped.lines().skip(1).all(verdict), "{piped}");
    assert!(place.run(&["metrics"]).done().out().lines().all(|row| !row.starts_with(' ')));
}

/// The range of a claim was cut to "1181.5 to 1182.…".
#[test]
fn what_is_accepted_is_whole() {
    let place = Place::new(SMALL);
    for width in [80, 120] {
        let table = place.run_at(width, &["reproduce", "--quick", "--only", "spacing/eq24-meant"]).done().out();
        for number in ["1181.5", "1182.5"] {
            assert!(table.contains(number), "{number} at {width}:\n{table}");
        }
    }
}

#[test]
fn the_idle_direction_is_left_out_and_named() {
    let place = Place::new(SMALL);
    let subjects = |table: &str| -> Vec<String> {
        let lines = table.split("\n\n").next().unwrap().lines().skip(2);
        lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    // One end receives only: its line back has an acknowledgement for each 512 B.
    let one =
        ["simulate", "study.toml", "--set", "tcp.mss=1460B", "--set", "tcp.window=60KiB", "--set", "buffer.size=4 bdp"];
    let ran = place.run_at(200, &one).done();
    let wide = place.run(&[&one[..], &["--wide"]].concat()).done();
    let (shown, all) = (subjects(&ran.out()), subjects(&wide.out()));
    let hidden: Vec<&String> = all.iter().filter(|subject| !shown.contains(subject)).collect();
    assert!(!hidden.is_empty() && shown.contains(&"r1>s1".to_owned()), "{}\n{}", ran.out(), wide.out());
    let told = ran.err();
    let note = told.lines().find(|line| line.starts_with("idle lines left out")).unwrap();
    assert!(note.ends_with("; --wide shows them"), "{note}");
    let json = place.run(&[&one[..], &["--json"]].concat()).done().json();
    for line in hidden {
        assert!(note.contains(line.as_str()), "{line}: {note}");
        let figures = json["points"][0]["figures"].as_array().unwrap();
        let used = figures.iter().find(|f| f["subject"] == **line && f["metric"] == "utilisation").unwrap();
        assert!(used["mean"].as_f64().unwrap() < 0.05, "{used}");
    }
    assert!(!wide.err().contains("idle"), "{}", wide.err());
}

#[test]
fn quiet_prints_results_and_errors_alone() {
    let place = Place::new(SMALL);
    let loud = place.run(&["simulate", "study.toml"]).done();
    assert!(loud.err().contains("warning: warm-up not checked: that takes 4 seeds\n"), "{}", loud.err());
    for args in [&["-q", "simulate", "study.toml"][..], &["simulate", "study.toml", "--quiet"]] {
        let ran = place.run(args).done();
        assert_eq!((ran.err(), ran.out()), (String::new(), loud.out()), "{args:?}");
    }
    assert_eq!(place.run(&["metrics", "-q"]).done().err(), "");
    let told = place.run(&["-q", "check", "none.toml"]).refused();
    assert!(told.starts_with("cellway: ") && told.contains("none.toml"), "{told}");
    place.run(&["-q", "-v", "metrics"]).refused();
}

#[test]
fn verbose_names_files_and_runs() {
    let place = Place::new(SMALL);
    let told = place.run(&["simulate", "study.toml", "-v", "--set", "run.seed=7", "--out", "out"]).done().err();
    for words in [
        &format!("cellway {} on ", env!("CARGO_PKG_VERSION")),
        "reads study.toml\n",
        "sets run.seed=7\n",
        "simulates small: 1 point x 2 seeds = 2 runs\n",
        "running: small, 1 of 2 runs (",
        "wrote out/summary.parquet, ",
    ] {
        assert!(told.contains(words), "{words:?} is missing:\n{told}");
    }
    assert!(place.run(&["--verbose", "predict", "study.toml"]).done().err().contains("reads study.toml\n"));
}

/// A run without a warm-up relies on none, so nothing has to be checked.
#[test]
fn without_a_warm_up_there_is_no_warning_of_it() {
    let place = Place::new(SMALL);
    let ran = place.run(&["simulate", "study.toml", "--set", "run.warmup=0 s"]).done();
    assert!(!ran.err().contains("warm-up"), "{}", ran.err());
}

fn is_installed(shell: &str) -> bool {
    Command::new(shell).args(["-c", "true"]).status().is_ok_and(|status| status.success())
}

#[test]
fn completions_are_scripts_of_their_shells() {
    let place = Place::new(SMALL);
    let mut checked = 0;
    for shell in ["bash", "zsh", "fish"] {
        let script = place.run(&["completions", shell]).done().out();
        for word in ["simulate", "no-emulate", "quiet", "completions"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
        std::fs::write(place.path().join("script"), &script).unwrap();
        if is_installed(shell) {
            let status = Command::new(shell).args(["-n", "script"]).current_dir(place.path()).status().unwrap();
            assert!(status.success(), "{shell}: {status}");
            checked += 1;
        }
    }
    assert!(checked > 0, "no shell is installed");
    // Bash offers the commands, and the options of one.
    let script = "source ./script; COMP_WORDS=(cellway $1 $2); COMP_CWORD=$#; _cellway cellway \"${@: -1}\" \"$1\"; echo ${COMPREPLY[@]}";
    std::fs::write(place.path().join("script"), place.run(&["completions", "bash"]).done().out()).unwrap();
    let offered = |words: &[&str]| {
        let mut bash = Command::new("bash");
        let output = bash.args(["-c", script, "bash"]).args(words).current_dir(place.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    if is_installed("bash") {
        assert_eq!(offered(&["sim"]).trim(), "simulate");
        assert!(
            offered(&["simulate", "--se"]).trim().split(' ').eq(["--set", "--seeds"]),
            "{}",
            offered(&["simulate", "--se"])
        );
    }
    assert!(place.run(&["completions", "tcsh"]).refused().contains("bash"));
}

#[test]
fn every_command_has_its_manual_page() {
    let place = Place::new(SMALL);
    let told = place.run(&["man", "share/man1"]).done().err();
    assert!(told.contains("manual pages in share/man1"), "{told}");
    let pages = names(&place.path().join("share/man1"));
    let help = place.run(&["--help"]).done().out();
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands =
        listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty());
    for command in commands.filter(|name| *name != "help") {
        assert!(pages.contains(&format!("cellway-{command}.1")), "{command}: {pages:?}");
    }
    assert!(
        pages.contains(&"cellway.1".to_owned()) && pages.contains(&"cellway-workload-fit.1".to_owned()),
        "{pages:?}"
    );
    let page = std::fs::read_to_string(place.path().join("share/man1/cellway-simulate.1")).unwrap();
    assert!(
        page.contains("Replace an earlier result in DIR") && page.contains(".SH EXAMPLES\n.nf\n  cellway simulate "),
        "{page}"
    );
    std::fs::write(place.path().join("file"), "").unwrap();
    let ran = place.run(&["man", "file"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("cannot write pages to file"), "{}", ran.err());
}

/// A stop in the middle of a study: the finished runs are a whole result. SIGTERM, as a command in the background of a
/// shell ignores SIGINT.
#[cfg(target_os = "linux")]
#[test]
fn a_stopped_simulation_keeps_its_finished_runs() {
    let place = Place::new(SMALL);
    let args = ["simulate", "study.toml", "--seeds", "100000", "-v", "--out", "out", "--qlog", "ftp-1"];
    let mut child = place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.starts_with("running: small, 3 of 100000 runs")));
    stop(&child);
    let told: Vec<String> = lines.collect();
    let ran = Ran(child.wait_with_output().unwrap());
    assert_eq!(ran.code(), 130, "{told:?}");
    let said = "cellway: stopped; the finished runs were kept, in out";
    assert!(told.iter().any(|line| line == said), "{told:?}");
    assert!(ran.out().contains("r1>s1") && ran.out().contains('±'), "{}", ran.out());
    assert_eq!(place.names(), ["out", "study.toml"]);
    assert_eq!(
        names(&place.path().join("out")),
        ["ftp-1.sqlog", "manifest.json", "runs.parquet", "series.parquet", "summary.parquet"]
    );
    let manifest = std::fs::read_to_string(place.path().join("out/manifest.json")).unwrap();
    assert!(manifest.contains("\"ftp-1.sqlog\""), "{manifest}");
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let runs = manifest["runs"].as_u64().unwrap();
    assert!((3..100_000).contains(&runs) && manifest["planned_runs"] == 100_000, "{manifest}");
    let warning = format!("stopped after {runs} of 100000 runs: points have fewer replications, or none");
    assert_eq!(manifest["warnings"][0], warning.as_str());
    assert!(told.contains(&format!("warning: {warning}")), "{told:?}");
    // It is replaced as any result is, and the whole one has no such number.
    place.run(&["simulate", "study.toml", "--out", "out", "--force"]).done();
    let manifest = std::fs::read_to_string(place.path().join("out/manifest.json")).unwrap();
    assert!(!manifest.contains("planned_runs"), "{manifest}");
}

#[cfg(target_os = "linux")]
fn stop(child: &std::process::Child) {
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
}

/// A scenario whose runs take minutes.
#[cfg(target_os = "linux")]
fn long() -> String {
    SMALL.replacen("\"200 rtt\"", "\"2000000 rtt\"", 1).replacen("\"20 rtt\"", "\"20000 rtt\"", 3)
}

/// Stops a command after a line that begins with `at`, from which on it catches signals; returns it and the lines that
/// follow. The pause makes it likely that a run has begun, and nothing depends on it.
#[cfg(target_os = "linux")]
fn stopped_at(place: &Place, args: &[&str], at: &str) -> (Ran, Vec<String>) {
    let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.starts_with(at)));
    std::thread::sleep(std::time::Duration::from_millis(300));
    stop(&child);
    let told: Vec<String> = lines.collect();
    (Ran(child.wait_with_output().unwrap()), told)
}

/// Before the first run has finished there is nothing to keep.
#[cfg(target_os = "linux")]
#[test]
fn a_simulation_stopped_in_its_first_run_writes_nothing() {
    let place = Place::new(&long());
    let (ran, told) = stopped_at(&place, &["simulate", "study.toml", "-v", "--out", "out"], "simulates small");
    assert_eq!((ran.code(), ran.out()), (130, String::new()), "{told:?}");
    assert_eq!(told, ["cellway: stopped; nothing was written"]);
    assert_eq!(place.names(), ["study.toml"]);
}

/// Something else has taken the place of the results by the end, as a full disk would.
#[test]
fn results_that_cannot_be_written_are_printed() {
    let place = Place::new(SMALL);
    let args = ["simulate", "study.toml", "--seeds", "300", "-v", "--out", "out", "--qlog", "ftp-1"];
    let mut child = place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.starts_with("runs: first run")));
    std::fs::create_dir(place.path().join("out")).unwrap();
    let told: Vec<String> = lines.collect();
    let ran = Ran(child.wait_with_output().unwrap());
    assert!(ran.out().contains("r1>s1") && ran.out().contains('±'), "{told:?}");
    assert_eq!(ran.code(), 2, "{told:?}");
    assert!(told.last().unwrap().starts_with("cellway: ") && told.last().unwrap().contains("out"), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("tables in") || line.contains("of qlog in")), "{told:?}");
    assert_eq!(place.names(), ["out", "study.toml"]);
}

/// The first run is repeated for a capture. The bare program died of a signal in it, and all finished runs were lost.
#[cfg(target_os = "linux")]
#[test]
fn a_simulation_stopped_while_it_captures_loses_no_run() {
    let place = Place::new(&long());
    std::fs::write(place.path().join("s1.pcap"), "earlier").unwrap();
    for to in [&["--out", "out"][..], &["--force"]] {
        let args = [&["simulate", "study.toml", "-v", "--pcap", "s1"], to].concat();
        let (ran, told) = stopped_at(&place, &args, "runs: first run, for s1.pcap");
        assert_eq!((ran.code(), ran.out()), (130, String::new()), "{told:?}");
        // No run of the study itself had begun.
        assert_eq!(told, ["cellway: stopped; nothing was written"]);
        assert_eq!(place.names(), ["s1.pcap", "study.toml"]);
        assert_eq!(std::fs::read_to_string(place.path().join("s1.pcap")).unwrap(), "earlier");
    }
}

/// The capture in the current folder is complete, and stays.
#[cfg(target_os = "linux")]
#[test]
fn a_capture_stays_if_the_study_is_stopped_before_a_run_has_finished() {
    // Runs of seconds.
    let place = Place::new(&SMALL.replacen("\"200 rtt\"", "\"20000 rtt\"", 1));
    let args = ["simulate", "study.toml", "--pcap", "s1"];
    let mut child = place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !place.path().join("s1.pcap").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    stop(&child);
    let ran = Ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code(), ran.out()), (130, String::new()), "{}", ran.err());
    assert_eq!(ran.err(), "cellway: stopped; no run had finished, but ./s1.pcap was written\n");
    assert_eq!(place.names(), ["s1.pcap", "study.toml"]);
}

/// It was reported after the whole study, which was lost.
#[test]
fn a_connection_that_does_not_exist_is_reported_before_the_study() {
    let place = Place::new(SMALL);
    std::fs::write(place.path().join("ftp-1.900.sqlog"), "earlier").unwrap();
    for to in [&["--out", "out"][..], &["--force"]] {
        let args = [&["simulate", "study.toml", "--seeds", "3", "-v", "--qlog", "ftp-1:900"], to].concat();
        let told = place.run(&args).refused();
        assert!(told.contains("does not open connection 900") && !told.contains("running: small"), "{told}");
        assert_eq!(place.names(), ["ftp-1.900.sqlog", "study.toml"]);
        assert_eq!(std::fs::read_to_string(place.path().join("ftp-1.900.sqlog")).unwrap(), "earlier");
    }
    for number in ["+3", "01", "0", "-1", " 1", ""] {
        let told = place.run(&["simulate", "study.toml", "--qlog", &format!("ftp-1:{number}")]).refused();
        assert!(told.contains("a connection is a number from 1, like ftp-1:3"), "{told}");
    }
}
