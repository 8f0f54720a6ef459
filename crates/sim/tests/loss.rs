//! Loss on links, in whole runs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::Scenario;
use common::{BULK, figure, run, scenario};

/// Returns [`BULK`] with a window that fills the line, and loss on `link.r1-s1`.
fn lossy(set: &[(&str, &str)]) -> Scenario {
    let mut all = vec![
        ("run.duration", "\"620 s\""),
        ("tcp.variant", "\"sack\""),
        ("traffic.bulk.access.rate", "\"10 Mbit/s\""),
        ("link.r1-s1.loss", "\"0.05%\""),
    ];
    all.extend_from_slice(set);
    scenario(BULK, &all)
}

/// The keys that make the first line and its network carry packets.
const AS_PACKETS: [(&str, &str); 4] = [
    ("node.s1.kind", "\"router\""),
    ("link.*.framing", "\"packet\""),
    ("link.r1-s1.loss", "\"1%\""),
    ("tcp.window", "\"65535 B\""),
];

/// Checks within five standard deviations around the mean of a binomial distribution: a correct program exceeds them
/// once in two million runs, and the seed is fixed.
fn assert_binomial(lost: f64, of: f64, chance: f64) {
    let (mean, sd) = (of * chance, (of * chance * (1.0 - chance)).sqrt());
    assert!(mean > 100.0, "too few to tell: {mean}");
    assert!((lost - mean).abs() < 5.0 * sd, "{lost} lost of {of}, expected {mean:.0} ± {sd:.0}");
}

#[test]
fn cells_are_lost_at_the_given_ratio() {
    let record = run(&lossy(&[("link.r1-s1.loss", "\"0.2%\"")]), 1);
    assert_binomial(figure(&record, "r1>s1", "lost"), figure(&record, "r1>s1", "cells"), 0.002);
    let unit = record.summary.iter().find(|row| row.metric == "lost").unwrap().metric.unit();
    assert_eq!(unit, "cell");
    // The switch forwards all cells that it receives; 80 cells are on the line at the warm-up, and at the end.
    let arrived = figure(&record, "r1>s1", "cells") - figure(&record, "r1>s1", "lost");
    assert!((arrived - figure(&record, "s1>r2", "cells")).abs() < 100.0);
    // A lost cell is a lost frame; the few frames with two lost cells, or with a lost end, count once.
    let frames = figure(&record, "network", "lost_frames_length");
    // Of acknowledgements those with SACK blocks have two cells and are counted like that, those of one cell vanish.
    let [there, back] = ["r1>s1", "s1>r1"].map(|port| figure(&record, port, "lost"));
    let cells = there + back;
    assert!((0.9 * there..=cells).contains(&frames), "{frames} frames for {cells} cells");
    assert!(figure(&record, "bulk-1", "retransmissions") >= 0.9 * there);
}

#[test]
fn packets_are_lost_at_the_given_ratio() {
    let s = lossy(&AS_PACKETS);
    let record = run(&s, 1);
    // All packets there are 552 octets; a few at the ends are cut.
    let span = (s.run.duration - s.run.warmup).as_secs_f64();
    let packets = figure(&record, "r1>s1", "utilisation") * span * 1.5e6 / (552.0 * 8.0);
    let lost = figure(&record, "r1>s1", "lost");
    assert_binomial(lost, packets, 0.01);
    assert!(
        (figure(&record, "bulk-1", "retransmissions") - lost).abs() < 0.1 * lost,
        "each lost segment is sent again"
    );
    let row = |subject: &str| record.summary.iter().find(|row| &*row.subject == subject && row.metric == "lost");
    assert_eq!(row("r1>s1").unwrap().metric.unit(), "packet");
    assert!(row("s1>r1").is_some(), "acknowledgements are lost too");
    assert!(row("s1>r2").is_none() && row("r2>s1").is_none(), "nothing is lost on the other link");
}

/// Links of hosts have rows only if they lose something.
#[test]
fn access_links_lose_and_have_rows_for_it() {
    let subjects = |chance: &str| {
        let set = [("link.r1-s1.loss", "\"0%\""), ("traffic.bulk.access.loss", chance), ("run.duration", "\"220 s\"")];
        let record = run(&lossy(&set), 1);
        let rows = record.summary.iter().filter(|row| row.metric == "queue_max");
        let subjects: Vec<String> = rows.map(|row| row.subject.to_string()).collect();
        let lost: f64 = record.summary.iter().filter(|row| row.metric == "lost").map(|row| row.value).sum();
        (subjects, lost, figure(&record, "bulk-1", "retransmissions"))
    };
    let ports = ["r1>s1", "s1>r1", "s1>r2", "r2>s1"];
    let (plain, lost, resent) = subjects("\"0%\"");
    assert_eq!((plain, lost, resent), (ports.map(str::to_owned).to_vec(), 0.0, 0.0));
    let (lossy, lost, resent) = subjects("\"1%\"");
    let access = ["bulk-1>r1", "r1>bulk-1", "bulk-1-sink>r2", "r2>bulk-1-sink"];
    assert_eq!(lossy, ports.into_iter().chain(access).map(str::to_owned).collect::<Vec<_>>());
    assert!(lost > 50.0 && resent > 25.0, "{lost} lost, {resent} sent again");
}

/// Each direction of each link draws from its own stream: a chance of zero at another link changes nothing, and another
/// seed loses others.
#[test]
fn loss_on_one_link_shifts_nothing_on_another() {
    let set = [("run.duration", "\"120 s\"")];
    let alone = run(&lossy(&set), 3);
    let never = "\"0.0000000000001%\"";
    let beside = run(&lossy(&[set[0], ("link.s1-r2.loss", never)]), 3);
    assert_eq!(alone.summary, beside.summary);
    assert_eq!(alone.summary, run(&lossy(&set), 3).summary);
    assert_ne!(alone.summary, run(&lossy(&set), 4).summary);
}

/// Two links between the same nodes do not lose the same units.
#[test]
fn parallel_links_lose_independently() {
    let twin = BULK.replace(
        "between = [\"s1\", \"r2\"]",
        "name = \"twin\"\nbetween = [\"r1\", \"s1\"]\nrate = \"1.5 Mbit/s\"\ndelay = \"90 ms\"\n\n[[link]]\nbetween = [\"s1\", \"r2\"]",
    );
    let lost = |on: &str| {
        // The other of the two is too long to be taken.
        let [other] = ["r1-s1", "twin"].into_iter().filter(|name| *name != on).collect::<Vec<_>>()[..] else {
            panic!()
        };
        let [this, that] = [format!("link.{on}.loss"), format!("link.{on}.delay")];
        let other = format!("link.{other}.delay");
        let set =
            [(&this[..], "\"0.2%\""), (&that, "\"1 ms\""), (&other, "\"90 ms\""), ("observe.trace", "[\"bulk-1\"]")];
        run(&scenario(&twin, &set), 1).series
    };
    assert_ne!(lost("r1-s1"), lost("twin"));
}

/// The listed units and no others are lost, in either direction.
#[test]
fn listed_packets_are_lost() {
    let none = ("link.r1-s1.loss", "\"0%\"");
    let set = [&AS_PACKETS[..], &[none, ("run.warmup", "\"0 s\"")]].concat();
    let plain = run(&lossy(&set), 1);
    assert_eq!(figure(&plain, "bulk-1", "retransmissions"), 0.0);
    let lists = [("link.r1-s1.lost.forward", "[100, 2000, 1000000000]"), ("link.r1-s1.lost.back", "[40, 41, 42]")];
    let record = run(&lossy(&[&set[..], &lists].concat()), 1);
    let lost = |port: &str| {
        let row = record.summary.iter().find(|row| &*row.subject == port && row.metric == "lost");
        row.map(|row| row.value)
    };
    assert_eq!([lost("r1>s1"), lost("s1>r1")], [Some(2.0), Some(3.0)]);
    assert_eq!(figure(&record, "bulk-1", "fast_retransmits"), 2.0);
    assert_eq!(figure(&record, "bulk-1", "timeouts"), 0.0, "later acknowledgements stand for lost ones");
}
