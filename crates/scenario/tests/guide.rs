//! The examples of the guide to scenario files are valid, and each has an effect.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::Plan;
use common::repository;

const HEAD: &str = "version = 1\nname = \"guide\"\nrun = { duration = \"60 s\", warmup = \"10 s\" }\n";

/// The first block of TOML with this text.
fn block(text: &str) -> String {
    let page = std::fs::read_to_string(repository("docs/guide/scenarios.md")).unwrap();
    let mut blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(text)).unwrap_or_else(|| panic!("no block has {text}")).to_owned()
}

fn warnings(parts: &[&str]) -> Vec<String> {
    let text = HEAD.to_owned() + &parts.iter().map(|part| block(part)).collect::<Vec<_>>().join("\n");
    let plan = Plan::parse(&text, "guide.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    plan.warnings(&plan.points().unwrap()).iter().map(ToString::to_string).collect()
}

#[test]
fn the_examples_of_the_guide_are_valid() {
    let (path, bulk, voice) = ("loss = \"0.1%\"", "stagger = ", "rate = \"80 kbit/s\"");
    let six = "family = \"ipv6\"";
    let changes = ["at = \"30 s\"", "direction = \"back\"", "[observe]"];
    assert_eq!(warnings(&[&[path, "queue = \"fq-codel\"", bulk, voice, six][..], &changes].concat()), [""; 0]);
    assert_eq!(warnings(&[path, "size = \"1 bdp\"", "profile = \"classic\"", bulk]), [""; 0]);
    let whole = block("name = \"two-transfers\"");
    assert!(Plan::parse(&whole, "two.toml").is_ok());
}
