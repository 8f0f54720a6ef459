//! Flows that arrive by themselves, over the kernel's TCP and the network of their scenario.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod common;

use cellway_emu::Control;
use common::{figure, one_at_a_time, possible, run};

const NET: &str = r#"version = 1
name = "flows"
buffer = { size = "100 kB", per = "port" }
node = [
  { name = "a", kind = "host" }, { name = "r1", kind = "router" }, { name = "r2", kind = "router" }, { name = "b", kind = "host" },
]
link = [
  { between = ["a", "r1"], rate = "fast-ethernet", delay = "0 s" },
  { name = "line", between = ["r1", "r2"], rate = "8 Mbit/s", delay = "20 ms" },
  { between = ["r2", "b"], rate = "fast-ethernet", delay = "0 s" },
]
run = { duration = "5 s", warmup = "1 s", emulate = { lateness-limit = "10 s" } }

[[traffic]]
name = "get"
from = "a"
to = "b"
flows = { arrivals = "periodic", interval = "100 ms", sizes = "fixed", size = "10 kB" }

[observe]
interval = "500 ms"
fairness-window = "1 s"
"#;

/// Ten flows a second, each over a real connection: all complete, and none is faster than the path.
#[test]
fn real_flows_complete_no_faster_than_the_path() {
    if !possible("real_flows_complete_no_faster_than_the_path") {
        return;
    }
    let _one = one_at_a_time();
    let emulated = run(NET, &[], Control::default()).unwrap();
    let of = |metric| figure(&emulated, "get-1", metric);
    // The first and the last of 40 may be begun late, and one more may be in flight at the end.
    assert!((39.0..=41.0).contains(&of("flows_started")), "{}: {:?}", of("flows_started"), emulated.notes);
    assert!(of("flows_completed") >= 38.0, "{}", of("flows_completed"));
    // Three times 20 ms, and 10 kB on the line; a slowdown is at least 1 by its definition.
    assert!(of("fct_p50") >= 0.07 && of("fct_mean") >= 0.07, "{}", of("fct_p50"));
    assert!((1.0..3.0).contains(&of("slowdown_p50")), "{}", of("slowdown_p50"));
}
