//! What a run records: totals after the warm-up, and means over bins of time.

use std::sync::Arc;

use cellway_net::{Fabric, LossCounters, NodeId, PortCounters, PortId};
use cellway_record::Row;
use cellway_record::stats::{Moments, Sample, TimeWeighted, jain};
use cellway_units::{Cells, Rate, Span, Time};

/// An output port that is reported.
pub(crate) struct PortMeter {
    pub(crate) subject: Arc<str>,
    pub(crate) id: PortId,
    at_warmup: PortCounters,
    at_bin: PortCounters,
}

impl PortMeter {
    pub(crate) fn new(subject: String, id: PortId) -> PortMeter {
        let none = PortCounters::default();
        PortMeter { subject: subject.into(), id, at_warmup: none, at_bin: none }
    }
}

/// What TCP did for a slot, over all its connections and both ends.
#[derive(Clone, Copy, Default)]
pub(crate) struct TcpTotals {
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) collapses: u64,
}

/// Counts of a slot that only grow.
#[derive(Clone, Copy, Default)]
pub(crate) struct SlotTotals {
    /// In-order bytes handed to the responder and to the originator.
    pub(crate) delivered: [u64; 2],
    /// Cells of the packets that came to the responder.
    pub(crate) cells: u64,
    pub(crate) conversations: u64,
    pub(crate) failures: u64,
    pub(crate) items: u64,
    pub(crate) tcp: TcpTotals,
}

/// A conversation slot that is reported.
pub(crate) struct SlotMeter {
    subject: Arc<str>,
    group: usize,
    bottleneck: Rate,
    interactive: bool,
    traced: bool,
    pub(crate) now: SlotTotals,
    at_warmup: SlotTotals,
    at_bin: SlotTotals,
    at_fairness: u64,
    window: TimeWeighted,
    window_in_bin: TimeWeighted,
    full: TimeWeighted,
    delays: Sample,
    delays_in_bin: Moments,
}

/// A traffic group that is reported.
pub(crate) struct GroupMeter {
    subject: Arc<str>,
    jain: Moments,
    jain_min: f64,
}

/// Something that happens every so often, from a start on.
struct Ticker {
    every: Span,
    next: Time,
}

impl Ticker {
    /// Whether `now` is a tick; then the next one is set.
    fn due(&mut self, now: Time) -> bool {
        let due = now == self.next;
        if due {
            self.next = now + self.every;
        }
        due
    }
}

pub(crate) struct Meter {
    pub(crate) ports: Vec<PortMeter>,
    pub(crate) slots: Vec<SlotMeter>,
    groups: Vec<GroupMeter>,
    routers: Vec<NodeId>,
    lost_at_warmup: LossCounters,
    rtt: Span,
    warmup: Time,
    warming_up: bool,
    bins: Ticker,
    fairness: Ticker,
    record_series: bool,
    series: Vec<Row>,
}

/// The spans that a meter works by.
pub(crate) struct Pace {
    pub(crate) rtt: Span,
    pub(crate) warmup: Span,
    pub(crate) bin: Span,
    pub(crate) fairness: Span,
    pub(crate) series: bool,
}

impl SlotMeter {
    pub(crate) fn new(name: &str, group: usize, bottleneck: Rate, interactive: bool, traced: bool) -> SlotMeter {
        let nothing = TimeWeighted::new(Time::ZERO, 0);
        SlotMeter {
            subject: name.into(),
            group,
            bottleneck,
            interactive,
            traced,
            now: SlotTotals::default(),
            at_warmup: SlotTotals::default(),
            at_bin: SlotTotals::default(),
            at_fairness: 0,
            window: nothing,
            window_in_bin: nothing,
            full: nothing,
            delays: Sample::new(),
            delays_in_bin: Moments::default(),
        }
    }

    pub(crate) fn cells_arrived(&mut self, cells: u32) {
        self.now.cells += u64::from(cells);
    }

    /// Bytes over a span as a share of the bottleneck rate.
    fn throughput(&self, bytes: u64, span: Span) -> f64 {
        bytes as f64 * 8.0 / (self.bottleneck.as_bps() as f64 * span.as_secs_f64())
    }
}

impl Meter {
    pub(crate) fn new(
        ports: Vec<PortMeter>,
        slots: Vec<SlotMeter>,
        groups: Vec<String>,
        routers: Vec<NodeId>,
        pace: Pace,
    ) -> Meter {
        let warmup = Time::ZERO + pace.warmup;
        let groups = groups.into_iter();
        Meter {
            ports,
            slots,
            groups: groups
                .map(|g| GroupMeter { subject: g.into(), jain: Moments::default(), jain_min: f64::INFINITY })
                .collect(),
            routers,
            lost_at_warmup: LossCounters::default(),
            rtt: pace.rtt,
            warmup,
            warming_up: true,
            bins: Ticker { every: pace.bin, next: Time::ZERO + pace.bin },
            fairness: Ticker { every: pace.fairness, next: warmup + pace.fairness },
            record_series: pace.series,
            series: Vec::new(),
        }
    }

    /// The next instant at which [`Meter::tick`] must be called, before anything else happens.
    pub(crate) fn next(&self) -> Time {
        let next = self.bins.next.min(self.fairness.next);
        if self.warming_up { next.min(self.warmup) } else { next }
    }

    pub(crate) fn tick<B: Clone>(&mut self, now: Time, fabric: &mut Fabric<B>) {
        if self.bins.due(now) {
            self.end_bin(now, fabric);
        }
        if self.fairness.due(now) {
            self.judge_fairness();
        }
        if self.warming_up && now == self.warmup {
            self.warming_up = false;
            self.end_warmup(now, fabric);
        }
    }

    /// The send window of a slot's newest connection, and whether it is as large as the receiver allows.
    pub(crate) fn window(&mut self, now: Time, slot: usize, window: u64, full: bool) {
        let meter = &mut self.slots[slot];
        if meter.window.value() == window {
            meter.full.set(now, u64::from(full));
            return;
        }
        meter.window.set(now, window);
        meter.window_in_bin.set(now, window);
        meter.full.set(now, u64::from(full));
        if meter.traced {
            let (subject, t) = (meter.subject.clone(), Some(now.as_secs_f64()));
            self.series.push(Row { subject, metric: "window", unit: "B", t, value: window as f64 });
        }
    }

    /// An application has observed a delay.
    pub(crate) fn delay(&mut self, now: Time, slot: usize, delay: Span) {
        let meter = &mut self.slots[slot];
        meter.delays_in_bin.push(delay.as_secs_f64());
        if now >= self.warmup {
            meter.delays.push(delay.as_secs_f64());
        }
    }

    fn end_warmup<B: Clone>(&mut self, now: Time, fabric: &mut Fabric<B>) {
        fabric.forget_peaks();
        for port in &mut self.ports {
            port.at_warmup = fabric.port_counters(port.id, now);
        }
        for slot in &mut self.slots {
            slot.at_warmup = slot.now;
            slot.at_fairness = slot.now.delivered[0];
            slot.window.restart(now);
            slot.full.restart(now);
        }
        self.lost_at_warmup = self.lost(fabric);
    }

    fn lost<B: Clone>(&self, fabric: &Fabric<B>) -> LossCounters {
        let mut sum = LossCounters::default();
        for &router in &self.routers {
            let LossCounters { length, crc, too_long } = fabric.losses(router);
            sum = LossCounters { length: sum.length + length, crc: sum.crc + crc, too_long: sum.too_long + too_long };
        }
        sum
    }

    fn end_bin<B: Clone>(&mut self, now: Time, fabric: &Fabric<B>) {
        let t = Some(now.as_secs_f64());
        let every = self.bins.every;
        let rows = &mut self.series;
        let mut put = |subject: &Arc<str>, metric, unit, value| {
            if self.record_series {
                rows.push(Row { subject: subject.clone(), metric, unit, t, value });
            }
        };
        for port in &mut self.ports {
            let counters = fabric.port_counters(port.id, now);
            put(&port.subject, "utilisation", "1", ratio(counters.busy - port.at_bin.busy, every));
            put(&port.subject, "queue_mean", "cell", mean_queue(&counters, &port.at_bin, every));
            port.at_bin = counters;
        }
        for slot in &mut self.slots {
            let bytes = slot.now.delivered[0] - slot.at_bin.delivered[0];
            put(&slot.subject, "throughput", "1", slot.throughput(bytes, every));
            if let Some(window) = slot.window_in_bin.take_mean(now) {
                put(&slot.subject, "window_mean", "B", window);
            }
            if let Some(delay) = slot.delays_in_bin.mean() {
                put(&slot.subject, "delay_mean", "s", delay);
            }
            slot.delays_in_bin = Moments::default();
            slot.at_bin = slot.now;
        }
    }

    /// Jain's index of each group's deliveries in the window that ends.
    fn judge_fairness(&mut self) {
        for (index, group) in self.groups.iter_mut().enumerate() {
            let mut shares = Vec::new();
            for slot in self.slots.iter_mut().filter(|s| s.group == index) {
                shares.push((slot.now.delivered[0] - slot.at_fairness) as f64);
                slot.at_fairness = slot.now.delivered[0];
            }
            if shares.len() >= 2
                && let Some(index) = jain(&shares)
            {
                group.jain.push(index);
                group.jain_min = group.jain_min.min(index);
            }
        }
    }

    /// The rows of the whole run, at its end; and those over time.
    pub(crate) fn finish<B: Clone>(mut self, now: Time, fabric: &Fabric<B>) -> (Vec<Row>, Vec<Row>) {
        let span = now.since(self.warmup);
        let mut rows = Vec::new();
        let mut put = |subject: &Arc<str>, metric, unit, value: f64| {
            rows.push(Row { subject: subject.clone(), metric, unit, t: None, value });
        };
        for port in &self.ports {
            let counters = fabric.port_counters(port.id, now);
            let before = &port.at_warmup;
            put(&port.subject, "utilisation", "1", ratio(counters.busy - before.busy, span));
            put(&port.subject, "queue_mean", "cell", mean_queue(&counters, before, span));
            put(&port.subject, "queue_max", "cell", f64::from(counters.queue_peak));
            put(&port.subject, "cells", "cell", (counters.cells - before.cells) as f64);
            let frames = counters.dropped_frames - before.dropped_frames;
            put(&port.subject, "dropped_frames", "frame", frames as f64);
            put(&port.subject, "dropped_cells", "cell", (counters.dropped_cells - before.dropped_cells) as f64);
        }
        let rtt = self.rtt.as_secs_f64();
        let put_delays = |put: &mut dyn FnMut(&Arc<str>, &'static str, &'static str, f64), subject: &Arc<str>, delays: &mut Sample| {
            let mut moments = Moments::default();
            delays.values().iter().for_each(|&d| moments.push(d));
            if let (Some(mean), Some(sd)) = (moments.mean(), moments.sd()) {
                put(subject, "delay_mean", "s", mean);
                put(subject, "delay_sd", "s", sd);
                put(subject, "delay_mean_rtt", "rtt", mean / rtt);
                put(subject, "delay_sd_rtt", "rtt", sd / rtt);
            }
            if let Some(p95) = delays.percentile(0.95) {
                put(subject, "delay_p95", "s", p95);
            }
        };
        for slot in &mut self.slots {
            let s = slot.subject.clone();
            let since = |count: fn(&SlotTotals) -> u64| (count(&slot.now) - count(&slot.at_warmup)) as f64;
            let sent = slot.now.delivered[0] - slot.at_warmup.delivered[0];
            let both = since(|t| t.delivered[0] + t.delivered[1]);
            put(&s, "goodput", "bit/s", both * 8.0 / span.as_secs_f64());
            put(&s, "throughput", "1", slot.throughput(sent, span));
            let on_line = Cells(slot.now.cells - slot.at_warmup.cells).bits().0 as f64;
            put(&s, "line_share", "1", on_line / (slot.bottleneck.as_bps() as f64 * span.as_secs_f64()));
            put(&s, "retransmissions", "segment", since(|t| t.tcp.retransmissions));
            put(&s, "timeouts", "1", since(|t| t.tcp.timeouts));
            put(&s, "fast_retransmits", "1", since(|t| t.tcp.fast_retransmits));
            put(&s, "collapses", "1", since(|t| t.tcp.collapses));
            put(&s, "conversations", "1", since(|t| t.conversations));
            put(&s, "failures", "1", since(|t| t.failures));
            put(&s, "items", "1", since(|t| t.items));
            if let (Some(window), Some(full)) = (slot.window.mean(now), slot.full.mean(now)) {
                put(&s, "window_mean", "B", window);
                put(&s, "window_at_max", "1", full);
            }
            if slot.interactive {
                put_delays(&mut put, &s, &mut slot.delays);
            }
        }
        for (index, group) in self.groups.iter().enumerate() {
            let members: Vec<&SlotMeter> = self.slots.iter().filter(|s| s.group == index).collect();
            if members.is_empty() {
                continue;
            }
            let mean = |value: &dyn Fn(&SlotMeter) -> f64| members.iter().map(|s| value(s)).sum::<f64>() / members.len() as f64;
            let s = &group.subject;
            put(s, "throughput_mean", "1", mean(&|s| s.throughput(s.now.delivered[0] - s.at_warmup.delivered[0], span)));
            let line = |s: &SlotMeter| Cells(s.now.cells - s.at_warmup.cells).bits().0 as f64;
            put(s, "line_share_mean", "1", mean(&|s| line(s) / (s.bottleneck.as_bps() as f64 * span.as_secs_f64())));
            put(s, "collapses_mean", "1", mean(&|s| (s.now.tcp.collapses - s.at_warmup.tcp.collapses) as f64));
            put(s, "timeouts_mean", "1", mean(&|s| (s.now.tcp.timeouts - s.at_warmup.tcp.timeouts) as f64));
            put(s, "window_at_max_mean", "1", mean(&|s| s.full.mean(now).unwrap_or(0.0)));
            if let Some(mean) = group.jain.mean() {
                put(s, "jain", "1", mean);
                put(s, "jain_min", "1", group.jain_min);
            }
            if members.iter().all(|m| m.interactive) {
                let mut all = Sample::new();
                members.iter().for_each(|m| all.extend(&m.delays));
                put_delays(&mut put, s, &mut all);
            }
        }
        let network: Arc<str> = "network".into();
        let lost = self.lost(fabric);
        put(&network, "lost_frames_length", "frame", (lost.length - self.lost_at_warmup.length) as f64);
        put(&network, "lost_frames_crc", "frame", (lost.crc - self.lost_at_warmup.crc) as f64);
        put(&network, "lost_frames_too_long", "frame", (lost.too_long - self.lost_at_warmup.too_long) as f64);
        let dropped: u64 = self.ports.iter().map(|p| fabric.port_counters(p.id, now).dropped_frames - p.at_warmup.dropped_frames).sum();
        put(&network, "lost_frames", "frame", (lost.total() - self.lost_at_warmup.total() + dropped) as f64);
        (rows, std::mem::take(&mut self.series))
    }
}

fn ratio(part: Span, whole: Span) -> f64 {
    part.as_ps() as f64 / whole.as_ps() as f64
}

/// Mean number of units waiting between two readings of a port.
fn mean_queue(now: &PortCounters, before: &PortCounters, span: Span) -> f64 {
    (now.queue_area - before.queue_area) as f64 / span.as_ps() as f64
}

