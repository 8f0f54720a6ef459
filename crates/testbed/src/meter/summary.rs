//! The figures of a whole run, from its totals after the warm-up.

use std::sync::Arc;

use cellway_net::{Fabric, Framing};
use cellway_record::metric::{Metric, datagram, group, model, network, observed, port as ports, slot as slots};
use cellway_record::stats::{Moments, Sample};
use cellway_record::{Quantity, Rows};
use cellway_units::{Span, Time};

use super::answers::{TimeMetrics, Times};
use super::datagrams::Fates;
use super::frames::Frames;
use super::trace::{Trace, TracedVariable};
use super::{Changes, GroupMeter, Meter, PortMeter, QueueWatch, SlotMeter, SlotTotals, TcpTotals, mean_queue, ratio};

/// The rows of a summary as they are made.
struct Summary {
    rows: Rows,
    now: Time,
    /// From the warm-up to now.
    span: Span,
    rtt: Span,
}

impl Meter {
    /// Returns the rows over time up to now.
    pub fn so_far(&self) -> Rows {
        let mut rows = self.series.clone();
        for QueueWatch { subject, unit, changes, .. } in &self.queue_watches {
            Summary::changes(&mut rows, subject, ports::QUEUE.counted_in(*unit), changes.clone());
        }
        for SlotMeter { subject, trace, series, .. } in &self.slots {
            if let Some(Trace { window, variables, .. }) = trace.as_deref() {
                Summary::changes(&mut rows, subject, (&slots::WINDOW).into(), window.clone());
                for TracedVariable { metric, changes, .. } in variables {
                    Summary::changes(&mut rows, subject, (*metric).into(), changes.clone());
                }
            }
            if let Some(of) = series {
                Summary::changes(&mut rows, subject, (&slots::ITEM_TIME).into(), of.items.clone());
            }
        }
        rows
    }

    /// Returns the rows of the whole run, at its end, and those over time. `inside` is the number of packets of each
    /// slot inside the network.
    pub(crate) fn finish<B: Clone>(mut self, now: Time, fabric: Fabric<B>, inside: &[u64]) -> (Rows, Rows) {
        let summary =
            || Summary { rows: Rows::new(self.series.source()), now, span: now.since(self.warmup), rtt: self.rtt };
        let [mut summary, mut network] = [summary(), summary()];
        self.ports.iter().for_each(|port| summary.port(port, &fabric));
        network.network(&self, &fabric);
        let observed = self.observed.take();
        let mean_srtts: Vec<_> = observed.iter().flat_map(|observed| observed.mean_srtts()).collect();
        let sets = observed.map(|observed| observed.finish(&fabric)).unwrap_or_default();
        // The rows of many slots take as much memory as their network, of which nothing more is read.
        drop(fabric);
        self.slots.iter().zip(inside).for_each(|(slot, inside)| summary.slot(slot, *inside));
        for group in &self.groups {
            let members = &self.slots[group.slots.clone()];
            if !members.is_empty() {
                summary.group(group, members, &inside[group.slots.clone()]);
            }
        }
        for (slot, mean) in mean_srtts {
            summary.put(&self.slots[slot].subject, &observed::SRTT_MEAN, mean);
        }
        for (subject, slots, rows) in sets {
            let goodput = slots.iter().map(|&slot| self.slots[slot].goodput(summary.span)).sum();
            summary.put(&subject, &group::GOODPUT_TOTAL, goodput);
            rows.into_iter().for_each(|(metric, value)| summary.put(&subject, metric, value));
        }
        summary.rows.append(network.rows);
        let Meter { series: mut rows, queue_watches, slots, .. } = self;
        for QueueWatch { subject, unit, changes, .. } in queue_watches {
            summary.record(&mut rows, &subject, ports::QUEUE.counted_in(unit), &ports::QUEUE_INTERVAL, changes);
        }
        for SlotMeter { subject, trace, series, .. } in slots {
            let mut longest = None;
            if let Some(trace) = trace {
                let Trace { window, variables, .. } = *trace;
                summary.record(&mut rows, &subject, (&slots::WINDOW).into(), &slots::WINDOW_INTERVAL, window);
                for TracedVariable { metric, changes, .. } in variables {
                    longest = longest.max(Summary::changes(&mut rows, &subject, metric.into(), changes));
                }
            }
            if let Some(of) = series {
                let (metric, interval) = ((&slots::ITEM_TIME).into(), &slots::ITEM_TIME_INTERVAL);
                summary.record(&mut rows, &subject, metric, interval, of.items);
            }
            if let Some(longest) = longest {
                summary.put(&subject, &model::MODEL_INTERVAL, longest.as_secs_f64());
            }
        }
        (summary.rows, rows)
    }
}

impl Summary {
    fn put(&mut self, subject: &Arc<str>, metric: impl Into<Quantity>, value: f64) {
        self.rows.put(subject, metric, value);
    }

    /// Adds the recorded changes of a quantity to `series`, and, if changes were left out, the length of the intervals.
    fn record(
        &mut self,
        series: &mut Rows,
        subject: &Arc<str>,
        metric: Quantity,
        interval: &'static Metric,
        changes: Changes,
    ) {
        if let Some(length) = Summary::changes(series, subject, metric, changes) {
            self.put(subject, interval, length.as_secs_f64());
        }
    }

    /// Adds the recorded changes of a quantity to `series`; returns the length of the intervals if changes were left out.
    fn changes(series: &mut Rows, subject: &Arc<str>, metric: Quantity, changes: Changes) -> Option<Span> {
        let kept = changes.finish();
        series.reserve(kept.changes.len());
        for (at, value) in kept.changes {
            series.put_at(subject, metric, at.as_secs_f64(), value);
        }
        kept.interval
    }

    fn port<B: Clone>(&mut self, port: &PortMeter, fabric: &Fabric<B>) {
        let (counters, before, s) = (fabric.port_counters(port.id, self.now), &port.at_warmup, &port.subject);
        self.put(s, &ports::UTILISATION, ratio(counters.busy - before.busy, self.span));
        self.put(s, ports::QUEUE_MEAN.counted_in(port.unit), mean_queue(&counters, before, self.span));
        self.put(s, ports::QUEUE_MAX.counted_in(port.unit), f64::from(counters.queue_peak));
        let dropped = counters.dropped_frames - before.dropped_frames;
        if fabric.framing(port.id) == Framing::Atm {
            self.put(s, &ports::CELLS, (counters.cells - before.cells) as f64);
            self.put(s, &ports::DROPPED_FRAMES, dropped as f64);
            self.put(s, &ports::DROPPED_CELLS, (counters.dropped_cells - before.dropped_cells) as f64);
        } else {
            let sent = counters.packets - before.packets;
            self.put(s, &ports::PACKETS, sent as f64);
            self.put(s, &ports::DROPPED_PACKETS, dropped as f64);
            let taken = counters.taken - before.taken;
            if let Some(waits) = fabric.waits(port.id).filter(|_| taken > 0) {
                let mean = (counters.sojourn - before.sojourn) as f64 / 1e12 / taken as f64;
                self.put(s, &ports::SOJOURN_MEAN, mean);
                for (metric, q) in
                    [(&ports::SOJOURN_P50, 0.5), (&ports::SOJOURN_P95, 0.95), (&ports::SOJOURN_P99, 0.99)]
                {
                    let wait = waits.percentile(q, taken).unwrap_or_default();
                    self.put(s, metric, wait.as_secs_f64());
                }
                self.put(s, &ports::SOJOURN_MAX, waits.max().as_secs_f64());
            }
            // Packets that still wait are neither sent nor dropped, and are not counted.
            if sent + dropped > 0 {
                let gone = dropped + counters.lost - before.lost;
                self.put(s, &ports::LOSS_RATIO, gone as f64 / (sent + dropped) as f64);
            }
        }
        self.put(s, ports::QUEUE_MIN.counted_in(port.unit), f64::from(counters.queue_min));
        // Only for networks that have such a function, so that plain networks keep short tables.
        let rare: [(Quantity, u64, u64); 11] = [
            ((&ports::POLICED_DISCARDED).into(), counters.policed_discarded, before.policed_discarded),
            ((&ports::POLICED_TAGGED).into(), counters.policed_tagged, before.policed_tagged),
            ((&ports::CLP_DISCARDED).into(), counters.clp_discarded, before.clp_discarded),
            ((&ports::EPD_FRAMES).into(), counters.epd_frames, before.epd_frames),
            ((&ports::EARLY_DROPS).into(), counters.early_drops, before.early_drops),
            ((&ports::MARKED).into(), counters.marked, before.marked),
            ((&ports::RM_CELLS).into(), counters.rm_cells, before.rm_cells),
            ((&ports::FLUSHED).into(), counters.flushed, before.flushed),
            ((&ports::DUPLICATED).into(), counters.duplicated, before.duplicated),
            ((&ports::CORRUPTED).into(), counters.corrupted, before.corrupted),
            (ports::LOST.counted_in(port.unit), counters.lost, before.lost),
        ];
        for (metric, now, before) in rare.into_iter().filter(|&(_, now, _)| now > 0) {
            self.put(s, metric, (now - before) as f64);
        }
    }

    fn slot(&mut self, slot: &SlotMeter, inside: u64) {
        let s = &slot.subject;
        self.put(s, &slots::GOODPUT, slot.goodput(self.span));
        self.put(s, &slots::THROUGHPUT, slot.throughput_since_warmup(self.span));
        self.put(s, &slots::LINE_SHARE, slot.line_share(self.span));
        match slot.datagrams() {
            Some(datagrams) => {
                let delays = (datagrams.times(), datagrams.delays());
                self.datagrams(s, datagrams.fates(inside), delays, datagrams.jitters());
                self.frames(s, datagrams.frames(self.now));
                if datagrams.has_retransmissions() {
                    self.put(s, &slots::RETRANSMISSIONS, slot.tcp_since_warmup(|tcp| tcp.retransmissions));
                }
            }
            None if slot.directions().is_empty() => self.conversations(s, slot),
            None => {
                self.datagrams_of(s, std::slice::from_ref(slot), &[inside]);
            }
        }
        let flows = slot.flows().map(|flows| flows.rows());
        let answers = slot.answers().map(|answers| answers.rows(self.span));
        for (metric, value) in flows.into_iter().chain(answers).flatten() {
            self.put(s, metric, value);
        }
        if let Some(abr) = &slot.abr
            && let Some(acr) = abr.acr.mean()
        {
            self.put(s, &slots::ACR_MEAN, acr);
            self.put(s, &slots::ACR_MIN, abr.acr_min);
        }
        if slot.directions().is_empty()
            && let (Some(window), Some(full)) = (slot.window.mean(self.now), slot.full.mean(self.now))
        {
            self.put(s, &slots::WINDOW_MEAN, window);
            self.put(s, &slots::WINDOW_AT_MAX, full);
        }
        if slot.interactive {
            self.delays(s, slot.samples.as_ref().map(|samples| samples.delays.clone()).unwrap_or_default());
        }
    }

    fn conversations(&mut self, s: &Arc<str>, slot: &SlotMeter) {
        self.put(s, &slots::RETRANSMISSIONS, slot.tcp_since_warmup(|tcp| tcp.retransmissions));
        self.put(s, &slots::TIMEOUTS, slot.tcp_since_warmup(|tcp| tcp.timeouts));
        self.put(s, &slots::FAST_RETRANSMITS, slot.tcp_since_warmup(|tcp| tcp.fast_retransmits));
        self.put(s, &slots::COLLAPSES, slot.tcp_since_warmup(|tcp| tcp.collapses));
        self.put(s, &slots::SPURIOUS_RETRANSMISSIONS, slot.tcp_since_warmup(|tcp| tcp.spurious));
        self.put(s, &slots::UNDONE_RECOVERIES, slot.tcp_since_warmup(|tcp| tcp.undone));
        self.put(s, &slots::CONVERSATIONS, slot.since_warmup(|t| t.conversations));
        self.put(s, &slots::FAILURES, slot.since_warmup(|t| t.failures));
        self.put(s, &slots::ITEMS, slot.since_warmup(|t| t.items));
        self.items(s, slot);
    }

    /// Adds the rows of the datagrams of a slot or group; `jitters` are the mean and the greatest estimate (s).
    fn datagrams(
        &mut self,
        s: &Arc<str>,
        fates: Fates,
        (metrics, delays): (&TimeMetrics, &Times),
        jitters: Option<[f64; 2]>,
    ) {
        self.put(s, &datagram::PACKETS_SENT, fates.sent as f64);
        self.put(s, &datagram::PACKETS_RECEIVED, fates.received as f64);
        self.put(s, &datagram::PACKETS_LOST, fates.lost as f64);
        if let Some(ratio) = fates.loss_ratio() {
            self.put(s, &datagram::LOSS_RATIO, ratio);
        }
        if fates.reordered > 0 {
            self.put(s, &datagram::PACKETS_REORDERED, fates.reordered as f64);
        }
        if fates.duplicated > 0 {
            self.put(s, &datagram::PACKETS_DUPLICATED, fates.duplicated as f64);
        }
        if fates.marked > 0 {
            self.put(s, &datagram::PACKETS_MARKED, fates.marked as f64);
        }
        for (metric, value) in delays.rows(metrics) {
            self.put(s, metric, value);
        }
        if let Some([mean, max]) = jitters {
            self.put(s, &datagram::JITTER_MEAN, mean);
            self.put(s, &datagram::JITTER_MAX, max);
        }
    }

    /// Adds the rows of the frames of a slot or group, if it sends a video.
    fn frames(&mut self, s: &Arc<str>, frames: Option<Frames>) {
        let rows = frames.iter().flat_map(Frames::rows);
        rows.for_each(|(metric, value)| self.put(s, metric, value));
    }

    /// Adds the rows of the datagrams of all slots of a group, if they send any.
    fn datagrams_of(&mut self, s: &Arc<str>, members: &[SlotMeter], inside: &[u64]) -> bool {
        let Some(metrics) = members.iter().find_map(|slot| Some(slot.directions().first()?.times())) else {
            return false;
        };
        let (mut fates, mut delays) = (Fates::default(), Times::default());
        let (mut means, mut most) = (Moments::new(), 0.0f64);
        let slots = members.iter().zip(inside);
        let slots = slots.flat_map(|(slot, inside)| slot.directions().iter().map(|one| (one, *inside)));
        for (datagrams, inside) in slots {
            fates = fates.plus(datagrams.fates(inside));
            delays.merge(datagrams.delays());
            if let Some([mean, max]) = datagrams.jitters() {
                means.push(mean);
                most = most.max(max);
            }
        }
        let frames = members.iter().filter_map(|slot| slot.datagrams()?.frames(self.now));
        self.frames(
            s,
            frames.reduce(|mut all, more| {
                all.merge(&more);
                all
            }),
        );
        self.datagrams(s, fates, (metrics, &delays), means.mean().map(|mean| [mean, most]));
        true
    }

    /// Adds the times of the items that were requested and delivered after the warm-up.
    fn items(&mut self, s: &Arc<str>, slot: &SlotMeter) {
        let Some(samples) = &slot.samples else { return };
        let times = samples.item_times.values();
        let (Some(rate), Some(first)) = (samples.item_rates.mean(), times.first().copied()) else { return };
        let mut moments = Moments::new();
        times.iter().for_each(|&time| moments.push(time));
        self.put(s, &slots::ITEM_TIME_FIRST, first);
        self.put(s, &slots::ITEM_TIME_MEAN, moments.mean().unwrap_or(first));
        self.put(s, &slots::ITEM_TIME_MAX, times.iter().copied().fold(first, f64::max));
        self.put(s, &slots::ITEM_RATE_MEAN, rate);
    }

    fn group(&mut self, group: &GroupMeter, members: &[SlotMeter], inside: &[u64]) {
        let (s, now, span) = (&group.subject, self.now, self.span);
        let mean = |value: &dyn Fn(&SlotMeter) -> f64| members.iter().map(value).sum::<f64>() / members.len() as f64;
        self.put(s, &group::THROUGHPUT_MEAN, mean(&|m| m.throughput_since_warmup(span)));
        self.put(s, &group::LINE_SHARE_MEAN, mean(&|m| m.line_share(span)));
        self.put(s, &group::GOODPUT_TOTAL, members.iter().map(|m| m.goodput(span)).sum());
        if !self.datagrams_of(s, members, inside) {
            self.put(s, &group::COLLAPSES_MEAN, mean(&|m| m.tcp_since_warmup(|tcp| tcp.collapses)));
            self.put(s, &group::TIMEOUTS_MEAN, mean(&|m| m.tcp_since_warmup(|tcp| tcp.timeouts)));
            self.put(s, &group::WINDOW_AT_MAX_MEAN, mean(&|m| m.full.mean(now).unwrap_or(0.0)));
        }
        let mut answers = members.iter().filter_map(SlotMeter::answers);
        if let Some(mut all) = answers.next().cloned() {
            answers.for_each(|more| all.merge(more));
            all.rows(span).into_iter().for_each(|(metric, value)| self.put(s, metric, value));
        }
        let mut flows = members.iter().filter_map(SlotMeter::flows);
        if let Some(mut all) = flows.next().cloned() {
            flows.for_each(|more| all.merge(more));
            all.rows().into_iter().for_each(|(metric, value)| self.put(s, metric, value));
        }
        if let (Some(mean), Some(least)) = (group.fairness.mean(), group.fairness.least()) {
            self.put(s, &group::JAIN, mean);
            self.put(s, &group::JAIN_MIN, least);
        }
        if members.iter().all(|m| m.interactive) {
            let mut all = Sample::new();
            members.iter().filter_map(|m| m.samples.as_ref()).for_each(|samples| all.extend(&samples.delays));
            self.delays(s, all);
        }
    }

    fn delays(&mut self, subject: &Arc<str>, mut delays: Sample) {
        let rtt = self.rtt.as_secs_f64();
        let mut moments = Moments::new();
        delays.values().iter().for_each(|&delay| moments.push(delay));
        if let Some(mean) = moments.mean() {
            self.put(subject, &slots::DELAY_MEAN, mean);
            self.put(subject, &slots::DELAY_MEAN_RTT, mean / rtt);
        }
        if let Some(sd) = moments.sd() {
            self.put(subject, &slots::DELAY_SD, sd);
            self.put(subject, &slots::DELAY_SD_RTT, sd / rtt);
        }
        if let Some(p95) = delays.percentile(0.95) {
            self.put(subject, &slots::DELAY_P95, p95);
        }
    }

    fn network<B: Clone>(&mut self, meter: &Meter, fabric: &Fabric<B>) {
        let s: Arc<str> = "network".into();
        let (lost, before) = (meter.lost(fabric), meter.lost_at_warmup);
        let refused = fabric.dropped_frames() - meter.dropped_at_warmup;
        let on_atm =
            |port: &PortMeter| fabric.port_counters(port.id, self.now).dropped_frames - port.at_warmup.dropped_frames;
        let at_access = refused - meter.ports.iter().map(on_atm).sum::<u64>();
        self.put(&s, &network::DROPPED_AT_ACCESS, at_access as f64);
        if meter.has_cells {
            self.put(&s, &network::LOST_FRAMES_LENGTH, (lost.length - before.length) as f64);
            self.put(&s, &network::LOST_FRAMES_CRC, (lost.crc - before.crc) as f64);
            self.put(&s, &network::LOST_FRAMES_TOO_LONG, (lost.too_long - before.too_long) as f64);
            self.put(&s, &network::LOST_FRAMES, (lost.total() - before.total() + refused) as f64);
        } else {
            self.put(&s, &network::DROPPED_PACKETS, refused as f64);
        }
        // An emulation may have programs only, whose goodput is unknown here.
        if !meter.slots.is_empty() {
            self.put(&s, &network::GOODPUT_TOTAL, meter.slots.iter().map(|slot| slot.goodput(self.span)).sum());
        }
    }
}

impl SlotMeter {
    fn since_warmup(&self, count: fn(&SlotTotals) -> u64) -> f64 {
        count(&self.totals) as f64
    }

    fn tcp_since_warmup(&self, count: fn(&TcpTotals) -> u64) -> f64 {
        self.totals.tcp.as_deref().map_or(0, count) as f64
    }

    /// Returns the goodput of both sides (bit/s).
    fn goodput(&self, span: Span) -> f64 {
        self.since_warmup(|t| t.delivered[0] + t.delivered[1]) * 8.0 / span.as_secs_f64()
    }

    fn throughput_since_warmup(&self, span: Span) -> f64 {
        self.throughput(self.totals.delivered[0], span)
    }

    /// Returns the share of the bottleneck's time that delivered packets took, with their framing.
    fn line_share(&self, span: Span) -> f64 {
        let bits = self.totals.line_bits as f64;
        bits / (self.bottleneck.as_bps() as f64 * span.as_secs_f64())
    }
}
