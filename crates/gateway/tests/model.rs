//! Two gateways with random hosts, losses, kills and limits, checked against a specification of each host's connection:
//! it is connected, or refused for a reason that exists; its bytes are those of the other host from the first one on;
//! it ends as the other host or the faults demand. In the end all memory is free.
//!
//! A fixed set of cases runs with every test. `CELLWAY_FUZZ_SECONDS` adds others for that many seconds;
//! `CELLWAY_FUZZ_SEED` runs a single one instead. A case that fails is reduced, and printed with its seed and its last
//! events.
#![allow(clippy::unwrap_used)]

#[path = "model/case.rs"]
mod case;
#[path = "model/host.rs"]
mod host;
#[path = "model/line.rs"]
mod line;
#[path = "model/spec.rs"]
mod spec;
#[path = "model/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use case::Case;
use world::World;

/// The number of cases in every run of the tests.
const CASES: u64 = 1_500;
/// Most smaller cases that are tried for one that fails.
const ATTEMPTS: usize = 400;

/// The number of connections by outcome.
type Outcomes = BTreeMap<String, u64>;

/// Runs a case. If it fails, returns the message and the events before it.
fn fails(case: &Case, outcomes: &mut Outcomes) -> Option<(String, Vec<String>)> {
    let mut world = World::new(case);
    let result = catch_unwind(AssertUnwindSafe(|| world.run()));
    let words = |cause: &(dyn std::any::Any + Send)| {
        let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_default()
    };
    spec::outcomes(&world).into_iter().for_each(|how| *outcomes.entry(how).or_default() += 1);
    result.err().map(|cause| (words(&*cause), std::mem::take(&mut world.trace)))
}
/// Returns the smallest case found that fails as well.
fn smallest(mut case: Case) -> Case {
    let mut attempts = 0;
    'again: loop {
        for smaller in case.smaller() {
            attempts += 1;
            if attempts > ATTEMPTS {
                return case;
            }
            if fails(&smaller, &mut Outcomes::new()).is_some() {
                case = smaller;
                continue 'again;
            }
        }
        return case;
    }
}
fn check(seed: u64, outcomes: &mut Outcomes) {
    let case = Case::new(seed);
    if fails(&case, outcomes).is_none() {
        return;
    }
    let case = smallest(case);
    let Some((why, trace)) = fails(&case, outcomes) else { return };
    drop(std::panic::take_hook());
    let last = trace.len().saturating_sub(60);
    panic!("seed {seed}: {why}\n{case:?}\n{}", trace[last..].join("\n"));
}

#[test]
fn hosts_observe_only_legal_behaviour() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    if let Some(seed) = number("CELLWAY_FUZZ_SEED") {
        return check(seed, &mut Outcomes::new());
    }
    // A failure is printed once, at the end.
    std::panic::set_hook(Box::new(|_| {}));
    let mut outcomes = Outcomes::new();
    (0..CASES).for_each(|seed| check(seed, &mut outcomes));
    // Every outcome has occurred.
    println!("{outcomes:?}");
    for how in ["gave up, timed-out", "has reset, reset", "refused, refused", "refused, busy", "refused, peer-lost"] {
        assert!(outcomes.contains_key(how), "no connection {how}: {outcomes:?}");
    }
    for how in ["refused, timed-out", "was reset, reset", "was reset, peer-lost", "was reset, busy"] {
        assert!(outcomes.contains_key(how), "no connection {how}: {outcomes:?}");
    }
    assert!(outcomes["clean"] > CASES, "{outcomes:?}");
    let Some(seconds) = number("CELLWAY_FUZZ_SECONDS") else { return };
    let end = Instant::now() + Duration::from_secs(seconds);
    // Other seeds in each run; the seed of a failure is printed.
    let first = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() << 24;
    let cases = (first..).take_while(|_| Instant::now() < end).map(|seed| check(seed, &mut outcomes)).count();
    println!("{cases} cases more from seed {first} on");
}
