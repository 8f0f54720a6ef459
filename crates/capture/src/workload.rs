//! The classes that were derived, and the workload file of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_workload as file;
use cellway_workload::{ClassModel, Distribution, FittedLaw, Knot, Recorded, Transport, WorkloadFile, quantiles};

use crate::conversations::Protocol;
use crate::fits::fit;
use crate::knots::knots;
use crate::left_out::ConversationCounts;
use crate::messages::Message;
use crate::samples::Samples;

/// The largest error of a mean that is no matter, in parts of it.
const MEAN_ERROR: f64 = 0.005;

/// Makes the distribution of samples, and the error of its mean as a share; `None` if there are none.
pub(crate) fn distribution(samples: &Samples) -> Option<(Distribution, f64)> {
    let sorted = samples.sorted();
    let knots = knots(&sorted).into_iter().map(|Knot { probability, value }| (rounded(probability), rounded(value)));
    let fit = fit(&sorted).and_then(|FittedLaw { law, ks }| {
        Some(FittedLaw { law: file::rounded_law(law, rounded)?, ks: (ks * 1e4).round() / 1e4 })
    });
    let distribution = Distribution { model: quantiles(knots)?, samples: samples.seen(), fit };
    let exact = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let error = distribution.mean(false).map_or(0.0, |mean| mean - exact);
    Some((distribution, if error == 0.0 { 0.0 } else { error / exact }))
}

/// Rounds to ten digits, so that sums of binary fractions have no tails of digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}

/// The packets and octets of a class, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTotals {
    /// Packets from originators, and from responders.
    pub packets: [u64; 2],
    /// Octets of payload, each counted once, likewise.
    pub octets: [u64; 2],
    /// Segments whose octets had all passed before, likewise.
    pub retransmitted: [u64; 2],
    /// Segments that filled a gap, likewise.
    pub late: [u64; 2],
    /// Conversations of which octets are missing in the capture.
    pub missing: u64,
}

/// A class that was derived.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its protocol.
    pub transport: Protocol,
    /// Conversations that count.
    pub conversations: u64,
    /// Those that do not.
    pub left_out: ConversationCounts,
    /// Conversations of TCP with the messages of originator and responder, if they were recorded.
    pub messages: Vec<[Vec<Message>; 2]>,
    /// The distributions, by their names in the file, without those that have no samples.
    pub distributions: Vec<(&'static str, Distribution)>,
    /// The distributions whose knots do not keep the mean of the samples within 0.5 %, and the error as a share of it;
    /// not in the file.
    pub mean_errors: Vec<(&'static str, f64)>,
    /// Packets and octets of all its conversations; not in the file.
    pub totals: ClassTotals,
}

/// Values of distributions by their names in the file.
type ByName<T> = Vec<(&'static str, T)>;

/// Returns distributions, and apart the errors of those whose mean is not kept.
pub(crate) fn with_errors(
    all: impl Iterator<Item = (&'static str, Distribution, f64)>,
) -> (ByName<Distribution>, ByName<f64>) {
    let (mut distributions, mut errors) = (Vec::new(), Vec::new());
    for (name, distribution, error) in all {
        distributions.push((name, distribution));
        if error.abs() > MEAN_ERROR {
            errors.push((name, error));
        }
    }
    (distributions, errors)
}

impl Class {
    /// Returns true if a file has the class: one of its conversations is complete.
    pub fn is_in_file(&self) -> bool {
        self.conversations > 0 || !self.messages.is_empty()
    }

    /// Returns a distribution by its name.
    pub fn distribution(&self, name: &str) -> Option<&Distribution> {
        self.distributions.iter().find(|(known, _)| *known == name).map(|(_, distribution)| distribution)
    }

    /// Returns the class as it is in a file; `None` if no conversation is complete or kept whole.
    fn in_file(&self) -> Option<file::Class> {
        let take = |name: &str| self.distribution(name).cloned();
        let message = |one: &Message| file::message(one.octets, one.after, one.delay);
        let recorded = |ends: &[Vec<Message>; 2]| {
            Arc::new(Recorded { messages: [0, 1].map(|end: usize| ends[end].iter().map(message).collect()) })
        };
        let recorded = self.messages.iter().map(recorded).collect();
        let model = ClassModel::of(self.transport.into(), take, recorded).filter(|_| self.is_in_file())?;
        let left_out: BTreeMap<String, u64> =
            self.left_out.present().map(|(reason, count)| (reason.to_string(), count)).collect();
        let (name, conversations, rtt) = (self.name.clone(), self.conversations, take("rtt"));
        Some(file::Class { name, conversations, left_out, model, rtt })
    }
}

impl From<Protocol> for Transport {
    fn from(protocol: Protocol) -> Transport {
        match protocol {
            Protocol::Tcp => Transport::Tcp,
            Protocol::Udp => Transport::Udp,
        }
    }
}

/// The classes of captures.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its classes: most conversations first.
    pub classes: Vec<Class>,
}

impl Workload {
    /// Returns the workload file, without the classes of which no conversation is complete or kept whole.
    pub fn file(&self) -> WorkloadFile {
        WorkloadFile { classes: self.classes.iter().filter_map(Class::in_file).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_that_are_not_kept_are_apart() {
        let mut samples = Samples::default();
        [1.0, 2.0, 6.0].into_iter().for_each(|value| samples.add(value));
        let (few, error) = distribution(&samples).unwrap();
        assert!(error.abs() < 1e-8, "{error}");
        let all = [("a", few.clone(), 0.0051), ("b", few.clone(), -0.0049), ("c", few, -0.0051)];
        let (distributions, errors) = with_errors(all.into_iter());
        assert_eq!(distributions.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(errors, [("a", 0.0051), ("c", -0.0051)]);
    }
}
