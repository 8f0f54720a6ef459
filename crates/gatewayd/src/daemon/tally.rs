//! Counters since the start.

use std::collections::BTreeMap;

use cellway_gateway::Reason;
use cellway_units::Span;

use crate::status::Counters;

/// Upper bounds of the classes of the time to an answer (s).
const CLASSES: [f64; 14] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, f64::INFINITY];

/// The label of flows in `ended` whose SYN was forwarded to the server past the gateways.
pub(crate) const PASSED: &str = "passed";

/// A pass that takes longer than this is counted.
const LONG_PASS: Span = Span::from_ms(5);

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    opened: BTreeMap<&'static str, u64>,
    refused: BTreeMap<&'static str, u64>,
    ended: BTreeMap<&'static str, u64>,
    errors: BTreeMap<&'static str, u64>,
    answers: [u64; CLASSES.len()],
    answers_sum: f64,
    /// The number of times that a host was not read because the link was behind.
    pub(crate) held_back: u64,
    /// The longest pass of the data thread.
    pub(crate) longest_pass: Span,
    /// Passes that took longer than [`LONG_PASS`].
    pub(crate) long_passes: u64,
    /// SYNs that were forwarded to their servers past the gateways.
    pub(crate) passed: u64,
    /// The number of times that deleted rules of the kernel were set again.
    pub(crate) restored: u64,
    /// SYNs that this machine has answered before their servers have.
    pub(crate) answered_first: u64,
}

impl Tally {
    pub(crate) fn opened(&mut self, how: &'static str) {
        *self.opened.entry(how).or_default() += 1;
    }
    pub(crate) fn refused(&mut self, reason: Reason) {
        *self.refused.entry(reason.name()).or_default() += 1;
    }
    pub(crate) fn ended(&mut self, how: &'static str) {
        *self.ended.entry(how).or_default() += 1;
    }
    /// Counts a pass.
    pub(crate) fn add_pass(&mut self, took: Span) {
        self.longest_pass = self.longest_pass.max(took);
        self.long_passes += u64::from(took > LONG_PASS);
    }
    pub(crate) fn error(&mut self, kind: &'static str) {
        *self.errors.entry(kind).or_default() += 1;
    }
    /// Counts a connection that the far side has answered after this time.
    pub(crate) fn answered(&mut self, time: Span) {
        let seconds = time.as_secs_f64();
        let class = CLASSES.iter().position(|&most| seconds <= most).unwrap_or(CLASSES.len() - 1);
        self.answers[class] += 1;
        self.answers_sum += seconds;
    }
    /// Returns the counts for `status` and the metrics.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            opened: named(&self.opened),
            refused: named(&self.refused),
            ended: named(&self.ended),
            // JSON has no infinity: the last class has no bound.
            connect_seconds: CLASSES.into_iter().map(|most| most.min(f64::MAX)).zip(self.answers).collect(),
            connect_seconds_sum: self.answers_sum,
            held_back: self.held_back,
            passed: self.passed,
            answered_first: self.answered_first,
            rules_restored: self.restored,
            errors: named(&self.errors),
            strangers: BTreeMap::new(),
        }
    }
}

/// Counts with owned names.
pub(crate) fn named(counts: &BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}
