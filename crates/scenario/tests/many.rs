//! Files with very many problems, and very large networks: messages stay short, and work stays proportional.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fmt::Write;

use common::{edited, refusal, scenario, with};

#[test]
fn a_hundred_problems_are_listed_and_the_others_counted() {
    let mut text = with("\n[observe]\n");
    (0..20_000).for_each(|i| writeln!(text, "key-{i} = 1").unwrap());
    let error = refusal(&text);
    assert_eq!((error.problems.len(), error.more), (100, 19_900));
    assert_eq!(error.problems[0].key, "observe.key-0");
    let told = error.to_string();
    assert!(told.ends_with("\nand 19900 more problems"), "{}", &told[told.len() - 100..]);
    assert_eq!(serde_json::to_value(&error).unwrap()["more"], 19_900);
}

/// The message about a link to nodes that do not exist lists some of the existing nodes, not all.
#[test]
fn long_lists_of_what_is_accepted_are_cut() {
    let mut text = edited(&[("to = \"r2\"", "to = \"r3\"")]);
    (0..3000).for_each(|i| writeln!(text, "[[node]]\nname = \"x{i}\"\nkind = \"router\"").unwrap());
    let error = refusal(&text);
    let accepted = error.problems[0].accepted.clone().unwrap();
    assert!(accepted.starts_with("\"r1\", \"s1\", \"r2\", \"x0\","), "{accepted}");
    assert!(accepted.ends_with(" or 2973 more"), "{accepted}");
}

#[test]
fn a_chain_of_thousands_of_nodes_is_a_path() {
    let (before, rest) = edited(&[]).split_once("[[node]]").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let mut text = before;
    let traffic = &rest[rest.find("[[traffic]]").unwrap()..];
    (1..=5000).for_each(|i| writeln!(text, "[[node]]\nname = \"r{i}\"\nkind = \"router\"").unwrap());
    (1..5000).for_each(|i| {
        writeln!(text, "[[link]]\nbetween = [\"r{i}\", \"r{}\"]\nrate = \"e3\"\ndelay = \"1 us\"", i + 1).unwrap();
    });
    text += &traffic.replace("\"r2\"", "\"r5000\"");
    assert_eq!(scenario(&text).traffic[0].route.len(), 4999);
}
