//! Runs every input of `fuzz/corpus/capture`, and inputs made from them. The checks are in `src/fuzz.rs`.
#![allow(clippy::unwrap_used)]

#[path = "../../gateway/tests/corpus/mutate.rs"]
mod mutate;

use cellway_capture::fuzz;
use mutate::Target;

const CAPTURE: Target = Target { name: "capture", body: fuzz::capture, inputs: 20_000 };

#[test]
fn captures() {
    mutate::run(&CAPTURE);
}

#[test]
fn others_for_as_long_as_is_wanted() {
    mutate::run_on(&[CAPTURE]);
}
