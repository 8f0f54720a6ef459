//! Names of metrics and units that are not known before a run.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// `text` as the static name that a [`crate::Row`] holds. Each distinct text is kept for the life of the process: for
/// names out of scenario files, of which there are few.
pub fn word(text: &str) -> &'static str {
    static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    words.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_kept_once() {
        let first = word("mean_opinion");
        assert_eq!(first, "mean_opinion");
        assert!(std::ptr::eq(first, word(&["mean", "opinion"].join("_"))));
    }
}
