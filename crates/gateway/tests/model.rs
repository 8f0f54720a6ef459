//! Two gateways with random hosts, losses, kills and limits, against a specification of what each host may see: whether it
//! is connected or refused and why, that its bytes are those of the other host from the first one on, how its connection
//! ends; and that in the end everything is free.
//!
//! Some cases run with every test. `CELLWAY_FUZZ_SECONDS` runs other ones for so long, `CELLWAY_FUZZ_SEED` one of them. A case
//! that fails is made smaller, printed with its seed, and with what happened in it.
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

/// Cases of every run of the tests.
const CASES: u64 = 1_500;
/// Smaller cases that are tried of one that fails.
const ATTEMPTS: usize = 400;

/// How often connections ended how.
type Outcomes = BTreeMap<String, u64>;

/// Runs a case; what went wrong, and what happened before.
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
/// The smallest case found that fails as well.
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
fn hosts_see_what_they_may() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    if let Some(seed) = number("CELLWAY_FUZZ_SEED") {
        return check(seed, &mut Outcomes::new());
    }
    // What goes wrong is told once, at the end.
    std::panic::set_hook(Box::new(|_| {}));
    let mut outcomes = Outcomes::new();
    (0..CASES).for_each(|seed| check(seed, &mut outcomes));
    // Everything that can happen has happened.
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
    // Others each time; what they are is printed where one fails.
    let first = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() << 24;
    let cases = (first..).take_while(|_| Instant::now() < end).map(|seed| check(seed, &mut outcomes)).count();
    println!("{cases} cases more from seed {first} on");
}
