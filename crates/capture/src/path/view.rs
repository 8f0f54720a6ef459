//! The waits in front of the bottleneck, as one of the two sides of the tap shows them.
//!
//! A delay there and back at the tap is exact, and has the queues of both directions. Timestamps divide it: the clock of
//! a host, read when it answers, lies between the two directions. They have ticks of a millisecond or more, so they
//! decide which direction has a queue, and replace the exact delay only where the other direction has one, too.

use super::bulk::Handshake;
use super::busy::Point;
use super::clock::{Clock, below};
use super::estimate::{Transfer, quantile};
use super::series::Sample;

/// The ticks of a clock up to which the delays of a direction without a queue vary.
const STILL_TICKS: f64 = 2.5;
/// The share of the variation of data up to which that of acknowledgements does not matter.
const STILL_SHARE: f64 = 0.2;
/// The ticks of a clock that the waits of data must have for it to be precise.
const PRECISE_TICKS: f64 = 10.0;
/// The least time for which hosts delay the acknowledgement of a single segment, in s: Linux 40 ms.
const DELAYED: f64 = 0.035;

/// The delays of one direction on one side of the tap, above the least, and the tick of their clock.
pub(super) struct OneWay {
    /// By the number of the sample, in s.
    delays: Vec<Option<f64>>,
    clock: Clock,
    /// The line below them, in the time of the tap.
    line: (f64, f64),
}

impl OneWay {
    /// Measures the delays from the host to the tap, or with `is_to_host` from the tap to the host. An octet of payload
    /// takes `octet` (s) on the link.
    fn measure(samples: &[Sample], start: u64, is_to_host: bool, octet: f64) -> Option<OneWay> {
        let clock = Clock::measure(samples)?;
        let value = |sample: &Sample| {
            let (at, host) = (sample.time(start), clock.time(sample.stamp));
            if is_to_host { sample.delay().map(|delay| host - (at - delay)) } else { Some(at - host) }
        };
        let values: Vec<Option<f64>> = samples.iter().map(value).collect();
        let point = |(sample, value): (&Sample, &Option<f64>)| {
            Some((sample.time(start), (*value)? - f64::from(sample.burst) * octet))
        };
        let points: Vec<(f64, f64)> = samples.iter().zip(&values).filter_map(point).collect();
        let line = below(&points)?;
        // A tick is cut off on average by half of it, of the least by all or none.
        let half = clock.tick / 2.0;
        let delays = samples.iter().zip(values);
        let delays = delays.map(|(sample, value)| {
            let above = value? - line.0 - line.1 * sample.time(start);
            Some((above - half).max(0.0))
        });
        Some(OneWay { delays: delays.collect(), clock, line })
    }

    /// Returns the difference between the largest 5 % and the least.
    fn swing(&self) -> f64 {
        let mut delays: Vec<f64> = self.delays.iter().copied().flatten().collect();
        delays.sort_unstable_by(f64::total_cmp);
        quantile(&delays, 0.95).unwrap_or_default()
    }
}

/// The delays of a transfer in both directions.
struct Split {
    /// From the tap to the receiver and back, from the sender to the tap and back: data first.
    beyond: Option<[OneWay; 2]>,
    before: Option<[OneWay; 2]>,
}

impl Split {
    fn side(&self, is_beyond: bool) -> Option<&[OneWay; 2]> {
        if is_beyond { self.beyond.as_ref() } else { self.before.as_ref() }
    }
}

/// The way in which waits are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Method {
    /// True if the bottleneck is between tap and receiver.
    pub(super) is_beyond: bool,
    /// True if the delays of data alone are used, not those there and back.
    pub(super) is_one_way: bool,
}

/// The delays of all transfers.
pub(super) struct View<'a> {
    transfers: &'a [Transfer],
    splits: Vec<Split>,
    /// The time at which all times in s begin, in ns.
    start: u64,
    pub(super) method: Method,
    /// The tick of the clocks that are used, in s; 0 where none is.
    pub(super) tick: f64,
    /// The tick of the clocks, used or not, in s.
    pub(super) clock_tick: f64,
    /// The longest queue of acknowledgements, in s: the largest 5 % of their delays. `None` without timestamps.
    pub(super) return_queue: Option<f64>,
}

fn trip_swing(samples: &[Sample]) -> f64 {
    let mut delays: Vec<f64> = samples.iter().filter_map(Sample::delay).collect();
    delays.sort_unstable_by(f64::total_cmp);
    quantile(&delays, 0.95).unwrap_or_default() - delays.first().copied().unwrap_or_default()
}

impl<'a> View<'a> {
    /// Decides where the bottleneck is, and how its waits are measured. Its rate (bit/s) may be infinite.
    pub(super) fn new(transfers: &'a [Transfer], rate: f64) -> View<'a> {
        let first = |samples: &[Sample]| samples.first().map_or(u64::MAX, |sample| sample.at);
        let starts =
            transfers.iter().map(|Transfer { half, .. }| first(&half.data.all).min(first(&half.acknowledgements.all)));
        let start = starts.min().unwrap_or_default();
        let splits: Vec<Split> = transfers
            .iter()
            .map(|Transfer { half, .. }| {
                let octet = half.octets as f64 / half.payload as f64 * 8.0 / rate;
                let measure = |samples, is_to_host, octet| OneWay::measure(samples, start, is_to_host, octet);
                let (acks, data) = (&half.acknowledgements.all, &half.data.all);
                let beyond = measure(acks, true, octet).zip(measure(acks, false, 0.0));
                let before = measure(data, false, octet).zip(measure(data, true, 0.0));
                let [beyond, before] = [beyond, before].map(|both| both.map(|(data, back)| [data, back]));
                Split { beyond, before }
            })
            .collect();
        let largest = |of: &dyn Fn(usize) -> f64| (0..transfers.len()).map(of).fold(0.0, f64::max);
        let swing =
            |is_beyond: bool, at: usize| largest(&|n| splits[n].side(is_beyond).map_or(0.0, |both| both[at].swing()));
        let has_clocks = splits.iter().all(|split| split.beyond.is_some() && split.before.is_some());
        let trips = [
            largest(&|n| trip_swing(&transfers[n].half.acknowledgements.all)),
            largest(&|n| trip_swing(&transfers[n].half.data.all)),
        ];
        let forward = if has_clocks { [swing(true, 0), swing(false, 0)] } else { trips };
        let ticks = splits.iter().flat_map(|split| [&split.beyond, &split.before]).flatten();
        let tick = ticks.map(|both| both[0].clock.tick).fold(0.0, f64::max);
        // If neither shows a queue that a clock can, the exact delays decide.
        let is_beyond = if forward[0].max(forward[1]) < STILL_TICKS * tick {
            trips[0] >= trips[1]
        } else {
            forward[0] >= forward[1]
        };
        let has_clock = splits.iter().all(|split| split.side(is_beyond).is_some());
        let (forward, back, trip) =
            if is_beyond { (forward[0], swing(true, 1), trips[0]) } else { (forward[1], swing(false, 1), trips[1]) };
        let is_still = back <= (STILL_TICKS * tick).max(STILL_SHARE * forward);
        let is_precise = forward >= PRECISE_TICKS * tick;
        // On the side of the sender the delay there and back has also the time for which the sender holds data.
        let is_one_way = has_clock && (!is_still || (!is_beyond && is_precise)) && trip > 0.0;
        let method = Method { is_beyond, is_one_way };
        let return_queue = has_clock.then_some(back);
        let used = if is_one_way { tick } else { 0.0 };
        View { transfers, splits, start, method, tick: used, clock_tick: tick, return_queue }
    }

    fn samples(&self, transfer: usize) -> &[Sample] {
        let half = &self.transfers[transfer].half;
        if self.method.is_beyond { &half.acknowledgements.all } else { &half.data.all }
    }

    fn split(&self, transfer: usize) -> Option<&[OneWay; 2]> {
        self.splits[transfer].side(self.method.is_beyond)
    }

    /// Returns the least delay of a transfer on the side of the bottleneck, without the time of its packet on a link of
    /// `rate` (bit/s).
    pub(super) fn least(&self, transfer: usize, rate: f64, back: f64) -> Option<f64> {
        let Transfer { half, handshake, .. } = &self.transfers[transfer];
        let headers = half.octets as f64 / half.payload as f64;
        let samples = self.samples(transfer).iter();
        let length = samples.clone().map(|sample| sample.length).filter(|length| *length > 0).min().unwrap_or_default();
        let on_links = |data: f64, ack: f64| data * 8.0 / rate + ack * 8.0 / back;
        let delays = samples.filter_map(|sample| {
            Some(sample.delay()? - on_links(f64::from(sample.burst) * headers, f64::from(length)))
        });
        let side = usize::from(self.method.is_beyond);
        let shaken = handshake.as_ref().map(|Handshake { trips, length }| {
            trips[side] as f64 / 1e9 - on_links(f64::from(*length), f64::from(*length))
        });
        // Less than nothing: the link is on the other side.
        delays.chain(shaken).map(|delay| delay.max(0.0)).min_by(f64::total_cmp)
    }

    /// Returns the least delay of a transfer on the other side of the tap.
    pub(super) fn least_elsewhere(&self, transfer: usize) -> Option<f64> {
        let Transfer { half, handshake, .. } = &self.transfers[transfer];
        let samples = if self.method.is_beyond { &half.data.all } else { &half.acknowledgements.all };
        let side = usize::from(!self.method.is_beyond);
        let shaken = handshake.as_ref().map(|handshake| handshake.trips[side] as f64 / 1e9);
        samples.iter().filter_map(Sample::delay).chain(shaken).min_by(f64::total_cmp)
    }

    /// Returns the wait of each sample of a transfer with its time on a link of `rate`, where it is known.
    fn waits(&self, transfer: usize, base: f64, packet: f64, rate: f64) -> Vec<Option<f64>> {
        let samples = self.samples(transfer);
        let own = packet * 8.0 / rate;
        if let Some([forward, _]) = self.split(transfer).filter(|_| self.method.is_one_way) {
            return forward.delays.clone();
        }
        let mut before = None;
        let wait = |sample: &Sample| {
            let (at, wait) = (sample.time(self.start), (sample.delay()? - base).max(0.0));
            let gap = before.replace(at).map_or(f64::INFINITY, |before| at - before);
            let is_delayed = self.method.is_beyond
                && f64::from(sample.octets) <= packet
                && gap > DELAYED
                && wait > DELAYED
                && own < DELAYED / 4.0;
            (!is_delayed).then_some(wait)
        };
        samples.iter().map(wait).collect()
    }

    /// Returns the deliveries of all transfers, with rising times. `base` has the least delay of each transfer, `packet`
    /// is the largest IP packet, `rate` that of the link.
    pub(super) fn points(&self, base: &[f64], packet: f64, rate: f64) -> Vec<Point> {
        let mut all = Vec::new();
        for (transfer, base) in base.iter().enumerate() {
            let half = &self.transfers[transfer].half;
            let headers = if self.method.is_beyond { half.octets as f64 / half.payload as f64 } else { 1.0 };
            let split = self.split(transfer).filter(|_| self.method.is_one_way && self.method.is_beyond);
            let waits = self.waits(transfer, *base, packet, rate);
            for (sample, wait) in self.samples(transfer).iter().zip(waits) {
                let time = sample.time(self.start);
                // The clock of the receiver is not delayed by the queue of acknowledgements.
                let at =
                    split.map_or(time, |[_, back]| back.clock.time(sample.stamp) + back.line.0 + back.line.1 * time);
                all.push(Point { at, octets: f64::from(sample.octets) * headers, wait });
            }
        }
        joined(all)
    }

    /// Returns the acknowledgements of all transfers, as they pass the tap.
    pub(super) fn acknowledgements(&self) -> Vec<Point> {
        let samples = self.transfers.iter().flat_map(|transfer| &transfer.half.acknowledgements.all);
        let point =
            |sample: &Sample| Point { at: sample.time(self.start), octets: f64::from(sample.length), wait: None };
        joined(samples.map(point).collect())
    }

    /// Returns the acknowledgements of all transfers, as they arrive at the tap, or beyond it at the sender by its
    /// clock, with the time that they waited on the side of the bottleneck.
    pub(super) fn returned(&self) -> Vec<Point> {
        let mut all = Vec::new();
        for transfer in 0..self.transfers.len() {
            let Some([_, back]) = self.split(transfer) else { continue };
            for (sample, wait) in self.samples(transfer).iter().zip(&back.delays) {
                let at = if self.method.is_beyond {
                    sample.time(self.start)
                } else {
                    back.clock.time(sample.stamp) - back.line.0
                };
                if wait.is_some() {
                    all.push(Point { at, octets: f64::from(sample.length), wait: *wait });
                }
            }
        }
        joined(all)
    }

    /// Returns the octets of the shortest IP packet with an acknowledgement.
    pub(super) fn acknowledgement(&self) -> f64 {
        let samples = self.transfers.iter().flat_map(|transfer| &transfer.half.acknowledgements.all);
        samples.map(|sample| sample.length).filter(|length| *length > 0).min().map_or(0.0, f64::from)
    }

    /// Returns the waits of the packets of a transfer, with the times at which they passed the tap, rising.
    pub(super) fn passed(&self, transfer: usize, base: f64, packet: f64, rate: f64) -> Vec<(u64, f64)> {
        let waits = self.waits(transfer, base, packet, rate);
        let samples = self.samples(transfer).iter().zip(waits);
        let mut all: Vec<(u64, f64)> = samples
            .filter_map(|(sample, wait)| {
                let back = if self.method.is_beyond { u64::from(sample.delay().map(|_| sample.delay)?) } else { 0 };
                Some((sample.at.saturating_sub(back), wait?))
            })
            .collect();
        all.sort_by_key(|passed| passed.0);
        all
    }
}

/// Sorts points, and joins those of one time.
fn joined(mut all: Vec<Point>) -> Vec<Point> {
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut points: Vec<Point> = Vec::with_capacity(all.len());
    for point in all {
        match points.last_mut() {
            Some(last) if point.at - last.at < 1e-6 => {
                last.octets += point.octets;
                last.wait = [last.wait, point.wait].into_iter().flatten().max_by(f64::total_cmp);
            }
            _ => points.push(point),
        }
    }
    points
}
