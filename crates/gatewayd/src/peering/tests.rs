//! Two gateways on loopback in one thread.

mod admission;
mod changes;
mod failures;
mod fairness;
mod packets;
mod unauthenticated;
mod upgrades;

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cellway_units::{Rate, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::TempDir;

use super::identity::{Authority, Made, make_authority, make_certificate};
use super::*;
use crate::config::{self, Connect, Control, Identity as Files, Limits, LineRate, Listen, PeerDown, TransportChoice};
use crate::peer_id::PeerId;

/// The first peer of a configuration.
const PEER: PeerId = PeerId::at(0);

/// A longer wait is a hang.
const HANG: Duration = Duration::from_secs(60);

/// A folder with keys, as `keygen` writes them.
struct Keys {
    folder: TempDir,
    authority: Authority,
}

impl Keys {
    fn new() -> Keys {
        Keys::of("test")
    }
    fn of(authority: &str) -> Keys {
        let keys = Keys { folder: TempDir::new().unwrap(), authority: make_authority(authority).unwrap() };
        std::fs::write(keys.folder.path().join("ca.pem"), &keys.authority.made.certificate).unwrap();
        keys
    }
    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }
    fn write(&self, stem: &str, made: &Made) -> Files {
        write_pair(self.folder.path(), stem, made);
        Files {
            authority: self.path("ca.pem"),
            certificate: self.path(&format!("{stem}.pem")),
            key: self.path(&format!("{stem}.key")),
        }
    }
    /// Returns the configuration of a gateway with a certificate for its name, and one peer.
    fn gateway(&self, name: &str, peer: &str) -> Config {
        self.with(name, peer, &make_certificate(&self.authority, name, 30).unwrap())
    }
    fn with(&self, name: &str, peer: &str, made: &Made) -> Config {
        Config {
            name: name.into(),
            identity: self.write(name, made),
            listen: Some(Listen { address: "127.0.0.1:0".parse().unwrap() }),
            local: Vec::new(),
            peers: vec![config::Peer {
                name: peer.into(),
                address: None,
                prefixes: Vec::new(),
                rate: LineRate::Fixed { rate: Rate::from_bps(100_000_000), atm: false },
                rate_guard: config::RateGuard::On,
                classes: cellway_gateway::Classes::default(),
                transport: TransportChoice::Quic,
                connect: Connect::Late,
                down: PeerDown::Direct,
                outage: Span::from_secs(30),
            }],
            intercept: None,
            forwards: Vec::new(),
            socks: None,
            limits: Limits::default(),
            control: Control::default(),
        }
    }
}

fn write_pair(folder: &Path, stem: &str, made: &Made) {
    std::fs::write(folder.join(format!("{stem}.pem")), &made.certificate).unwrap();
    std::fs::write(folder.join(format!("{stem}.key")), &made.key).unwrap();
}

fn start(config: &Config) -> Peering {
    Peering::new(config, None, Instant::now()).unwrap()
}

/// Starts `near`, which dials `far`, which listens.
fn dialling(near: &mut Config, far: &Config) -> (Peering, Peering) {
    let far = start(far);
    near.peers[0].address = Some(far.listens().unwrap().to_string());
    (start(near), far)
}

/// Runs them until `done` returns true for the events of each.
fn run_until<const N: usize>(all: [&mut Peering; N], mut done: impl FnMut(&mut [Vec<PeerEvent>; N]) -> bool) {
    let end = Instant::now() + HANG;
    let mut all = all;
    let mut told: [Vec<PeerEvent>; N] = std::array::from_fn(|_| Vec::new());
    loop {
        for (peering, told) in all.iter_mut().zip(&mut told) {
            step(peering, told);
        }
        if done(&mut told) {
            return;
        }
        let now = Instant::now();
        assert!(now < end, "nothing more happens; told so far: {told:?}");
        let next = all.iter_mut().filter_map(|peering| peering.deadline()).min().unwrap_or(end).min(end);
        let left = next.saturating_duration_since(now).min(Duration::from_millis(20));
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds: Vec<_> =
            all.iter().map(|peering| PollFd::from_borrowed_fd(peering.as_fd(), PollFlags::IN)).collect();
        poll(&mut fds, Some(&timeout)).unwrap();
    }
}

fn step(peering: &mut Peering, told: &mut Vec<PeerEvent>) {
    peering.turn(Instant::now());
    while let Some(event) = peering.next() {
        told.push(event);
    }
    peering.flush(Instant::now());
}

fn is_up(told: &[PeerEvent]) -> bool {
    told.iter().any(|event| matches!(event, PeerEvent::Up { .. }))
}

fn whys(told: &[PeerEvent]) -> Vec<&str> {
    told.iter()
        .filter_map(|event| if let PeerEvent::Down { why, .. } = event { Some(why.as_str()) } else { None })
        .collect()
}

fn packets(told: &[PeerEvent]) -> Vec<&Bytes> {
    told.iter()
        .filter_map(|event| if let PeerEvent::Packet { packet, .. } = event { Some(packet) } else { None })
        .collect()
}

/// Runs both until they are up, and drops other events.
fn bring_up(a: &mut Peering, b: &mut Peering) {
    run_until([a, b], |[a, b]| is_up(a) && is_up(b));
}

/// Creates two gateways that are connected over `transport`, and their keys.
fn connected(transport: TransportChoice) -> (Keys, Peering, Peering) {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = transport;
    let (mut near, mut far) = dialling(&mut near, &keys.gateway("far", "near"));
    bring_up(&mut near, &mut far);
    (keys, near, far)
}

/// Returns the address of a peer that listens.
fn address(peering: &Peering) -> SocketAddr {
    peering.listens().unwrap()
}
