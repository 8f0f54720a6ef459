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
profile = "classic"
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

/// Right as it stands: a LAN and a host with an ATM card, a pair of gateways, and every kind of traffic control.
pub(crate) const RICH: &str = r#"version = 1
name = "rich"

[run]
duration = "60 s"
warmup = "10 s"

[buffer]
size = "512 cell"
per = "port"

[tcp]
profile = "classic"
variant = "reno"
mss = "1460 B"
window = "32 KiB"

[[node]]
name = "h"
kind = "host"
host = { rate = "60 Mbit/s", send = "0.2 ms", receive = "0.1 ms" }

[[node]]
name = "g1"
kind = "gateway"
peer = "g2"
gateway = { rate = "30 Mbit/s", window = "1 MiB", packet = "8192 B", cpu-rate = "145 Mbit/s", send = "1 ms", receive = "2 ms" }
tcp = { window = "64 kB" }

[[node]]
name = "s1"
kind = "switch"

[[node]]
name = "s2"
kind = "switch"

[[node]]
name = "g2"
kind = "gateway"
peer = "g1"
gateway = { rate = "20 Mbit/s" }

[[node]]
name = "atm"
kind = "host"

[[link]]
between = ["h", "g1"]
rate = "ethernet"
delay = "0 s"

[[link]]
between = ["g1", "s1"]
rate = "oc3c"
delay = "0 s"

[[link]]
name = "wan"
between = ["s1", "s2"]
rate = "ds3"
delay = "50 ms"
buffer = { size = "1024 cell", discard = "epd", threshold = "512 cell" }

[[link]]
between = ["s2", "g2"]
rate = "oc3c"
delay = "0 s"

[[link]]
between = ["atm", "s1"]
rate = "taxi"
delay = "0 s"

[[traffic]]
name = "split"
app = "bulk"
from = "h"
to = "g2"
access = { rate = "fddi", delay = "0 s" }

[[traffic]]
name = "cells"
app = "bulk"
from = "atm"
to = "s2"
access = { rate = "oc3c", delay = "0 s" }
service = { class = "abr", pcr = "30 Mbit/s", mcr = "1 Mbit/s", between = ["s1", "s2"] }

[[shaper]]
name = "spacer"
at = "s1"
link = "wan"
traffic = ["split"]
rate = "36000 cell/s"

[[policer]]
name = "upc"
at = "s1"
link = "wan"
pcr = "40 Mbit/s"
scr = "20 Mbit/s"
mbs = "100 cell"

[[change]]
at = "20 s"
shaper = "spacer"
rate = "5 Mbit/s"

[observe]
queue = ["s1>s2", "s2>wan"]
"#;

/// [`RICH`] with each first text replaced by the second; the first must stand in it.
pub(crate) fn enriched(edits: &[(&str, &str)]) -> String {
    edit(RICH, edits)
}

/// [`GOOD`] with each first text replaced by the second; the first must stand in it.
pub(crate) fn edited(edits: &[(&str, &str)]) -> String {
    edit(GOOD, edits)
}

fn edit(text: &str, edits: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
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

/// Returns the problems of a file, its points included.
pub(crate) fn refusal(text: &str) -> Error {
    match Plan::parse(text, "t.toml").and_then(|plan| plan.points()) {
        Ok(_) => panic!("not refused:\n{text}"),
        Err(error) => error,
    }
}

pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
