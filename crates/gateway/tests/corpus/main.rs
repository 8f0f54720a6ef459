//! Every input of `fuzz/corpus` that concerns this crate, run again. The targets in `fuzz/` call the same
//! functions; what they check stands there.
#![allow(clippy::unwrap_used)]

mod machine;
mod packet;

use std::path::Path;

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
fn packets() {
    replay("packet", packet::run);
}

#[test]
fn the_machine() {
    replay("machine", machine::run);
}
