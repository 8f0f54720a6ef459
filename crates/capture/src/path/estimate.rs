//! The path that the transfers of a capture have in common.

use super::buffer;
use super::bulk::{Bulk, Handshake};
use super::busy::{self, Busy};
use super::dispersion::Dispersion;
use super::half::Half;
use super::trips::{bases, round_trip};
use super::view::View;
use super::windows;

/// The steadiness from which waits are those of a queue: that of a queue of others and of jitter is lower.
const STEADY: f64 = 0.5;
/// The wait that hosts explain, in s.
const HOSTS: f64 = 0.3e-3;
/// The time by which hosts are late, from which that between packets is not exact, in s.
const LATE: f64 = 0.4e-3;
/// The wait in a full buffer as a multiple of its error, at least.
const LEAST_ERRORS: f64 = 2.0;
/// The variation of deliveries that is no longer that of hosts, in s and in packets.
const JITTER: f64 = 2e-3;
const JITTER_PACKETS: f64 = 4.0;
/// The largest variation as a multiple of that which one of ten exceeds.
const LONGEST_JITTER: f64 = 3.0;
/// The ticks of a clock that a wait has, at least.
const WAIT_TICKS: f64 = 4.0;
/// The queue of acknowledgements that makes their rate known, in ticks of the clock.
const RETURN_TICKS: f64 = 5.0;
/// The ratio of the rates of packets back to back and of the transfers from which others may share the link.
const SHARED: f64 = 1.15;
/// The same where hosts are late by more than the time of a packet.
const SHARED_LATE: f64 = 1.5;

/// The part of the mean rate that a path surely has: the start of a transfer may be faster.
const SURELY: f64 = 0.9;
/// The share of lost packets from which a policer may limit transfers whose rate is at most this part of the link's.
const POLICED_LOSS: f64 = 0.005;
const POLICED: f64 = 0.7;

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

/// A reason for which a part of an estimate may be wrong, or is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// No queue shows that the link was busy: its rate may be higher.
    NoQueue,
    /// Packets that left back to back have a higher rate: others may share the link.
    Shared,
    /// Delays vary, and deliveries do not have one rate meanwhile: jitter, a varying link or other traffic.
    Unsteady,
    /// Acknowledgements waited in a queue, so that data are timed by clocks with coarse ticks.
    ReturnQueue,
    /// There are no timestamps, and acknowledgements of one and of two packets follow one another at the same distance:
    /// the link towards the sender may be the slower one.
    ReturnUnknown,
    /// Without timestamps a queue of acknowledgements counts as one of data.
    NoTimestamps,
    /// Neither timestamps nor a handshake show the path between sender and tap.
    NoSenderSide,
    /// The link was busy all the time, and the capture begins later than the transfer: the queue may never have been
    /// empty, so the round trip may be shorter and the buffer larger.
    StandingQueue,
    /// The link was seldom busy, and many packets were lost with short queues: by a policer with a lower rate, or at
    /// random.
    Policer,
    /// Losses occurred with short queues.
    RandomLoss,
    /// No loss shows a full buffer.
    NoFullBuffer,
}

/// A path in numbers. Ends of intervals are infinite where nothing is known.
#[derive(Clone, Debug, PartialEq)]
pub struct PathEstimate {
    /// The rate of the bottleneck for IP packets, in bit/s.
    pub rate: Interval,
    /// The highest rate at which acknowledgements of many octets follow one another, in bit/s: that of packets that
    /// left the bottleneck back to back. It is higher than `rate` if others share the link, or if acknowledgements are
    /// joined on their way.
    pub dispersion: f64,
    /// The round trip without queues and without the time of packets on the bottleneck link, in s.
    pub rtt: Interval,
    /// The buffer in front of the bottleneck, in octets of IP packets; `None` if no loss shows it.
    pub buffer: Option<Interval>,
    /// The queue that one packet of twenty found, or a longer one, in octets: a lower bound of the buffer.
    pub queue: f64,
    /// The share of segments that were lost.
    pub loss: Interval,
    /// The share of segments that were lost in front of a queue that was not full.
    pub random_loss: f64,
    /// True if some losses were not those of a full buffer.
    pub has_random_loss: bool,
    /// True if no queue shows that the link was busy: its rate may be higher.
    pub is_lower_bound: bool,
    /// The rate of the link towards the sender, in bit/s, if acknowledgements waited for it; what others leave of it, if
    /// they use it, too.
    pub return_rate: Option<Interval>,
    /// The reasons for which parts of this may be wrong.
    pub doubts: Vec<Doubt>,
    /// Bulk transfers.
    pub transfers: usize,
    /// Segments with payload. A longer one that hosts divide or have joined counts as those of which it is made.
    pub packets: u64,
    /// The largest payload of a segment in a packet, in octets.
    pub mss: u32,
}

/// Returns the value that a share of sorted ones does not exceed.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

/// A bulk transfer: addresses of sender and receiver, its data, and the handshake with the trips on the sender's and
/// the receiver's side.
pub(super) struct Transfer {
    pub(super) addresses: [u128; 2],
    pub(super) half: Half,
    pub(super) handshake: Option<Handshake>,
}

/// Returns the transfers in the direction of the largest one that have its sender or its receiver, and true if another
/// one between the same hosts has the other direction.
fn transfers(connections: Vec<([u128; 2], Bulk)>) -> (Vec<Transfer>, bool) {
    let mut all = Vec::new();
    for (ends, Bulk { halves, handshake, .. }) in connections {
        for (side, half) in halves.into_iter().enumerate() {
            if half.is_bulk() {
                let order = [side, 1 - side];
                let handshake =
                    handshake.map(|Handshake { trips, length }| Handshake { trips: order.map(|at| trips[at]), length });
                all.push(Transfer { addresses: order.map(|at| ends[at]), half, handshake });
            }
        }
    }
    let largest = all.iter().max_by_key(|transfer| transfer.half.payload).map(|transfer| transfer.addresses);
    let Some([sender, receiver]) = largest else { return (all, false) };
    let is_loaded = all.iter().any(|transfer| transfer.addresses == [receiver, sender]);
    all.retain(|transfer| transfer.addresses[0] == sender || transfer.addresses[1] == receiver);
    (all, is_loaded)
}

pub(super) fn estimate(connections: Vec<([u128; 2], Bulk)>) -> Option<PathEstimate> {
    let (all, is_loaded) = transfers(connections);
    if all.is_empty() {
        return None;
    }
    let sum = |of: fn(&Half) -> u64| all.iter().map(|transfer| of(&transfer.half)).sum::<u64>();
    let (packets, payload) = (sum(|half| half.packets), sum(|half| half.payload));
    let headers = sum(|half| half.octets) as f64 / payload as f64;
    let mss = all.iter().map(|transfer| transfer.half.largest).max()?;
    let packet = f64::from(mss) * headers;
    let view = View::new(&all, f64::INFINITY);
    let mut doubts = Vec::new();

    let mut merged = Dispersion::default();
    all.iter().for_each(|transfer| merged.merge(&transfer.half.dispersion));

    // The time of packets on the link is known with its rate, and that needs waits, so there are two passes.
    let first = bases(&all, &view, f64::INFINITY, f64::INFINITY)?;
    let points = view.points(&first.here, packet, f64::INFINITY);
    let in_windows = windows::rate(&points, first.rtt)?;
    // With jitter no rate has many octets.
    let dispersion = merged.rate(packet * 8.0 / LATE).map_or(in_windows.value, |rate| rate * headers);
    let floor = (WAIT_TICKS * view.tick).max(HOSTS);
    let back = view.acknowledgements();
    let return_rate = view.return_queue.filter(|queue| *queue > RETURN_TICKS * view.clock_tick).and_then(|_| {
        let found = busy::busy(&view.returned(), RETURN_TICKS * view.clock_tick);
        // Beside data, acknowledgements have a part of the rate.
        found.filter(|busy| !is_loaded && busy.steadiness > STEADY).map(|busy| busy.rate)
    });
    let first_busy = busy::busy(&points, floor);
    let link = first_busy.map_or(dispersion.max(in_windows.value), |busy| busy.rate.value);
    let view = View::new(&all, link);
    let bases = bases(&all, &view, link, return_rate.map_or(f64::INFINITY, |rate| rate.value))?;
    let points = view.points(&bases.here, packet, link);
    let floor = (WAIT_TICKS * view.tick).max(HOSTS).max(2.0 * packet * 8.0 / link);
    let found = busy::busy(&points, floor);
    let steady = found.filter(|busy| busy.steadiness >= STEADY);
    let is_lower_bound = steady.is_none();
    let shared = if packet * 8.0 / link > LATE { SHARED } else { SHARED_LATE };
    let has_return_queue = view.method.is_beyond && view.method.is_one_way;
    let mut rate = match steady {
        Some(Busy { rate, .. }) => rate,
        None => Interval { low: in_windows.low.min(0.98 * in_windows.value), high: f64::INFINITY, ..in_windows },
    };
    // Windows at the start of a transfer may have those packets that a policer lets pass at once.
    let least = SURELY * windows::mean(&points)?;
    if is_lower_bound {
        rate.low = rate.low.min(least);
    }
    let jitter = if has_return_queue { 0.0 } else { windows::jitter(&points, rate.value, floor) };
    let is_jittered = !is_lower_bound && jitter > JITTER.max(JITTER_PACKETS * packet * 8.0 / link);
    if is_jittered {
        doubts.push(Doubt::Unsteady);
    }
    if view.return_queue.is_none() && !is_lower_bound && !windows::follows_octets(&points, packet) {
        doubts.push(Doubt::ReturnUnknown);
        rate.high = f64::INFINITY;
    }
    if is_lower_bound {
        doubts.push(if found.is_some() { Doubt::Unsteady } else { Doubt::NoQueue });
    }
    if found.is_some() && dispersion > shared * rate.value && !has_return_queue {
        doubts.push(Doubt::Shared);
        rate.high = f64::INFINITY;
    }

    let longest = busy::quantile(&points, 0.95);
    let mut rtt = round_trip(&all, &bases, &points, rate.value, longest, &mut doubts);
    if return_rate.is_none() {
        // The link towards the sender has carried all acknowledgements, and may not have been much faster.
        let shaken = all.iter().filter_map(|transfer| transfer.handshake).map(|shaken| f64::from(shaken.length));
        let octets = shaken.fold(view.acknowledgement(), f64::max);
        let slowest = windows::mean(&back).unwrap_or(f64::INFINITY);
        rtt.low = (rtt.low - octets * 8.0 / slowest).max(0.0);
    }
    if view.return_queue.is_none() {
        doubts.push(Doubt::NoTimestamps);
    } else if has_return_queue {
        doubts.push(Doubt::ReturnQueue);
    }

    // The packet that is sent is not in the buffer, and one that was dropped is larger than what is free in it.
    let octets = |wait: f64, rate: f64| (wait * rate / 8.0 - packet / 2.0).max(packet);
    let queue = octets(longest, rate.value);
    let mut events = Vec::new();
    for (at, (Transfer { half, .. }, base)) in all.iter().zip(&bases.here).enumerate() {
        events.extend(buffer::events(&half.losses, &view.passed(at, *base, packet, link)));
    }
    let flight = (rtt.value + longest) * rate.value / (packet * 8.0);
    // The packet that is sent, and one whose acknowledgement is delayed by the gap of a lost one.
    let error =
        (2.0 * packet * 8.0 / link + HOSTS).max(view.tick).max(if is_jittered { LONGEST_JITTER * jitter } else { 0.0 });
    // Of acknowledgements, where the delay there and back is used; a clock shows half a tick of none.
    let back_wait = view.return_queue.map_or(0.0, |queue| (queue - view.clock_tick / 2.0).max(0.0));
    let back_wait = if view.method.is_one_way { 0.0 } else { back_wait };
    let full = buffer::full(&events, busy::quantile(&points, 0.99), error, flight, packets)
        .filter(|full| !is_lower_bound && full.value > LEAST_ERRORS * error);
    let buffer = full.map(|full| Interval {
        value: octets(full.value, rate.value),
        low: if doubts.contains(&Doubt::NoTimestamps) { packet } else { octets(full.low - back_wait, rate.low) },
        high: if doubts.contains(&Doubt::StandingQueue) {
            octets(full.high + rtt.value, rate.high)
        } else {
            octets(full.high, rate.high)
        },
    });
    let lost = sum(|half| half.lost);
    let may_be_policed = lost as f64 > POLICED_LOSS * packets as f64 && in_windows.value < POLICED * rate.value;
    if buffer.is_none() && may_be_policed && !is_lower_bound {
        doubts.push(Doubt::Policer);
        rate.low = rate.low.min(least);
    }
    let known: u64 = events.iter().map(|event| event.count).sum();
    let elsewhere = full.map_or(known, |full| full.lost_elsewhere);
    let random_loss = elsewhere as f64 / packets as f64;
    let has_random_loss = lost > 0 && full.is_none_or(|full| full.lost_elsewhere > 0);
    if has_random_loss {
        doubts.push(Doubt::RandomLoss);
    }
    if buffer.is_none() {
        doubts.push(Doubt::NoFullBuffer);
    }

    let (share, error) = (lost as f64 / packets as f64, 1.96 * (lost.max(1) as f64).sqrt() / packets as f64);
    let loss = Interval { value: share, low: (share - error).max(0.0), high: share + error };
    let transfers = all.len();
    Some(PathEstimate {
        rate,
        dispersion,
        rtt,
        buffer,
        queue,
        loss,
        random_loss,
        has_random_loss,
        is_lower_bound,
        return_rate,
        doubts,
        transfers,
        packets,
        mss,
    })
}
