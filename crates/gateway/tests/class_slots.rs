//! Each class has a reserve of the flows that memory holds, and of those that wait.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use std::sync::Arc;

use cellway_gateway::{Action, Class, Classes, FlowId, Frame, GatewayConfig, Reason, Request, Server};
use cellway_units::{Bytes, Span};
use common::script::{Script, WINDOW, config};

/// Flows of one origin that memory holds, and flows that may wait.
const FLOWS: u64 = 32;
const WAITING: u32 = 16;
/// The reserve of each of two classes, of both kinds.
const OWN: u64 = FLOWS / 4 / 2;
const OWN_WAITING: u64 = WAITING as u64 / 4 / 2;

fn request(port: u16) -> Arc<Request> {
    Arc::new(Request { client: None, server: Server::Address(([192, 0, 2, 1], port).into()), early: false })
}
/// Returns classes with the ports 1 to `count`, and that of all others.
fn classes(count: u16) -> Classes {
    let class = |port: u16| Class { ports: vec![port..=port], ..Class::new(&port.to_string()) };
    Classes::new((1..=count).map(class).collect()).unwrap()
}
fn script(classes: Option<Classes>) -> Script {
    // A flow has two windows, one of each direction, and nothing else; half of the memory is for each origin.
    let config = GatewayConfig {
        floor: Bytes(WINDOW),
        cost: Bytes(0),
        total_buffer: Bytes(4 * WINDOW * FLOWS),
        waiting: WAITING,
        reliable: true,
        ..config()
    };
    let mut script = Script::with(config);
    if let Some(classes) = classes {
        script.local(|g, now, out| g.set_classes(now, classes, out));
    }
    script
}

/// The fate of a new flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Admitted,
    Waits,
    Refused,
}
/// Returns the flows that are opened at the peer, as they have memory.
fn opens(frames: &[Frame]) -> Vec<FlowId> {
    let open = |frame: &Frame| if let Frame::Open { flow, .. } = frame { Some(*flow) } else { None };
    frames.iter().filter_map(open).collect()
}
fn begin(s: &mut Script, flow: u64, port: u16) -> Fate {
    let (frames, actions) = s.local(|g, now, out| g.incoming(now, FlowId(flow), request(port), out));
    let busy = Action::Refuse { flow: FlowId(flow), reason: Reason::Busy };
    match (opens(&frames).contains(&FlowId(flow)), actions.contains(&busy)) {
        (true, false) => Fate::Admitted,
        (false, true) => Fate::Refused,
        _ => Fate::Waits,
    }
}
/// Makes the peer refuse a flow. Returns those that get its memory.
fn end(s: &mut Script, flow: FlowId) -> Vec<FlowId> {
    opens(&s.peer(&[Frame::Refused { flow, reason: Reason::Refused }]).0)
}
fn begin_many(s: &mut Script, flows: std::ops::Range<u64>, port: u16) -> [u64; 3] {
    let mut fates = [0; 3];
    flows.for_each(|n| fates[begin(s, 2 * n, port) as usize] += 1);
    fates
}

#[test]
fn a_class_leaves_the_slots_of_the_others() {
    let mut s = script(Some(classes(1)));
    assert_eq!(begin_many(&mut s, 0..100, 1), [FLOWS - OWN, u64::from(WAITING) - OWN_WAITING, 100 - 28 - 14]);
    // The other class has its slots at once, and its waiting slots.
    let first = (1_000..1_000 + 2 * OWN).map(|n| begin(&mut s, 2 * n, 9)).collect::<Vec<_>>();
    assert_eq!(first[..OWN as usize], [Fate::Admitted; OWN as usize]);
    assert_eq!(first[OWN as usize..][..2], [Fate::Waits; OWN_WAITING as usize]);
    assert_eq!(first.last(), Some(&Fate::Refused));
    // A slot that becomes free is for the class that has fewer.
    assert_eq!(end(&mut s, FlowId(0)), [FlowId(2 * (1_000 + OWN))]);
    assert_eq!(end(&mut s, FlowId(2)), [FlowId(2 * (1_001 + OWN))]);
    assert_eq!(end(&mut s, FlowId(4)), [FlowId(2 * (FLOWS - OWN))], "no other waits");
    // Its reserve is not for the first class.
    let own = (1_000..1_002 + OWN).flat_map(|n| end(&mut s, FlowId(2 * n))).count() as u64;
    assert_eq!(own, 2, "beyond its own");
}

#[test]
fn flows_of_the_peer_are_divided_too() {
    let mut s = script(Some(classes(1)));
    let open =
        |n: u64, port| Frame::Open { flow: FlowId(2 * n + 1), limit: WINDOW, lease: None, request: request(port) };
    let connects = |s: &mut Script, n, port| {
        let actions = s.peer(&[open(n, port)]).1;
        actions.iter().filter(|action| matches!(action, Action::Connect { .. })).count() as u64
    };
    let first: u64 = (0..100).map(|n| connects(&mut s, n, 1)).sum();
    let second: u64 = (100..100 + OWN).map(|n| connects(&mut s, n, 2)).sum();
    assert_eq!((first, second), (FLOWS - OWN, OWN));
}

#[test]
fn a_single_class_has_all_slots() {
    for classes in [None, Some(Classes::new(vec![Class::new("all")]).unwrap())] {
        let mut s = script(classes);
        assert_eq!(begin_many(&mut s, 0..100, 1), [FLOWS, WAITING.into(), 100 - 48]);
    }
}

#[test]
fn flows_that_wait_enter_when_classes_change() {
    let mut s = script(Some(classes(1)));
    begin_many(&mut s, 0..100, 1);
    let (frames, _) = s.local(|g, now, out| g.set_classes(now, Classes::default(), out));
    assert_eq!(opens(&frames), (FLOWS - OWN..FLOWS).map(|n| FlowId(2 * n)).collect::<Vec<_>>(), "in their order");
    // The class has more flows than it may have now: each that ends reduces the number.
    s.local(|g, now, out| g.set_classes(now, classes(1), out));
    assert_eq!(begin(&mut s, 2_000, 9), Fate::Waits);
    assert_eq!(end(&mut s, FlowId(0)), [FlowId(2_000)]);
}

/// Each class has its reserve also while memory is short because of granted windows.
#[test]
fn promised_windows_leave_the_slots_of_the_others() {
    let big = GatewayConfig {
        window: cellway_gateway::Window::Fixed(Bytes(1 << 20)),
        floor: Bytes(WINDOW),
        cost: Bytes(0),
        total_buffer: Bytes(4 * WINDOW * 256),
        ..config()
    };
    let mut s = Script::with(big);
    s.local(|g, now, out| g.set_classes(now, classes(1), out));
    let mut names = (0..).map(|n| FlowId(2 * n));
    // The peer accepts each, and it sends up to its limit.
    for flow in names.by_ref().take(500) {
        let (frames, _) = s.local(|g, now, out| g.incoming(now, flow, request(1), out));
        if !opens(&frames).is_empty() {
            s.peer(&[Frame::Accepted { flow, limit: 1 << 20 }]);
        }
    }
    let own = names.take(40).map(|flow| begin(&mut s, flow.0, 9)).filter(|&fate| fate == Fate::Admitted).count();
    assert_eq!(own, 32, "{own}");
}

proptest::proptest! {
    /// A class within its slots never waits, whatever the others do, and slots are never exceeded.
    #[test]
    fn a_class_within_its_slots_never_waits(
        count in 1u16..=5,
        steps in proptest::collection::vec((0u16..=5, 0usize..64, 0u8..3), 0..300),
    ) {
        let mut s = script(Some(classes(count)));
        let own = FLOWS / 4 / (u64::from(count) + 1);
        let mut admitted: Vec<(FlowId, u16)> = Vec::new();
        let mut ports = Vec::new();
        for (port, pick, kind) in steps {
            let port = port.min(count);
            if kind > 0 || admitted.is_empty() {
                let flow = FlowId(2 * ports.len() as u64);
                ports.push(port);
                let used = admitted.iter().filter(|(_, other)| *other == port).count() as u64;
                let fate = begin(&mut s, flow.0, port);
                proptest::prop_assert!(fate == Fate::Admitted || used >= own, "{used} of {own}: {fate:?}");
                if fate == Fate::Admitted {
                    admitted.push((flow, port));
                }
            } else {
                let (flow, _) = admitted.swap_remove(pick % admitted.len());
                let new = end(&mut s, flow);
                admitted.extend(new.into_iter().map(|flow| (flow, ports[flow.0 as usize / 2])));
            }
            proptest::prop_assert!(admitted.len() as u64 <= FLOWS);
            s.now += Span::from_ms(1);
        }
    }
}
