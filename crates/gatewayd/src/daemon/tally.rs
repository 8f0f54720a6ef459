//! What is counted.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use cellway_gateway::Reason;
use cellway_units::Span;

use crate::status::Counters;

/// Upper bounds of the classes of the time to an answer (s).
const CLASSES: [f64; 14] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, f64::INFINITY];

/// The label of flows in `ended` whose SYN was passed on to the server, bypassing the gateways.
pub(crate) const PASSED: &str = "passed";

/// Counts since the start, and how many connections each client has now.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    opened: BTreeMap<&'static str, u64>,
    refused: BTreeMap<&'static str, u64>,
    ended: BTreeMap<&'static str, u64>,
    errors: BTreeMap<&'static str, u64>,
    answers: [u64; CLASSES.len()],
    answers_sum: f64,
    pub(crate) held_back: u64,
    /// The longest pass of the data thread.
    pub(crate) longest_pass: Span,
    /// Passes that took longer than [`super::LONG_PASS`].
    pub(crate) long_passes: u64,
    /// Openings that went on without the pair.
    pub(crate) passed: u64,
    /// How often rules of the kernel were set again.
    pub(crate) restored: u64,
    /// Openings that this machine has answered before their servers have.
    pub(crate) answered_first: u64,
    /// Connections whose host is left without an answer.
    pub(crate) silent: u32,
    sources: HashMap<IpAddr, u32>,
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
        self.long_passes += u64::from(took > super::LONG_PASS);
    }
    pub(crate) fn error(&mut self, kind: &'static str) {
        *self.errors.entry(kind).or_default() += 1;
    }
    /// An opening has its answer after this time.
    pub(crate) fn answered(&mut self, time: Span) {
        let seconds = time.as_secs_f64();
        let class = CLASSES.iter().position(|&most| seconds <= most).unwrap_or(CLASSES.len() - 1);
        self.answers[class] += 1;
        self.answers_sum += seconds;
    }
    /// How many connections `source` has.
    pub(crate) fn of(&self, source: IpAddr) -> u32 {
        self.sources.get(&source).copied().unwrap_or(0)
    }
    pub(crate) fn enters(&mut self, source: IpAddr) {
        *self.sources.entry(source).or_default() += 1;
    }
    pub(crate) fn leaves(&mut self, source: Option<IpAddr>) {
        let Some(source) = source else { return };
        if let Some(count) = self.sources.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.sources.remove(&source);
            }
        }
    }
    /// For people.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            opened: named(&self.opened),
            refused: named(&self.refused),
            ended: named(&self.ended),
            // JSON knows no infinity: the last class is that beyond all bounds.
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
