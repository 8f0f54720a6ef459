//! What is counted.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use cellway_gateway::Reason;

use crate::control::Counters;

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
    /// The longest pass of the data thread (ns).
    pub(crate) longest_pass: u64,
    /// Passes that took longer than [`super::LONG_PASS`].
    pub(crate) long_passes: u64,
    /// Openings that went on without the pair.
    pub(crate) passed: u64,
    /// Openings that wait for their answer now.
    pub(crate) opening: u32,
    /// Connections whose host is left without an answer.
    pub(crate) silent: u32,
    sources: HashMap<IpAddr, u32>,
}

impl Tally {
    pub(crate) fn opened(&mut self, how: &'static str) {
        *self.opened.entry(how).or_default() += 1;
        if how != "peer" {
            self.opening += 1;
        }
    }
    pub(crate) fn refused(&mut self, reason: Reason) {
        *self.refused.entry(reason.name()).or_default() += 1;
    }
    pub(crate) fn ended(&mut self, how: &'static str) {
        *self.ended.entry(how).or_default() += 1;
    }
    /// Counts a pass that took `ns` nanoseconds.
    pub(crate) fn add_pass(&mut self, ns: u64) {
        self.longest_pass = self.longest_pass.max(ns);
        self.long_passes += u64::from(ns > super::LONG_PASS);
    }
    pub(crate) fn error(&mut self, kind: &'static str) {
        *self.errors.entry(kind).or_default() += 1;
    }
    /// An opening has its answer after `ns`.
    pub(crate) fn answered(&mut self, ns: u64) {
        self.opening = self.opening.saturating_sub(1);
        let seconds = ns as f64 / 1e9;
        let class = CLASSES.iter().position(|&most| seconds <= most).unwrap_or(CLASSES.len() - 1);
        self.answers[class] += 1;
        self.answers_sum += seconds;
    }
    /// An opening has gone without an answer.
    pub(crate) fn unanswered(&mut self) {
        self.opening = self.opening.saturating_sub(1);
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
        let named = |map: &BTreeMap<&'static str, u64>| map.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
        Counters {
            opened: named(&self.opened),
            refused: named(&self.refused),
            ended: named(&self.ended),
            // JSON knows no infinity: the last class is that beyond all bounds.
            connect_seconds: CLASSES.into_iter().map(|most| most.min(f64::MAX)).zip(self.answers).collect(),
            connect_seconds_sum: self.answers_sum,
            held_back: self.held_back,
            passed: self.passed,
            errors: named(&self.errors),
        }
    }
}
