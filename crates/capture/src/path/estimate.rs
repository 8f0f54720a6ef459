//! The path that the transfers of a capture have in common.

use std::collections::BTreeMap;

use super::bulk::{Bulk, Half, TICK};
use super::dispersion::Dispersion;
use crate::samples::Samples;

/// The share of windows whose rate is lower than the estimate: the link is busy in most windows.
const QUANTILE: f64 = 0.9;
/// The parts of the capture whose estimates give the interval of the rate.
const PARTS: usize = 4;
/// The window of the rate: this many round trips, and at least this many ticks.
const TRIPS: f64 = 10.0;
const LEAST_WINDOW: usize = 200;
/// The most ticks of the merged deliveries; longer captures have longer ticks.
const MAX_TICKS: u64 = 8_000_000;

/// The packets of a queue with which no buffer is taken to be full.
const FEW_PACKETS: f64 = 4.0;
/// The largest payload of a segment in a packet of Ethernet, in octets.
const ETHERNET: u32 = 1_460;

/// A value with the interval in which it probably is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A path in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct PathEstimate {
    /// The rate of the bottleneck for IP packets, in bit/s.
    pub rate: Interval,
    /// The highest rate at which acknowledgements of many octets follow one another, in bit/s: that of packets that
    /// left the bottleneck back to back. It is higher than `rate` if others share the link, or if acknowledgements are
    /// joined on their way.
    pub dispersion: f64,
    /// The round trip without queues, in s. The interval ends at the lowest 5 % of the measured ones.
    pub rtt: Interval,
    /// The buffer in front of the bottleneck, in octets of IP packets, from the delays before losses (10 to 90 %);
    /// `None` without a loss.
    pub buffer: Option<Interval>,
    /// The queue that one packet of twenty found, or a longer one, in octets: a lower bound of the buffer.
    pub queue: f64,
    /// The share of segments that were lost.
    pub loss: Interval,
    /// True if some losses occurred with less than half of that queue, or of few packets: they were not those of
    /// a full buffer.
    pub has_random_loss: bool,
    /// True if no queue shows that the link was busy: its rate may be higher.
    pub is_lower_bound: bool,
    /// Bulk transfers.
    pub transfers: usize,
    /// Segments with payload.
    pub packets: u64,
    /// The largest payload of a segment, in octets; of several where the capture has coalesced ones.
    pub mss: u32,
}

/// Returns the value that a share of sorted ones does not exceed.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

/// A bulk transfer: addresses of sender and receiver, its data, and the handshake on the sender's and the receiver's
/// side.
struct Transfer {
    addresses: [u128; 2],
    half: Half,
    handshake: Option<[u64; 2]>,
}

/// Returns the transfers in the direction of the largest one that have its sender or its receiver.
fn transfers(connections: Vec<([u128; 2], Bulk)>) -> Vec<Transfer> {
    let mut all = Vec::new();
    for (ends, Bulk { halves, handshake, .. }) in connections {
        for (side, half) in halves.into_iter().enumerate() {
            if half.is_bulk() {
                let order = [side, 1 - side];
                let handshake = handshake.map(|trips| order.map(|at| trips[at]));
                all.push(Transfer { addresses: order.map(|at| ends[at]), half, handshake });
            }
        }
    }
    let largest = all.iter().max_by_key(|transfer| transfer.half.payload).map(|transfer| transfer.addresses);
    if let Some([sender, receiver]) = largest {
        all.retain(|transfer| transfer.addresses[0] == sender || transfer.addresses[1] == receiver);
    }
    all
}

/// The least delays between two addresses, on the sender's and the receiver's side, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Least {
    sender: Option<u64>,
    receiver: Option<u64>,
}

fn lower(to: &mut Option<u64>, value: Option<u64>) {
    *to = [*to, value].into_iter().flatten().min();
}

pub(super) fn estimate(connections: Vec<([u128; 2], Bulk)>) -> Option<PathEstimate> {
    let all = transfers(connections);
    let mut least: BTreeMap<[u128; 2], Least> = BTreeMap::new();
    for Transfer { addresses, half, handshake } in &all {
        let least = least.entry(*addresses).or_default();
        lower(&mut least.sender, half.sender.least.into_iter().chain(handshake.map(|trips| trips[0])).min());
        lower(&mut least.receiver, half.receiver.least.into_iter().chain(handshake.map(|trips| trips[1])).min());
    }
    let base = least
        .values()
        .filter_map(|least| Some((least.receiver? + least.sender.unwrap_or_default()) as f64 / 1e9))
        .min_by(f64::total_cmp)?;
    let low_end = |of: fn(&Half) -> &Samples| {
        all.iter().filter_map(|transfer| quantile(&of(&transfer.half).sorted(), 0.05)).min_by(f64::total_cmp)
    };
    let high = low_end(|half| &half.receiver.samples)? + low_end(|half| &half.sender.samples).unwrap_or_default();
    let rtt = Interval { value: base, low: base, high: high.max(base) };

    let sum = |of: fn(&Half) -> u64| all.iter().map(|transfer| of(&transfer.half)).sum::<u64>();
    let (packets, payload) = (sum(|half| half.packets), sum(|half| half.payload));
    let headers = sum(|half| half.octets) as f64 / payload as f64;
    let rate = rate(&all, base)?;
    let mut merged = Dispersion::default();
    all.iter().for_each(|transfer| merged.merge(&transfer.half.dispersion));
    let dispersion = merged.rate()? * headers;
    let rate = Interval { value: rate.value * headers, low: rate.low * headers, high: rate.high * headers };

    // The queue of the bottleneck is on the side of the tap where the delays vary more.
    let swing = |of: fn(&Half) -> &Samples| {
        let swings = all.iter().filter_map(|transfer| {
            let sorted = of(&transfer.half).sorted();
            Some(quantile(&sorted, 0.95)? - sorted.first()?)
        });
        swings.fold(0.0, f64::max)
    };
    let swings = [swing(|half| &half.receiver.samples), swing(|half| &half.sender.samples)];
    let is_behind = swings[0] >= swings[1];
    let queues = |transfer: &Transfer| {
        let least = least.get(&transfer.addresses).copied().unwrap_or_default();
        // Of full segments: a SYN takes less time.
        let base = if is_behind {
            transfer.half.receiver.least.or(least.receiver)
        } else {
            transfer.half.sender.least.or(least.sender)
        };
        let base = base.unwrap_or_default();
        let delays =
            transfer.half.losses.iter().filter_map(move |loss| if is_behind { loss.receiver } else { loss.sender });
        delays.map(move |delay| delay.saturating_sub(base) as f64 / 1e9).collect::<Vec<_>>()
    };
    let mut events: Vec<f64> = all.iter().flat_map(queues).collect();
    events.sort_unstable_by(f64::total_cmp);
    let mss = all.iter().map(|transfer| transfer.half.largest).max().unwrap_or_default();
    // The packet in front of a lost one waits for all but itself. A capture may have coalesced segments.
    let packet = f64::from(mss.min(ETHERNET)) * headers;
    let octets = |seconds: f64| seconds * rate.value / 8.0 + packet;
    let largest = swings[0].max(swings[1]);
    let buffer = quantile(&events, 0.5).map(|value| Interval {
        value: octets(value),
        low: octets(quantile(&events, 0.1).unwrap_or(value)),
        high: octets(quantile(&events, 0.9).unwrap_or(value)),
    });
    let queue = octets(largest);
    let has_random_loss = buffer.is_some_and(|buffer| buffer.low < queue / 2.0 || buffer.value < FEW_PACKETS * packet);

    let lost = sum(|half| half.lost) as f64;
    let (share, error) = (lost / packets as f64, 1.96 * lost.max(1.0).sqrt() / packets as f64);
    let loss = Interval { value: share, low: (share - error).max(0.0), high: share + error };
    let is_lower_bound = largest < base / 10.0;
    let transfers = all.len();
    Some(PathEstimate {
        rate,
        dispersion,
        rtt,
        buffer,
        queue,
        loss,
        has_random_loss,
        is_lower_bound,
        transfers,
        packets,
        mss,
    })
}

/// Returns the rate at which payload is delivered, in bit/s.
fn rate(all: &[Transfer], rtt: f64) -> Option<Interval> {
    let ticks = || all.iter().flat_map(|transfer| &transfer.half.deliveries).map(|(tick, _)| *tick);
    let (first, last) = (ticks().min()?, ticks().max()?);
    let wide = (last - first + 1).div_ceil(MAX_TICKS).max(1);
    let count = ((last - first) / wide + 1) as usize;
    let mut sums = vec![0u64; count + 1];
    for (tick, octets) in all.iter().flat_map(|transfer| &transfer.half.deliveries) {
        sums[((tick - first) / wide) as usize + 1] += u64::from(*octets);
    }
    for at in 1..sums.len() {
        sums[at] += sums[at - 1];
    }
    let width = (wide * TICK) as f64 / 1e9;
    let window = ((TRIPS * rtt / width).ceil() as usize).max(LEAST_WINDOW).min(count.div_ceil(8)).max(1);
    let within = |from: usize, to: usize| {
        let starts = (from..to.saturating_sub(window - 1).max(from + 1)).step_by(window.div_ceil(4));
        let mut rates: Vec<f64> = starts
            .map(|at| (at, (at + window).min(count)))
            .map(|(at, end)| (sums[end] - sums[at]) as f64 * 8.0 / ((end - at) as f64 * width))
            .collect();
        rates.sort_unstable_by(f64::total_cmp);
        quantile(&rates, QUANTILE)
    };
    let value = within(0, count)?;
    let parts: Vec<f64> =
        (0..PARTS).filter_map(|part| within(part * count / PARTS, (part + 1) * count / PARTS)).collect();
    let low = parts.iter().copied().fold(value, f64::min);
    let high = parts.iter().copied().fold(value, f64::max);
    Some(Interval { value, low, high })
}
