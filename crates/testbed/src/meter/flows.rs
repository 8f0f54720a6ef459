//! The flows of a slot that arrive by themselves: completion times and slowdowns, by size.

use cellway_apps::FlowEvent;
use cellway_record::metric::{Metric, flow};
use cellway_record::stats::Moments;
use cellway_scenario::{TcpTraffic, Traffic};
use cellway_spec::TIMESTAMPS_OPTION;
use cellway_units::{Bytes, Rate, Sketch, Span, Time};

use super::Meter;

/// The largest flows of the classes small and medium, as in the evaluation of pFabric (Alizadeh et al. 2013).
const CLASSES: [Bytes; 2] = [Bytes(100_000), Bytes(10_000_000)];

/// The parts of a slowdown that its percentiles are kept in.
const PARTS: f64 = 1e6;

/// The least time in which a flow can complete on a path: a propagation round trip for the handshake, half of one for the
/// data, and its packets on the bottleneck link one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ideal {
    /// The propagation round trip.
    round_trip: Span,
    rate: Rate,
    framing: cellway_net::Framing,
    /// The payload and the headers of a full segment.
    payload: u64,
    headers: u64,
}

/// The flows of a slot. Those that arrived during the warm-up are not counted.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    /// Absent if there is no least completion time, and so no slowdown.
    ideal: Option<Ideal>,
    counts: Counts,
    /// Of all flows, and of the small, medium and large ones.
    times: [Times; 4],
}

/// Numbers of flows by their fates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    started: u64,
    completed: u64,
    failed: u64,
    rejected: u64,
}

/// Completion times and slowdowns of flows.
#[derive(Clone, Debug, Default)]
struct Times {
    /// In seconds, and as a ratio.
    means: [Moments; 2],
    /// In picoseconds, and in millionths.
    sketches: [Sketch; 2],
}

impl Meter {
    /// Records an event of a flow of a slot whose flows arrive by themselves, which occurs at `now`.
    pub fn flow(&mut self, now: Time, slot: usize, event: FlowEvent) {
        let meter = &mut self.slots[slot];
        if let FlowEvent::Completed { since, .. } = event {
            meter.totals.items += 1;
            if let Some(series) = &mut meter.series {
                series.items.push(now, now.since(since).as_secs_f64());
            }
        }
        if let Some(flows) = meter.flows_mut() {
            flows.record(now, self.warmup, event);
        }
    }
}

impl Ideal {
    /// Returns the least times of a group with this propagation round trip.
    pub(super) fn new(traffic: &Traffic, tcp: &TcpTraffic, round_trip: Span) -> Ideal {
        let options = if tcp.tcp.timestamps { TIMESTAMPS_OPTION } else { 0 };
        Ideal {
            round_trip,
            rate: traffic.bottleneck,
            framing: traffic.bottleneck_framing,
            payload: tcp.tcp.mss.0.saturating_sub(options).max(1),
            headers: tcp.family.tcp_headers() + options,
        }
    }

    /// Returns the least completion time of a flow of this size.
    pub(super) fn time(&self, size: Bytes) -> Span {
        let bits = |payload: u64| self.framing.bits((payload + self.headers) as u32).0;
        let rest = size.0 % self.payload;
        let full = (size.0 / self.payload).saturating_mul(bits(self.payload));
        let wire = full + if rest > 0 { bits(rest) } else { 0 };
        self.round_trip + self.round_trip / 2 + Span::from_secs_f64(wire as f64 / self.rate.as_bps() as f64)
    }
}

impl Flows {
    pub(super) fn new(ideal: Ideal) -> Flows {
        Flows { ideal: Some(ideal), ..Flows::without_ideal() }
    }

    /// Creates those of flows whose completion times have no least value on a path.
    pub(super) fn without_ideal() -> Flows {
        Flows { ideal: None, counts: Counts::default(), times: Default::default() }
    }

    /// Records an event at `now`.
    pub(super) fn record(&mut self, now: Time, warmup: Time, event: FlowEvent) {
        let counts = &mut self.counts;
        match event {
            FlowEvent::Arrived if now >= warmup => counts.started += 1,
            FlowEvent::Rejected if now >= warmup => counts.rejected += 1,
            FlowEvent::Failed { since } if since >= warmup => counts.failed += 1,
            FlowEvent::Completed { bytes, since } if since >= warmup => {
                counts.completed += 1;
                let span = now.since(since);
                let least = self.ideal.map(|ideal| ideal.time(bytes).as_secs_f64());
                let slowdown = least.map(|least| span.as_secs_f64() / least);
                let class = 1 + CLASSES.iter().filter(|&&most| bytes > most).count();
                for place in [0, class] {
                    self.times[place].push(span, slowdown);
                }
            }
            _ => {}
        }
    }

    pub(super) fn merge(&mut self, other: &Flows) {
        let (counts, more) = (&mut self.counts, other.counts);
        counts.started += more.started;
        counts.completed += more.completed;
        counts.failed += more.failed;
        counts.rejected += more.rejected;
        for (times, other) in self.times.iter_mut().zip(&other.times) {
            times.merge(other);
        }
    }

    /// Returns the metrics of the tables.
    pub(super) fn rows(&self) -> Vec<(&'static Metric, f64)> {
        let Counts { started, completed, failed, rejected } = self.counts;
        let mut rows = vec![(&flow::FLOWS_STARTED, started as f64), (&flow::FLOWS_COMPLETED, completed as f64)];
        let rare = [(&flow::FLOWS_FAILED, failed), (&flow::FLOWS_REJECTED, rejected)];
        rows.extend(rare.into_iter().filter(|(_, count)| *count > 0).map(|(metric, count)| (metric, count as f64)));
        let [all, classes @ ..] = &self.times;
        all.rows(&ALL, &mut rows);
        for ((times, metrics), count) in classes.iter().zip([&SMALL, &MEDIUM, &LARGE]).zip([
            &flow::FLOWS_SMALL,
            &flow::FLOWS_MEDIUM,
            &flow::FLOWS_LARGE,
        ]) {
            let completed = times.sketches[0].count();
            if completed > 0 {
                rows.push((count, completed as f64));
                times.rows(metrics, &mut rows);
            }
        }
        rows
    }
}

impl Times {
    fn push(&mut self, span: Span, slowdown: Option<f64>) {
        self.means[0].push(span.as_secs_f64());
        self.sketches[0].add(span.as_ps());
        if let Some(slowdown) = slowdown {
            self.means[1].push(slowdown);
            self.sketches[1].add((slowdown * PARTS) as u64);
        }
    }

    fn merge(&mut self, other: &Times) {
        for (mean, other) in self.means.iter_mut().zip(&other.means) {
            mean.merge(other);
        }
        for (sketch, other) in self.sketches.iter_mut().zip(&other.sketches) {
            sketch.merge(other);
        }
    }

    /// Adds the mean and percentiles of the completion time and of the slowdown; none without flows.
    fn rows(&self, metrics: &[[&'static Metric; 4]; 2], rows: &mut Vec<(&'static Metric, f64)>) {
        let values: [fn(u64) -> f64; 2] = [|ps| Span::from_ps(ps).as_secs_f64(), |parts| parts as f64 / PARTS];
        for (place, [mean, percentiles @ ..]) in metrics.iter().enumerate() {
            rows.extend(self.means[place].mean().map(|value| (*mean, value)));
            for (metric, q) in percentiles.iter().zip([0.5, 0.95, 0.99]) {
                rows.extend(self.sketches[place].percentile(q).map(|value| (*metric, values[place](value))));
            }
        }
    }
}

/// The mean, the median and two percentiles of the completion time and of the slowdown.
type Metrics = [[&'static Metric; 4]; 2];

static ALL: Metrics = [
    [&flow::FCT_MEAN, &flow::FCT_P50, &flow::FCT_P95, &flow::FCT_P99],
    [&flow::SLOWDOWN_MEAN, &flow::SLOWDOWN_P50, &flow::SLOWDOWN_P95, &flow::SLOWDOWN_P99],
];
static SMALL: Metrics = [
    [&flow::FCT_SMALL_MEAN, &flow::FCT_SMALL_P50, &flow::FCT_SMALL_P95, &flow::FCT_SMALL_P99],
    [&flow::SLOWDOWN_SMALL_MEAN, &flow::SLOWDOWN_SMALL_P50, &flow::SLOWDOWN_SMALL_P95, &flow::SLOWDOWN_SMALL_P99],
];
static MEDIUM: Metrics = [
    [&flow::FCT_MEDIUM_MEAN, &flow::FCT_MEDIUM_P50, &flow::FCT_MEDIUM_P95, &flow::FCT_MEDIUM_P99],
    [&flow::SLOWDOWN_MEDIUM_MEAN, &flow::SLOWDOWN_MEDIUM_P50, &flow::SLOWDOWN_MEDIUM_P95, &flow::SLOWDOWN_MEDIUM_P99],
];
static LARGE: Metrics = [
    [&flow::FCT_LARGE_MEAN, &flow::FCT_LARGE_P50, &flow::FCT_LARGE_P95, &flow::FCT_LARGE_P99],
    [&flow::SLOWDOWN_LARGE_MEAN, &flow::SLOWDOWN_LARGE_P50, &flow::SLOWDOWN_LARGE_P95, &flow::SLOWDOWN_LARGE_P99],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// 8 Mbit/s: 1000 B in a millisecond. A segment has 960 B of payload.
    fn ideal() -> Ideal {
        let (rate, framing) = (Rate::from_bps(8_000_000), cellway_net::Framing::Packet);
        Ideal { round_trip: Span::from_ms(20), rate, framing, payload: 960, headers: 40 }
    }

    #[test]
    fn the_least_time_is_one_and_a_half_round_trips_and_the_packets_on_the_bottleneck() {
        assert_eq!(ideal().time(Bytes(960)), Span::from_ms(31));
        assert_eq!(ideal().time(Bytes(9600)), Span::from_ms(40));
        // The rest of 1 B makes a packet of 41 B.
        assert_eq!(ideal().time(Bytes(961)), Span::from_ms(31) + Span::from_us(41));
    }

    #[test]
    fn flows_of_the_warm_up_are_left_out_and_classes_are_by_size() {
        let mut flows = Flows::new(ideal());
        let completed = |bytes, since| FlowEvent::Completed { bytes: Bytes(bytes), since: at(since) };
        for (now, event) in [
            (5, FlowEvent::Arrived),
            (20, FlowEvent::Arrived),
            (30, FlowEvent::Arrived),
            (31, FlowEvent::Rejected),
            (40, completed(960, 5)),
            (82, completed(960, 20)),
            (90, FlowEvent::Failed { since: at(30) }),
            (120, FlowEvent::Arrived),
            (120 + 260, completed(96_000 + 960, 120)),
            (400, FlowEvent::Arrived),
            (400 + 160, completed(100_800, 400)),
        ] {
            flows.record(at(now), at(10), event);
        }
        let rows = flows.rows();
        let value = |name: &str| rows.iter().find(|row| row.0.name() == name).map(|row| row.1);
        assert_eq!(["flows_started", "flows_completed", "flows_failed", "flows_rejected"].map(value), {
            [Some(4.0), Some(3.0), Some(1.0), Some(1.0)]
        });
        assert_eq!(["flows_small", "flows_medium", "flows_large"].map(value), [Some(2.0), Some(1.0), None]);
        // 62 ms in place of 31 ms, 260 ms in place of 131 ms, 160 ms in place of 135 ms.
        let near = |name: &str, expected: f64| assert!((value(name).unwrap() - expected).abs() < 1e-9, "{name}");
        near("fct_mean", (0.062 + 0.26 + 0.16) / 3.0);
        near("slowdown_mean", (2.0 + 260.0 / 131.0 + 160.0 / 135.0) / 3.0);
        near("fct_medium_p99", 0.16);
        near("slowdown_small_mean", (2.0 + 260.0 / 131.0) / 2.0);
        assert!((value("slowdown_p99").unwrap() / 2.0 - 1.0).abs() < 0.004);
        let mut both = Flows::new(ideal());
        both.merge(&flows);
        both.merge(&flows);
        assert_eq!(both.rows()[1].1, 6.0);
        assert_eq!(value("fct_mean"), both.rows().iter().find(|row| row.0.name() == "fct_mean").map(|row| row.1));
    }
}
