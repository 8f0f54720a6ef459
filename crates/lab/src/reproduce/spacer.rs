//! The contents of a cell spacer: theory, and the same figures from the recorded queue of a run.

use std::sync::Arc;

use cellway_record::metric::{Metric, QueueUnit, port, spacer as metric};
use cellway_record::{Quantity, Row, RunRecord};
use cellway_scenario::Scenario;
use cellway_theory::{Count, LineFraming, SlowStart, Spacer, SpacerInput, spacer_of};
use cellway_units::Bytes;

use super::theory::Additions;
use crate::error::Error;

/// The most in the intervals of slow start, by their numbers.
static PEAKS: [&Metric; 10] = [
    &metric::SLOW_START_PEAK_0,
    &metric::SLOW_START_PEAK_1,
    &metric::SLOW_START_PEAK_2,
    &metric::SLOW_START_PEAK_3,
    &metric::SLOW_START_PEAK_4,
    &metric::SLOW_START_PEAK_5,
    &metric::SLOW_START_PEAK_6,
    &metric::SLOW_START_PEAK_7,
    &metric::SLOW_START_PEAK_8,
    &metric::SLOW_START_PEAK_9,
];

/// Rows of one spacer.
struct Rows(Arc<str>);

impl Rows {
    fn row(&self, metric: impl Into<Quantity>, value: f64) -> Row {
        Row { subject: self.0.clone(), metric: metric.into(), t: None, value }
    }
}

/// Returns the final levels; those of slow start only if the queue of the spacer was recorded from the beginning.
pub(super) fn additions(scenario: &Scenario, record: &RunRecord) -> Result<Additions, Error> {
    let input = spacer_of(scenario)?;
    let spacer = Spacer::new(input)?;
    let shaper = &scenario.shapers[0];
    let rows = Rows(scenario.port_name(shaper.at, shaper.link).into());
    let start = spacer.slow_start();
    let mut additions = Additions::default();
    additions.theory.summary = vec![
        rows.row(port::QUEUE_MIN.counted_in(QueueUnit::Cell), spacer.low_counted(spacer.window(), Count::Waiting)),
        rows.row(
            port::QUEUE_MAX.counted_in(QueueUnit::Cell),
            spacer.peak_counted(spacer.high(spacer.window()), Count::Waiting),
        ),
        rows.row(&metric::C1, f64::from(u8::from(start.condition))),
    ];
    let changes = record.series.iter().filter(|row| row.metric == *port::QUEUE && row.subject == rows.0);
    let changes: Vec<(f64, f64)> = changes.filter_map(|row| Some((row.t?, row.value))).collect();
    let framing = LineFraming::of_cells(scenario.multiplexing.encapsulation);
    let handshake = framing.cells(Bytes(scenario.traffic[0].family().tcp_headers())).unwrap_or(0);
    // The theorems are compared cell by cell, which a record with changes left out does not allow.
    let is_whole = !record.left_out().any(|(subject, metric, _)| metric == "queue" && subject == &*rows.0);
    if let Some(trace) = Trace::new(changes, &input, handshake).filter(|_| is_whole) {
        trace.slow_start(&rows, &spacer, &start, &mut additions);
        trace.filling(&rows, &spacer, &start, &mut additions);
        trace.threshold(&rows, &spacer, &start, &mut additions);
        let t = |seconds: f64| Some(trace.zero + seconds);
        let point = |at: f64, value: f64| Row { t: t(at), ..rows.row(port::QUEUE.counted_in(QueueUnit::Cell), value) };
        let series = &mut additions.theory.series;
        series.extend(start.intervals.iter().map(|i| point(i.start, spacer.peak_counted(i.maximum, Count::Waiting))));
        series.push(point(start.oscillation_time, spacer.peak_counted(start.high, Count::Waiting)));
    }
    Ok(additions)
}

/// The cells that wait in a spacer, at each change.
struct Trace {
    /// Time in s, and cells after the change.
    changes: Vec<(f64, f64)>,
    /// The time at which the first cell of data would have begun to arrive without earlier ones: the zero of theory, in
    /// s.
    zero: f64,
    /// Time of a cell at the rate of the source, in s.
    cell_in: f64,
    /// c, in cell/s.
    rate: f64,
}

impl Trace {
    /// Creates a trace; `handshake` is the number of cells of the acknowledgement before the first data.
    fn new(changes: Vec<(f64, f64)>, input: &SpacerInput, handshake: u64) -> Option<Trace> {
        let cell_in = 1.0 / input.peak.cells_per_sec();
        let mut trace = Trace { changes, zero: 0.0, cell_in, rate: input.rate.cells_per_sec() };
        // The first burst is the SYN.
        let asking = trace.arrivals().skip(1).take_while(|arrival| !arrival.after_pause).count() + 1;
        let before = asking + usize::try_from(handshake).ok()?;
        let mut last = 0.0;
        let mut departures = trace.changes.iter().filter(|&&(_, n)| std::mem::replace(&mut last, n) > n);
        // A cell that waits for the handshake's last one begins late; its beginning counts.
        trace.zero = departures.nth(before)?.0 - cell_in;
        Some(trace)
    }

    fn arrivals(&self) -> impl Iterator<Item = Arrival> {
        let (mut last, mut before) = (f64::NEG_INFINITY, 0.0);
        self.changes.iter().filter_map(move |&(at, content)| {
            let found = std::mem::replace(&mut before, content);
            (content > found).then(|| {
                let after_pause = at - std::mem::replace(&mut last, at) > 1.5 * self.cell_in;
                Arrival { at, found, content, after_pause }
            })
        })
    }

    /// Returns the smallest and largest content from `from` to before `to`, that at `from` included; in s of theory, in
    /// which a cell that begins to arrive is complete `cell_in` later.
    fn range(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let place = |t: f64| self.changes.partition_point(|&(at, _)| at < self.zero + t + 0.5 * self.cell_in);
        let (first, last) = (place(from).checked_sub(1)?, place(to));
        // The record must reach the end of the requested time.
        let inside = &self.changes[first..last];
        (last < self.changes.len()).then(|| {
            inside.iter().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), &(_, n)| (low.min(n), high.max(n)))
        })
    }

    fn slow_start(&self, rows: &Rows, spacer: &Spacer, start: &SlowStart, additions: &mut Additions) {
        for interval in &start.intervals {
            let metric = usize::try_from(interval.number).ok().and_then(|n| PEAKS.get(n).copied());
            let range = self.range(interval.start, interval.start + interval.length);
            if let (Some(metric), Some((_, most))) = (metric, range) {
                additions.simulated.push(rows.row(metric, most));
                additions.theory.summary.push(rows.row(metric, spacer.peak_counted(interval.maximum, Count::Waiting)));
            }
        }
    }

    /// Adds the values of Theorem 1: the levels in the first round of acknowledgements from t_b on, and t_b in cells at
    /// the rate c.
    fn threshold(&self, rows: &Rows, spacer: &Spacer, start: &SlowStart, additions: &mut Additions) {
        let low = spacer.low_counted(spacer.threshold(), Count::Waiting);
        let high = spacer.peak_counted(start.high, Count::Waiting);
        let grows = start.threshold_time + spacer.threshold() as f64 * spacer.segment_time();
        let gap = spacer.acknowledgement_gap();
        let until = if spacer.threshold() < spacer.window() { grows } else { start.oscillation_time + 3.0 * gap };
        let until = until.max(start.oscillation_time + gap);
        let Some((least, most)) = self.range(start.oscillation_time, until) else { return };
        let began = self.oscillates(start.last().start, until, low, high).unwrap_or(until);
        for (metric, simulated, theory) in [
            (&metric::THRESHOLD_QUEUE_MIN, least, low),
            (&metric::THRESHOLD_QUEUE_MAX, most, high),
            (&metric::OSCILLATION_START, began * self.rate, start.oscillation_time * self.rate),
        ] {
            additions.simulated.push(rows.row(metric, simulated));
            additions.theory.summary.push(rows.row(metric, theory));
        }
    }

    /// Adds the growth rate of the content between bursts from the end of the last interval of slow start until the
    /// window is at the threshold, if bursts have pauses between them; in theory σ more at each acknowledgement.
    fn filling(&self, rows: &Rows, spacer: &Spacer, start: &SlowStart, additions: &mut Additions) {
        let last = start.last();
        let (from, to) = (last.start + last.length, start.threshold_time);
        let slack = 0.5 * self.cell_in;
        let within = |a: &Arrival| (from - slack..to + slack).contains(&(a.at - self.zero - self.cell_in));
        let bursts: Vec<Arrival> = self.arrivals().filter(|a| a.after_pause && within(a)).collect();
        let ([first, .., end], false) = (&bursts[..], last.empties) else { return };
        let rate = (end.found - first.found) / (end.at - first.at);
        additions.simulated.push(rows.row(&metric::FILLING_RATE, rate));
        let theory = self.rate * spacer.segment_time() / spacer.acknowledgement_gap();
        additions.theory.summary.push(rows.row(&metric::FILLING_RATE, theory));
    }

    /// Returns the time, between `from` and `to`, from which on each burst finds the lower level and none exceeds the
    /// upper one.
    fn oscillates(&self, from: f64, to: f64, low: f64, high: f64) -> Option<f64> {
        let time = |at: f64| at - self.zero - self.cell_in;
        let slack = 0.5 * self.cell_in;
        let among = self.arrivals().filter(|arrival| (from - slack..to - slack).contains(&time(arrival.at)));
        among.fold(None, |began, arrival| {
            let off = arrival.after_pause && (arrival.found - low).abs() > 1.0;
            match began {
                _ if off || arrival.content > high + 1.0 => None,
                None if arrival.after_pause => Some(time(arrival.at)),
                _ => began,
            }
        })
    }
}

/// A cell that arrives.
struct Arrival {
    /// In s.
    at: f64,
    /// Cells in the queue before it.
    found: f64,
    /// Cells with it.
    content: f64,
    /// True if the source was idle right before it.
    after_pause: bool,
}
