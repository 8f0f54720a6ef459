//! Files of tests.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::PathBuf;

use cellway_workload::WorkloadFile;

/// A file that is right, with a class of each protocol.
pub(crate) const GOOD: &str = r#"version = 1

[[class]]
name = "web"
transport = "tcp"
conversations = 120
left_out = { "no SYN" = 3, "reset" = 1 }

[class.arrival_gap]
samples = 119
knots = [[0.0, 0.001], [0.5, 0.2], [1.0, 3.5]]

[class.exchanges]
samples = 120
knots = [[0.6, 1.0], [1.0, 9.0]]

[class.request]
samples = 300
knots = [[0.0, 40.0], [0.4, 512.0], [0.7, 512.0], [1.0, 9000.0]]

[class.request.fit]
law = "lognormal"
mu = 6.25
sigma = 0.75
ks = 0.04

[class.think]
samples = 180
knots = [[1.0, 0.0]]

[[class]]
name = "voice"
transport = "udp"
conversations = 7

[class.packets]
samples = 7
knots = [[0.0, 10.0], [1.0, 5000.0]]

[class.size]
samples = 9999
knots = [[0.0, 172.0], [1.0, 172.0]]
"#;

/// Returns the good file with parts replaced.
pub(crate) fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

/// Returns the problems of a text in words.
pub(crate) fn refusal(text: &str) -> String {
    let error = WorkloadFile::parse(text, "w.toml").map(|_| text).unwrap_err();
    error.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Returns a path in the repository.
pub(crate) fn repository(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}
