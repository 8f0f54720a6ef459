//! Runs the commands of the guides: exit status, and the figures that the pages state.
//!
//! In a page, a comment before a block describes the test. Each of its further lines has the least and the largest
//! value of a figure, and the pattern that finds it, both in the output on the page and in the output of the run:
//!
//! ````text
//! <!-- test: ping
//! 40 to 60: = ([\d.]+)/
//! -->
//! ```console
//! $ cellway shell --rate 8Mbit/s --rtt 40ms -- sh -c 'ping -c 1 $CELLWAY_SERVER'
//! ````
//!
//! A block after `<!-- file: NAME -->` is a file that the commands of the page find. Bounds follow from the network:
//! a delay is never shorter than it says, a rate never higher. How much worse a busy machine makes it is left wide,
//! and lateness is no failure here.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::repository;
use regex::Regex;

/// A test for each block, and the list of all.
macro_rules! blocks {
    ($($module:ident = $page:literal: $($name:ident)*;)*) => {
        const PAGES: &[(&str, &[&str])] = &[$(($page, &[$(stringify!($name)),*])),*];
        $(mod $module { $(#[test] fn $name() { super::run($page, stringify!($name)); })* })*
    };
}

blocks! {
    readme = "README.md": behind_a_path;
    emulation = "docs/guide/emulation.md": ping throughput internet queue nested scenario views;
    coming_from = "docs/guide/coming-from.md": mahimahi dumbbell;
    sweeps = "docs/guide/sweeps.md": first until shards;
    from_netem = "docs/guide/from-netem.md": delay_and_rate loss shared_queue;
    workloads = "docs/guide/workloads.md": workload rules path;
}

/// Programs that the pages use and that may be missing.
const PROGRAMS: [&str; 2] = ["iperf3", "ping"];
/// The longest that a command may take.
const PATIENCE: Duration = Duration::from_secs(180);
/// One emulation at a time: several would make each other late.
static ALONE: Mutex<()> = Mutex::new(());

/// A block of a page that is run.
struct Block {
    name: String,
    commands: Vec<String>,
    /// Their output on the page.
    shown: String,
    figures: Vec<Figure>,
}

/// A figure that a page states.
struct Figure {
    least: f64,
    most: f64,
    pattern: Regex,
}

impl Figure {
    fn parse(line: &str) -> Figure {
        let (range, pattern) = line.split_once(": ").unwrap_or_else(|| panic!("LEAST to MOST: PATTERN, not {line:?}"));
        let (least, most) = range.split_once(" to ").unwrap_or_else(|| panic!("LEAST to MOST, not {range:?}"));
        let pattern = Regex::new(pattern).unwrap();
        assert_eq!(pattern.captures_len(), 2, "one group is the figure: {pattern}");
        Figure { least: least.parse().unwrap(), most: most.parse().unwrap(), pattern }
    }

    /// Checks that every match of the pattern is within the bounds, and that there is one.
    fn check(&self, text: &str, whose: &str) {
        let found: Vec<f64> = self.pattern.captures_iter(text).map(|found| found[1].parse().unwrap()).collect();
        assert!(!found.is_empty(), "nothing is like {} in {whose}:\n{text}", self.pattern);
        for value in found {
            let Figure { least, most, pattern } = self;
            assert!(
                (*least..=*most).contains(&value),
                "{value} is not {least} to {most}: {pattern} in {whose}:\n{text}"
            );
        }
    }
}

/// Returns the blocks and the files of a page.
fn read(page: &str) -> (Vec<Block>, Vec<(String, String)>) {
    let text = std::fs::read_to_string(repository(page)).unwrap();
    let (mut blocks, mut files) = (Vec::new(), Vec::new());
    let mut lines = text.lines();
    // The comment right before a block.
    let mut comment: Option<String> = None;
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let comment = comment.take().unwrap_or_default();
            if let Some(name) = comment.strip_prefix("file: ") {
                files.push((name.to_owned(), body.join("\n") + "\n"));
            } else if let Some(test) = comment.strip_prefix("test: ") {
                // Blocks of Python are tested by tests/python.
                if language != "python" {
                    assert_eq!(language, "console", "{page}: {comment}");
                    blocks.push(block(test, &body));
                }
            } else {
                assert_ne!(language, "console", "{page}: a block of commands that nobody tests: {body:?}");
            }
        } else if let Some(first) = line.strip_prefix("<!-- ") {
            let mut inside = first.to_owned();
            while !inside.ends_with("-->") {
                inside = format!("{inside}\n{}", lines.next().expect("a comment has an end"));
            }
            comment = Some(inside.trim_end_matches("-->").trim_end().to_owned());
        } else if !line.is_empty() {
            comment = None;
        }
    }
    (blocks, files)
}

fn block(test: &str, body: &[&str]) -> Block {
    let mut test = test.lines();
    let name = test.next().unwrap().replace('-', "_");
    let (mut commands, mut shown): (Vec<String>, String) = (Vec::new(), String::new());
    let mut goes_on = false;
    for line in body {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push(command.to_owned()),
            None if goes_on => *commands.last_mut().unwrap() += &format!("\n{line}"),
            None => shown += &format!("{line}\n"),
        }
        goes_on = (line.starts_with("$ ") || goes_on) && line.ends_with('\\');
    }
    Block { name, commands, shown, figures: test.map(Figure::parse).collect() }
}

/// Prints the reason of a skipped test in a way that the test harness does not capture.
fn skip(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Returns the reason why a path cannot lead to the network of this machine.
fn no_internet() -> Option<&'static str> {
    let succeeds =
        |script: &str| Command::new("sh").args(["-c", script]).output().is_ok_and(|ran| ran.status.success());
    match () {
        () if !succeeds("test $(id -u) = 0") => Some("--internet needs root"),
        () if !is_installed("nft") => Some("nft is not installed"),
        () if !succeeds("ping -c 1 -W 2 $(ip -4 route show default | cut -d ' ' -f 3)") => {
            Some("this machine has no router that answers a ping")
        }
        () => None,
    }
}

/// Writes a `cellway` that accepts any lateness: the load of this computer does not matter for the page.
fn patient_cellway(folder: &Path) {
    let program = env!("CARGO_BIN_EXE_cellway");
    let script = format!(
        "#!/bin/sh\nverb=$1\nshift\ncase $verb in\n\
         shell) exec '{program}' shell --lateness-limit 10s \"$@\" ;;\n\
         emulate) exec '{program}' emulate --set 'run.emulate.lateness-limit=10 s' \"$@\" ;;\n\
         *) exec '{program}' \"$verb\" \"$@\" ;;\nesac\n"
    );
    std::fs::create_dir(folder).unwrap();
    let path = folder.join("cellway");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a command of a page; everything that it prints.
fn output(command: &str, folder: &Path) -> String {
    let log = folder.join("log");
    let file = std::fs::File::create(&log).unwrap();
    let inherited = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder.join("work"))
        .env("PATH", format!("{}:{inherited}", folder.join("bin").display()))
        // The pages show what a terminal shows.
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
    let status = status.unwrap_or_else(|| panic!("no end after {PATIENCE:?}: {command}\n{text}"));
    assert!(status.success(), "{status}: {command}\n{text}");
    text
}

fn run(page: &str, name: &str) {
    let (blocks, files) = read(page);
    let block = blocks.iter().find(|block| block.name == name).unwrap_or_else(|| panic!("{page} has no test {name}"));
    block.figures.iter().for_each(|figure| figure.check(&block.shown, page));
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let commands = block.commands.join("\n");
    let is_live = ["shell", "emulate", "compare"].iter().any(|verb| commands.contains(&format!("cellway {verb}")));
    if let Some(missing) = cellway_lab::emulate::missing().filter(|_| is_live) {
        return skip(&format!("{page}, {name}: {missing}"));
    }
    let used = files.iter().filter(|(file, _)| commands.contains(file.as_str())).map(|(_, text)| text.as_str());
    let text = used.fold(commands.clone(), |all, text| all + text);
    if let Some(program) = PROGRAMS.iter().find(|program| text.contains(**program) && !is_installed(program)) {
        return skip(&format!("{page}, {name}: {program} is not installed"));
    }
    if let Some(why) = text.contains("--internet").then(no_internet).flatten() {
        return skip(&format!("{page}, {name}: {why}"));
    }
    let folder = tempfile::tempdir().unwrap();
    patient_cellway(&folder.path().join("bin"));
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    files.iter().for_each(|(file, text)| std::fs::write(work.join(file), text).unwrap());
    let printed: String = block.commands.iter().map(|command| output(command, folder.path())).collect();
    block.figures.iter().for_each(|figure| figure.check(&printed, "the output"));
}

#[test]
fn every_block_of_commands_has_its_test() {
    for (page, tests) in PAGES {
        let mut blocks: Vec<String> = read(page).0.into_iter().map(|block| block.name).collect();
        let mut tests: Vec<&str> = tests.to_vec();
        blocks.sort_unstable();
        tests.sort_unstable();
        assert_eq!(blocks, tests, "{page}");
    }
}

/// The check of the pages detects wrong figures.
#[test]
fn figures_are_found_and_bounded() {
    let lines = ["$ one \\", "  two", "rtt = 175.2/9", "rtt = 181.0/9", "$ three"];
    let found = block("a-name\n175 to 180: rtt = ([\\d.]+)/", &lines);
    assert_eq!((&found.name[..], found.commands), ("a_name", vec!["one \\\n  two".to_owned(), "three".to_owned()]));
    let refused = |text: &str| std::panic::catch_unwind(|| found.figures[0].check(text, "a test")).is_err();
    assert!(!refused("rtt = 175.2/9") && refused(&found.shown) && refused("rtt = 174.9/9") && refused(""));
}
