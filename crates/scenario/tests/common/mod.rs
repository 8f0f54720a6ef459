//! A small file that is right, and edits of it.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::PathBuf;

use cellway_scenario::{Error, Plan, Scenario};

/// Right as it stands: r1 - s1 - r2, two FTP conversations.
pub(crate) const GOOD: &str = r#"version = 1
name = "small"

[run]
duration = "60 s"
warmup = "10 s"

[buffer]
size = "1 bdp"

[tcp]
variant = "reno"
mss = "512 B"
window = "8 KiB"

[[node]]
name = "r1"
kind = "router"

[[node]]
name = "s1"
kind = "switch"

[[node]]
name = "r2"
kind = "router"

[[link]]
between = ["r1", "s1"]
rate = "1.5 Mbit/s"
delay = "22.5 ms"

[[link]]
between = ["s1", "r2"]
rate = "3 Mbit/s"
delay = "0 s"

[[traffic]]
name = "ftp"
app = "ftp"
count = 2
from = "r1"
to = "r2"
access = { rate = "10 Mbit/s", delay = "0 s" }
"#;

/// [`GOOD`] with each first text replaced by the second; the first must stand in it.
pub(crate) fn edited(edits: &[(&str, &str)]) -> String {
    let mut text = GOOD.to_owned();
    for (from, to) in edits {
        assert!(text.contains(from), "{from:?} is not in the text");
        text = text.replacen(from, to, 1);
    }
    text
}

/// [`GOOD`] with text after its end.
pub(crate) fn with(more: &str) -> String {
    format!("{GOOD}{more}")
}

pub(crate) fn scenario(text: &str) -> Scenario {
    Plan::parse(text, "t.toml").unwrap_or_else(|e| panic!("{e}")).base().clone()
}

/// What is wrong with a file, its points included.
pub(crate) fn refusal(text: &str) -> Error {
    match Plan::parse(text, "t.toml").and_then(|plan| plan.points()) {
        Ok(_) => panic!("not refused:\n{text}"),
        Err(error) => error,
    }
}

pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
