//! The records of a run: totals after the warm-up, and means over bins of time.

mod answers;
mod bins;
mod changes;
mod datagrams;
mod flows;
mod frames;
mod observed;
mod seen;
mod slot;
mod summary;
mod trace;

use std::ops::Range;
use std::sync::Arc;

use cellway_apps::Side;
use cellway_net::{Encapsulation, Fabric, Framing, LossCounters, NodeId, PortCounters, PortId};
use cellway_record::metric::QueueUnit;
use cellway_record::stats::{Moments, jain};
use cellway_record::{Rows, Source};
use cellway_scenario::Traffic;
use cellway_units::{Bytes, Span, Time};

pub(crate) use changes::Changes;
pub(crate) use observed::Observed;
pub use observed::TcpSample;
pub use slot::TcpTotals;
pub(crate) use slot::{Records, SlotMeter, SlotSeries, SlotTotals};
pub(crate) use trace::Trace;

/// An output port that is reported.
#[derive(Debug)]
pub(crate) struct PortMeter {
    pub(crate) subject: Arc<str>,
    pub(crate) id: PortId,
    /// The unit of its queue.
    unit: QueueUnit,
    at_warmup: PortCounters,
    at_bin: PortCounters,
}

impl PortMeter {
    pub(crate) fn new(subject: String, id: PortId, unit: QueueUnit) -> PortMeter {
        let none = PortCounters::default();
        PortMeter { subject: subject.into(), id, unit, at_warmup: none, at_bin: none }
    }
}

/// A port whose queue is recorded at each change.
#[derive(Debug)]
pub(crate) struct QueueWatch {
    subject: Arc<str>,
    port: PortId,
    unit: QueueUnit,
    changes: Changes,
}

impl QueueWatch {
    pub(crate) fn new(subject: String, port: PortId, unit: QueueUnit, most: usize) -> QueueWatch {
        QueueWatch { subject: subject.into(), port, unit, changes: Changes::new(most) }
    }
}

/// An output port that the tables name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeteredPort {
    /// "r1>s1".
    pub subject: Arc<str>,
    /// The port.
    pub port: PortId,
    /// The unit of its queue.
    pub unit: QueueUnit,
}

/// A traffic group that is reported.
#[derive(Debug)]
pub(crate) struct GroupMeter {
    subject: Arc<str>,
    /// The range of its slots.
    slots: Range<usize>,
    fairness: Fairness,
}

/// Jain's index of the bytes delivered to the responders of some slots, window by window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fairness {
    windows: Moments,
    least: Option<f64>,
}

impl Fairness {
    /// Takes the shares of a window that ends. Those of a single slot have no index.
    fn judge(&mut self, shares: &[f64]) {
        if shares.len() >= 2
            && let Some(index) = jain(shares)
        {
            self.windows.push(index);
            self.least = Some(self.least.map_or(index, |least| least.min(index)));
        }
    }

    /// Returns the mean over the windows.
    fn mean(&self) -> Option<f64> {
        self.windows.mean()
    }

    /// Returns the least of the windows.
    fn least(&self) -> Option<f64> {
        self.least
    }
}

/// A periodic instant, from a start on.
#[derive(Debug)]
struct Ticker {
    every: Span,
    next: Time,
}

impl Ticker {
    /// Returns true if `now` is a tick; then sets the next one.
    fn due(&mut self, now: Time) -> bool {
        let due = now == self.next;
        if due {
            self.next = now + self.every;
        }
        due
    }
}

/// Records the metrics of a network, and the reports of its driver.
///
/// A driver calls [`Meter::tick`] at each instant of [`Meter::next`], before any other event of that instant in the
/// network, [`Meter::queues`] after each instant, and `finish` once at the end. Slots are identified by their
/// index in [`crate::Testbed::slots`].
#[derive(Debug)]
pub struct Meter {
    ports: Vec<PortMeter>,
    pub(crate) slots: Vec<SlotMeter>,
    groups: Vec<GroupMeter>,
    routers: Vec<NodeId>,
    lost_at_warmup: LossCounters,
    dropped_at_warmup: u64,
    rtt: Span,
    warmup: Time,
    warming_up: bool,
    /// Datagrams that are sent before this instant arrive before the end of the run, or are lost.
    settled: Time,
    bins: Ticker,
    fairness: Ticker,
    record_series: bool,
    /// True if any link carries cells.
    has_cells: bool,
    queue_watches: Vec<QueueWatch>,
    /// The place of each port's watch, by the port's number.
    watch_of: Vec<Option<usize>>,
    series: Rows,
    /// The flows and sets that the scenario names.
    observed: Option<Box<Observed>>,
}

/// The source of a meter's values, and the spans that it works by.
pub(crate) struct Pace {
    /// The driver of the run. Metrics that it cannot observe have no rows.
    pub(crate) source: Source,
    pub(crate) rtt: Span,
    pub(crate) warmup: Span,
    pub(crate) bin: Span,
    pub(crate) fairness: Span,
    pub(crate) series: bool,
    /// True if any link carries cells.
    pub(crate) has_cells: bool,
    pub(crate) observed: Option<Box<Observed>>,
}

impl Meter {
    pub(crate) fn new(
        ports: Vec<PortMeter>,
        slots: Vec<SlotMeter>,
        groups: &[Traffic],
        routers: Vec<NodeId>,
        queue_watches: Vec<QueueWatch>,
        pace: Pace,
    ) -> Meter {
        let mut watch_of = Vec::new();
        for (place, watch) in queue_watches.iter().enumerate() {
            let port = watch.port.0 as usize;
            watch_of.resize(watch_of.len().max(port + 1), None);
            watch_of[port] = Some(place);
        }
        let warmup = Time::ZERO + pace.warmup;
        let mut planned = 0;
        let group = |traffic: &Traffic| {
            let first = planned;
            planned += traffic.count as usize;
            let subject = traffic.name.as_str().into();
            GroupMeter { subject, slots: first..planned, fairness: Fairness::default() }
        };
        Meter {
            ports,
            slots,
            groups: groups.iter().map(group).collect(),
            routers,
            lost_at_warmup: LossCounters::default(),
            dropped_at_warmup: 0,
            rtt: pace.rtt,
            warmup,
            warming_up: true,
            settled: Time::MAX,
            bins: Ticker { every: pace.bin, next: Time::ZERO + pace.bin },
            fairness: Ticker { every: pace.fairness, next: warmup + pace.fairness },
            record_series: pace.series,
            has_cells: pace.has_cells,
            queue_watches,
            watch_of,
            series: Rows::new(pace.source),
            observed: pace.observed,
        }
    }

    /// Returns the next instant at which [`Meter::tick`] must be called, before any other event.
    #[inline]
    pub fn next(&self) -> Time {
        let next = self.bins.next.min(self.fairness.next);
        if self.warming_up { next.min(self.warmup) } else { next }
    }

    /// Processes the instant `now` of [`Meter::next`]: the bins and windows that end at it, and the warm-up if it ends.
    pub fn tick<B: Clone>(&mut self, now: Time, fabric: &mut Fabric<B>) {
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

    /// Records the send window of a slot's newest connection; `full` is true if it is as large as the receiver allows.
    #[inline]
    pub fn window(&mut self, now: Time, slot: usize, window: u64, full: bool) {
        let (meter, full) = (&mut self.slots[slot], u64::from(full));
        if meter.full.value() != full {
            meter.full.set(now, full);
        }
        if meter.window.value() != window {
            meter.change_window(now, window);
        }
    }

    /// Records in-order bytes delivered to the reading side of a slot.
    pub fn delivered(&mut self, slot: usize, reader: Side, bytes: u64) {
        let direction = match reader {
            Side::Responder => 0,
            Side::Originator => 1,
        };
        let slot = &mut self.slots[slot];
        slot.totals.delivered[direction] += bytes;
        if let Some(series) = &mut slot.series {
            series.delivered[direction] += bytes;
        }
    }

    /// Counts a packet of `octets` that the responder of a slot received; over ATM it has this encapsulation.
    #[inline]
    pub fn arrived(&mut self, slot: usize, octets: u32, encapsulation: Encapsulation) {
        let slot = &mut self.slots[slot];
        slot.totals.line_bits += match slot.framing {
            Framing::Atm => encapsulation.cells(Bytes(octets.into())).bits().0,
            framing => framing.bits(octets).0,
        };
    }

    /// Adds the TCP counters of a slot since the last call.
    pub fn tcp(&mut self, slot: usize, news: TcpTotals) {
        let totals = self.slots[slot].totals.tcp.get_or_insert_default();
        totals.retransmissions += news.retransmissions;
        totals.timeouts += news.timeouts;
        totals.fast_retransmits += news.fast_retransmits;
        totals.collapses += news.collapses;
        totals.spurious += news.spurious;
        totals.undone += news.undone;
    }

    /// Adds the packets that stacks of others have sent again since the last call. Slots whose stacks count none have no
    /// such metric.
    pub fn retransmitted(&mut self, slot: usize, packets: u64) {
        let slot = &mut self.slots[slot];
        slot.totals.tcp.get_or_insert_default().retransmissions += packets;
        if let Some(datagrams) = slot.datagrams_mut() {
            datagrams.count_retransmissions();
        }
    }

    /// Records the end of a conversation of a slot.
    pub fn conversation(&mut self, slot: usize, failed: bool) {
        let totals = &mut self.slots[slot].totals;
        totals.conversations += 1;
        totals.failures += u64::from(failed);
    }

    /// Returns the output ports that have rows in the tables.
    pub fn ports(&self) -> impl Iterator<Item = MeteredPort> + '_ {
        let told = |port: &PortMeter| MeteredPort { subject: port.subject.clone(), port: port.id, unit: port.unit };
        self.ports.iter().map(told)
    }

    /// Records a delay that an application has observed.
    pub fn delay(&mut self, now: Time, slot: usize, delay: Span) {
        let meter = &mut self.slots[slot];
        let samples = meter.samples_mut();
        samples.delays_in_bin.push(delay.as_secs_f64());
        if now >= self.warmup {
            samples.delays.push(delay.as_secs_f64());
        }
    }

    /// Records the lengths of the watched queues since the last call.
    #[inline]
    pub fn queues<B: Clone>(&mut self, fabric: &mut Fabric<B>) {
        if !self.queue_watches.is_empty() {
            self.record_queues(fabric);
        }
    }

    #[inline(never)]
    fn record_queues<B: Clone>(&mut self, fabric: &mut Fabric<B>) {
        for (at, id, length) in fabric.watched() {
            let place = self.watch_of[id.0 as usize].expect("only such ports are watched");
            self.queue_watches[place].changes.push(at, f64::from(length));
        }
    }

    /// Records an item that has arrived completely.
    pub fn item(&mut self, now: Time, slot: usize, bytes: Bytes, span: Span) {
        let meter = &mut self.slots[slot];
        meter.totals.items += 1;
        // An item that began before the end of the warm-up is not counted.
        if now.since(self.warmup) >= span && !span.is_zero() && now >= self.warmup {
            let samples = meter.samples_mut();
            samples.item_times.push(span.as_secs_f64());
            samples.item_rates.push(bytes.bits().0 as f64 / span.as_secs_f64());
        }
        if let Some(series) = &mut meter.series {
            series.items.push(now, span.as_secs_f64());
        }
    }

    fn end_warmup<B: Clone>(&mut self, now: Time, fabric: &mut Fabric<B>) {
        fabric.forget_peaks();
        for port in &mut self.ports {
            port.at_warmup = fabric.port_counters(port.id, now);
        }
        self.slots.iter_mut().for_each(|slot| slot.end_warmup(now));
        if let Some(observed) = &mut self.observed {
            observed.end_warmup(fabric);
        }
        self.lost_at_warmup = self.lost(fabric);
        self.dropped_at_warmup = fabric.dropped_frames();
    }

    fn lost<B: Clone>(&self, fabric: &Fabric<B>) -> LossCounters {
        let mut sum = LossCounters::default();
        for &router in &self.routers {
            let LossCounters { length, crc, too_long } = fabric.losses(router);
            sum = LossCounters { length: sum.length + length, crc: sum.crc + crc, too_long: sum.too_long + too_long };
        }
        sum
    }
}

fn ratio(part: Span, whole: Span) -> f64 {
    part.as_ps() as f64 / whole.as_ps() as f64
}

/// Returns the mean number of units waiting between two readings of a port.
fn mean_queue(now: &PortCounters, before: &PortCounters, span: Span) -> f64 {
    (now.queue_area - before.queue_area) as f64 / span.as_ps() as f64
}
