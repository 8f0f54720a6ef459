//! Pages on a network with latency and no bandwidth.
#![allow(clippy::unwrap_used)]

mod harness;

use cellway_apps::random::Streams;
use cellway_apps::{Action, ConnId, Conversation, Outcome, PageWorkload, Side, SizeLaw, Workload};
use cellway_units::{Bytes, Span, Time};
use harness::{Net, Run};

const L: Span = Span::from_ms(10);

fn page(objects: u32, connections: u32, think: Span) -> PageWorkload {
    let sizes = SizeLaw::Fixed(Bytes(20_000));
    PageWorkload { html: Bytes(5000), objects, sizes, connections, request: Bytes(700), think }
}

fn run(net: &Net, page: PageWorkload, number: u64) -> Run {
    net.run(&Workload::Page(page), 1, "page-1", number)
}

/// Returns when the page was complete, and when its load began.
fn loaded(run: &Run) -> (Time, Time) {
    let of = |(at, action): &(Time, Action)| match action {
        Action::Answer { since } => Some((*at, *since)),
        _ => None,
    };
    let pages: Vec<_> = run.actions.iter().filter_map(of).collect();
    assert_eq!(pages.len(), 1);
    pages[0]
}

/// A round trip for the handshake and one for the document. The first object goes with the handshakes of the other
/// connections, then each round trip has an object on each connection.
#[test]
fn the_load_time_falls_with_connections() {
    for (objects, connections) in [(1, 1), (1, 6), (6, 1), (6, 2), (6, 6), (7, 6), (8, 6), (30, 6), (30, 1000), (31, 3)]
    {
        let run = run(&harness::new(L), page(objects, connections, Span::ZERO), 0);
        let rounds = 3 + u64::from((objects - 1).div_ceil(connections));
        assert_eq!(loaded(&run), (Time::ZERO + L * (2 * rounds), Time::ZERO), "{objects} over {connections}");
        assert_eq!(run.connections, connections.min(objects) as usize);
        let requests = objects as usize + 1;
        assert_eq!(run.writes(Side::Originator), vec![700; requests]);
        let mut responses = vec![20_000; requests];
        responses[0] = 5000;
        assert_eq!(run.writes(Side::Responder), responses);
        // An item for each response, from its request on.
        assert_eq!(run.items(), responses.into_iter().map(|bytes| (bytes, L * 2)).collect::<Vec<_>>());
        // The close takes a latency there and one back, and the last acknowledgement another.
        assert_eq!(run.ended, Some(loaded(&run).0 + L * 3));
    }
}

/// The conversation waits for the end of the think time and for its connections, whichever is later.
#[test]
fn the_next_page_waits_for_the_think_time() {
    for (think, wait) in [(Span::ZERO, L * 3), (Span::from_ms(1), L * 3), (Span::from_ms(400), Span::from_ms(400))] {
        let run = run(&harness::new(L), page(6, 2, think), 0);
        assert_eq!(run.ended, Some(loaded(&run).0 + wait), "{think}");
    }
}

#[test]
fn responses_in_pieces_are_whole_with_their_last_byte() {
    let whole = run(&harness::new(L), page(6, 2, Span::ZERO), 0);
    for chunk in [699, 4999] {
        let run = run(&Net { chunk, ..harness::new(L) }, page(6, 2, Span::ZERO), 0);
        assert_eq!((run.items().len(), run.writes(Side::Responder)), (7, whole.writes(Side::Responder)), "{chunk}");
        // Each piece takes a nanosecond, and a piece of a request or response of 20,000 B is at least 699 B.
        assert!(loaded(&run).0 - loaded(&whole).0 < Span::from_us(1));
    }
}

/// Sizes depend on the seed and the number of the page, not on latencies or connections.
#[test]
fn sizes_are_the_same_on_every_network() {
    let drawn = |latency, connections, number| {
        let sizes = SizeLaw::LogNormal { median: Bytes(10_000), sigma: 1.5 };
        let run = run(&harness::new(latency), PageWorkload { sizes, ..page(40, connections, Span::ZERO) }, number);
        let mut sizes: Vec<u64> = run.items().iter().map(|item| item.0).collect();
        sizes.sort_unstable();
        sizes
    };
    let first = drawn(L, 6, 0);
    assert_eq!(first, drawn(Span::from_us(3), 1, 0));
    assert_ne!(first, drawn(L, 6, 1));
    assert!(first.windows(2).filter(|pair| pair[0] != pair[1]).count() > 30, "{first:?}");
}

/// A connection that is established after the page is complete carries nothing and closes; the conversation waits for it.
#[test]
fn a_late_connection_closes_when_it_is_established() {
    let workload = Workload::Page(page(2, 2, Span::from_ms(1)));
    let mut conversation = Conversation::new(&workload, &Streams::new(1), "page-1", 0);
    let (mut out, conns) = (Vec::new(), [ConnId(0), ConnId(1)]);
    let close = |conn| Action::Close { conn, side: Side::Originator };
    conversation.start(Time::ZERO, &mut out);
    conversation.connected(Time::ZERO, conns[0], Side::Originator, &mut out);
    for response in [5000, 20_000, 20_000] {
        conversation.received(Time::ZERO, conns[0], Side::Responder, 700, &mut out);
        conversation.received(Time::ZERO, conns[0], Side::Originator, response, &mut out);
    }
    assert!(out.contains(&Action::Open { conn: conns[1], from: Side::Originator }));
    assert_eq!(out[out.len() - 2..], [close(conns[0]), Action::Timer { at: Time::ZERO + Span::from_ms(1), id: 0 }]);
    out.clear();
    conversation.closed(Time::ZERO, conns[0], &mut out);
    conversation.timer(Time::ZERO + Span::from_ms(1), 0, &mut out);
    assert_eq!((out.len(), conversation.outcome()), (0, Outcome::Running));
    conversation.connected(Time::ZERO + L, conns[1], Side::Originator, &mut out);
    conversation.closed(Time::ZERO + L * 2, conns[1], &mut out);
    assert_eq!((&out[..], conversation.outcome()), (&[close(conns[1]), Action::Ended][..], Outcome::Completed));
}

/// The second connection fails in its handshake, after the first has brought everything.
#[test]
fn a_connection_that_fails_late_fails_no_page() {
    let workload = Workload::Page(page(2, 2, Span::ZERO));
    let mut conversation = Conversation::new(&workload, &Streams::new(1), "page-1", 0);
    let (mut out, conns) = (Vec::new(), [ConnId(0), ConnId(1)]);
    conversation.start(Time::ZERO, &mut out);
    conversation.connected(Time::ZERO, conns[0], Side::Originator, &mut out);
    for response in [5000, 20_000, 20_000] {
        assert_eq!(conversation.outcome(), Outcome::Running);
        conversation.received(Time::ZERO, conns[0], Side::Responder, 700, &mut out);
        conversation.received(Time::ZERO, conns[0], Side::Originator, response, &mut out);
    }
    conversation.failed(Time::ZERO, conns[1], &mut out);
    assert_eq!(conversation.outcome(), Outcome::Running, "the first has not closed");
    conversation.closed(Time::ZERO, conns[0], &mut out);
    assert_eq!((out.last(), conversation.outcome()), (Some(&Action::Ended), Outcome::Completed));
}

#[test]
fn a_failed_connection_fails_the_page() {
    let workload = Workload::Page(page(3, 2, Span::ZERO));
    let mut conversation = Conversation::new(&workload, &Streams::new(1), "page-1", 0);
    let mut out = Vec::new();
    conversation.start(Time::ZERO, &mut out);
    conversation.failed(Time::ZERO, ConnId(0), &mut out);
    assert_eq!((out.last(), conversation.outcome()), (Some(&Action::Ended), Outcome::Failed));
}
