//! Flows that arrive by themselves: their times, their connections, and their ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_apps::random::Streams;
use cellway_apps::{
    Action, ConnId, Conversation, FlowEvent, FlowProcess, FlowsWorkload, Outcome, Side, SizeLaw, TraceFlow, Workload,
};
use cellway_units::{Bytes, Span, Time};

const EVERY: Span = Span::from_ms(20);

fn fixed() -> SizeLaw {
    SizeLaw::Fixed(Bytes(1000))
}

fn flows(process: FlowProcess) -> FlowsWorkload {
    FlowsWorkload { process, count: None, duration: None, limit: 10_000 }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn conversation(workload: FlowsWorkload, seed: u64) -> Conversation {
    Conversation::new(&Workload::Flows(workload), &Streams::new(seed), "web-1", 0)
}

/// Lets `count` flows arrive over a network that ends each at once; returns their times, and the bytes written.
fn arrivals(workload: FlowsWorkload, seed: u64, count: usize) -> Vec<(Time, u64)> {
    let mut conversation = conversation(workload, seed);
    let (mut out, mut arrived, mut conn) = (Vec::new(), Vec::new(), 0);
    conversation.start(Time::ZERO, &mut out);
    while arrived.len() < count
        && let Some(at) = timer(&out)
    {
        out.clear();
        conversation.timer(at, 0, &mut out);
        let mut rest = Vec::new();
        conversation.connected(at, ConnId(conn), Side::Originator, &mut rest);
        let Action::Write { bytes, .. } = rest[0] else { panic!("{rest:?}") };
        conversation.closed(at, ConnId(conn), &mut out);
        arrived.push((at, bytes));
        conn += 1;
    }
    arrived
}

fn timer(actions: &[Action]) -> Option<Time> {
    actions.iter().find_map(|action| match action {
        Action::Timer { at, .. } => Some(*at),
        _ => None,
    })
}

/// The times between arrivals have the mean and the variance of the exponential distribution, and its tail.
#[test]
fn poisson_arrivals_are_exponential_and_independent_of_the_sizes() {
    let n = 100_000;
    let poisson = |sizes| arrivals(flows(FlowProcess::Poisson { interval: EVERY, sizes }), 3, n + 1);
    let times: Vec<Time> = poisson(fixed()).iter().map(|flow| flow.0).collect();
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
    let mean = gaps.iter().sum::<f64>() / n as f64;
    let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / n as f64;
    // The standard error of the mean is mean / sqrt(n), that of the variance sqrt(8 / n) of it: 4 of each.
    let root = (n as f64).sqrt();
    assert!((mean / 0.02 - 1.0).abs() < 4.0 / root, "{mean}");
    assert!((variance / (0.02 * 0.02) - 1.0).abs() < 4.0 * 8f64.sqrt() / root, "{variance}");
    let below = gaps.iter().filter(|&&gap| gap < 0.02).count() as f64 / n as f64;
    assert!((below - (1.0 - (-1f64).exp())).abs() < 4.0 * 0.4823 / root, "{below}");
    // Times and sizes have streams of their own.
    let drawn = poisson(SizeLaw::Pareto { shape: 1.5, minimum: Bytes(100), maximum: None });
    assert!(drawn.iter().map(|flow| flow.0).eq(times.iter().copied()));
    assert_ne!(drawn[0].1, drawn[1].1);
    let again = arrivals(flows(FlowProcess::Poisson { interval: EVERY, sizes: fixed() }), 4, 5);
    assert_ne!(again[0].0, times[0], "another seed has other times");
}

#[test]
fn periodic_and_traced_arrivals_are_exact_and_end() {
    let periodic = FlowProcess::Periodic { interval: EVERY, sizes: fixed() };
    let times = |workload| arrivals(workload, 1, 100).iter().map(|flow| flow.0).collect::<Vec<_>>();
    let counted = FlowsWorkload { count: Some(3), ..flows(periodic.clone()) };
    assert_eq!(times(counted), [ms(0), ms(20), ms(40)]);
    // 60 ms is over.
    let timed = FlowsWorkload { duration: Some(Span::from_ms(60)), ..flows(periodic) };
    assert_eq!(times(timed), [ms(0), ms(20), ms(40)]);
    let trace = [(5, 10), (5, 20), (7, 30)].map(|(at, size)| TraceFlow { at: Span::from_ms(at), size });
    assert_eq!(arrivals(flows(FlowProcess::Trace(trace.into())), 1, 100), [(ms(5), 10), (ms(5), 20), (ms(7), 30)]);
}

/// Two flows overlap; each is complete with its own last byte, and the conversation ends with the last connection.
#[test]
fn flows_overlap_and_the_last_one_ends_the_conversation() {
    let periodic = FlowProcess::Periodic { interval: EVERY, sizes: fixed() };
    let mut app = conversation(FlowsWorkload { count: Some(2), ..flows(periodic) }, 1);
    let mut out = Vec::new();
    let mut step = |act: &mut dyn FnMut(&mut Conversation, &mut Vec<Action>)| {
        act(&mut app, &mut out);
        (std::mem::take(&mut out), app.outcome())
    };
    let [first, second] = [ConnId(0), ConnId(1)];
    let open = |conn| Action::Open { conn, from: Side::Originator };
    let arrived = Action::Flow(FlowEvent::Arrived);
    assert_eq!(step(&mut |app, out| app.start(ms(0), out)).0, [Action::Timer { at: ms(0), id: 0 }]);
    let (actions, _) = step(&mut |app, out| app.timer(ms(0), 0, out));
    assert_eq!(actions, [arrived, open(first), Action::Timer { at: ms(20), id: 0 }]);
    let (actions, _) = step(&mut |app, out| app.connected(ms(4), first, Side::Originator, out));
    let side = Side::Originator;
    assert_eq!(actions, [Action::Write { conn: first, side, bytes: 1000 }, Action::Close { conn: first, side }]);
    assert_eq!(step(&mut |app, out| app.timer(ms(20), 0, out)).0, [arrived, open(second)]);
    assert_eq!(step(&mut |app, out| app.received(ms(22), second, Side::Responder, 999, out)).0, []);
    let (actions, _) = step(&mut |app, out| app.received(ms(23), second, Side::Responder, 1, out));
    let completed = |since| Action::Flow(FlowEvent::Completed { bytes: Bytes(1000), since: ms(since) });
    assert_eq!(actions, [completed(20)]);
    let (actions, _) = step(&mut |app, out| app.peer_closed(ms(23), second, Side::Responder, out));
    assert_eq!(actions, [Action::Close { conn: second, side: Side::Responder }]);
    assert_eq!(step(&mut |app, out| app.closed(ms(24), second, out)), (vec![], Outcome::Running));
    assert_eq!(step(&mut |app, out| app.received(ms(30), first, Side::Responder, 1000, out)).0, [completed(0)]);
    let (actions, outcome) = step(&mut |app, out| app.closed(ms(31), first, out));
    assert_eq!((actions, outcome), (vec![Action::Ended], Outcome::Completed));
}

/// A connection that fails takes its own flow with it, and a flow beyond the limit is rejected; others go on.
#[test]
fn a_failure_ends_one_flow_and_the_limit_rejects_one() {
    let periodic = FlowProcess::Periodic { interval: EVERY, sizes: fixed() };
    let mut app = conversation(FlowsWorkload { count: Some(4), limit: 2, ..flows(periodic) }, 1);
    let mut out = Vec::new();
    app.start(ms(0), &mut out);
    (0..3).for_each(|i| app.timer(ms(20 * i), 0, &mut out));
    let count = |out: &[Action], event| out.iter().filter(|action| **action == Action::Flow(event)).count();
    assert_eq!([FlowEvent::Arrived, FlowEvent::Rejected].map(|event| count(&out, event)), [2, 1]);
    out.clear();
    app.failed(ms(50), ConnId(0), &mut out);
    assert_eq!(out, [Action::Flow(FlowEvent::Failed { since: ms(0) }), Action::Abort { conn: ConnId(0) }]);
    out.clear();
    app.timer(ms(60), 0, &mut out);
    assert_eq!(out, [Action::Flow(FlowEvent::Arrived), Action::Open { conn: ConnId(2), from: Side::Originator }]);
    // A reset after the last byte is no failure of the flow.
    app.received(ms(61), ConnId(1), Side::Responder, 1000, &mut out);
    out.clear();
    app.failed(ms(62), ConnId(1), &mut out);
    assert_eq!(out, [Action::Abort { conn: ConnId(1) }]);
    assert_eq!(app.outcome(), Outcome::Running);
    app.failed(ms(63), ConnId(2), &mut out);
    assert_eq!((out.last(), app.outcome()), (Some(&Action::Ended), Outcome::Completed));
}
