//! Requests and responses on a network with latency and no bandwidth.
#![allow(clippy::unwrap_used)]

mod harness;

use cellway_apps::{Action, RequestResponseWorkload, Side, Workload};
use cellway_units::{Bytes, Span, Time};
use harness::{Net, Run};

const L: Span = Span::from_ms(10);
/// When the originator is connected.
const CONNECTED: Time = Time::from_ps(20_000_000_000);

fn run(net: &Net, think: Span, duration: Span) -> Run {
    let (request, response, duration) = (Bytes(300), Bytes(5000), Some(duration));
    net.run(&Workload::RequestResponse(RequestResponseWorkload { request, response, think, duration }), 1, "rr-1", 0)
}

/// Returns when each answer arrived, and when it was requested.
fn answers(run: &Run) -> Vec<(Time, Time)> {
    let answer = |(at, action): &(Time, Action)| match action {
        Action::Answer { since } => Some((*at, *since)),
        _ => None,
    };
    run.actions.iter().filter_map(answer).collect()
}

#[test]
fn a_request_follows_the_response_to_the_one_before() {
    // A request and a response take a latency each: requests at 0, 20, 40, 60 and 80 ms.
    let run = run(&harness::new(L), Span::ZERO, Span::from_ms(81));
    let expected: Vec<_> = (0..5).map(|k| (CONNECTED + L * (2 * k + 2), CONNECTED + L * (2 * k))).collect();
    assert_eq!(answers(&run), expected);
    assert_eq!(run.writes(Side::Originator), [300; 5]);
    assert_eq!(run.writes(Side::Responder), [5000; 5]);
    // The close takes a latency there and one back, and the last acknowledgement another.
    assert_eq!((run.ended, run.connections), (Some(CONNECTED + L * 13), 1));
}

#[test]
fn the_originator_thinks_before_the_next_request() {
    let run = run(&harness::new(L), Span::from_ms(55), Span::from_ms(225));
    // Every 75 ms; the fourth would be at 225 ms, when the duration is over.
    let expected: Vec<_> =
        (0..3).map(|k| CONNECTED + Span::from_ms(75) * k).map(|since| (since + L * 2, since)).collect();
    assert_eq!(answers(&run), expected);
    assert!(run.ended.is_some());
}

#[test]
fn messages_in_pieces_are_whole_with_their_last_byte() {
    for chunk in [1, 299, 4999] {
        let run = run(&Net { chunk, ..harness::new(L) }, Span::ZERO, Span::from_ms(1));
        assert_eq!((answers(&run).len(), run.writes(Side::Responder)), (1, vec![5000]), "{chunk}");
        assert!(run.ended.is_some());
    }
}
