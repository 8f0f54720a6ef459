//! The retransmission queue by hand, and its losses against a search of all segments.

use proptest::prelude::*;

use super::*;

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}
/// Returns ten segments of 1000 B, one each 10 ms from 0 ms on.
fn ten() -> RetransmissionQueue {
    let mut queue = RetransmissionQueue::default();
    for n in 0..10 {
        queue.sent(1 + 1000 * n, 1001 + 1000 * n, ms(10 * n));
    }
    queue
}

#[test]
fn each_acknowledgement_gives_a_rate_sample() {
    let mut queue = ten();
    for n in 0..10 {
        queue.begin_ack();
        queue.acked(1001 + 1000 * n, ms(100 + 20 * n));
        queue.take_sample();
    }
    // 10,000 B over 280 ms, from the first transmission to the last acknowledgement.
    let sample = queue.sample().unwrap();
    assert_eq!((sample.rate.as_bps(), sample.interval), (80_000 * 1000 / 280, Span::from_ms(280)));
    assert_eq!((queue.in_network(), queue.min_rtt()), (0, Some(Span::from_ms(100))));
}

#[test]
fn blocks_mark_whole_segments_once() {
    let mut queue = ten();
    queue.begin_ack();
    queue.sacked(1001, 3001, ms(100));
    queue.sacked(3001, 3501, ms(100));
    assert_eq!((queue.sacked_segments(), queue.arrived_bytes(), queue.in_network()), (2, 2000, 8000));
    queue.begin_ack();
    queue.sacked(1001, 5001, ms(110));
    assert_eq!((queue.sacked_segments(), queue.arrived_bytes()), (4, 2000));
    queue.begin_ack();
    queue.acked(6001, ms(120));
    assert_eq!((queue.sacked_segments(), queue.arrived_bytes(), queue.in_network()), (0, 2000, 4000));
    // Outside the queue.
    queue.sacked(1, 1001, ms(130));
    queue.sacked(9001, 20_001, ms(130));
    assert_eq!(queue.sacked_segments(), 0);
}

#[test]
fn a_lost_segment_leaves_the_network_until_it_is_resent() {
    let mut queue = ten();
    queue.begin_ack();
    queue.sacked(3001, 4001, ms(130));
    // The fourth segment took 100 ms. The first was sent 130 ms ago, the second 120 ms, the third 110 ms.
    let losses = queue.mark_lost((ms(30), 4001), Span::from_ms(120), ms(130));
    assert_eq!(losses, Losses { bytes: 2000, remaining: Some(Span::from_ms(10)) });
    assert_eq!((queue.in_network(), queue.first_lost()), (7000, Some((1, 1001))));
    queue.sent(1, 1001, ms(130));
    assert_eq!((queue.in_network(), queue.first_lost()), (8000, Some((1001, 2001))));
    // A segment that was declared lost arrives late.
    queue.begin_ack();
    queue.acked(2001, ms(140));
    assert_eq!(queue.arrived()[1], Arrived { end: 2001, sent: ms(10), retransmitted: false });
    assert_eq!((queue.in_network(), queue.first_lost()), (7000, None));
    // The resent one is measured from its last transmission, which gives no least round trip.
    assert_eq!(queue.arrived()[0], Arrived { end: 1001, sent: ms(130), retransmitted: true });
    assert_eq!(queue.min_rtt(), Some(Span::from_ms(100)));
}

#[test]
fn what_was_not_lost_is_in_flight_again() {
    let mut queue = ten();
    queue.begin_ack();
    queue.sacked(3001, 4001, ms(130));
    queue.mark_lost((ms(30), 4001), Span::from_ms(100), ms(130));
    queue.sent(1, 1001, ms(130));
    assert_eq!((queue.in_network(), queue.first_lost()), (7000, Some((1001, 2001))));
    queue.find_lost();
    assert_eq!((queue.in_network(), queue.first_lost()), (9000, None));
    // All are acknowledged, and none is counted twice.
    queue.begin_ack();
    queue.acked(10_001, ms(200));
    assert_eq!((queue.in_network(), queue.total_delivered(), queue.delivery.in_flight), (0, 10_000, 0));
}

/// RFC 8985 §6.2, step 5, over all segments: those that it marks, and the longest remaining time.
fn mark_one_by_one(queue: &RetransmissionQueue, newest: (Time, Position), patience: Span, now: Time) -> Losses {
    let mut losses = Losses::default();
    for s in queue.segments.iter().filter(|s| s.fate == Fate::InFlight && (s.stamp.sent(), s.end) < newest) {
        match s.stamp.sent() + patience {
            due if due <= now => losses.bytes += s.len(),
            due => losses.remaining = losses.remaining.max(Some(due.since(now))),
        }
    }
    losses
}

/// Random blocks, also of parts of segments, retransmissions and losses.
#[test]
fn losses_are_those_of_a_visit_of_all_segments() {
    let mut state = 11_u64;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % n
    };
    let (mut lost, mut remaining) = (0, 0);
    for _ in 0..300 {
        let mut queue = ten();
        for step in 0..30 {
            let now = ms(100 + 10 * step);
            let start = 1 + 500 * below(20);
            let end = (start + 500 * (1 + below(6))).min(10_001);
            queue.begin_ack();
            queue.sacked(start, end, now);
            if let (0, Some((start, end))) = (below(2), queue.first_lost()) {
                queue.sent(start, end, now);
            }
            let newest = (ms(10 * below(10 + step)), 1001 + 1000 * below(10));
            let patience = Span::from_ms(10 * below(15));
            let expected = mark_one_by_one(&queue, newest, patience, now);
            assert_eq!(queue.mark_lost(newest, patience, now), expected);
            lost += u32::from(expected.bytes > 0);
            remaining += u32::from(expected.remaining.is_some());
        }
    }
    assert!(lost > 300 && remaining > 300, "{lost} {remaining}");
}

#[test]
fn what_the_peer_discards_is_lost() {
    let mut queue = ten();
    queue.begin_ack();
    queue.sacked(1001, 3001, ms(100));
    queue.acked(1001, ms(110));
    assert_eq!((queue.sacked_segments(), queue.first_lost(), queue.in_network()), (0, Some((1001, 2001)), 7000));
}

#[test]
fn samples_are_limited_from_where_the_application_has_nothing_left() {
    let mut queue = ten();
    queue.nothing_left();
    queue.sent(10_001, 11_001, ms(90));
    for (n, limited) in [(1, false), (11, true)] {
        queue.begin_ack();
        queue.acked(1 + 1000 * n, ms(200));
        queue.take_sample();
        assert_eq!(queue.sample().unwrap().limited, limited, "{n}");
    }
}

/// No memory is allocated any more once the queue has had its largest size.
#[test]
fn a_warm_queue_keeps_its_memory() {
    let mut queue = ten();
    let turn = |queue: &mut RetransmissionQueue, n: u64| {
        queue.begin_ack();
        queue.acked(1001 + 1000 * n, ms(100 + n));
        queue.take_sample();
        queue.sent(10_001 + 1000 * n, 11_001 + 1000 * n, ms(100 + n));
    };
    turn(&mut queue, 0);
    let capacity = |queue: &RetransmissionQueue| (queue.segments.capacity(), queue.arrived.capacity());
    let warm = capacity(&queue);
    (1..1000).for_each(|n| turn(&mut queue, n));
    assert_eq!(capacity(&queue), warm);
}

/// Losses as RFC 8985 §6.2, step 5, has them: every segment is visited. Returns the ends of those lost, and the time left.
fn by_search(
    queue: &RetransmissionQueue,
    newest: (Time, Position),
    patience: Span,
    now: Time,
) -> (Vec<Position>, Option<Span>) {
    let (mut lost, mut remaining) = (Vec::new(), None);
    for s in queue.segments.iter().filter(|s| s.fate == Fate::InFlight && (s.stamp.sent(), s.end) < newest) {
        let due = s.stamp.sent() + patience;
        if due <= now {
            lost.push(s.end);
        } else {
            remaining = remaining.max(Some(due.since(now)));
        }
    }
    (lost, remaining)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever is sent, resent, acknowledged, lost and found in whatever order, no loss is missed.
    #[test]
    fn losses_are_those_of_a_search(steps in prop::collection::vec((0_u8..9, 0_u64..40, 0_u64..30), 1..150)) {
        let mut queue = RetransmissionQueue::default();
        let (mut now, mut next) = (ms(1), 1);
        for (kind, a, b) in steps {
            now += Span::from_ms(b / 10);
            queue.begin_ack();
            let (first, last) = queue.segments.front().zip(queue.segments.back()).map_or((next, next), |(f, l)| (f.start, l.end));
            let within = |n: u64| (first + 1000 * n).min(last);
            match kind {
                0 | 1 => {
                    for _ in 0..=a / 4 {
                        queue.sent(next, next + 1000, now);
                        next += 1000;
                    }
                }
                2 | 3 => { queue.sacked(within(a), within(a + 1 + b / 8), now); }
                4 => queue.acked(within(a / 6), now),
                5 => {
                    for _ in 0..=a / 10 {
                        if let Some((start, end)) = queue.first_lost() {
                            queue.sent(start, end, now);
                        }
                    }
                }
                // A probe; a timeout, or an undo of all losses.
                6 => if let Some((start, end)) = queue.last() { queue.sent(start, end, now) },
                7 if a < 10 => queue.mark_lost_on_timeout(now, now),
                7 if a < 20 => queue.find_lost(),
                _ => {}
            }
            let Some(s) = queue.segments.get(b as usize).or(queue.segments.back()) else { continue };
            let (newest, patience) = ((s.stamp.sent(), s.end), Span::from_ms(a / 2));
            let (expected, remaining) = by_search(&queue, newest, patience, now);
            queue.lost.clear();
            let found = queue.mark_lost(newest, patience, now);
            prop_assert_eq!(queue.lost().iter().map(|loss| loss.end).collect::<Vec<_>>(), expected);
            prop_assert_eq!(found.remaining, remaining);
        }
    }
}
