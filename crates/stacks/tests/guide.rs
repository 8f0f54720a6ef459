//! The guide shows the code of the examples and what they print; `UPDATE_GOLDEN=1` writes their tables into it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../examples/beside/mod.rs"]
mod beside;
#[path = "../examples/own_stack.rs"]
#[allow(dead_code, reason = "its main prints what is compared here")]
mod own_stack;

use cellway_sim::Payload;
use cellway_stacks::{quic, smol};

const GUIDE: &str = include_str!("../../../docs/guide/own-stack.md");

/// Returns the blocks of the guide in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let mut blocks = Vec::new();
    let mut rest = GUIDE;
    while let Some((_, after)) = rest.split_once("```") {
        let (block, after) = after.split_once("```").unwrap();
        let (of, text) = block.split_once('\n').unwrap();
        if of == language {
            blocks.push(text);
        }
        rest = after;
    }
    blocks
}

#[test]
fn the_code_of_the_guide_is_that_of_the_example() {
    let example = include_str!("../examples/own_stack.rs");
    let code = blocks("rust");
    assert_eq!(code.len(), 3);
    code.iter().for_each(|block| assert!(example.contains(block), "not in own_stack.rs:\n{block}"));
}

#[test]
fn the_tables_of_the_guide_are_those_of_the_examples() {
    let scenario = beside::scenario(&[]);
    let quic = beside::beside(Payload::Udp, quic::bulk(|_| {}).unwrap());
    let smoltcp = beside::beside(Payload::Ip { protocol: smol::TCP }, smol::bulk(1 << 20, |_| {}));
    let mut printed: Vec<String> = [("quic", quic), ("smoltcp", smoltcp)]
        .map(|(name, stacks)| beside::table(&beside::run(&scenario, &stacks, 1).unwrap(), name))
        .into();
    let record = beside::run(&scenario, &own_stack::stacks(), 1).unwrap();
    let rows = record.summary.iter().filter(|row| row.metric == "goodput" || row.metric == "retransmissions");
    printed.push(
        rows.map(|row| format!("{:<8} {:<16} {:>9.0}\n", row.subject, row.metric.to_string(), row.value)).collect(),
    );
    let shown = blocks("");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let fenced = |text: &str| format!("```\n{text}```");
        let page = shown
            .iter()
            .zip(&printed)
            .fold(GUIDE.to_owned(), |page, (shown, printed)| page.replacen(&fenced(shown), &fenced(printed), 1));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/own-stack.md");
        return std::fs::write(path, page).unwrap();
    }
    assert_eq!(shown, printed, "UPDATE_GOLDEN=1 writes the tables into the page");
}
