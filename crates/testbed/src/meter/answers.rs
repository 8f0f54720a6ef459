//! The answers and pages that a slot waits for: their number and the times to them.

use cellway_record::metric::{Metric, answer};
use cellway_record::stats::Moments;
use cellway_scenario::App;
use cellway_units::{Sketch, Span, Time};

use super::Meter;

/// The metrics of times: the mean, the median, two percentiles and the largest.
pub(super) type TimeMetrics = [&'static Metric; 5];

/// Those of responses.
pub(super) static RESPONSES: TimeMetrics = [
    &answer::RESPONSE_TIME_MEAN,
    &answer::RESPONSE_TIME_P50,
    &answer::RESPONSE_TIME_P95,
    &answer::RESPONSE_TIME_P99,
    &answer::RESPONSE_TIME_MAX,
];

/// Those of pages.
static PAGES: TimeMetrics = [
    &answer::PAGE_TIME_MEAN,
    &answer::PAGE_TIME_P50,
    &answer::PAGE_TIME_P95,
    &answer::PAGE_TIME_P99,
    &answer::PAGE_TIME_MAX,
];

/// Times in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// In seconds.
    moments: Moments,
    /// In picoseconds.
    sketch: Sketch,
}

impl Times {
    pub(super) fn push(&mut self, time: Span) {
        self.moments.push(time.as_secs_f64());
        self.sketch.add(time.as_ps());
    }

    pub(super) fn merge(&mut self, other: &Times) {
        self.moments.merge(&other.moments);
        self.sketch.merge(&other.sketch);
    }

    /// Returns the rows of the tables (s); none without times.
    pub(super) fn rows(&self, metrics: &TimeMetrics) -> Vec<(&'static Metric, f64)> {
        let quantile = |q| self.sketch.percentile(q);
        let [p50, p95, p99, max] = [quantile(0.5), quantile(0.95), quantile(0.99), self.sketch.max()]
            .map(|ps| ps.map(|ps| Span::from_ps(ps).as_secs_f64()));
        let values = [self.moments.mean(), p50, p95, p99, max];
        metrics.iter().zip(values).filter_map(|(metric, value)| Some((*metric, value?))).collect()
    }
}

/// The metrics of a kind of answers.
#[derive(Debug)]
struct Metrics {
    count: &'static Metric,
    /// The count per second.
    rate: Option<&'static Metric>,
    times: &'static TimeMetrics,
}

static OF_RESPONSES: Metrics =
    Metrics { count: &answer::TRANSACTIONS, rate: Some(&answer::TRANSACTION_RATE), times: &RESPONSES };

static OF_PAGES: Metrics = Metrics { count: &answer::PAGES, rate: None, times: &PAGES };

/// The answers of a slot or group. Those requested during the warm-up are not counted.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    metrics: &'static Metrics,
    times: Times,
}

impl Meter {
    /// Records an answer that has arrived completely at the originator of a slot, which requested it at `since`.
    pub fn answer(&mut self, now: Time, slot: usize, since: Time) {
        let meter = &mut self.slots[slot];
        let time = now.since(since);
        meter.samples_mut().delays_in_bin.push(time.as_secs_f64());
        if let Some(answers) = meter.answers_mut()
            && since >= self.warmup
        {
            answers.times.push(time);
        }
    }
}

impl Answers {
    /// Creates the answers of an application, if it waits for any.
    pub(super) fn of(app: &App) -> Option<Answers> {
        let metrics = match app {
            App::RequestResponse { .. } | App::Workload(_) => &OF_RESPONSES,
            App::Page(_) => &OF_PAGES,
            _ => return None,
        };
        Some(Answers { metrics, times: Times::default() })
    }

    /// Returns the metric of the mean time.
    pub(super) fn mean_metric(&self) -> &'static Metric {
        self.metrics.times[0]
    }

    pub(super) fn merge(&mut self, other: &Answers) {
        self.times.merge(&other.times);
    }

    /// Returns the rows of the tables; `span` is the time after the warm-up.
    pub(super) fn rows(&self, span: Span) -> Vec<(&'static Metric, f64)> {
        let count = self.times.sketch.count() as f64;
        let mut rows = vec![(self.metrics.count, count)];
        rows.extend(self.metrics.rate.map(|rate| (rate, count / span.as_secs_f64())));
        rows.extend(self.times.rows(self.metrics.times));
        rows
    }
}
