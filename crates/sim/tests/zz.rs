#![allow(clippy::unwrap_used)]
mod common;
use common::{run, scenario};
#[test]
fn zz() {
    let t = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/many-customers.toml")).unwrap();
    let r = run(&scenario(&t, &[]), 1);
    for row in &r.summary { if ["c-1","a-24", "a-1","g1","g1/c","west>g1","g2>east", "d-1"].contains(&&*row.subject) { println!("{} {} {}", row.subject, row.metric, row.value); } }
}
