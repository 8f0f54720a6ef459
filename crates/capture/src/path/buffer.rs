//! The buffer in front of the bottleneck: the waits of packets beside those that a full buffer dropped.
//!
//! A full buffer drops at one length of the queue, which no packet exceeds; random losses occur at any. So the buffer is
//! known if loss events gather at the upper end of all waits.

use super::estimate::quantile;
use super::half::Loss;

/// The packets in front of a lost one whose longest wait counts.
const BESIDE: usize = 3;
/// The share of the waits beside several lost packets that one counts: hosts make a few longer.
const LONG: f64 = 0.9;
/// The distance from the longest wait before a loss within which others gather, as a share of it.
const GATHERED: f64 = 0.12;
/// The events that gather, at least.
const EVENTS: usize = 3;
/// The packets of a single event that are as good as several events, at least, and as a multiple of those that random
/// losses explain.
const LOST_TOGETHER: f64 = 3.0;
const RANDOM: f64 = 4.0;
/// The least share of events at the upper end, if there are others.
const LEAST_SHARE: f64 = 0.1;

/// A loss event with the wait beside it, in s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) wait: f64,
    pub(super) count: u64,
}

/// Returns the loss events of a transfer whose waits are known. `passed` has the times at the tap (ns, rising) and the
/// waits of packets.
pub(super) fn events(losses: &[Loss], passed: &[(u64, f64)]) -> Vec<Event> {
    let event = |loss: &Loss| {
        let first = passed.partition_point(|(at, _)| *at <= loss.first);
        let end = passed.partition_point(|(at, _)| *at <= loss.last);
        let is_recent = |(at, wait): &&(u64, f64)| loss.first.saturating_sub(*at) as f64 / 1e9 <= wait.max(2e-3);
        let beside = passed[first.saturating_sub(BESIDE)..end].iter().filter(is_recent);
        let mut waits: Vec<f64> = beside.map(|(_, wait)| *wait).collect();
        waits.sort_unstable_by(f64::total_cmp);
        let share = if end - first > BESIDE { LONG } else { 1.0 };
        Some(Event { wait: quantile(&waits, share)?, count: loss.count })
    };
    losses.iter().filter_map(event).collect()
}

/// The waits of a full buffer, in s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Full {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The packets that were lost with shorter queues.
    pub(super) lost_elsewhere: u64,
}

/// Returns the wait in a full buffer; `None` if losses do not show one. `longest` is the wait that one packet of a
/// hundred exceeds, `error` that of a wait, both in s. A round trip has `flight` packets, of `packets` in all.
pub(super) fn full(events: &[Event], longest: f64, error: f64, flight: f64, packets: u64) -> Option<Full> {
    let mut tops: Vec<f64> = events.iter().map(|event| event.wait).collect();
    tops.sort_unstable_by(|a, b| b.total_cmp(a));
    // The highest is not the first choice only if it is alone: a host may explain it.
    tops.into_iter().find_map(|top| gathered(events, top, longest, error, flight / packets as f64))
}

fn gathered(events: &[Event], top: f64, longest: f64, error: f64, share: f64) -> Option<Full> {
    let near = (GATHERED * top).max(2.0 * error);
    // Packets that waited for longer, and were not lost, show that the buffer was not full.
    if longest > top + near {
        return None;
    }
    let (mut at_top, below): (Vec<Event>, Vec<Event>) = events.iter().partition(|event| event.wait >= top - near);
    at_top.retain(|event| event.wait <= top + near);
    let lost_elsewhere: u64 = below.iter().map(|event| event.count).sum();
    let together = LOST_TOGETHER.max(2.0 + RANDOM * lost_elsewhere as f64 * share);
    let is_enough = at_top.len() >= EVENTS && at_top.len() as f64 >= LEAST_SHARE * events.len() as f64;
    let bursts: Vec<Event> = at_top.iter().copied().filter(|event| event.count as f64 >= together).collect();
    // Of random losses only those of many packets are certain.
    let certain = if bursts.is_empty() && is_enough { at_top } else { bursts };
    let mut waits: Vec<f64> = certain.iter().map(|event| event.wait).collect();
    waits.sort_unstable_by(f64::total_cmp);
    let value = *waits.get(waits.len() / 2)?;
    let low = waits[waits.len() / 10].min(value - error);
    let high = waits[waits.len() - 1].max(value + error);
    Some(Full { value, low, high, lost_elsewhere })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(wait: f64, count: u64) -> Event {
        Event { wait, count }
    }

    #[test]
    fn events_that_gather_at_the_longest_wait_are_those_of_a_full_buffer() {
        let mut events = vec![event(0.100, 1), event(0.099, 1), event(0.101, 2)];
        let found = full(&events, 0.100, 0.001, 50.0, 10_000).unwrap();
        assert!((found.value - 0.100).abs() < 1e-9 && found.lost_elsewhere == 0, "{found:?}");
        // Random losses beside them do not move it.
        events.extend([event(0.01, 1), event(0.05, 1), event(0.07, 1)]);
        let found = full(&events, 0.100, 0.001, 50.0, 10_000).unwrap();
        assert!((found.value - 0.100).abs() < 1e-9 && found.lost_elsewhere == 3, "{found:?}");
    }

    #[test]
    fn random_losses_show_no_buffer() {
        let events = [event(0.01, 1), event(0.05, 1), event(0.07, 1), event(0.03, 1)];
        assert_eq!(full(&events, 0.08, 0.001, 50.0, 10_000), None);
        let at_half = [event(0.05, 1); 8];
        assert_eq!(full(&at_half, 0.1, 0.001, 50.0, 10_000), None, "packets waited for longer and were not lost");
        assert_eq!(full(&[], 0.1, 0.001, 50.0, 10_000), None);
    }

    #[test]
    fn the_packets_in_front_of_a_lost_one_show_its_wait() {
        let passed: Vec<(u64, f64)> = (0..100).map(|n| (n * 1_000_000, n as f64 * 1e-3)).collect();
        let found = events(&[Loss { first: 50_000_000, last: 50_000_000, count: 4 }], &passed);
        assert_eq!(found, [event(0.050, 4)]);
    }
}
