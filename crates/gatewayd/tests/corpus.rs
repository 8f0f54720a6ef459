//! Runs every input of `fuzz/corpus` that concerns this crate, and inputs made from them. The checks are in
//! `src/fuzz.rs`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "../../gateway/tests/corpus/mutate.rs"]
mod mutate;

use cellway_gatewayd::fuzz;
use mutate::Target;

const CONFIG: Target = Target { name: "config", body: fuzz::config, inputs: 1_500 };
const HELLO: Target = Target { name: "hello", body: fuzz::hello, inputs: 10_000 };
const RECORDS: Target = Target { name: "records", body: fuzz::records, inputs: 10_000 };
const SEGMENT: Target = Target { name: "segment", body: fuzz::segment, inputs: 10_000 };
const SOCKS: Target = Target { name: "socks", body: fuzz::socks, inputs: 10_000 };

#[test]
fn configurations() {
    mutate::run(&CONFIG);
}

#[test]
fn first_words() {
    mutate::run(&HELLO);
}

#[test]
fn records_of_tls() {
    mutate::run(&RECORDS);
}

#[test]
fn segments() {
    mutate::run(&SEGMENT);
}

#[test]
fn dialogues_of_socks() {
    mutate::run(&SOCKS);
}

#[test]
fn others_for_as_long_as_is_wanted() {
    mutate::run_on(&[CONFIG, HELLO, RECORDS, SEGMENT, SOCKS]);
}
