//! The status of a gateway. The daemon fills it, `control` serves it, `status` prints it.

pub(crate) mod states;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A gateway at an instant. Counters count since its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// Its uptime (s).
    pub uptime: f64,
    /// The other gateways, in the order of the configuration.
    pub peers: Vec<PeerStatus>,
    /// The number of connections that are left while it drains; new ones are not accepted.
    #[serde(default)]
    pub draining: Option<u64>,
    /// Connections of hosts here that wait for their servers, or for their clients to acknowledge the answer.
    #[serde(default)]
    pub opening: u64,
    /// Connections that have ended except for a host here that gets no more answers, as the other one has vanished.
    #[serde(default)]
    pub silent: u64,
    /// Packets of peers that were lost here, not on the path: the kernel had no room for them, as they were not read in
    /// time. The peers count them as lost.
    #[serde(default)]
    pub receive_drops: u64,
    /// The longest pass of the data thread (s). It is the longest time without a read of a socket, a packet or an
    /// acknowledgement, and includes time in which the thread was not scheduled.
    #[serde(default)]
    pub longest_pass: f64,
    /// Passes of the data thread that took longer than 5 ms.
    #[serde(default)]
    pub long_passes: u64,
    /// Connections, if requested.
    pub connections: Vec<ConnectionStatus>,
    /// The counters of all peers together.
    pub counters: Counters,
}

/// The state of another gateway.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// Its name.
    pub name: String,
    /// True if connections are relayed to it: packets can be sent, and its networks are intercepted.
    pub up: bool,
    /// `quic` or `tls`, empty while down.
    pub transport: String,
    /// Its address, while up.
    pub address: Option<SocketAddr>,
    /// The reason for which it is down or detached; empty otherwise.
    pub why_down: String,
    /// The reason for which it was last lost; empty if it never was.
    #[serde(default)]
    pub why_last_down: String,
    /// If `tls` is used although `quic` is preferred: the result of trying `quic`. Only the gateway that dialled has
    /// it.
    #[serde(default)]
    pub why_tls: String,
    /// Connections of the peer that were ended because it opened too many, or too often.
    #[serde(default)]
    pub surplus: u64,
    /// The number of times it went down.
    pub downs: u64,
    /// True if it is up without a connection: its connections wait for the next one.
    #[serde(default)]
    pub detached: bool,
    /// True if it does not answer: then new connections are not relayed to it, and established ones wait.
    #[serde(default)]
    pub unresponsive: bool,
    /// The number of times it became unresponsive.
    #[serde(default)]
    pub stalls: u64,
    /// Smoothed round-trip time (s).
    pub rtt: f64,
    /// Largest packet to it (octets of payload of the transport).
    pub payload: u64,
    /// The rate of the bottleneck link (bit/s): as configured, or the current estimate.
    pub rate: f64,
    /// The rate at which packets leave now (bit/s): less than `rate` while that is above the bandwidth of the path and
    /// `rate-guard` acts.
    #[serde(default)]
    pub sending_rate: f64,
    /// The rate that fits, while the configured one is above the bandwidth of the path (bit/s).
    #[serde(default)]
    pub fits: Option<f64>,
    /// The number of times the configured rate was found to be too high.
    #[serde(default)]
    pub overloads: u64,
    /// Octets of IP packets sent to it, everything included.
    pub line_octets: u64,
    /// Packets sent to it.
    pub packets_sent: u64,
    /// Packets from it.
    pub packets_received: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Retransmitted bytes of connections.
    pub resent_bytes: u64,
    /// Bytes of connections sent, without retransmissions.
    pub sent_bytes: u64,
    /// Bytes of connections received, each once.
    pub received_bytes: u64,
    /// Bytes held: not acknowledged by the peer, or not accepted by a host.
    pub buffered_bytes: u64,
    /// Open connections.
    pub connections: u64,
    /// Connections that wait for the far host's answer.
    pub opening: u64,
    /// Its classes, that of connections in no other class last.
    #[serde(default)]
    pub classes: Vec<ClassStatus>,
}

/// The traffic of a class of connections to a peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassStatus {
    /// Its name.
    pub name: String,
    /// Its weight relative to the other classes.
    pub share: u16,
    /// Its highest rate (bit/s); none: no limit.
    pub ceiling: Option<f64>,
    /// Connections that have not ended.
    pub connections: u64,
    /// Data frames sent.
    pub frames: u64,
    /// Bytes of connections in them, each time they were sent.
    pub sent_bytes: u64,
    /// Their octets on the link.
    pub line_octets: u64,
    /// The time in which it had data to send and waited for its ceiling (s).
    pub at_ceiling: f64,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// The peer's name.
    pub peer: String,
    /// True if the client is on this side.
    pub opened_here: bool,
    /// The client.
    pub client: Option<SocketAddr>,
    /// The server, as the client named it.
    pub server: String,
    /// `opening`, `open`, `half-closed` or `ending`.
    pub state: String,
    /// Its age (s).
    pub age: f64,
    /// Bytes from the host here to the peer.
    pub sent_bytes: u64,
    /// Bytes from the peer to the host here.
    pub received_bytes: u64,
    /// Bytes held here, both directions.
    pub buffered_bytes: u64,
}

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Connections by origin: `intercepted`, `proved` (intercepted, answered here before the server has), `forward`,
    /// `socks`, `peer`.
    pub opened: BTreeMap<String, u64>,
    /// Refused connection attempts by reason (`cellway_gateway::Reason::name`).
    pub refused: BTreeMap<String, u64>,
    /// Ended connections by `clean` or the reason.
    pub ended: BTreeMap<String, u64>,
    /// Time from a connection attempt to its answer: a bound in seconds (0.001, 0.002, 0.005, ... 10, and `f64::MAX`
    /// for more, since JSON has no infinity) and the number of times above the previous bound and not above this one.
    pub connect_seconds: Vec<(f64, u64)>,
    /// The sum of those times (s).
    pub connect_seconds_sum: f64,
    /// The number of times a host was not read because the link was behind.
    pub held_back: u64,
    /// Connection attempts that bypassed the gateways, because the peer could not be reached.
    #[serde(default)]
    pub passed: u64,
    /// Connection attempts that this machine has answered before their servers have, so that their clients prove their
    /// addresses.
    #[serde(default)]
    pub answered_first: u64,
    /// The number of times that missing rules of the kernel were set again.
    #[serde(default)]
    pub rules_restored: u64,
    /// Errors by kind.
    pub errors: BTreeMap<String, u64>,
    /// Connections to the port for peers that never became a peer's: `failed` (the handshake), `silent` (nothing was
    /// received), `replaced` (another connection got the slot), `refused` (no slot was free).
    #[serde(default)]
    pub strangers: BTreeMap<String, u64>,
}
