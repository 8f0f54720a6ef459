//! The messages about wrong files, in full, in `refused.golden`.
//! `UPDATE_GOLDEN=1 cargo test` writes that file anew; read the difference.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{GOOD, edited, refusal, repository};

fn cases() -> Vec<(&'static str, String)> {
    let request = "knots = [[0.0, 40.0], [0.4, 512.0], [0.7, 512.0], [1.0, 9000.0]]";
    let knots = |knots: &str| edited(&[(request, &format!("knots = {knots}"))]);
    let many: Vec<String> = (0..=200).map(|k| format!("[{}, {k}]", f64::from(k) / 200.0)).collect();
    let law = |parameters: &str| edited(&[("law = \"lognormal\"\nmu = 6.25\nsigma = 0.75", parameters)]);
    let messages = |text: &str| edited(&[("[class.arrival_gap]", &format!("messages = {text}\n[class.arrival_gap]"))]);
    vec![
        ("no TOML", "version 1".to_owned()),
        ("an empty file", String::new()),
        ("another version", edited(&[("version = 1", "version = 2")])),
        ("no class", "version = 1\nclass = []\n".to_owned()),
        ("an unknown key", edited(&[("[class.think]", "[class.thinks]")])),
        ("a key with a hyphen", edited(&[("[class.arrival_gap]", "[class.arrival-gap]")])),
        ("another protocol", edited(&[("transport = \"tcp\"", "transport = \"sctp\"")])),
        ("a name with a mark", edited(&[("name = \"web\"", "name = \"we#b\"")])),
        ("a name twice", edited(&[("name = \"voice\"", "name = \"web\"")])),
        ("a negative count", edited(&[("conversations = 120", "conversations = -1")])),
        ("a reason without a number", edited(&[("\"no SYN\" = 3", "\"no SYN\" = \"many\"")])),
        ("a distribution of the other protocol", edited(&[("[class.think]", "[class.gap_back]")])),
        (
            "no request",
            edited(&[("[class.request]", "[class.response]"), ("[class.request.fit]", "[class.response.fit]")]),
        ),
        ("no packets", edited(&[("[class.packets]", "[class.packets_back]")])),
        ("no samples", edited(&[("samples = 300\n", "")])),
        ("samples of nothing", edited(&[("samples = 300", "samples = 0")])),
        ("no knots", knots("[]")),
        ("too many knots", knots(&format!("[{}]", many.join(", ")))),
        ("knots of one number", knots("[[0.0], [1.0]]")),
        ("knots of strings", knots("[[\"0\", \"40 B\"]]")),
        ("knots that are numbers", knots("[0.0, 1.0]")),
        ("a probability above 1", knots("[[0.0, 1.0], [1.5, 2.0]]")),
        ("a probability that is no number", knots("[[nan, 1.0], [1.0, 2.0]]")),
        ("probabilities that fall", knots("[[0.0, 1.0], [0.5, 2.0], [0.4, 3.0], [1.0, 4.0]]")),
        ("probabilities that stay", knots("[[0.0, 1.0], [0.5, 2.0], [0.5, 3.0], [1.0, 4.0]]")),
        ("values that fall", knots("[[0.0, 1.0], [0.5, 3.0], [1.0, 2.0]]")),
        ("a negative value", knots("[[0.0, -1.0], [1.0, 2.0]]")),
        ("a value that is too large", knots("[[0.0, 1.0], [1.0, 2e15]]")),
        ("a last probability below 1", knots("[[0.0, 1.0], [0.9, 2.0]]")),
        ("a time of a year", edited(&[("[0.5, 0.2], [1.0, 3.5]", "[1.0, 3e7]")])),
        ("a datagram that no packet holds", edited(&[("[1.0, 172.0]", "[1.0, 70000.0]")])),
        ("an unknown law", law("law = \"zipf\"")),
        ("a law without its parameters", law("law = \"pareto\"\nshape = 1.2")),
        ("a law with those of another", law("law = \"exponential\"\nmean = 3.0\nsigma = 1.0")),
        ("a parameter out of range", law("law = \"weibull\"\nscale = 0.0\nshape = 1.0")),
        ("an infinite parameter", law("law = \"pareto\"\nminimum = 10.0\nshape = inf")),
        ("an infinite value", knots("[[0.0, 1.0], [1.0, inf]]")),
        ("an infinite number of octets", messages("[[[[inf, 0, 0.0]], []]]")),
        ("a value beyond all reason", knots("[[0.0, 1.0], [1.0, 1e300]]")),
        ("no conversation", messages("[]")),
        ("a conversation of one end", messages("[[[[300, 0, 0.0]]]]")),
        ("a message of two numbers", messages("[[[[300, 0]], []]]")),
        ("a message without octets", messages("[[[[0, 0, 0.0]], []]]")),
        ("a part of an octet", messages("[[[[3, 0.5, 0.0]], [[3, 0, 0.0]]]]")),
        ("a negative time", messages("[[[[3, 0, -1.0]], []]]")),
        ("ends that wait for each other", messages("[[[[3, 0, 0.0]], []], [[[3, 4, 0.0]], [[4, 3, 0.0]]]]")),
        ("a conversation without a message", messages("[[[], []]]")),
        (
            "messages of datagrams",
            edited(&[("conversations = 7", "conversations = 7\nmessages = [[[[3, 0, 0.0]], []]]")]),
        ),
        (
            "several at once",
            edited(&[("samples = 300", "samples = \"300\""), ("ks = 0.04", "ks = 4"), ("= 7", "= 7.5")]),
        ),
    ]
}

#[test]
fn messages_are_as_agreed() {
    let mut told = String::new();
    for (name, text) in cases() {
        told.push_str(&format!("## {name}\n{}\n\n", refusal(&text)));
    }
    let path = repository("crates/workload/tests/refused.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    for (told, golden) in told.split("## ").zip(golden.split("## ")) {
        assert_eq!(told, golden);
    }
    assert_eq!(told, golden, "the golden file has other cases");
}

/// No part of a file makes the reader panic.
#[test]
fn every_beginning_of_a_file_is_read_or_refused() {
    for end in (0..GOOD.len()).filter(|end| GOOD.is_char_boundary(*end)) {
        drop(cellway_workload::WorkloadFile::parse(&GOOD[..end], "w.toml"));
    }
}
