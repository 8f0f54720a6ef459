//! Runs every input of `fuzz/corpus` that concerns this crate, and inputs made from them. The targets in `fuzz/` call
//! the same functions, which describe their checks.
#![allow(clippy::unwrap_used)]

mod machine;
mod mutate;
mod packet;
mod pair;

use mutate::Target;

const PACKET: Target = Target { name: "packet", body: packet::run, inputs: 20_000 };
const MACHINE: Target = Target { name: "machine", body: machine::run, inputs: 4_000 };
const PAIR: Target = Target { name: "pair", body: pair::run, inputs: 4_000 };

#[test]
fn packets() {
    mutate::run(&PACKET);
}

#[test]
fn the_machine() {
    mutate::run(&MACHINE);
}

#[test]
fn both_ends() {
    mutate::run(&PAIR);
}

#[test]
fn others_for_as_long_as_is_wanted() {
    mutate::run_on(&[PACKET, MACHINE, PAIR]);
}
