//! The records of the flows in `observe.flows`, and of the sets of flows in `observe.set`.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_apps::Side;
use cellway_net::{ConversationCounters, Fabric, Transit};
use cellway_record::metric::{Metric, group, observed};
use cellway_record::stats::Moments;
use cellway_scenario::Scenario;
use cellway_units::{Sketch, Span, Time};

use super::{Fairness, Meter, SlotMeter};

/// The state of one end of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSample {
    /// Data that it has sent, with retransmissions (bytes).
    pub sent: u64,
    /// The congestion window (bytes).
    pub cwnd: u64,
    /// The smoothed round-trip time; `None` before the first measurement.
    pub srtt: Option<Span>,
    /// Data sent and not acknowledged (bytes).
    pub in_flight: u64,
    /// The pacing rate (bit/s of payload); `None` if segments are not paced.
    pub pacing_rate: Option<u64>,
    /// The least round-trip time that the sender keeps; `None` if it keeps none.
    pub min_rtt: Option<Span>,
}

/// The flows and sets that are recorded.
#[derive(Debug)]
pub(crate) struct Observed {
    /// By slot; `None` for slots that are neither in `observe.flows` nor in a set.
    flows: Vec<Option<Box<FlowMeter>>>,
    /// The slots with series, in order.
    with_series: Arc<[usize]>,
    sets: Vec<SetMeter>,
    /// The open conversations of these flows, with their slots and their counters at the end of the warm-up.
    open: BTreeMap<u32, OpenConversation>,
}

#[derive(Debug)]
struct OpenConversation {
    slots: Vec<usize>,
    at_warmup: ConversationCounters,
}

/// The records of one slot.
#[derive(Debug, Default)]
struct FlowMeter {
    /// The sets that it is in.
    sets: Vec<usize>,
    series: Option<Bin>,
}

/// The present bin of a series.
#[derive(Debug, Default)]
struct Bin {
    /// The ends of the newest connection, originator and responder, as last sampled.
    ends: [Option<TcpSample>; 2],
    /// Of the packets that arrived in the bin (s).
    delays: Moments,
    waits: Moments,
    /// The smoothed round-trip times of the sender at the ends of all bins since the warm-up (s).
    srtts: Moments,
}

/// The records of a set.
#[derive(Debug)]
struct SetMeter {
    subject: Arc<str>,
    slots: Vec<usize>,
    fairness: Fairness,
    /// In picoseconds, after the warm-up.
    rtts: Sketch,
    delays: Sketch,
    fates: Fates,
}

/// The packets of conversations whose fate is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fates {
    lost: u64,
    delivered: u64,
}

impl Observed {
    /// Returns the records that a scenario asks for; `None` if it asks for none. Slots are numbered group by group.
    pub(crate) fn new(scenario: &Scenario) -> Option<Box<Observed>> {
        let observe = &scenario.observe;
        if observe.flows.is_empty() && observe.sets.is_empty() {
            return None;
        }
        let mut first = Vec::new();
        let mut slots = 0;
        for traffic in &scenario.traffic {
            first.push(slots);
            slots += traffic.count as usize;
        }
        let place = |slot: &cellway_scenario::Slot| first[slot.traffic] + slot.number as usize - 1;
        let mut flows: Vec<Option<Box<FlowMeter>>> = Vec::new();
        flows.resize_with(slots, || None);
        let with_series: Arc<[usize]> = observe.flows.iter().map(place).collect();
        for &slot in with_series.iter() {
            flows[slot].get_or_insert_default().series = Some(Bin::default());
        }
        let mut sets = Vec::new();
        for set in &observe.sets {
            let slots: Vec<usize> = set.slots.iter().map(place).collect();
            slots.iter().for_each(|&slot| flows[slot].get_or_insert_default().sets.push(sets.len()));
            let (subject, fairness) = (set.name.as_str().into(), Fairness::default());
            let (rtts, delays, fates) = (Sketch::new(), Sketch::new(), Fates::default());
            sets.push(SetMeter { subject, slots, fairness, rtts, delays, fates });
        }
        Some(Box::new(Observed { flows, with_series, sets, open: BTreeMap::new() }))
    }

    fn flow(&mut self, slot: usize) -> Option<&mut FlowMeter> {
        self.flows.get_mut(slot)?.as_deref_mut()
    }

    /// Adds the packets of a conversation to the sets of its slots, once to each.
    fn count(&mut self, conversation: &OpenConversation, counters: ConversationCounters) {
        let fates = Fates::between(&conversation.at_warmup, &counters);
        for set in &mut self.sets {
            if conversation.slots.iter().any(|slot| set.slots.binary_search(slot).is_ok()) {
                set.fates = set.fates.plus(fates);
            }
        }
    }

    /// Ends the warm-up: what was counted until now is left out.
    pub(super) fn end_warmup<B: Clone>(&mut self, fabric: &Fabric<B>) {
        for (&number, conversation) in &mut self.open {
            conversation.at_warmup = fabric.conversation_counters(number);
        }
        self.sets.iter_mut().for_each(|set| set.fates = Fates::default());
        for bin in self.flows.iter_mut().flatten().filter_map(|flow| flow.series.as_mut()) {
            bin.srtts = Moments::default();
        }
    }

    /// Returns the mean of the smoothed round-trip times after the warm-up (s), of the slots that have one.
    pub(super) fn mean_srtts(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let bin = |&slot: &usize| self.flows[slot].as_deref().and_then(|flow| flow.series.as_ref());
        self.with_series.iter().filter_map(move |slot| Some((*slot, bin(slot)?.srtts.mean()?)))
    }

    /// Computes Jain's index of each set's deliveries in the window that ends.
    pub(super) fn judge_fairness(&mut self, slots: &[SlotMeter]) {
        for set in &mut self.sets {
            let shares: Vec<f64> = set.slots.iter().map(|&slot| slots[slot].delivered_in_window()).collect();
            set.fairness.judge(&shares);
        }
    }

    /// Ends a bin of a slot; returns the figures that exist.
    pub(super) fn end_bin(&mut self, slot: usize) -> impl Iterator<Item = (&'static Metric, f64)> + use<> {
        let bin = self.flow(slot).and_then(|flow| flow.series.as_mut());
        let figures = bin.map(|bin| {
            let sender = bin.sender();
            let srtt = sender.and_then(|end| end.srtt).map(Span::as_secs_f64);
            srtt.into_iter().for_each(|srtt| bin.srtts.push(srtt));
            let (delays, waits) = (std::mem::take(&mut bin.delays), std::mem::take(&mut bin.waits));
            [
                (&observed::CWND, sender.map(|end| end.cwnd as f64)),
                (&observed::SRTT, srtt),
                (&observed::IN_FLIGHT, sender.map(|end| end.in_flight as f64)),
                (&observed::PACING_RATE, sender.and_then(|end| end.pacing_rate).map(|rate| rate as f64)),
                (&observed::MIN_RTT, sender.and_then(|end| end.min_rtt).map(Span::as_secs_f64)),
                (&observed::ONE_WAY_DELAY, delays.mean()),
                (&observed::SOJOURN_MEAN, waits.mean()),
            ]
        });
        figures.into_iter().flatten().filter_map(|(metric, value)| Some((metric, value?)))
    }

    /// Returns the figures of all sets at the end of a run, but for their goodput: the subject, the slots, and the others.
    pub(super) fn finish<B: Clone>(mut self, fabric: &Fabric<B>) -> Vec<SetFigures> {
        for (number, conversation) in std::mem::take(&mut self.open) {
            self.count(&conversation, fabric.conversation_counters(number));
        }
        self.sets.into_iter().map(SetMeter::figures).collect()
    }
}

/// The figures of a set: its subject, its slots, and rows.
pub(super) type SetFigures = (Arc<str>, Vec<usize>, Vec<(&'static Metric, f64)>);

impl SetMeter {
    fn figures(self) -> SetFigures {
        let quantile = |sketch: &Sketch, q| sketch.percentile(q).map(|ps| Span::from_ps(ps).as_secs_f64());
        let rows = [
            (&observed::LOSS_RATIO, self.fates.loss_ratio()),
            (&observed::RTT_P50, quantile(&self.rtts, 0.5)),
            (&observed::RTT_P95, quantile(&self.rtts, 0.95)),
            (&observed::RTT_P99, quantile(&self.rtts, 0.99)),
            (&observed::ONE_WAY_DELAY_P50, quantile(&self.delays, 0.5)),
            (&observed::ONE_WAY_DELAY_P95, quantile(&self.delays, 0.95)),
            (&observed::ONE_WAY_DELAY_P99, quantile(&self.delays, 0.99)),
            (&group::JAIN, self.fairness.mean()),
            (&group::JAIN_MIN, self.fairness.least()),
        ];
        let rows = rows.into_iter().filter_map(|(metric, value)| Some((metric, value?))).collect();
        (self.subject, self.slots, rows)
    }
}

impl Bin {
    /// Returns the end that has sent more data; of two equals, the originator.
    fn sender(&self) -> Option<TcpSample> {
        self.ends.iter().flatten().rev().max_by_key(|end| end.sent).copied()
    }
}

impl Fates {
    fn between(before: &ConversationCounters, now: &ConversationCounters) -> Fates {
        let lost = |counters: &ConversationCounters| counters.refused + counters.damaged;
        Fates { lost: lost(now) - lost(before), delivered: now.delivered - before.delivered }
    }

    fn plus(self, other: Fates) -> Fates {
        Fates { lost: self.lost + other.lost, delivered: self.delivered + other.delivered }
    }

    fn loss_ratio(self) -> Option<f64> {
        let known = self.lost + self.delivered;
        (known > 0).then(|| self.lost as f64 / known as f64)
    }
}

impl Meter {
    /// Returns the slots whose TCP is to be sampled at `now`, before [`Meter::tick`]: none unless a bin ends.
    pub fn sampled(&self, now: Time) -> Option<Arc<[usize]>> {
        let observed = self.observed.as_deref().filter(|_| now == self.bins.next)?;
        (!observed.with_series.is_empty()).then(|| observed.with_series.clone())
    }

    /// Records the state of one end of the newest connection of a slot; `None` if there is no connection.
    pub fn sample(&mut self, slot: usize, side: Side, sample: Option<TcpSample>) {
        let flow = self.observed.as_deref_mut().and_then(|observed| observed.flow(slot));
        if let Some(bin) = flow.and_then(|flow| flow.series.as_mut()) {
            bin.ends[side as usize] = sample;
        }
    }

    /// Records a round-trip time that the TCP of a host of the slot has measured.
    #[inline]
    pub fn round_trip(&mut self, now: Time, slot: usize, rtt: Span) {
        if self.observed.is_some() && now >= self.warmup {
            self.add(slot, rtt, |set| &mut set.rtts);
        }
    }

    /// Adds a span to a sketch of each set that the slot is in.
    fn add(&mut self, slot: usize, span: Span, sketch: fn(&mut SetMeter) -> &mut Sketch) {
        let Some(observed) = self.observed.as_deref_mut() else { return };
        let Some(flow) = observed.flows.get(slot).and_then(Option::as_deref) else { return };
        for &set in &flow.sets {
            sketch(&mut observed.sets[set]).add(span.as_ps());
        }
    }

    /// Records the arrival, at `now`, of a packet with data of a slot.
    pub(crate) fn transit(&mut self, now: Time, slot: usize, transit: Transit) {
        let delay = now.since(transit.sent);
        let flow = self.observed.as_deref_mut().and_then(|observed| observed.flow(slot));
        if let Some(bin) = flow.and_then(|flow| flow.series.as_mut()) {
            bin.delays.push(delay.as_secs_f64());
            bin.waits.push(transit.waited.as_secs_f64());
        }
        if now >= self.warmup {
            self.add(slot, delay, |set| &mut set.delays);
        }
    }

    /// Begins to count the packets of a conversation of these slots.
    pub(crate) fn opened(&mut self, conversation: u32, slots: &[usize]) {
        let Some(observed) = self.observed.as_deref_mut() else { return };
        if slots.iter().any(|&slot| observed.flow(slot).is_some_and(|flow| !flow.sets.is_empty())) {
            let counted = OpenConversation { slots: slots.to_vec(), at_warmup: ConversationCounters::default() };
            observed.open.insert(conversation, counted);
        }
    }

    /// Ends the count of a conversation, which is closed with these counters.
    pub(crate) fn closed(&mut self, conversation: u32, counters: ConversationCounters) {
        let Some(observed) = self.observed.as_deref_mut() else { return };
        if let Some(counted) = observed.open.remove(&conversation) {
            observed.count(&counted, counters);
        }
    }
}
