//! Every input of `fuzz/corpus` that concerns this crate, run again. What is checked stands in `src/fuzz.rs`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::path::Path;

use cellway_gatewayd::fuzz;

/// Runs `body` on each file of `fuzz/corpus/TARGET`.
fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        println!("{}", file.display());
        body(&std::fs::read(&file).unwrap());
    }
}

#[test]
fn configurations() {
    replay("config", fuzz::config);
}

#[test]
fn first_words() {
    replay("hello", fuzz::hello);
}

#[test]
fn records_of_tls() {
    replay("records", fuzz::records);
}

#[test]
fn segments() {
    replay("segment", fuzz::segment);
}

#[test]
fn dialogues_of_socks() {
    replay("socks", fuzz::socks);
}
