//! A peer that wants too much, and what is counted of it.

use cellway_gateway::Excess;

use super::*;

fn errors(scene: &Scene, kind: &str) -> u64 {
    scene.daemon.counters().errors.get(kind).copied().unwrap_or(0)
}
fn refused(scene: &Scene, reason: Reason) -> u64 {
    scene.daemon.counters().refused.get(reason.name()).copied().unwrap_or(0)
}

#[test]
fn a_peer_over_a_cap_is_cut_and_counted_and_may_come_back() {
    let (_listener, at) = server();
    let mut scene = Scene::new();
    scene.receive(vec![open(0, at)]);
    // Openings that it takes back before they come, with gaps between their identifiers: each packet is acknowledged.
    for first in (0..1_000_000).step_by(400) {
        scene.receive((first..first + 400).step_by(4).map(|flow| reset(flow + 4, 0)).collect());
        if errors(&scene, Excess::Identifiers.name()) > 0 {
            break;
        }
    }
    assert_eq!(errors(&scene, "excess-identifiers"), 1);
    assert_eq!(scene.daemon.links[PEER].machine.stats().flows, 0, "its connections have ended");
    // The transport reports the end that the daemon has asked for; then the peer dials again.
    scene.down();
    scene.up();
    scene.receive(vec![open(0, at)]);
    assert_eq!((scene.daemon.links[PEER].machine.stats().flows, errors(&scene, "excess-identifiers")), (1, 1));
}

/// The state machine refuses what has no memory without a question to the daemon.
#[test]
fn connections_of_a_peer_that_find_no_memory_count_as_refused() {
    let (_listener, at) = server();
    let mut scene = Scene::new();
    let config = scene.daemon.links[PEER].machine.config();
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
        let token = scene.daemon.open(PEER, request, Origin::Forward, waiting());
        let id = scene.daemon.table.get(token).map(|flow| flow.id.0);
        scene.daemon.begin_opening(token, "127.0.0.1".parse().unwrap(), "forward");
        scene.daemon.settle();
        scene.daemon.write();
        id
    };
    let long = "n".repeat(300);
    let names = [begin("a.example"), begin(&long), begin(&long), begin("b.example")];
    assert_eq!(names, [Some(1), Some(3), Some(3), Some(3)]);
    assert_eq!(refused(&scene, Reason::NoName), 2);
}

#[test]
fn a_packet_longer_than_the_transport_takes_is_counted() {
    let (_listener, at) = server();
    let mut scene = Scene::new();
    let rtt = None;
    let link = &mut scene.daemon.links[PEER];
    link.machine.set_transport(cellway_gateway::Transport::Tls { v6: false }, true, rtt);
    scene.receive(vec![open(0, at)]);
    assert_eq!(errors(&scene, "packet-too-long"), 0);
    scene.daemon.links[PEER].payload = 5;
    scene.daemon.machine(PEER, |machine, now, out| machine.refused(now, FlowId(0), Reason::Refused, out));
    assert_eq!(errors(&scene, "packet-too-long"), 1);
}
