//! What both sides saw of one test, as rows of the tables.

use cellway_record::{Counts, Row, RunRecord};
use cellway_units::Span;

use crate::stream::{Received, Sent};

/// Both views of one test, a stream each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Between two samples.
    pub interval: Span,
    /// What the sender saw.
    pub sent: Vec<Sent>,
    /// What the receiver saw.
    pub received: Vec<Received>,
}

fn secs(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Received {
    /// Goodput in bit/s: what came after the first read, over the time from it to the last.
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
    /// Bytes that the receiver read, all streams together.
    pub fn bytes(&self) -> u64 {
        self.received.iter().map(|r| r.bytes).sum()
    }

    /// Goodput of all streams together, in bit/s: from the first byte of any of them to the last of any.
    pub fn goodput(&self) -> Option<f64> {
        let streams = || self.received.iter().filter(|r| r.bytes > 0);
        let first = streams().min_by_key(|r| r.first_ns)?;
        let last = streams().map(|r| r.last_ns).max()?;
        rate(self.bytes() - first.first_bytes.min(first.bytes), last.saturating_sub(first.first_ns))
    }

    /// The rows: subjects `stream-1`, `stream-2`, and `total`.
    pub fn record(&self) -> RunRecord {
        let mut record = RunRecord::default();
        for (n, (received, sent)) in self.received.iter().zip(&self.sent).enumerate() {
            self.one(&format!("stream-{}", n + 1), received, sent, &mut record);
        }
        self.total(&mut record);
        let last = self.received.iter().map(|r| r.last_ns).max().unwrap_or_default();
        record.counts = Counts { simulated: Span::from_secs_f64(secs(last)), ..Counts::default() };
        record
    }

    fn one(&self, subject: &str, received: &Received, sent: &Sent, record: &mut RunRecord) {
        let mut put = rows(subject, &mut record.summary);
        put("goodput", "bit/s", None, received.goodput());
        put("bytes", "B", None, Some(received.bytes as f64));
        put("sent_rate", "bit/s", None, rate(sent.bytes, sent.took_ns));
        let last = sent.samples.last();
        put("retransmissions", "segment", None, last.map(|s| s.retransmissions as f64));
        let measured = || sent.samples.iter().filter(|s| s.rtt_ns > 0);
        put("rtt_mean", "s", None, mean(measured().map(|s| secs(s.rtt_ns))));
        put("rtt_min", "s", None, sent.rtt_min_ns.map(secs));
        put("cwnd_max", "B", None, sent.samples.iter().map(|s| s.cwnd).max().map(|n| n as f64));
        put("delivery_rate", "bit/s", None, last.map(|s| s.delivery_rate as f64));
        put("mss", "B", None, Some(sent.mss as f64));
        let busy = |ns: u64| (sent.busy_ns > 0).then(|| ns as f64 / sent.busy_ns as f64);
        put("rwnd_limited", "1", None, busy(sent.rwnd_limited_ns));
        put("sndbuf_limited", "1", None, busy(sent.sndbuf_limited_ns));
        let mut put = rows(subject, &mut record.series);
        for (t, value) in self.bins(received) {
            put("goodput", "bit/s", Some(t), Some(value));
        }
        for sample in &sent.samples {
            let t = Some(secs(sample.t_ns));
            put("cwnd", "B", t, Some(sample.cwnd as f64));
            put("rtt", "s", t, (sample.rtt_ns > 0).then(|| secs(sample.rtt_ns)));
            put("retransmissions", "segment", t, Some(sample.retransmissions as f64));
        }
    }

    /// Goodput of each full interval, with its end. The last interval is rarely full.
    fn bins(&self, received: &Received) -> Vec<(f64, f64)> {
        let width = self.interval.as_secs_f64();
        let full = (secs(received.last_ns) / width) as usize;
        let bins = received.intervals.iter().take(full).enumerate();
        bins.map(|(i, &bytes)| ((i + 1) as f64 * width, bytes as f64 * 8.0 / width)).collect()
    }

    fn total(&self, record: &mut RunRecord) {
        let mut put = rows("total", &mut record.summary);
        let last = || self.sent.iter().filter_map(|s| s.samples.last());
        put("goodput", "bit/s", None, self.goodput());
        put("bytes", "B", None, Some(self.bytes() as f64));
        let took = self.sent.iter().map(|s| s.took_ns).max().unwrap_or_default();
        put("sent_rate", "bit/s", None, rate(self.sent.iter().map(|s| s.bytes).sum(), took));
        put("retransmissions", "segment", None, Some(last().map(|s| s.retransmissions as f64).sum()));
        let samples = self.sent.iter().flat_map(|s| &s.samples).filter(|s| s.rtt_ns > 0);
        put("rtt_mean", "s", None, mean(samples.map(|s| secs(s.rtt_ns))));
        put("rtt_min", "s", None, self.sent.iter().filter_map(|s| s.rtt_min_ns).min().map(secs));
        put("delivery_rate", "bit/s", None, Some(last().map(|s| s.delivery_rate as f64).sum()));
        let mut sum: Vec<(f64, f64)> = Vec::new();
        for (i, (t, value)) in self.received.iter().flat_map(|r| self.bins(r).into_iter().enumerate()) {
            match sum.get_mut(i) {
                Some(bin) => bin.1 += value,
                None => sum.push((t, value)),
            }
        }
        let mut put = rows("total", &mut record.series);
        sum.into_iter().for_each(|(t, value)| put("goodput", "bit/s", Some(t), Some(value)));
    }
}

/// Adds rows of one subject; a value that does not exist is no row.
fn rows(subject: &str, to: &mut Vec<Row>) -> impl FnMut(&'static str, &'static str, Option<f64>, Option<f64>) {
    let subject: std::sync::Arc<str> = subject.into();
    move |metric, unit, t, value| {
        to.extend(value.map(|value| Row { subject: subject.clone(), metric, unit, t, value }));
    }
}
