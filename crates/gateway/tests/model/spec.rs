//! The part of the specification that concerns more than one host, and the state at the end.

use cellway_gateway::{Action, Reason};

use super::case::{Answer, FlowPlan};
use super::host::{Host, Stage};
use super::world::World;

/// Checks that a connection is refused or reset at `side` for a reason that exists, and that a client is accepted only
/// when it may be.
pub(crate) fn check_reason(world: &World, side: usize, n: usize, action: &Action, unresponsive: bool) {
    let plan = world.plan(n);
    let which = world.which(n, side);
    let [own, other] = [which, 1 - which].map(|which| world.hosts[n][which].as_ref());
    match *action {
        Action::Accept { .. } => {
            let server = other.is_some_and(|server| server.connected_at.is_some());
            assert!(plan.early || server, "accepted before the server: {action:?}");
        }
        Action::Refuse { reason, .. } | Action::Reset { reason, .. } => {
            // The causes: the other host or its gateway, an observation of this gateway, or a lack of memory.
            let by_other = other.is_some_and(|other| other.closed_by == Some(reason));
            let down = world.sides[side].epoch % 2 == 1 && reason == Reason::PeerLost;
            let waited =
                world.started[n].map(|at| world.now.since(at)) >= Some(world.case.configs[plan.opener].opening);
            let late = reason == Reason::TimedOut && waited;
            let lost = reason == Reason::PeerLost && (unresponsive || which == 1);
            let leased = plan.named && !plan.early && world.case.configs[side].bypass;
            let expired = reason == Reason::PeerLost && which == 0 && leased;
            let full = reason == Reason::Busy && which == 0 && is_limited(world);
            assert!(by_other || down || late || lost || expired || full, "{action:?} for no reason: {own:?} {other:?}");
            check_reset(own, other, action, down || late || lost || expired || full);
        }
        Action::Closed { reason: Some(reason), .. } => {
            let told = own.and_then(|own| own.reset_by.or(own.closed_by));
            assert!(told.is_some(), "{action:?} ({reason}) without a word before: {own:?}");
        }
        _ => {}
    }
}
/// Checks that a host that is reset because the other one has ended, and not for a reason from `elsewhere`, received
/// all bytes that were consumed from the other one.
fn check_reset(own: Option<&Host>, other: Option<&Host>, action: &Action, elsewhere: bool) {
    let (Some(own), Some(other), Action::Reset { .. }) = (own, other, action) else { return };
    if !elsewhere && own.stage == Stage::Open && other.stage == Stage::Closed && other.closed_by.is_some() {
        assert_eq!(own.asked, other.consumed, "reset before the bytes: {own:?} of {other:?}");
    }
}
/// Returns the outcome of each connection for its client.
pub(crate) fn outcomes(world: &World) -> Vec<String> {
    let of = |hosts: &[Option<Host>; 2]| {
        let client = hosts[0].as_ref()?;
        let how = match (client.closed_by, client.reset_by, client.connected_at) {
            (Some(reason), _, None) => format!("gave up, {reason}"),
            (Some(reason), ..) => format!("has reset, {reason}"),
            (None, Some(reason), None) => format!("refused, {reason}"),
            (None, Some(reason), Some(_)) => format!("was reset, {reason}"),
            (None, None, _) => "clean".to_owned(),
        };
        Some(how)
    };
    world.hosts.iter().filter_map(of).collect()
}
/// Returns true if one of the gateways may have too little memory for all connections.
fn is_limited(world: &World) -> bool {
    let least = world.case.configs.iter().map(|config| config.flows_per_origin()).min().unwrap_or(0);
    // Connections that have ended and whose bytes are still read take memory, too, and so do limits granted in advance.
    least < 2 * world.case.flows.len() as u64 + 2 || world.case.kills()
}

/// Checks the invariants of a gateway after each call.
pub(crate) fn check_side(world: &World, side: usize) {
    let gateway = &world.sides[side].gateway;
    let (config, stats) = (gateway.config(), gateway.stats());
    assert_eq!((gateway.excess(), stats.violations), (None, 0), "an honest peer");
    assert!(stats.buffered <= stats.committed || world.case.kills(), "{stats:?}");
    assert!(stats.buffered_max <= config.total_buffer.0, "{stats:?}");
    let each = config.flows_per_origin() + u64::from(config.waiting);
    assert!(stats.flows <= 2 * each, "{stats:?}");
    let most = config.window.most().0.max(config.floor.0);
    for (&flow, n) in &world.sides[side].flows {
        let flow = gateway.flow_stats(flow).unwrap_or_else(|| panic!("{flow:?} ({n}) has ended without an event"));
        assert!(flow.held_outbound <= most && flow.held_inbound <= most, "{flow:?} with a window of {most}");
    }
}

/// Checks that every connection has ended as its hosts planned, and that nothing is left.
pub(crate) fn check_over(world: &World) {
    for (n, hosts) in world.hosts.iter().enumerate() {
        if world.started[n].is_none() {
            continue;
        }
        for host in hosts.iter().flatten() {
            assert!(host.ended_by.is_some(), "connection {n} has not ended: {hosts:?}");
            assert_eq!((host.read, host.taken), (host.asked, host.asked), "connection {n}: not all is read");
        }
        check_outcome(world, n);
    }
    for side in &world.sides {
        let stats = side.gateway.stats();
        let held =
            [stats.flows, stats.flows_waiting, stats.buffered, stats.committed, stats.gaps, stats.unacknowledged];
        assert_eq!(held, [0; 6], "left: {stats:?}");
        assert!(side.flows.is_empty() && side.gateway.leftover().0 == 0);
    }
}
/// Checks that, in the absence of failures, the hosts got the planned answer and all bytes.
fn check_outcome(world: &World, n: usize) {
    let FlowPlan { answer, patience, hosts, early, .. } = *world.plan(n);
    let calm = !world.case.kills() && !is_limited(world) && patience.is_none();
    let waits = world.case.configs[world.plan(n).opener].patience.is_some();
    let [Some(client), server] = [0, 1].map(|which| world.hosts[n][which].as_ref()) else { return };
    let resets = hosts.iter().any(|host| host.resets.is_some());
    if !calm || waits || client.reset_by == Some(Reason::TimedOut) || (early && resets) {
        return;
    }
    match (answer, server) {
        (Answer::Refuse(_, reason), _) => assert_eq!(client.reset_by, Some(reason), "connection {n}"),
        (Answer::Accept(_), Some(server)) if !resets => {
            assert_eq!((client.ended_by, server.ended_by), (Some(None), Some(None)), "connection {n}");
            assert_eq!((client.read, server.read), (hosts[1].bytes, hosts[0].bytes), "connection {n}");
        }
        (Answer::Accept(_), Some(_)) => {}
        (Answer::Accept(_), None) => panic!("connection {n}: its server was never asked"),
        (Answer::Never, _) if early => {}
        (Answer::Never, _) => panic!("connection {n}: never answered, and not timed out: {client:?}"),
    }
}
