//! Tests that cannot run on this machine.

use std::io::Write;

/// Prints why a test is skipped, not by the print macros, whose text the test harness captures. Once for each test:
/// `tools/test.py` counts these lines.
pub(crate) fn skip(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}
