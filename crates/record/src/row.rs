//! The measurements of one run: rows, counts, and the key of the run in its study.

use std::sync::Arc;

use cellway_units::Span;

use crate::metric::{LEFT_OUT, Quantity, Source};

/// One observation of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The subject: a directed port `r1>s1`, a conversation slot `ftp-3`, a group `ftp`, or `network`.
    pub subject: Arc<str>,
    /// The metric, in its unit.
    pub metric: Quantity,
    /// The end of the bin in seconds since the start of the run; `None` for a figure of the whole run.
    pub t: Option<f64>,
    /// The value, in the unit of the metric.
    pub value: f64,
}

/// The rows of one source. Metrics that the source cannot observe are left out.
#[derive(Clone, Debug)]
pub struct Rows {
    source: Source,
    rows: Vec<Row>,
}

impl Rows {
    /// Creates an empty collection.
    pub fn new(source: Source) -> Rows {
        Rows { source, rows: Vec::new() }
    }

    /// Returns the source of the rows.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Reserves memory for this many more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows);
    }

    /// Adds a figure of the whole run.
    pub fn put(&mut self, subject: &Arc<str>, metric: impl Into<Quantity>, value: f64) {
        self.add(subject, metric.into(), None, value);
    }

    /// Adds a value of the bin that ends, or of the change, `t` seconds after the start of the run.
    pub fn put_at(&mut self, subject: &Arc<str>, metric: impl Into<Quantity>, t: f64, value: f64) {
        self.add(subject, metric.into(), Some(t), value);
    }

    /// Adds the rows of another collection of the same source.
    pub fn append(&mut self, mut other: Rows) {
        debug_assert_eq!(self.source, other.source, "rows of one run have one source");
        self.rows.append(&mut other.rows);
    }

    /// Returns the rows, in the order in which they were added.
    pub fn finish(self) -> Vec<Row> {
        self.rows
    }

    fn add(&mut self, subject: &Arc<str>, metric: Quantity, t: Option<f64>, value: f64) {
        if metric.seen_by(self.source) {
            self.rows.push(Row { subject: subject.clone(), metric, t, value });
        }
    }
}

/// The amount of work in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that the simulator handled.
    pub events: u64,
    /// Cells that left an output line, counted once per line.
    pub cell_hops: u64,
    /// Packets that left an output line whole, counted once per line.
    pub packet_hops: u64,
    /// IP packets that a host sent.
    pub packets: u64,
    /// Simulated time.
    pub simulated: Span,
}

impl Counts {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: Counts) {
        self.events += other.events;
        self.cell_hops += other.cell_hops;
        self.packet_hops += other.packet_hops;
        self.packets += other.packets;
        self.simulated += other.simulated;
    }
}

/// Everything that one run observed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRecord {
    /// One row for each figure of the whole run; `t` is `None`.
    pub summary: Vec<Row>,
    /// Rows over time; `t` is the end of the bin.
    pub series: Vec<Row>,
    /// The work that the run was.
    pub counts: Counts,
}

impl RunRecord {
    /// Returns the series that leave changes out: subject, metric and the length of the intervals (s).
    pub fn left_out(&self) -> impl Iterator<Item = (&str, &'static str, f64)> {
        self.summary.iter().filter_map(|row| {
            let (series, _) = LEFT_OUT.iter().find(|(_, interval)| row.metric == **interval)?;
            Some((&*row.subject, series.name(), row.value))
        })
    }
}

/// The value of a sweep axis at one point.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisValue {
    /// A string, or a quantity as it was written: `per-type`, `1.5 Mbit/s`.
    Text(String),
    /// A plain number: a count, a weight.
    Number(f64),
}

/// Identifies a run of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct RunKey {
    /// The number of the run, unique in the study and rising.
    pub run: u32,
    /// The point of the sweep that it belongs to.
    pub point: u32,
    /// The seed of its random streams.
    pub seed: u64,
    /// The sweep axes and the value of the point on each, in the order of the scenario file.
    pub axes: Vec<(String, AxisValue)>,
}
