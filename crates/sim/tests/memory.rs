//! The memory of many conversations, which grows with their number and no faster. In a process of its own, whose largest
//! resident memory the kernel knows (Linux).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use cellway_scenario::{Engine, Plan};
use cellway_sim::Control;

/// Runs as many bulk transfers, between two hosts each, over one line of cells that all share.
fn run(conversations: u64, engine: Engine) {
    let stagger = 100_000_000 / conversations;
    let text = format!(
        r#"version = 1
name = "many"
node = [{{ name = "west", kind = "router" }}, {{ name = "east", kind = "router" }}]
run = {{ duration = "250 ms", warmup = "100 ms", engine = "{}" }}
buffer = {{ size = "100 MB", per = "port" }}
link = [{{ between = ["west", "east"], rate = "622 Mbit/s", delay = "500 us", mtu = "1500 B" }}]
observe = {{ interval = "250 ms", series = false }}
tcp = {{ profile = "classic", variant = "sack", mss = "1460 B", window = "2920 B" }}

[[traffic]]
name = "bulk"
app = "bulk"
from = "west"
to = "east"
count = {conversations}
stagger = "{stagger} ns"
access = {{ rate = "622 Mbit/s", delay = "100 us", framing = "atm" }}
"#,
        engine.name()
    );
    let plan = Plan::parse(&text, "many.toml").unwrap();
    let workloads: Vec<_> =
        plan.base().traffic.iter().map(|group| cellway_sim::workload(group, None).unwrap()).collect();
    let counts = cellway_sim::run(plan.base(), &workloads, 1, Control::new(&|| false)).unwrap().counts;
    assert!(counts.packets > 3 * conversations, "{counts:?}: not all connections are open");
}

/// Returns the largest resident memory of this process so far, in bytes.
fn largest_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_conversation_takes_few_kilobytes() {
    /// Bytes for a conversation with its hosts, lines, connection and figures: about 7,400 by calendar and 8,700 in windows,
    /// the packets on their way included.
    const MOST: [(Engine, u64); 2] = [(Engine::Cells, 8_400), (Engine::Windows, 9_200)];
    const CONVERSATIONS: u64 = 4_000;
    run(1, Engine::Cells);
    let before = largest_resident();
    for (engine, most) in MOST {
        run(CONVERSATIONS, engine);
        let each = (largest_resident() - before) / CONVERSATIONS;
        assert!(each <= most, "{each} bytes for a conversation, {engine:?}");
        println!("{engine:?}: {each} bytes");
    }
}
