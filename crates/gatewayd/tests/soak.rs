//! Two daemons under short connections: neither may grow, in memory or in descriptors.
//!
//! `make soak` runs it, for 30 minutes or `SECONDS`. Each 10 s both daemons are measured; the level of a third of the
//! run is the least of its measurements, as the memory of the current connections varies by tens of megabytes. The
//! first third is for memory that is allocated once. The last may be above the second by [`MEMORY`] and [`DESCRIPTORS`]
//! at most.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

#[path = "soak/churn.rs"]
mod churn;
mod common;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use churn::Churn;
use common::pair::{Pair, Side, Wish};
use common::world::World;
use serde_json::json;

/// The default duration, in seconds.
const TIME: u64 = 1_800;
const VARIABLE: &str = "CELLWAY_SOAK_SECONDS";
const BETWEEN: Duration = Duration::from_secs(10);
/// Fewer measurements per third than this prove nothing.
const LEAST: usize = 3;
/// The growth from the second third to the last that is permitted (octets): 8 MiB. In 10 minutes of a hundred
/// connections a second that is 140 octets for each.
const MEMORY: u64 = 8 << 20;
/// The same in descriptors: the number of simultaneous connections is random.
const DESCRIPTORS: u64 = 16;
/// The time until the daemons must have closed the last connection.
const DRAIN: Duration = Duration::from_secs(60);

/// The resources of a daemon at one instant.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Resident (octets).
    memory: u64,
    /// Allocated from the kernel for data, resident or not (`VmData`, octets): heap, and stacks of threads.
    allocated: u64,
    descriptors: u64,
}

impl Level {
    fn of(pair: &Pair<'_>, side: Side) -> Level {
        let process = format!("/proc/{}", pair.daemon(side).id());
        let open = fs::read_dir(format!("{process}/fd")).unwrap();
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let data = status.lines().find_map(|line| line.strip_prefix("VmData:")?.trim().strip_suffix(" kB"));
        let allocated = data.unwrap().parse::<u64>().unwrap() * 1024;
        Level { memory: pair.memory(side), allocated, descriptors: open.count() as u64 }
    }
    /// Returns the least of each.
    fn least(levels: &[Level]) -> Level {
        let least = |of: fn(&Level) -> u64| levels.iter().map(of).min().unwrap();
        Level {
            memory: least(|level| level.memory),
            allocated: least(|level| level.allocated),
            descriptors: least(|level| level.descriptors),
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [memory, allocated] = [self.memory, self.allocated].map(|octets| octets as f64 / f64::from(1 << 20));
        write!(f, "{memory:.1} MiB ({allocated:.1} of data), {} descriptors", self.descriptors)
    }
}

#[test]
#[ignore = "takes half an hour: make soak"]
fn memory_and_descriptors_stay_level() {
    if !common::possible("memory_and_descriptors_stay_level") {
        return;
    }
    let seconds = std::env::var(VARIABLE).map_or(TIME, |text| text.parse().unwrap());
    let time = Duration::from_secs(seconds);
    let world = World::new();
    let pair = Pair::start(&world, &Wish { rate: "400 Mbit/s", ..Wish::default() });
    let [near, far] = Side::BOTH.map(|side| Level::of(&pair, side));
    println!("before: near {near}; far {far}");
    let churn = Churn::start(&world);
    let (begin, mut levels) = (Instant::now(), Vec::new());
    while begin.elapsed() < time {
        thread::sleep(BETWEEN.min(time.saturating_sub(begin.elapsed())));
        levels.push(Side::BOTH.map(|side| Level::of(&pair, side)));
        if levels.len() % 6 == 0 {
            let [near, far] = levels[levels.len() - 1];
            println!("{:4} s: {churn}; near {near}; far {far}", begin.elapsed().as_secs());
        }
    }
    let done = churn.stop();
    println!("{done}");
    drained(&pair);
    let [near, far] = Side::BOTH.map(|side| Level::of(&pair, side));
    println!("without connections: near {near}; far {far}");
    let errors = Side::BOTH.map(|side| pair.status(side).unwrap()["counters"]["errors"].clone());
    assert_eq!(done.wrong, Vec::<String>::new(), "not as without gateways; errors counted: {errors:?}");
    assert_eq!(errors, [json!({}), json!({})], "errors counted");

    let third = levels.len() / 3;
    assert!(third >= LEAST, "{seconds} s are too short to tell: at least {}", 3 * LEAST as u64 * BETWEEN.as_secs());
    for (index, side) in Side::BOTH.into_iter().enumerate() {
        let of = |levels: &[[Level; 2]]| Level::least(&levels.iter().map(|both| both[index]).collect::<Vec<_>>());
        let (second, last) = (of(&levels[third..2 * third]), of(&levels[2 * third..]));
        println!("{side:?}: {second} in the second third, {last} in the last");
        let more = (last.memory.saturating_sub(second.memory)).max(last.allocated.saturating_sub(second.allocated));
        assert!(more <= MEMORY, "{side:?}: memory grows from {second} to {last}");
        assert!(
            last.descriptors <= second.descriptors + DESCRIPTORS,
            "{side:?}: descriptors grow from {second} to {last}"
        );
    }
    pair.stop();
}

/// Waits until both report no connections.
fn drained(pair: &Pair<'_>) {
    let begin = Instant::now();
    for side in Side::BOTH {
        loop {
            let status = pair.status(side).unwrap();
            let left = status["connections"].as_array().unwrap();
            if left.is_empty() && status["peers"][0]["connections"] == 0 {
                break;
            }
            assert!(begin.elapsed() < DRAIN, "{side:?}: still there: {left:?}");
            thread::sleep(Duration::from_millis(200));
        }
    }
}
