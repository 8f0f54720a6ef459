//! Whatever a file holds, it is read or refused; what is read is written and read again as the same.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_workload::WorkloadFile;
use common::GOOD;
use proptest::prelude::*;

/// Parts that files have, right and wrong.
const PARTS: [&str; 14] = [
    "[",
    "]",
    "\n",
    "=",
    "0.5",
    "1e308",
    "-1",
    "nan",
    "inf",
    "\"tcp\"",
    "[class.fit]",
    "[[class]]",
    "[[1, 0]]",
    "{ a = 1 }",
];

fn read_or_refused(text: &str) {
    if let Ok(file) = WorkloadFile::parse(text, "w.toml") {
        let written = file.to_toml("");
        assert_eq!(WorkloadFile::parse(&written, "written.toml").as_ref(), Ok(&file), "{written}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_file_with_a_part_replaced(at in 0..GOOD.len(), length in 0usize..40, part in 0..PARTS.len()) {
        let end = (at + length).min(GOOD.len());
        read_or_refused(&format!("{}{}{}", &GOOD[..at], PARTS[part], &GOOD[end..]));
    }

    /// Many of these are right: a digit in place of another.
    #[test]
    fn a_file_with_other_digits(at in prop::collection::vec((0..GOOD.len(), 0u8..10), 1..6)) {
        let mut text = GOOD.as_bytes().to_vec();
        for (place, digit) in at {
            if text[place].is_ascii_digit() {
                text[place] = b'0' + digit;
            }
        }
        read_or_refused(&String::from_utf8(text).unwrap());
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        read_or_refused(&text);
    }
}
