//! The ends of bins, with the rows of series, and of windows of fairness.

use std::sync::Arc;

use cellway_net::{Fabric, Framing};
use cellway_record::Quantity;
use cellway_record::metric::{datagram, port as ports, slot as slots};
use cellway_units::Time;

use super::{Meter, SlotMeter, mean_queue, ratio};

impl Meter {
    /// Ends a bin.
    pub(super) fn end_bin<B: Clone>(&mut self, now: Time, fabric: &Fabric<B>) {
        let t = now.as_secs_f64();
        let every = self.bins.every;
        let rows = &mut self.series;
        let mut put = |subject: &Arc<str>, metric: Quantity, value| {
            if self.record_series {
                rows.put_at(subject, metric, t, value);
            }
        };
        for port in &mut self.ports {
            let counters = fabric.port_counters(port.id, now);
            put(&port.subject, (&ports::UTILISATION).into(), ratio(counters.busy - port.at_bin.busy, every));
            put(&port.subject, ports::QUEUE_MEAN.counted_in(port.unit), mean_queue(&counters, &port.at_bin, every));
            let taken = counters.taken - port.at_bin.taken;
            if taken > 0 {
                let waited = (counters.sojourn - port.at_bin.sojourn) as f64 / 1e12;
                put(&port.subject, (&ports::SOJOURN_MEAN).into(), waited / taken as f64);
            }
            let gone = [
                (&ports::DROPPED_PACKETS, counters.dropped_frames, port.at_bin.dropped_frames),
                (&ports::EARLY_DROPS, counters.early_drops, port.at_bin.early_drops),
                (&ports::MARKED, counters.marked, port.at_bin.marked),
            ];
            // Only where a packet line has dropped or marked any, so that plain networks keep short series.
            let is_packets = fabric.framing(port.id) != Framing::Atm;
            for (metric, now, before) in gone.into_iter().filter(|&(_, now, _)| is_packets && now > 0) {
                put(&port.subject, metric.into(), (now - before) as f64);
            }
            port.at_bin = counters;
        }
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if let Some(series) = &mut slot.series {
                let [bytes, back] = std::mem::take(&mut series.delivered);
                put(&slot.subject, (&slots::THROUGHPUT).into(), slot.throughput(bytes, every));
                put(&slot.subject, (&slots::GOODPUT).into(), (bytes + back) as f64 * 8.0 / every.as_secs_f64());
            }
            if let Some(abr) = &mut slot.abr
                && let Some((port, channel)) = abr.queue
                && let Some(rate) = fabric.abr_rate(port, channel)
            {
                let rate = rate.as_bps() as f64;
                put(&slot.subject, (&slots::ACR).into(), rate);
                if now > self.warmup {
                    abr.acr.push(rate);
                    abr.acr_min = abr.acr_min.min(rate);
                }
            }
            if slot.directions().is_empty()
                && let Some(window) = slot.series.as_mut().and_then(|series| series.window.take_mean(now))
            {
                put(&slot.subject, (&slots::WINDOW_MEAN).into(), window);
            }
            let in_bin = slot.samples.as_mut().map(|samples| std::mem::take(&mut samples.delays_in_bin));
            if let Some(delay) = in_bin.and_then(|delays| delays.mean()) {
                put(&slot.subject, slot.delay_metric().into(), delay);
            }
            if let Some(jitter) = slot.datagrams().and_then(|datagrams| datagrams.jitter()) {
                put(&slot.subject, (&datagram::JITTER).into(), jitter);
            }
            if let Some(observed) = &mut self.observed {
                observed.end_bin(number).for_each(|(metric, value)| put(&slot.subject, metric.into(), value));
            }
        }
    }

    /// Computes Jain's index of each group's deliveries in the window that ends.
    pub(super) fn judge_fairness(&mut self) {
        for group in &mut self.groups {
            let shares: Vec<f64> = self.slots[group.slots.clone()].iter().map(SlotMeter::delivered_in_window).collect();
            group.fairness.judge(&shares);
        }
        if let Some(observed) = &mut self.observed {
            observed.judge_fairness(&self.slots);
        }
        self.slots.iter_mut().for_each(|slot| slot.at_fairness = slot.totals.delivered[0]);
    }
}
