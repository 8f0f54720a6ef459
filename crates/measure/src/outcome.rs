//! The measurements of both sides of one test, as rows of the tables.

use std::sync::Arc;

use cellway_record::metric::{Metric, stream};
use cellway_record::{Counts, Rows, RunRecord, Source};
use cellway_units::Span;

use crate::stream::{Received, Sent};

/// The measurements of both sides, one entry for each stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The interval of samples.
    pub interval: Span,
    /// The measurements of the sender.
    pub sent: Vec<Sent>,
    /// The measurements of the receiver.
    pub received: Vec<Received>,
}

fn secs(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Received {
    /// Returns the goodput in bit/s: the bytes after the first read, over the time from it to the last.
    pub fn goodput(&self) -> Option<f64> {
        rate(self.bytes - self.first_bytes.min(self.bytes), self.last_ns.saturating_sub(self.first_ns))
    }
}

fn rate(bytes: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| bytes as f64 * 8.0 / secs(ns))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = values.fold((0u32, 0.0), |(n, sum), value| (n + 1, sum + value));
    (n > 0).then(|| sum / f64::from(n))
}

impl Outcome {
    /// Returns the bytes that the receiver read, all streams together.
    pub fn bytes(&self) -> u64 {
        self.received.iter().map(|r| r.bytes).sum()
    }

    /// Returns the goodput of all streams together, in bit/s: from the first byte of any of them to the last of any.
    pub fn goodput(&self) -> Option<f64> {
        let streams = || self.received.iter().filter(|r| r.bytes > 0);
        let first = streams().min_by_key(|r| r.first_ns)?;
        let last = streams().map(|r| r.last_ns).max()?;
        rate(self.bytes() - first.first_bytes.min(first.bytes), last.saturating_sub(first.first_ns))
    }

    /// Returns the rows: subjects `stream-1`, `stream-2`, and `total`.
    pub fn record(&self) -> RunRecord {
        let (mut summary, mut series) = (Rows::new(Source::Measure), Rows::new(Source::Measure));
        for (n, (received, sent)) in self.received.iter().zip(&self.sent).enumerate() {
            let subject: Arc<str> = format!("stream-{}", n + 1).into();
            figures(&subject, received, sent, &mut summary);
            self.samples(&subject, received, sent, &mut series);
        }
        self.total(&mut summary, &mut series);
        let last = self.received.iter().map(|r| r.last_ns).max().unwrap_or_default();
        let counts = Counts { simulated: Span::from_secs_f64(secs(last)), ..Counts::default() };
        RunRecord { summary: summary.finish(), series: series.finish(), counts }
    }

    fn samples(&self, subject: &Arc<str>, received: &Received, sent: &Sent, series: &mut Rows) {
        for (t, value) in self.bins(received) {
            series.put_at(subject, &stream::GOODPUT, t, value);
        }
        for sample in &sent.samples {
            let t = secs(sample.t_ns);
            series.put_at(subject, &stream::CWND, t, sample.cwnd as f64);
            if sample.rtt_ns > 0 {
                series.put_at(subject, &stream::RTT, t, secs(sample.rtt_ns));
            }
            series.put_at(subject, &stream::RETRANSMISSIONS, t, sample.retransmissions as f64);
        }
    }

    /// Returns the goodput of each full interval, with its end. The last interval is rarely full.
    fn bins(&self, received: &Received) -> Vec<(f64, f64)> {
        let width = self.interval.as_secs_f64();
        let full = (secs(received.last_ns) / width) as usize;
        let bins = received.intervals.iter().take(full).enumerate();
        bins.map(|(i, &bytes)| ((i + 1) as f64 * width, bytes as f64 * 8.0 / width)).collect()
    }

    fn total(&self, summary: &mut Rows, series: &mut Rows) {
        let subject: Arc<str> = "total".into();
        let mut put = known(&subject, summary);
        let last = || self.sent.iter().filter_map(|s| s.samples.last());
        put(&stream::GOODPUT, self.goodput());
        put(&stream::BYTES, Some(self.bytes() as f64));
        let took = self.sent.iter().map(|s| s.took_ns).max().unwrap_or_default();
        put(&stream::SENT_RATE, rate(self.sent.iter().map(|s| s.bytes).sum(), took));
        put(&stream::RETRANSMISSIONS, Some(last().map(|s| s.retransmissions as f64).sum()));
        let samples = self.sent.iter().flat_map(|s| &s.samples).filter(|s| s.rtt_ns > 0);
        put(&stream::RTT_MEAN, mean(samples.map(|s| secs(s.rtt_ns))));
        put(&stream::RTT_MIN, self.sent.iter().filter_map(|s| s.rtt_min_ns).min().map(secs));
        put(&stream::DELIVERY_RATE, Some(last().map(|s| s.delivery_rate as f64).sum()));
        let mut sum: Vec<(f64, f64)> = Vec::new();
        for (i, (t, value)) in self.received.iter().flat_map(|r| self.bins(r).into_iter().enumerate()) {
            match sum.get_mut(i) {
                Some(bin) => bin.1 += value,
                None => sum.push((t, value)),
            }
        }
        sum.into_iter().for_each(|(t, value)| series.put_at(&subject, &stream::GOODPUT, t, value));
    }
}

/// Adds the figures of one stream.
fn figures(subject: &Arc<str>, received: &Received, sent: &Sent, summary: &mut Rows) {
    let mut put = known(subject, summary);
    put(&stream::GOODPUT, received.goodput());
    put(&stream::BYTES, Some(received.bytes as f64));
    put(&stream::SENT_RATE, rate(sent.bytes, sent.took_ns));
    let last = sent.samples.last();
    put(&stream::RETRANSMISSIONS, last.map(|s| s.retransmissions as f64));
    let measured = || sent.samples.iter().filter(|s| s.rtt_ns > 0);
    put(&stream::RTT_MEAN, mean(measured().map(|s| secs(s.rtt_ns))));
    put(&stream::RTT_MIN, sent.rtt_min_ns.map(secs));
    put(&stream::CWND_MAX, sent.samples.iter().map(|s| s.cwnd).max().map(|n| n as f64));
    put(&stream::DELIVERY_RATE, last.map(|s| s.delivery_rate as f64));
    put(&stream::MSS, Some(sent.mss as f64));
    let busy = |ns: u64| (sent.busy_ns > 0).then(|| ns as f64 / sent.busy_ns as f64);
    put(&stream::RWND_LIMITED, busy(sent.rwnd_limited_ns));
    put(&stream::SNDBUF_LIMITED, busy(sent.sndbuf_limited_ns));
}

/// Returns a function that adds figures of a subject; a missing value adds none.
fn known<'a>(subject: &'a Arc<str>, rows: &'a mut Rows) -> impl FnMut(&'static Metric, Option<f64>) + 'a {
    move |metric, value| {
        if let Some(value) = value {
            rows.put(subject, metric, value);
        }
    }
}
