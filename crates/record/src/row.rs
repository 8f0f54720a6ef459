//! What one run observed: rows, counts, and the key that places the run in its study.

use std::sync::Arc;

use cellway_units::Span;

/// One observation of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was observed: a directed port `r1>s1`, a conversation slot `ftp-3`, a group `ftp`, or `network`.
    pub subject: Arc<str>,
    /// The name of the quantity, such as `utilisation`.
    pub metric: &'static str,
    /// Its unit, such as `cell`, `s`, `bit/s`; `1` for a ratio or a plain count.
    pub unit: &'static str,
    /// The end of the bin in seconds since the start of the run; `None` for a figure of the whole run.
    pub t: Option<f64>,
    /// The value, in `unit`. Leave a row out rather than record a value that does not exist.
    pub value: f64,
}

/// How much work a run was.
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

/// The metrics of which a series may leave changes out, each with the metric of the summary that then says of which
/// intervals (s).
pub const LEFT_OUT: [[&str; 2]; 3] =
    [["queue", "queue_interval"], ["window", "window_interval"], ["item_time", "item_time_interval"]];

impl RunRecord {
    /// The series that leave changes out: subject, metric and the length of the intervals (s).
    pub fn left_out(&self) -> impl Iterator<Item = (&str, &'static str, f64)> {
        let series = |row: &Row| LEFT_OUT.iter().find(|[_, told]| row.metric == *told).map(|[series, _]| *series);
        self.summary.iter().filter_map(move |row| {
            let metric = series(row)?;
            // A program of a run may call a figure of its own so.
            let is_there = self.series.iter().any(|of| of.metric == metric && of.subject == row.subject);
            is_there.then_some((&*row.subject, metric, row.value))
        })
    }
}

/// The value of a sweep axis at one point.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisValue {
    /// A word, or a quantity as it was written: `per-type`, `1.5 Mbit/s`.
    Text(String),
    /// A plain number: a count, a weight.
    Number(f64),
}

/// Which run of a study this is.
#[derive(Clone, Debug, PartialEq)]
pub struct RunKey {
    /// The number of the run, unique in the study and rising.
    pub run: u32,
    /// The point of the sweep that it belongs to.
    pub point: u32,
    /// The seed of its random streams.
    pub seed: u64,
    /// The sweep axes and where the point lies on each, in the order of the scenario file.
    pub axes: Vec<(String, AxisValue)>,
}
