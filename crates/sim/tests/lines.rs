//! The records of lines that carry packets, and of several lines between two nodes.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;

use cellway_record::RunRecord;
use common::{figure, run, scenario};

/// Flows through a packet line with a small buffer, and a second line in parallel.
const PARALLEL: &str = r#"version = 1
name = "parallel"
run = { duration = "60 s", warmup = "20 s" }
buffer = { size = "30 kB", per = "port" }
tcp = { variant = "sack", mss = "1460 B", window = "128 KiB", window-scaling = true, rto-min = "200 ms", rto-initial = "1 s", timer-granularity = "10 ms" }
node = [{ name = "l", kind = "router" }, { name = "r", kind = "router" }]
link = [
  { between = ["l", "r"], rate = "4 Mbit/s", delay = "20 ms", framing = "packet" },
  { name = "second", between = ["l", "r"], rate = "4 Mbit/s", delay = "20 ms", framing = "packet" },
]

[[traffic]]
name = "t"
app = "bulk"
count = 3
from = "l"
to = "r"
access = { rate = "100 Mbit/s", delay = "1 ms", framing = "packet" }
"#;

/// Returns the same with a single line.
fn single(framing: &str) -> String {
    let second = PARALLEL.lines().filter(|line| !line.contains("second"));
    second
        .collect::<Vec<_>>()
        .join("\n")
        .replace("delay = \"20 ms\", framing = \"packet\"", &format!("delay = \"20 ms\", framing = \"{framing}\""))
}

fn has(record: &RunRecord, subject: &str, metric: &str) -> bool {
    record.summary.iter().any(|row| &*row.subject == subject && row.metric == metric)
}

#[test]
fn each_of_several_lines_between_two_nodes_is_a_subject() {
    let set = [("observe.queue", "[\"l>r/second\", \"l>r/l-r\"]")];
    let record = run(&scenario(PARALLEL, &set), 1);
    let figures: Vec<_> = record.summary.iter().map(|row| (&*row.subject, row.metric.name())).collect();
    assert_eq!(figures.iter().collect::<BTreeSet<_>>().len(), figures.len(), "a figure has one value");
    let busy = ["l>r/l-r", "l>r/second", "r>l/l-r", "r>l/second"].map(|port| figure(&record, port, "utilisation"));
    assert!(busy[0] > 0.9 && busy[1] == 0.0 && busy[2] > 0.0 && busy[3] == 0.0, "{busy:?}");
    assert!(!has(&record, "l>r", "utilisation"));
    let recorded: BTreeSet<&str> = record.series.iter().filter(|r| r.metric == "queue").map(|r| &*r.subject).collect();
    assert_eq!(recorded, BTreeSet::from(["l>r/l-r"]), "nothing waits at the other");
    // The only line between two nodes keeps its name.
    assert_eq!(figure(&run(&scenario(&single("packet"), &[]), 1), "l>r", "utilisation"), busy[0]);
}

#[test]
fn a_packet_line_counts_packets() {
    let record = run(&scenario(&single("packet"), &[]), 1);
    let of = |metric| figure(&record, "l>r", metric);
    // A data packet of 1500 octets takes 3 ms at 4 Mbit/s.
    assert!((of("packets") * 0.003 / 40.0 - of("utilisation")).abs() < 1e-3, "{} packets", of("packets"));
    assert!(of("dropped_packets") > 0.0);
    assert_eq!(of("loss_ratio"), of("dropped_packets") / (of("packets") + of("dropped_packets")));
    for metric in ["cells", "dropped_cells", "dropped_frames"] {
        assert!(!has(&record, "l>r", metric), "{metric}");
    }
    let of_network = |metric| figure(&record, "network", metric);
    assert_eq!(of_network("dropped_packets"), of("dropped_packets") + of_network("dropped_at_access"));
    assert!(!has(&record, "network", "lost_frames") && !has(&record, "network", "lost_frames_crc"));
    assert!(
        record.summary.iter().all(|row| !["cell", "frame"].contains(&row.metric.unit())),
        "no figure in cells or frames"
    );
    assert_eq!(record.counts.cell_hops, 0);
    assert!(record.counts.packet_hops > 2 * record.counts.packets, "each packet passes three lines");
}

/// The loss ratio counts losses on a link together with the drops of the buffer before it.
#[test]
fn the_loss_ratio_has_drops_and_losses() {
    let record = run(&scenario(&single("packet"), &[("link.l-r.loss", "\"2 %\"")]), 1);
    let of = |metric| figure(&record, "l>r", metric);
    let expected = (of("dropped_packets") + of("lost")) / (of("packets") + of("dropped_packets"));
    assert!(of("lost") > 20.0 && of("loss_ratio") == expected, "{expected}");
}

/// The line shares of all flows add up to the utilisation of the line, whatever its framing, except for packets that
/// were in flight at the start or the end.
#[test]
fn line_shares_add_up_to_the_utilisation() {
    for framing in ["packet", "ethernet", "fddi", "atm"] {
        let record = run(&scenario(&single(framing), &[("buffer.size", "\"500 kB\"")]), 1);
        let sum: f64 = (1..=3).map(|i| figure(&record, &format!("t-{i}"), "line_share")).sum();
        let busy = figure(&record, "l>r", "utilisation");
        // Whole packets are counted, so the sum may be too large by one packet, of at most 4 ms in 40 s.
        assert!(busy > 0.99 && sum <= 1.0001 && (sum - busy).abs() < 0.005, "{framing}: {sum} of {busy}");
    }
}
