//! Measured conversations on a network with latency and no bandwidth.
#![allow(clippy::unwrap_used)]

mod harness;

use std::sync::Arc;

use cellway_apps::random::Streams;
use cellway_apps::{
    Action, ConnId, Conversation, Distribution, ExchangeModel, FlowEvent, Knot, MeasuredArrivals, MeasuredWorkload,
    Message, Outcome, QuantileModel, Recorded, Side, Workload,
};
use cellway_units::{Span, Time};
use harness::{Net, Run};

const L: Span = Span::from_ms(10);
const CLOSED: MeasuredArrivals = MeasuredArrivals::Closed { gap: Span::ZERO };

fn of(knots: &[(f64, f64)]) -> Distribution {
    let knots = knots.iter().map(|&(probability, value)| Knot { probability, value }).collect();
    Distribution { model: QuantileModel::with_atoms(knots, "t").unwrap(), samples: 1, fit: None }
}

/// Returns the distribution of one value.
fn always(value: f64) -> Distribution {
    of(&[(0.0, value), (1.0, value)])
}

/// Exchanges of fixed sizes, with 30 ms before a response and 50 ms behind it.
fn fixed(exchanges: f64, request: f64, response: f64) -> ExchangeModel {
    ExchangeModel {
        arrival_gap: Some(always(0.1)),
        exchanges: Some(always(exchanges)),
        request: Some(always(request)),
        response: Some(always(response)),
        pause: Some(always(0.03)),
        think: Some(always(0.05)),
        recorded: Vec::new(),
    }
}

fn workload(model: ExchangeModel, arrivals: MeasuredArrivals) -> Workload {
    Workload::Measured(MeasuredWorkload { model: model.into(), fits: false, arrivals })
}

fn net() -> Net {
    // An even identifier is of a timer of the responder, but for 0.
    Net { timer_side: |id| (id > 0 && id % 2 == 0).then_some(Side::Responder), ..harness::new(L) }
}

fn run(model: ExchangeModel, arrivals: MeasuredArrivals) -> Run {
    net().run(&workload(model, arrivals), 1, "web-1", 0)
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn writes(run: &Run, by: Side) -> Vec<Time> {
    run.times(|action| matches!(action, Action::Write { side, .. } if *side == by))
}

fn answers(run: &Run) -> Vec<(Time, Time)> {
    let answer = |(at, action): &(Time, Action)| match action {
        Action::Answer { since } => Some((*at, *since)),
        _ => None,
    };
    run.actions.iter().filter_map(answer).collect()
}

/// Returns when each conversation was complete, with its octets and its beginning.
fn completed(run: &Run) -> Vec<(Time, u64, Time)> {
    let one = |(at, action): &(Time, Action)| match action {
        Action::Flow(FlowEvent::Completed { bytes, since }) => Some((*at, bytes.0, *since)),
        _ => None,
    };
    run.actions.iter().filter_map(one).collect()
}

#[test]
fn exchanges_take_turns_with_their_times() {
    // Connected at 20 ms; a request and a response take 10 ms each.
    let run = run(fixed(3.0, 300.0, 5000.0), CLOSED);
    assert_eq!(answers(&run), [(ms(70), ms(20)), (ms(170), ms(120)), (ms(270), ms(220))]);
    assert_eq!(writes(&run, Side::Responder), [ms(60), ms(160), ms(260)]);
    assert_eq!([run.writes(Side::Originator), run.writes(Side::Responder)], [vec![300; 3], vec![5000; 3]]);
    assert_eq!(completed(&run), [(ms(270), 15_900, ms(0))]);
    // The close takes a latency there and one back, and the last acknowledgement another.
    assert_eq!((run.ended, run.connections), (Some(ms(300)), 1));
}

#[test]
fn a_request_without_response_waits_for_nobody() {
    // The time to the next one counts from when TCP has accepted it.
    let run = run(fixed(3.0, 300.0, 0.0), CLOSED);
    assert_eq!(writes(&run, Side::Originator), [ms(20), ms(70), ms(120)]);
    assert_eq!(answers(&run), []);
    // It is complete with the last request, at the responder.
    assert_eq!(completed(&run), [(ms(130), 900, ms(0))]);
    assert!(run.ended.is_some());
}

#[test]
fn a_response_without_request_is_sent_by_itself() {
    // The responder is connected at 30 ms and pauses; after a message it thinks and pauses.
    let run = run(fixed(3.0, 0.0, 5000.0), CLOSED);
    assert_eq!(writes(&run, Side::Responder), [ms(60), ms(140), ms(220)]);
    assert_eq!((answers(&run), completed(&run)), (vec![], vec![(ms(230), 15_000, ms(0))]));
    assert!(run.ended.is_some());
}

#[test]
fn empty_exchanges_and_enormous_ones_end() {
    let empty = run(fixed(1.0, 0.0, 0.0), CLOSED);
    assert_eq!((completed(&empty), empty.ended.is_some()), (vec![(ms(30), 0, ms(0))], true));
    let mut model = fixed(1e9, 0.0, 0.0);
    (model.pause, model.think) = (None, None);
    assert_eq!(completed(&run(model, CLOSED)), [(ms(30), 0, ms(0))]);
    let enormous = run(fixed(2.0, 1e15, 1e15), CLOSED);
    assert_eq!((enormous.writes(Side::Responder), enormous.ended.is_some()), (vec![1_000_000_000_000_000; 2], true));
}

/// Sizes that may be 0, of a random number of exchanges.
fn mixed() -> ExchangeModel {
    ExchangeModel {
        arrival_gap: Some(of(&[(0.0, 0.0), (1.0, 0.2)])),
        exchanges: Some(of(&[(0.0, 1.0), (1.0, 9.0)])),
        request: Some(of(&[(0.4, 0.0), (0.6, 100.0), (1.0, 3000.0)])),
        response: Some(of(&[(0.4, 0.0), (0.6, 100.0), (1.0, 30_000.0)])),
        pause: Some(of(&[(0.5, 0.0), (1.0, 0.05)])),
        think: Some(of(&[(0.5, 0.0), (1.0, 0.05)])),
        recorded: Vec::new(),
    }
}

#[test]
fn conversations_are_the_same_whatever_the_network_does() {
    let workload = workload(mixed(), CLOSED);
    let mut octets = 0;
    for number in 0..500 {
        let whole = net().run(&workload, 2, "web-1", number);
        let sum = |run: &Run| [Side::Originator, Side::Responder].map(|side| run.writes(side).iter().sum::<u64>());
        let all: u64 = sum(&whole).iter().sum();
        assert_eq!(completed(&whole).iter().map(|one| one.1).collect::<Vec<_>>(), [all], "{number}");
        octets += all;
        for (chunk, send_buffer) in [(1000, u64::MAX), (u64::MAX, 700), (77, 1000)] {
            let other = Net { chunk, send_buffer, ..net() }.run(&workload, 2, "web-1", number);
            assert_eq!(sum(&other), sum(&whole), "{number} in pieces of {chunk}");
            assert!(other.ended.is_some() && whole.ended.is_some(), "{number}");
        }
    }
    assert!(octets > 1_000_000, "{octets}");
}

fn message(octets: u64, after: u64, delay: u64) -> Message {
    Message { octets, after, delay: Span::from_ms(delay) }
}

/// A class of recorded conversations alone.
fn recorded(conversations: &[[Vec<Message>; 2]]) -> ExchangeModel {
    let recorded = conversations.iter().map(|messages| Arc::new(Recorded { messages: messages.clone() })).collect();
    ExchangeModel { exchanges: None, request: None, response: None, recorded, ..fixed(1.0, 1.0, 1.0) }
}

/// As in ssh: both ends greet at once, and the second message of each waits for the greeting of the other.
#[test]
fn both_ends_of_a_recorded_conversation_may_send_at_once() {
    let there = vec![message(21, 0, 0), message(1500, 40, 2), message(7, 1140, 5)];
    let back = vec![message(40, 0, 3), message(1100, 21, 1), message(9, 1528, 0)];
    let run = run(recorded(&[[there, back]]), CLOSED);
    // The originator is connected at 20 ms and the responder at 30 ms; a message takes 10 ms.
    assert_eq!(writes(&run, Side::Responder), [ms(33), ms(34), ms(60)]);
    assert_eq!(writes(&run, Side::Originator), [ms(20), ms(45), ms(50)]);
    assert_eq!([run.writes(Side::Originator), run.writes(Side::Responder)], [vec![21, 1500, 7], vec![40, 1100, 9]]);
    assert_eq!(completed(&run), [(ms(70), 2677, ms(0))]);
    // The greeting answers the first message, and the last one the other two: what crosses a message is no answer.
    assert_eq!(answers(&run), [(ms(43), ms(20)), (ms(70), ms(45))]);
    assert!(run.ended.is_some());
}

/// A server that pushes every second, and a client that sends nothing.
#[test]
fn a_recorded_end_may_send_by_itself() {
    let run = run(recorded(&[[vec![], vec![message(10, 0, 5), message(20, 0, 1000), message(30, 0, 1000)]]]), CLOSED);
    // Each counts from when TCP has accepted the one before it, which in this network is at once.
    assert_eq!(writes(&run, Side::Responder), [ms(35), ms(1035), ms(2035)]);
    assert_eq!((answers(&run), completed(&run)), (vec![], vec![(ms(2045), 60, ms(0))]));
    assert!(run.ended.is_some());
}

/// Each is drawn as often as the others; laws are drawn in their place only if the class has them.
#[test]
fn recorded_conversations_are_drawn_whole() {
    let one = |octets| [vec![message(octets, 0, 0)], vec![message(2 * octets, octets, 0)]];
    let mut model = recorded(&[one(100), one(1000), one(10_000)]);
    let mut drawn = [0; 3];
    for number in 0..3000 {
        let run = net().run(&workload(model.clone(), CLOSED), 2, "web-1", number);
        let octets = run.writes(Side::Originator);
        assert_eq!(run.writes(Side::Responder), [2 * octets[0]]);
        drawn[octets[0].ilog10() as usize - 2] += 1;
    }
    // A binomial of 3000 and 1/3 has a standard deviation of 26.
    assert!(drawn.iter().all(|&count| (900..1100).contains(&count)), "{drawn:?}");
    assert_eq!(model.mean_octets(false), Some([3700.0, 7400.0]));
    assert!(model.plays_recorded(true));
    model.request = Some(always(5.0));
    assert!(model.plays_recorded(false) && !model.plays_recorded(true));
}

#[test]
fn conversations_arrive_whether_or_not_others_have_ended() {
    let open = |scale, duration, limit| MeasuredArrivals::Open { scale, count: Some(5), duration, limit };
    let arrivals = |run: &Run| run.times(|action| *action == Action::Flow(FlowEvent::Arrived));
    let all = run(fixed(3.0, 300.0, 5000.0), open(1.0, None, 100));
    assert_eq!(arrivals(&all), [ms(100), ms(200), ms(300), ms(400), ms(500)]);
    assert_eq!(completed(&all), [0, 1, 2, 3, 4].map(|k| (ms(370 + 100 * k), 15_900, ms(100 + 100 * k))));
    assert!(all.ended == Some(ms(800)) && all.connections == 5, "{:?}", all.ended);
    // Twice as many in the same time, until 180 ms; one in three finds a place.
    let fast = run(fixed(3.0, 300.0, 5000.0), open(2.0, Some(Span::from_ms(180)), 100));
    assert_eq!(arrivals(&fast), [ms(50), ms(100), ms(150)]);
    let full = run(fixed(3.0, 300.0, 5000.0), open(1.0, None, 1));
    // The first ends at 400 ms, in the instant of the fourth arrival, which comes first.
    let rejected = full.times(|action| *action == Action::Flow(FlowEvent::Rejected));
    assert_eq!((arrivals(&full), rejected), (vec![ms(100), ms(500)], vec![ms(200), ms(300), ms(400)]));
}

/// A conversation that is rejected shifts none of those after it.
#[test]
fn conversations_are_drawn_by_their_number() {
    let open = |limit| MeasuredArrivals::Open { scale: 1.0, count: Some(200), duration: None, limit };
    let by_start = |limit| {
        let run = net().run(&workload(mixed(), open(limit)), 3, "web-1", 0);
        completed(&run).into_iter().map(|(_, octets, since)| (since, octets)).collect::<Vec<_>>()
    };
    let (all, some) = (by_start(1000), by_start(1));
    assert!(all.len() == 200 && (10..150).contains(&some.len()), "{} {}", all.len(), some.len());
    assert!(some.iter().all(|one| all.contains(one)));
}

#[test]
fn a_user_waits_before_the_next_conversation() {
    let gap = Span::from_ms(700);
    let run = run(fixed(1.0, 300.0, 5000.0), MeasuredArrivals::Closed { gap });
    assert_eq!(completed(&run), [(ms(70), 5300, ms(0))]);
    assert_eq!(run.ended, Some(ms(100) + gap));
}

#[test]
fn a_broken_connection_fails_one_conversation() {
    let mut out = Vec::new();
    let begin = |arrivals, out: &mut Vec<Action>| {
        let model = fixed(1.0, 300.0, 5000.0);
        let mut conversation = Conversation::new(&workload(model, arrivals), &Streams::new(1), "web-1", 0);
        conversation.start(ms(0), out);
        conversation.timer(ms(100), 0, out);
        out.clear();
        conversation
    };
    let mut open = begin(MeasuredArrivals::Open { scale: 1.0, count: None, duration: None, limit: 9 }, &mut out);
    open.failed(ms(150), ConnId(0), &mut out);
    let failed = Action::Flow(FlowEvent::Failed { since: ms(100) });
    assert_eq!(out, [failed, Action::Abort { conn: ConnId(0) }]);
    assert_eq!(open.outcome(), Outcome::Running);
    out.clear();
    let model = workload(fixed(1.0, 300.0, 5000.0), CLOSED);
    let mut closed = Conversation::new(&model, &Streams::new(1), "web-1", 0);
    closed.start(ms(0), &mut out);
    out.clear();
    closed.failed(ms(150), ConnId(0), &mut out);
    assert_eq!(out, [Action::Flow(FlowEvent::Failed { since: ms(0) }), Action::Ended]);
    assert_eq!(closed.outcome(), Outcome::Failed);
}

#[test]
fn faults_of_the_settings_are_reported() {
    let open = |scale| MeasuredArrivals::Open { scale, count: None, duration: None, limit: 9 };
    let fault = |model, arrivals| workload(model, arrivals).validate().unwrap_err().to_string();
    let mut without = fixed(1.0, 1.0, 1.0);
    without.arrival_gap = None;
    assert_eq!(workload(without.clone(), CLOSED).validate(), Ok(()));
    assert!(fault(without, open(1.0)).starts_with("the class has no arrival_gap"));
    assert!(fault(fixed(1.0, 1.0, 1.0), open(2e5)).starts_with("conversations arrive every 5e-7 s"));
    assert!(fault(fixed(1.0, 1.0, 1.0), open(f64::NAN)).starts_with("scale is NaN"));
}
