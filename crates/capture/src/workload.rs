//! A workload file: classes of conversations, each with the distributions that describe them.

use std::fmt::Write;

use crate::conversations::Protocol;
use crate::fits::{Fit, fit};
use crate::knots::{Knot, knots};
use crate::left_out::ConversationCounts;
use crate::samples::Samples;

/// The version of the format.
pub const VERSION: u32 = 1;
/// The most characters of a line of knots.
const WIDTH: usize = 118;

/// An empirical distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Samples from which it was made.
    pub samples: u64,
    /// Its knots, rising.
    pub knots: Vec<Knot>,
    /// The law that is nearest, if one was fitted.
    pub fit: Option<Fit>,
}

impl Distribution {
    /// Makes the distribution of samples; `None` if there are none.
    pub fn of(samples: &Samples) -> Option<Distribution> {
        let sorted = samples.sorted();
        let knots = knots(&sorted);
        (!knots.is_empty()).then(|| Distribution { samples: samples.seen(), knots, fit: fit(&sorted) })
    }

    /// Returns the value that is not exceeded with a probability.
    pub fn quantile(&self, probability: f64) -> f64 {
        let after = self.knots.partition_point(|knot| knot.probability < probability);
        match (after.checked_sub(1).and_then(|before| self.knots.get(before)), self.knots.get(after)) {
            (Some(from), Some(to)) => {
                let share = (probability - from.probability) / (to.probability - from.probability);
                from.value + share * (to.value - from.value)
            }
            (None, Some(first)) => first.value,
            (Some(last), None) => last.value,
            (None, None) => 0.0,
        }
    }

    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        let first = self.knots.first().map_or(0.0, |first| first.probability * first.value);
        let line = |pair: &[Knot]| (pair[1].probability - pair[0].probability) * (pair[0].value + pair[1].value) / 2.0;
        first + self.knots.windows(2).map(line).sum::<f64>()
    }
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

/// A class of a workload file.
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
    /// The distributions, by their names in the file, without those that have no samples.
    pub distributions: Vec<(&'static str, Distribution)>,
    /// Packets and octets of all its conversations; not in the file.
    pub totals: ClassTotals,
}

impl Class {
    /// Returns a distribution by its name.
    pub fn distribution(&self, name: &str) -> Option<&Distribution> {
        self.distributions.iter().find(|(known, _)| *known == name).map(|(_, distribution)| distribution)
    }
}

/// A workload file.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its classes: most conversations first.
    pub classes: Vec<Class>,
}

impl Workload {
    /// Returns the text of the file, in TOML. `comment` is in front of it. Classes without a conversation that counts
    /// are left out.
    pub fn to_toml(&self, comment: &str) -> String {
        let mut text = String::new();
        for line in comment.lines() {
            text.push_str(format!("# {line}").trim_end());
            text.push('\n');
        }
        // Writing to a string does not fail.
        let _ = writeln!(text, "version = {VERSION}");
        for class in self.classes.iter().filter(|class| class.conversations > 0) {
            let transport = match class.transport {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
            };
            let name = toml::Value::from(class.name.as_str());
            let _ = writeln!(text, "\n[[class]]\nname = {name}\ntransport = \"{transport}\"");
            let _ = writeln!(text, "conversations = {}", class.conversations);
            let left_out: Vec<String> =
                class.left_out.present().map(|(reason, count)| format!("\"{reason}\" = {count}")).collect();
            if !left_out.is_empty() {
                let _ = writeln!(text, "left_out = {{ {} }}", left_out.join(", "));
            }
            for (name, distribution) in &class.distributions {
                write_distribution(&mut text, name, distribution);
            }
        }
        text
    }
}

fn write_distribution(text: &mut String, name: &str, distribution: &Distribution) {
    let _ = writeln!(text, "\n[class.{name}]\nsamples = {}\nknots = [", distribution.samples);
    let mut line = String::new();
    for Knot { probability, value } in &distribution.knots {
        let knot = format!("[{:?}, {:?}], ", rounded(*probability), rounded(*value));
        if 4 + line.len() + knot.len() > WIDTH {
            let _ = writeln!(text, "    {}", line.trim_end());
            line.clear();
        }
        line += &knot;
    }
    let _ = writeln!(text, "    {}\n]", line.trim_end());
    if let Some(Fit { law, ks }) = &distribution.fit {
        let _ = writeln!(text, "\n[class.{name}.fit]\nlaw = \"{}\"", law.name());
        for (name, value) in law.parameters() {
            let _ = writeln!(text, "{name} = {:?}", rounded(value));
        }
        let _ = writeln!(text, "ks = {:?}", (ks * 1e4).round() / 1e4);
    }
}

/// Rounds to ten digits, so that sums of binary fractions have no tails of digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}
