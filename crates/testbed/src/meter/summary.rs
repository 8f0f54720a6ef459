//! The figures of a whole run, from its totals after the warm-up.

use std::sync::Arc;

use cellway_net::{Fabric, Framing};
use cellway_record::Row;
use cellway_record::stats::{Moments, Sample};
use cellway_units::{Span, Time};

use super::{Changes, GroupMeter, Meter, PortMeter, SlotMeter, SlotTotals, mean_queue, ratio};

/// The rows of a summary as they are made.
struct Summary {
    rows: Vec<Row>,
    now: Time,
    /// From the warm-up to now.
    span: Span,
    rtt: Span,
}

impl Meter {
    /// The rows of the whole run, at its end; and those over time.
    pub fn finish<B: Clone>(self, now: Time, fabric: &Fabric<B>) -> (Vec<Row>, Vec<Row>) {
        let mut summary = Summary { rows: Vec::new(), now, span: now.since(self.warmup), rtt: self.rtt };
        self.ports.iter().for_each(|port| summary.port(port, fabric));
        self.slots.iter().for_each(|slot| summary.slot(slot));
        for group in &self.groups {
            let members = &self.slots[group.slots.clone()];
            if !members.is_empty() {
                summary.group(group, members);
            }
        }
        summary.network(&self, fabric);
        let Meter { mut series, queue_watches, slots, .. } = self;
        for watch in queue_watches {
            summary.record(&mut series, &watch.subject, ["queue", "queue_interval"], watch.unit, watch.changes);
        }
        for slot in slots {
            for (metrics, unit, changes) in [
                (["window", "window_interval"], "B", slot.trace),
                (["item_time", "item_time_interval"], "s", slot.items),
            ] {
                if let Some(changes) = changes {
                    summary.record(&mut series, &slot.subject, metrics, unit, *changes);
                }
            }
        }
        (summary.rows, series)
    }
}

impl Summary {
    fn put(&mut self, subject: &Arc<str>, metric: &'static str, unit: &'static str, value: f64) {
        self.rows.push(Row { subject: subject.clone(), metric, unit, t: None, value });
    }

    /// Adds the recorded changes of a quantity to `series`, and, if changes were left out, the length of the intervals.
    fn record(
        &mut self,
        series: &mut Vec<Row>,
        subject: &Arc<str>,
        [metric, interval]: [&'static str; 2],
        unit: &'static str,
        changes: Changes,
    ) {
        let kept = changes.finish();
        let row = |&(at, value): &(Time, f64)| {
            let (subject, t) = (subject.clone(), Some(at.as_secs_f64()));
            Row { subject, metric, unit, t, value }
        };
        series.extend(kept.changes.iter().map(row));
        if let Some(length) = kept.interval {
            self.put(subject, interval, "s", length.as_secs_f64());
        }
    }

    fn port<B: Clone>(&mut self, port: &PortMeter, fabric: &Fabric<B>) {
        let (counters, before, s) = (fabric.port_counters(port.id, self.now), &port.at_warmup, &port.subject);
        self.put(s, "utilisation", "1", ratio(counters.busy - before.busy, self.span));
        self.put(s, "queue_mean", port.unit, mean_queue(&counters, before, self.span));
        self.put(s, "queue_max", port.unit, f64::from(counters.queue_peak));
        let dropped = counters.dropped_frames - before.dropped_frames;
        if fabric.framing(port.id) == Framing::Atm {
            self.put(s, "cells", "cell", (counters.cells - before.cells) as f64);
            self.put(s, "dropped_frames", "frame", dropped as f64);
            self.put(s, "dropped_cells", "cell", (counters.dropped_cells - before.dropped_cells) as f64);
        } else {
            let sent = counters.packets - before.packets;
            self.put(s, "packets", "packet", sent as f64);
            self.put(s, "dropped_packets", "packet", dropped as f64);
            // Packets that still wait are neither sent nor dropped, and are not counted.
            if sent + dropped > 0 {
                let gone = dropped + counters.lost - before.lost;
                self.put(s, "loss_ratio", "1", gone as f64 / (sent + dropped) as f64);
            }
        }
        self.put(s, "queue_min", port.unit, f64::from(counters.queue_min));
        // Only where something of the kind stands, so that plain networks keep short tables.
        let rare = [
            ("policed_discarded", "cell", counters.policed_discarded, before.policed_discarded),
            ("policed_tagged", "cell", counters.policed_tagged, before.policed_tagged),
            ("clp_discarded", "cell", counters.clp_discarded, before.clp_discarded),
            ("epd_frames", "frame", counters.epd_frames, before.epd_frames),
            ("rm_cells", "cell", counters.rm_cells, before.rm_cells),
            ("lost", port.unit, counters.lost, before.lost),
        ];
        for (metric, unit, now, before) in rare.into_iter().filter(|&(_, _, now, _)| now > 0) {
            self.put(s, metric, unit, (now - before) as f64);
        }
    }

    fn slot(&mut self, slot: &SlotMeter) {
        let s = &slot.subject;
        self.put(s, "goodput", "bit/s", slot.goodput(self.span));
        self.put(s, "throughput", "1", slot.throughput_since_warmup(self.span));
        self.put(s, "line_share", "1", slot.line_share(self.span));
        self.put(s, "retransmissions", "segment", slot.since_warmup(|t| t.tcp.retransmissions));
        self.put(s, "timeouts", "1", slot.since_warmup(|t| t.tcp.timeouts));
        self.put(s, "fast_retransmits", "1", slot.since_warmup(|t| t.tcp.fast_retransmits));
        self.put(s, "collapses", "1", slot.since_warmup(|t| t.tcp.collapses));
        self.put(s, "conversations", "1", slot.since_warmup(|t| t.conversations));
        self.put(s, "failures", "1", slot.since_warmup(|t| t.failures));
        self.put(s, "items", "1", slot.since_warmup(|t| t.items));
        self.items(s, slot);
        if let Some(acr) = slot.acr.mean() {
            self.put(s, "acr_mean", "bit/s", acr);
            self.put(s, "acr_min", "bit/s", slot.acr_min);
        }
        if let (Some(window), Some(full)) = (slot.window.mean(self.now), slot.full.mean(self.now)) {
            self.put(s, "window_mean", "B", window);
            self.put(s, "window_at_max", "1", full);
        }
        if slot.interactive {
            self.delays(s, slot.delays.clone());
        }
    }

    /// How long the items took that were asked for and delivered after the warm-up.
    fn items(&mut self, s: &Arc<str>, slot: &SlotMeter) {
        let times = slot.item_times.values();
        let (Some(rate), Some(first)) = (slot.item_rates.mean(), times.first().copied()) else { return };
        let mut moments = Moments::new();
        times.iter().for_each(|&time| moments.push(time));
        self.put(s, "item_time_first", "s", first);
        self.put(s, "item_time_mean", "s", moments.mean().unwrap_or(first));
        self.put(s, "item_time_max", "s", times.iter().copied().fold(first, f64::max));
        self.put(s, "item_rate_mean", "bit/s", rate);
    }

    fn group(&mut self, group: &GroupMeter, members: &[SlotMeter]) {
        let (s, now, span) = (&group.subject, self.now, self.span);
        let mean = |value: &dyn Fn(&SlotMeter) -> f64| members.iter().map(value).sum::<f64>() / members.len() as f64;
        self.put(s, "throughput_mean", "1", mean(&|m| m.throughput_since_warmup(span)));
        self.put(s, "line_share_mean", "1", mean(&|m| m.line_share(span)));
        self.put(s, "goodput_total", "bit/s", members.iter().map(|m| m.goodput(span)).sum());
        self.put(s, "collapses_mean", "1", mean(&|m| m.since_warmup(|t| t.tcp.collapses)));
        self.put(s, "timeouts_mean", "1", mean(&|m| m.since_warmup(|t| t.tcp.timeouts)));
        self.put(s, "window_at_max_mean", "1", mean(&|m| m.full.mean(now).unwrap_or(0.0)));
        if let Some(jain) = group.jain.mean() {
            self.put(s, "jain", "1", jain);
            self.put(s, "jain_min", "1", group.jain_min);
        }
        if members.iter().all(|m| m.interactive) {
            let mut all = Sample::new();
            members.iter().for_each(|m| all.extend(&m.delays));
            self.delays(s, all);
        }
    }

    fn delays(&mut self, subject: &Arc<str>, mut delays: Sample) {
        let rtt = self.rtt.as_secs_f64();
        let mut moments = Moments::new();
        delays.values().iter().for_each(|&delay| moments.push(delay));
        if let Some(mean) = moments.mean() {
            self.put(subject, "delay_mean", "s", mean);
            self.put(subject, "delay_mean_rtt", "rtt", mean / rtt);
        }
        if let Some(sd) = moments.sd() {
            self.put(subject, "delay_sd", "s", sd);
            self.put(subject, "delay_sd_rtt", "rtt", sd / rtt);
        }
        if let Some(p95) = delays.percentile(0.95) {
            self.put(subject, "delay_p95", "s", p95);
        }
    }

    fn network<B: Clone>(&mut self, meter: &Meter, fabric: &Fabric<B>) {
        let s: Arc<str> = "network".into();
        let (lost, before) = (meter.lost(fabric), meter.lost_at_warmup);
        let refused = fabric.dropped_frames() - meter.dropped_at_warmup;
        let on_atm =
            |port: &PortMeter| fabric.port_counters(port.id, self.now).dropped_frames - port.at_warmup.dropped_frames;
        let at_access = refused - meter.ports.iter().map(on_atm).sum::<u64>();
        self.put(&s, "dropped_at_access", "packet", at_access as f64);
        if meter.has_cells {
            self.put(&s, "lost_frames_length", "frame", (lost.length - before.length) as f64);
            self.put(&s, "lost_frames_crc", "frame", (lost.crc - before.crc) as f64);
            self.put(&s, "lost_frames_too_long", "frame", (lost.too_long - before.too_long) as f64);
            self.put(&s, "lost_frames", "frame", (lost.total() - before.total() + refused) as f64);
        } else {
            self.put(&s, "dropped_packets", "packet", refused as f64);
        }
        // An emulation may have programs only, of whose goodput nothing is known here.
        if !meter.slots.is_empty() {
            self.put(&s, "goodput_total", "bit/s", meter.slots.iter().map(|slot| slot.goodput(self.span)).sum());
        }
    }
}

impl SlotMeter {
    fn since_warmup(&self, count: fn(&SlotTotals) -> u64) -> f64 {
        (count(&self.now) - count(&self.at_warmup)) as f64
    }

    /// What both sides read, per second (bit/s).
    fn goodput(&self, span: Span) -> f64 {
        self.since_warmup(|t| t.delivered[0] + t.delivered[1]) * 8.0 / span.as_secs_f64()
    }

    fn throughput_since_warmup(&self, span: Span) -> f64 {
        self.throughput(self.now.delivered[0] - self.at_warmup.delivered[0], span)
    }

    /// Returns the share of the bottleneck's time that delivered packets took, with their framing.
    fn line_share(&self, span: Span) -> f64 {
        let bits = (self.now.line_bits - self.at_warmup.line_bits) as f64;
        bits / (self.bottleneck.as_bps() as f64 * span.as_secs_f64())
    }
}
