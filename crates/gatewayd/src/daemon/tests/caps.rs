//! A peer that is over a cap, and its counters.

use cellway_gateway::Excess;

use super::*;

fn errors(scene: &Scene, kind: &str) -> u64 {
    scene.daemon.counters().errors.get(kind).copied().unwrap_or(0)
}
fn refused(scene: &Scene, reason: Reason) -> u64 {
    scene.daemon.counters().refused.get(reason.name()).copied().unwrap_or(0)
}

#[test]
fn a_peer_over_a_cap_is_disconnected_counted_and_may_return() {
    let (_listener, at) = server();
    let mut scene = Scene::new();
    scene.receive(vec![open(0, at)]);
    // Flows that it resets before their `Open` arrives, with gaps between their identifiers: each packet is
    // acknowledged.
    for first in (0..1_000_000).step_by(400) {
        scene.receive((first..first + 400).step_by(4).map(|flow| reset(flow + 4, 0)).collect());
        if errors(&scene, Excess::Identifiers.name()) > 0 {
            break;
        }
    }
    assert_eq!(errors(&scene, "excess-identifiers"), 1);
    assert_eq!(scene.stats().flows, 0, "its connections have ended");
    // The transport reports the end that the daemon has requested; then the peer dials again.
    scene.down();
    scene.up();
    scene.receive(vec![open(0, at)]);
    assert_eq!((scene.stats().flows, errors(&scene, "excess-identifiers")), (1, 1));
}

/// The state machine refuses flows without memory without a call into the daemon.
#[test]
fn connections_of_a_peer_that_find_no_memory_count_as_refused() {
    let (_listener, at) = server();
    let mut scene = Scene::new();
    let config = scene.daemon.peers.gateway(PEER).config();
    let room = config.flows_per_origin() + u64::from(config.waiting);
    for flow in 0..room + 7 {
        scene.receive(vec![open(2 * flow, at)]);
    }
    assert_eq!(refused(&scene, Reason::Busy), 7);
}

#[test]
fn a_connection_that_the_state_machine_refuses_at_once_leaves_no_gap_in_the_names() {
    let mut scene = Scene::new();
    let mut begin = |name: &str| {
        let request = Request { client: None, server: Server::Name(name.into(), 80), early: false };
        let id = scene.open(request, Origin::Forward, waiting());
        scene.write();
        id.0
    };
    let long = "n".repeat(300);
    let names = [begin("a.example"), begin(&long), begin(&long), begin("b.example")];
    assert_eq!(names, [1, 3, 3, 3]);
    assert_eq!(refused(&scene, Reason::NoName), 2);
}

#[test]
fn a_packet_longer_than_the_transport_accepts_is_counted() {
    let (_listener, at) = server();
    let mut scene = Scene::new();
    let rtt = None;
    let tls = cellway_gateway::Transport::Tls { v6: false };
    scene.daemon.peers.machine_mut(PEER).set_transport(tls, true, rtt);
    scene.receive(vec![open(0, at)]);
    assert_eq!(errors(&scene, "packet-too-long"), 0);
    scene.daemon.peers.set_payload(PEER, 5);
    scene.call(|gateway, now, out| gateway.refused(now, FlowId(0), Reason::Refused, out));
    assert_eq!(errors(&scene, "packet-too-long"), 1);
}
