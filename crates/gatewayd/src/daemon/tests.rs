//! A daemon whose peer is the test, which passes packets and losses of the connection between gateways to the daemon
//! directly.

mod attack;
mod caps;
mod handover;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use bytes::BytesMut;
use cellway_gateway::{
    Ack, Action, FlowId, Frame, Gateway, GatewayStats, Lease, Output, Reason, Request, Server, TpPacket,
};
use cellway_sys::Ready;
use cellway_units::{Rate, Span, Time};
use tempfile::TempDir;

use super::Daemon;
use super::hosts::{Origin, State, Token};
use super::moment::Moment;
use crate::config::{Config, Listen, PeerDown};
use crate::intercept::Syn;
use crate::peer_id::PeerId;
use crate::peering::{PeerEvent, Transport};

const PEER: PeerId = PeerId::at(0);
const WINDOW: u64 = 65_536;

struct Scene {
    daemon: Daemon,
    /// The number of the peer's next packet.
    number: u64,
    _folder: TempDir,
}

impl Scene {
    /// Creates a daemon that may connect to this host, with a peer that is up and assigns even flow identifiers.
    fn new() -> Scene {
        let folder = TempDir::new().unwrap();
        let identity = crate::make_identities(folder.path(), &["far".into()]).unwrap().remove(0);
        let text = format!(
            "name = \"far\"\nlocal = [\"127.0.0.0/8\"]\n[identity]\nauthority = {:?}\ncertificate = {:?}\nkey = {:?}\n\
             [listen]\naddress = \"127.0.0.1:1\"\n[[peer]]\nname = \"near\"\nprefixes = [\"192.0.2.0/24\"]\nrate = \"10 Mbit/s\"\n",
            identity.authority, identity.certificate, identity.key
        );
        let mut config = Config::parse(&text, &folder.path().join("gateway.toml")).unwrap();
        config.listen = Some(Listen { address: "127.0.0.1:0".parse().unwrap() });
        let mut scene = Scene { daemon: Daemon::new(config).unwrap(), number: 0, _folder: folder };
        scene.up();
        scene
    }
    /// Makes the daemon process an event of the transport.
    fn report(&mut self, event: PeerEvent) {
        self.daemon.step(|Daemon { peers, hosts, cx, .. }| peers.receive(event, hosts, cx));
    }
    fn up(&mut self) {
        self.number = 0;
        self.report(PeerEvent::Up {
            resumed: false,
            peer: PEER,
            dialer: false,
            transport: Transport::Quic,
            payload: 1_200,
            address: "192.0.2.1:4433".parse().unwrap(),
        });
    }
    fn down(&mut self) {
        self.report(PeerEvent::Down { peer: PEER, why: "the path is lost".into() });
    }
    fn receive(&mut self, frames: Vec<Frame>) {
        let packet = TpPacket { number: self.number, frames };
        self.number += 1;
        let mut octets = BytesMut::new();
        packet.encode(&mut octets, |_, _, len, octets| octets.extend_from_slice(&vec![7; len as usize]));
        self.report(PeerEvent::Packet { peer: PEER, packet: octets.freeze() });
    }
    /// Advances the time by `ms`, then begins the connection attempts that are due.
    fn attempt_after(&mut self, ms: u64) {
        self.daemon.cx.now += Span::from_ms(ms);
        self.daemon.begin_attempts();
    }
    /// Begins a connection of a host here.
    fn open(&mut self, request: Request, origin: Origin, state: State) -> FlowId {
        let source = request.client.map_or(Ipv4Addr::LOCALHOST.into(), |client| client.ip());
        let mut id = FlowId(0);
        self.daemon.step(|daemon| id = daemon.open(PEER, request, origin, state, source));
        id
    }
    fn admit(&mut self, syn: Syn) {
        self.daemon.step(|daemon| daemon.admit(syn));
    }
    fn write(&mut self) {
        self.daemon.step(|Daemon { hosts, cx, .. }| hosts.write(cx));
    }
    fn token(&self, id: FlowId) -> Token {
        self.daemon.hosts.token(PEER, id).unwrap()
    }
    /// Reports that the socket of a connection accepts bytes.
    fn ready(&mut self, token: Token) {
        let ready = Ready { token: token.ready(), read: false, write: true, ended: false, failed: false };
        self.daemon.step(|daemon| daemon.ready(ready));
    }
    /// Returns the name of a connection's state.
    fn state(&self, token: Token) -> Option<&'static str> {
        self.daemon.hosts.get(token).map(|connection| connection.state().name())
    }
    /// Calls the state machine of the peer.
    fn call(&mut self, act: impl FnOnce(&mut Gateway, Time, &mut Output)) {
        self.daemon.step(|Daemon { peers, hosts, cx, .. }| peers.call(PEER, hosts, cx, act));
    }
    fn stats(&self) -> GatewayStats {
        self.daemon.peers.gateway(PEER).stats()
    }
}

/// Returns the state of a connection of a host here that has no socket.
fn waiting() -> State {
    let [client, server] = ["192.0.2.7:5000", "192.0.2.9:80"].map(|at| at.parse().unwrap());
    State::Held(Syn::between(client, server))
}

fn server() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap();
    (listener, at)
}
fn open_with(flow: u64, server: SocketAddr, early: bool) -> Frame {
    let request = Arc::new(Request { client: None, server: Server::Address(server), early });
    Frame::Open { flow: FlowId(flow), limit: WINDOW, lease: None, request }
}
fn open(flow: u64, server: SocketAddr) -> Frame {
    open_with(flow, server, false)
}
fn reset(flow: u64, at: u64) -> Frame {
    Frame::Reset { flow: FlowId(flow), at, reason: Reason::Reset }
}

#[test]
fn attempts_of_an_earlier_connection_of_the_peer_are_dropped() {
    let [(old, old_at), (new, new_at)] = [server(), server()];
    let mut scene = Scene::new();
    scene.receive(vec![open(0, old_at)]);
    assert_eq!(scene.daemon.attempts.len(), 1);
    // The peer dials again while the attempt waits; flow identifiers start again from 0.
    scene.down();
    scene.up();
    scene.receive(vec![open(0, new_at)]);
    scene.attempt_after(60_000);
    assert!(new.accept().is_ok(), "the current attempt begins");
    assert!(old.accept().is_err(), "the attempt of a connection that has ended begins");
    assert_eq!((scene.daemon.hosts.len(), scene.daemon.hosts.load(PEER).connections), (1, 1));
}

#[test]
fn attempts_that_the_peer_resets_at_once_take_no_memory() {
    let (listener, at) = server();
    let mut scene = Scene::new();
    for first in (0..200_000).step_by(40) {
        scene.receive((first..first + 40).step_by(2).flat_map(|flow| [open(flow, at), reset(flow, 0)]).collect());
        assert_eq!(scene.daemon.attempts.len(), 0, "after {} flows", first / 2 + 20);
    }
    scene.attempt_after(60_000);
    assert!(listener.accept().is_err());
}

#[test]
fn a_flow_that_is_reset_after_early_data_and_before_its_attempt_ends() {
    let (listener, at) = server();
    let mut scene = Scene::new();
    let data = Frame::Data { flow: FlowId(0), offset: 0, len: 10, fin: false, early: true, urgent: false };
    scene.receive(vec![open_with(0, at, true), data]);
    scene.receive(vec![reset(0, 10)]);
    scene.attempt_after(60_000);
    assert!(listener.accept().is_err());
    let stats = scene.stats();
    assert_eq!((stats.flows, stats.refused(Reason::Reset)), (1, 1), "the reset is answered");
    let last = stats.packets_sent - 1;
    scene.receive(vec![Frame::Ack(Ack { ranges: vec![(0, last)], delay: Span::ZERO, sent: None })]);
    assert_eq!(scene.stats().flows, 0);
    assert!(!scene.daemon.hosts.has_early(PEER));
}

/// The state machine requests the checks once.
#[test]
fn a_server_that_answers_after_the_peers_reset_is_checked() {
    let (listener, at) = server();
    let mut scene = Scene::new();
    let data = Frame::Data { flow: FlowId(0), offset: 0, len: 10, fin: false, early: true, urgent: false };
    scene.receive(vec![open_with(0, at, true), data]);
    scene.attempt_after(60_000);
    let token = scene.token(FlowId(0));
    assert_eq!(scene.state(token), Some("Connecting"));
    scene.receive(vec![reset(0, 10)]);
    assert_eq!(scene.state(token), Some("Connecting"), "its bytes come first");
    scene.ready(token);
    assert!(scene.daemon.hosts.get(token).is_some_and(|connection| connection.is_watched()));
    assert!(listener.accept().is_ok());
    // It has its bytes, and then the reset.
    scene.write();
    assert_eq!(scene.state(token), Some("Closing"));
}

#[test]
fn a_reset_for_an_unused_identifier_is_malformed() {
    let mut scene = Scene::new();
    let malformed = |scene: &Scene| scene.daemon.cx.tally.counters().errors.get("malformed").copied().unwrap_or(0);
    // Our flow identifiers are odd.
    let request = || Request { client: None, server: Server::Address("192.0.2.9:80".parse().unwrap()), early: false };
    let begin = |scene: &mut Scene| {
        let id = scene.open(request(), Origin::Forward, waiting());
        scene.token(id)
    };
    begin(&mut scene);
    scene.receive(vec![reset(3, 0)]);
    assert_eq!(malformed(&scene), 1);
    let second = begin(&mut scene);
    assert!(
        scene.daemon.hosts.get(second).is_some_and(|connection| !connection.state().is_closing()),
        "reset before it was opened"
    );
    // An identifier that is in use may be reset.
    scene.receive(vec![reset(1, 0)]);
    scene.receive(vec![reset(1, 0)]);
    assert_eq!(malformed(&scene), 1);
}

#[test]
fn an_attempt_that_bypasses_the_gateways_counts_as_neither_answered_nor_lost() {
    let [client, server] = ["192.0.2.7:5000", "198.51.100.9:80"].map(|at| at.parse::<SocketAddr>().unwrap());
    let refused = [("passed", PeerDown::Direct), ("peer-lost", PeerDown::Refuse)];
    for (answers, (how, down)) in refused.into_iter().enumerate() {
        let mut scene = Scene::new();
        scene.daemon.cx.config.peers[PEER.index()].down = down;
        let request = Request { client: Some(client), server: Server::Address(server), early: false };
        scene.open(request, Origin::Intercepted, State::Held(Syn::between(client, server)));
        scene.daemon.cx.now += Span::from_ms(1_300);
        scene.down();
        scene.write();
        let counters = scene.daemon.cx.tally.counters();
        assert_eq!(counters.ended, [(how.to_owned(), 1)].into(), "{down:?}");
        assert_eq!(counters.passed + counters.refused.values().sum::<u64>(), 1);
        assert_eq!(counters.connect_seconds.iter().map(|class| class.1).sum::<u64>(), answers as u64, "{down:?}");
        assert_eq!((scene.daemon.hosts.waiting().len(), scene.daemon.hosts.len()), (0, 0));
    }
}

#[test]
fn a_connection_counts_as_opening_until_it_is_answered() {
    let [client, server] = ["192.0.2.7:5000", "192.0.2.9:80"].map(|at| at.parse::<SocketAddr>().unwrap());
    let request = || Request { client: Some(client), server: Server::Address(server), early: false };
    for answer in [None, Some(Reason::Refused)] {
        let mut scene = Scene::new();
        let id = scene.open(request(), Origin::Intercepted, State::Held(Syn::between(client, server)));
        let counts = |scene: &mut Scene| {
            let peer = scene.daemon.snapshot(false).peers.remove(0);
            (peer.opening, peer.connections)
        };
        assert_eq!(counts(&mut scene), (1, 1));
        scene.daemon.step(|Daemon { hosts, cx, .. }| match answer {
            None => hosts.execute(PEER, &Action::Accept { flow: id }, cx),
            Some(reason) => hosts.refuse(PEER, id, reason, false, cx),
        });
        // The client's kernel has not accepted it, or it is not closed yet.
        assert_eq!(counts(&mut scene), (0, 1), "{answer:?}");
    }
}

#[test]
fn a_server_is_connected_to_before_the_lease_ends_or_not_at_all() {
    let (listener, at) = server();
    let mut scene = Scene::new();
    scene.daemon.cx.now = Moment::now();
    let leased = |flow: u64, ms: u64| {
        let request = Arc::new(Request { client: None, server: Server::Address(at), early: false });
        let lease = Some(Lease { after: 0, within: Span::from_ms(ms) });
        Frame::Open { flow: FlowId(flow), limit: WINDOW, lease, request }
    };
    // The packet from which the peer counts: it arrives there at once.
    scene.receive(vec![Frame::Rate { rate: Rate::from_bps(1_000_000) }]);
    scene.call(|gateway, now, out| gateway.wake(now, out));
    scene.receive(vec![leased(0, 60_000), leased(2, 60_000)]);
    scene.attempt_after(59_000);
    for _ in 0..2 {
        assert!(listener.accept().is_ok(), "before its end");
    }
    // One that arrives in time but is processed too late, and one that arrives too late.
    scene.receive(vec![leased(4, 60_000)]);
    assert_eq!(scene.daemon.attempts.len(), 1);
    scene.attempt_after(1_100);
    scene.receive(vec![leased(6, 60_000)]);
    scene.attempt_after(1);
    assert!(listener.accept().is_err(), "connected after the end of the lease");
    assert_eq!(scene.stats().refused(Reason::PeerLost), 2, "the peer gets a refusal");
    assert!(scene.daemon.attempts.is_empty());
}

/// The server may have answered the first, and meanwhile the peer may be responsive again.
#[test]
fn a_syn_that_bypassed_the_gateways_does_so_each_time() {
    let [client, server] = ["192.0.2.7:5000", "192.0.2.9:80"].map(|at| at.parse::<SocketAddr>().unwrap());
    let mut scene = Scene::new();
    let syn = || Syn::between(client, server);
    scene.daemon.interception.bypass(&syn(), &mut scene.daemon.cx);
    scene.daemon.cx.now += Span::from_secs(63);
    scene.admit(syn());
    assert_eq!((scene.daemon.cx.tally.counters().passed, scene.daemon.hosts.len()), (2, 0));
    scene.daemon.cx.now += Span::from_secs(3);
    scene.admit(syn());
    assert_eq!((scene.daemon.cx.tally.counters().passed, scene.daemon.hosts.len()), (2, 1));
}
