//! The metrics of the tables. Each is declared once, in the file of its kind of subject, with its unit, meaning and the
//! sources that can observe it; rows, the reference page, the command line and Python read these declarations.

mod declare;
mod quantity;
mod source;
mod subject;
mod unit;

pub mod answer;
pub mod command;
pub mod datagram;
pub mod emulation;
pub mod flow;
pub mod frame;
pub mod gateway;
pub mod group;
pub mod model;
pub mod network;
pub mod observed;
pub mod port;
pub mod slot;
pub mod spacer;
pub mod stream;

use std::ops::Deref;

pub use quantity::Quantity;
pub use source::Source;
pub use subject::Subject;
pub use unit::{QueueUnit, Unit};

use crate::stats::Bounds;

/// The table in which a metric has rows, and the instants of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The summary: one value for each run.
    Summary,
    /// The series: one value for each bin of `observe.interval`.
    Bins,
    /// The series: one value for each change or event, at its instant.
    Changes,
}

/// The declaration of a metric.
#[derive(Debug)]
pub struct Definition {
    name: &'static str,
    label: Option<&'static str>,
    unit: Unit,
    subjects: &'static [Subject],
    recorded: &'static [Recorded],
    sources: &'static [Source],
    meaning: &'static str,
}

impl Definition {
    /// Returns the name in the column `metric`, such as `queue_mean`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns a title for figures, such as "Mean queue".
    pub fn label(&self) -> String {
        if let Some(label) = self.label {
            return label.to_owned();
        }
        let (first, rest) = self.name.split_at(1);
        format!("{}{}", first.to_uppercase(), rest.replace('_', " "))
    }

    /// Returns the unit of its values.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the kinds of subjects that have it.
    pub fn subjects(&self) -> &'static [Subject] {
        self.subjects
    }

    /// Returns the tables in which it has rows.
    pub fn recorded(&self) -> &'static [Recorded] {
        self.recorded
    }

    /// Returns the sources that can observe it, besides [`Source::Published`].
    pub fn sources(&self) -> &'static [Source] {
        self.sources
    }

    /// Its definition as a phrase, in Markdown. Links are relative to `docs/reference`.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim().trim_end_matches('.')
    }

    /// Returns true if rows of `source` can have it.
    pub fn seen_by(&self, source: Source) -> bool {
        match source {
            // Of anything.
            Source::Published => true,
            // Transfers, and emulated runs with real gateways.
            Source::Measure => self.sources.iter().any(|known| matches!(known, Source::Measure | Source::Emulate)),
            _ => self.sources.contains(&source),
        }
    }
}

/// A metric of one unit.
#[derive(Debug)]
pub struct Metric(Definition);

impl Metric {
    /// Returns its declaration.
    pub const fn definition(&'static self) -> &'static Definition {
        &self.0
    }
}

impl Deref for Metric {
    type Target = Definition;

    fn deref(&self) -> &Definition {
        &self.0
    }
}

/// A metric that counts cells at lines that carry cells, and packets at all others.
#[derive(Debug)]
pub struct QueueMetric(Definition);

impl QueueMetric {
    /// Returns its declaration.
    pub const fn definition(&'static self) -> &'static Definition {
        &self.0
    }

    /// Returns the metric at a line with queues of `unit`.
    pub fn counted_in(&'static self, unit: QueueUnit) -> Quantity {
        Quantity::defined(&self.0, unit.into())
    }
}

impl Deref for QueueMetric {
    type Target = Definition;

    fn deref(&self) -> &Definition {
        &self.0
    }
}

/// The metrics of which a series may leave changes out, each with the metric of the summary that has the length of the
/// intervals then.
pub static LEFT_OUT: [(&Definition, &Metric); 4] = [
    (&port::QUEUE.0, &port::QUEUE_INTERVAL),
    (&slot::WINDOW.0, &slot::WINDOW_INTERVAL),
    (&slot::ITEM_TIME.0, &slot::ITEM_TIME_INTERVAL),
    // One for all variables of a model.
    (&model::BBR_STATE.0, &model::MODEL_INTERVAL),
];

/// Returns all metrics, in the order of the reference page. Metrics of one name have the same unit, and different
/// subjects.
pub fn all() -> impl Iterator<Item = &'static Definition> {
    let files = [
        port::ALL,
        slot::ALL,
        datagram::ALL,
        frame::ALL,
        answer::ALL,
        flow::ALL,
        group::ALL,
        observed::ALL,
        model::ALL,
        network::ALL,
        gateway::ALL,
        command::ALL,
        emulation::ALL,
        stream::ALL,
        spacer::ALL,
    ];
    files.into_iter().flatten().copied()
}

/// Returns the metrics of a name, for all their subjects.
pub fn named(name: &str) -> impl Iterator<Item = &'static Definition> {
    all().filter(move |metric| metric.name == name)
}

impl Bounds {
    /// Returns the bounds of a metric of the tables; none for a metric that the tables do not define, such as that of a
    /// program.
    pub fn of(metric: &str) -> Bounds {
        named(metric).next().map_or(Bounds::NONE, |metric| metric.unit.bounds())
    }
}
