//! The keys of a text, as a form shows and sets them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::{Override, keys, written};
use common::repository;

/// Every path sets the one place that it was found at, in all shipped scenarios: with the old value back in its place,
/// the text is the one before, comments and blanks included.
#[test]
fn every_path_sets_its_own_value() {
    let mut found = 0;
    for entry in std::fs::read_dir(repository("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for key in keys(&text, "a.toml").unwrap() {
            let changed = written(&text, "a.toml", &[Override::new(&*key.path, "'changed here'")]).unwrap();
            let at = changed.find("'changed here'").unwrap_or_else(|| panic!("{}: {changed}", key.path));
            assert_eq!(changed[..at].lines().count().max(1), key.line, "{}", key.path);
            assert_eq!(changed.replacen("'changed here'", &key.value, 1), text, "{}", key.path);
            found += 1;
        }
    }
    assert!(found > 500, "{found} keys");
}
