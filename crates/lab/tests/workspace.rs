//! Rules of the workspace: the dependencies between crates, and no clock or random source of the system in simulation
//! code.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use common::repository;
use serde_json::Value;

/// For each crate those of the workspace that it may name. Tests may use more: dev-dependencies are free.
const MAY_SEE: [(&str, &[&str]); 27] = [
    ("units", &[]),
    ("settings", &["units"]),
    ("spec", &["units", "settings"]),
    ("wire", &["units"]),
    ("net", &["units", "spec"]),
    ("tcp", &["units", "spec", "delivery"]),
    ("apps", &["units", "spec"]),
    ("delivery", &["units"]),
    ("gateway", &["units", "spec", "delivery"]),
    ("scenario", &["units", "settings", "spec"]),
    ("record", &["units"]),
    ("tables", &["units", "record"]),
    ("store", &["units", "record"]),
    ("workload", &["units", "apps", "settings"]),
    ("theory", &["units", "spec", "scenario"]),
    ("testbed", &["units", "spec", "wire", "net", "tcp", "apps", "gateway", "scenario", "record"]),
    ("sim", &["units", "spec", "wire", "net", "tcp", "apps", "gateway", "scenario", "record", "testbed"]),
    ("stacks", &["units", "sim"]),
    ("web", &["units", "apps", "scenario", "record", "sim"]),
    ("measure", &["units", "record", "sys"]),
    ("capture", &["workload"]),
    ("sys", &[]),
    ("gatewayd", &["units", "settings", "spec", "wire", "gateway", "sys"]),
    ("emu", &["units", "spec", "wire", "net", "apps", "scenario", "record", "testbed", "measure", "sys", "gatewayd"]),
    (
        "lab",
        &[
            "units", "apps", "settings", "scenario", "workload", "theory", "record", "tables", "store", "sim", "emu",
            "measure", "capture",
        ],
    ),
    ("cli", &["lab"]),
    ("python", &["lab", "cli"]),
];

/// The crates whose results must not depend on the computer.
const PURE: [&str; 16] = [
    "units", "spec", "wire", "net", "tcp", "apps", "delivery", "gateway", "settings", "scenario", "record", "theory",
    "testbed", "sim", "web", "workload",
];

/// Returns the dependencies of each crate of the workspace on others of it, without dev-dependencies.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(repository("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let short = |name: &Value| name.as_str().unwrap().trim_start_matches("cellway-").to_owned();
    let names: BTreeSet<String> = packages.iter().map(|package| short(&package["name"])).collect();
    let needed = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|d| d["kind"] != "dev").map(|d| short(&d["name"])).filter(|name| names.contains(name)).collect()
    };
    packages.iter().map(|package| (short(&package["name"]), needed(package))).collect()
}

#[test]
fn crates_see_only_those_that_they_may() {
    let found = dependencies();
    let rules: BTreeMap<&str, &[&str]> = MAY_SEE.into_iter().collect();
    for (name, needed) in &found {
        let allowed = rules.get(&name[..]).unwrap_or_else(|| panic!("no rule for the crate {name}: add one here"));
        for other in needed {
            assert!(allowed.contains(&&other[..]), "{name} must not depend on {other}");
        }
    }
    // The rules list exactly the existing crates.
    assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), rules.into_keys().collect::<Vec<_>>());
    assert!(found["sim"].contains("net") && found["cli"].contains("lab"), "{found:?}");
}

fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Returns the names in a file on which the result of a run must not depend.
fn impure(text: &str) -> Vec<&'static str> {
    const BANNED: [&str; 18] = [
        "std::time",
        "std::thread",
        "std::net::Tcp",
        "std::net::Udp",
        "std::fs",
        "std::env::var",
        "std::process",
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "SystemTime",
        "Instant::now",
        "thread_rng",
        "rand::rng",
        "OsRng",
        "getrandom",
        "HashMap",
        "HashSet",
    ];
    // Comments may mention clocks.
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let named = |word: &str| code.iter().any(|line| line.contains(word));
    let nested = ["time", "thread", "fs", "env", "process"];
    let grouped = |module: &&str| {
        let marks = [format!("{{{module}::"), format!(" {module}::"), format!("{{{module},"), format!(" {module},")];
        code.iter()
            .any(|line| line.trim_start().starts_with("use std::{") && marks.iter().any(|m| line.contains(&m[..])))
    };
    let mut all: Vec<&str> = BANNED.into_iter().filter(|word| named(word)).collect();
    all.extend(nested.into_iter().filter(grouped));
    all
}

#[test]
fn simulation_code_asks_no_clock_thread_socket_or_chance() {
    let mut files = Vec::new();
    for name in PURE {
        let before = files.len();
        sources(&repository("crates").join(name).join("src"), &mut files);
        assert!(files.len() > before, "{name} has sources");
    }
    for path in files {
        let found = impure(&std::fs::read_to_string(&path).unwrap());
        assert!(found.is_empty(), "{} names {found:?}", path.display());
    }
}

/// Adapters to libraries need the types of the standard library's clocks, and one instant to count from.
#[test]
fn adapters_to_stacks_read_the_clock_once() {
    let mut files = Vec::new();
    sources(&repository("crates/stacks/src"), &mut files);
    let mut readers = Vec::new();
    for path in files {
        let mut found = impure(&std::fs::read_to_string(&path).unwrap());
        if found.contains(&"Instant::now") {
            readers.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
        found.retain(|name| !["std::time", "Instant::now"].contains(name));
        // The date of TLS is fixed.
        found.retain(|name| *name != "SystemTime" || !path.ends_with("quic/settings.rs"));
        assert!(found.is_empty(), "{} names {found:?}", path.display());
    }
    assert_eq!(readers, ["clock.rs"]);
}

/// A test of the test.
#[test]
fn the_scan_finds_impure_names() {
    assert_eq!(impure("let t = std::time::Instant::now();"), ["std::time", "Instant::now"]);
    assert_eq!(impure("use std::{io, time::Duration};"), ["time"]);
    assert_eq!(impure("// not std::time\nuse std::net::Ipv4Addr;\n"), Vec::<&str>::new());
}

/// Returns the files with `unsafe` code, by their names in the folder of the crates.
fn files_with_raw_code() -> BTreeSet<String> {
    let crates = repository("crates");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    // In two parts: this file is scanned, too.
    let word = ["un", "safe"].concat();
    let has_it = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().any(|line| line.split("//").next().unwrap_or_default().contains(&word))
    };
    let name = |path: std::path::PathBuf| path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned();
    files.into_iter().filter(has_it).map(name).collect()
}

/// System calls without a safe function in a library are in `sys`, in few files; elsewhere only tests count
/// allocations, and a web page calls functions by their names.
#[test]
fn only_sys_leaves_the_safe_language() {
    let found: Vec<String> = files_with_raw_code().into_iter().collect();
    let known = [
        "gateway/tests/hostile.rs",
        "sim/tests/linear.rs",
        "sys/src/handover.rs",
        "sys/src/memory.rs",
        "sys/src/page.rs",
        "sys/src/raw.rs",
        "sys/src/signals.rs",
        "sys/src/tcp.rs",
        // the attribute of the names that it exports
        "web/src/exports.rs",
    ];
    assert_eq!(found, known, "system calls belong in the crate sys, behind functions that anyone may call");
}

/// A test that cannot run prints `skipped: ` in a way that the test harness does not capture: a captured line would be
/// counted as a passed test.
#[test]
fn no_test_reports_by_a_macro_that_it_is_skipped() {
    let mut files = Vec::new();
    sources(&repository("crates"), &mut files);
    // In two parts: this file is scanned, too.
    let word = ["println!(\"", "skipped: "].concat();
    // This file has its own harness, which captures nothing.
    let own = repository("crates").join("sys/tests/memory.rs");
    let is_bench = |path: &Path| path.components().any(|part| part.as_os_str() == "benches");
    for path in files.iter().filter(|&path| *path != own && !is_bench(path)) {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(!text.contains(&word), "{}: write to std::io::stderr()", path.display());
    }
}

/// The repository is for everyone: it contains no path or name of the computer on which it was written.
#[test]
fn no_source_names_the_computer_on_which_it_was_written() {
    let mut files = Vec::new();
    sources(&repository("crates"), &mut files);
    assert!(files.len() > 100);
    let work = ["/", "work", "/"].concat();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&work), "{} names {work}", path.display());
    }
}
