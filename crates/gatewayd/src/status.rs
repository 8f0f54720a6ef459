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
    /// How long it has run (s).
    pub uptime: f64,
    /// The other gateways, in the order of the configuration.
    pub peers: Vec<PeerStatus>,
    /// While it drains, the number of connections that are left; it takes no new ones.
    #[serde(default)]
    pub draining: Option<u64>,
    /// Connections of hosts here that wait for their servers, or for their clients to acknowledge the answer.
    #[serde(default)]
    pub opening: u64,
    /// Connections that are over but for a host here that is left without an answer, as the other one has vanished.
    #[serde(default)]
    pub silent: u64,
    /// Packets of peers that were lost here, not on the line: the kernel had no room for them, as they were not read in
    /// time. The peers see them as lost.
    #[serde(default)]
    pub receive_drops: u64,
    /// The longest pass of the data thread (s). It is the longest time without a read of a socket, a packet or an
    /// acknowledgement, and includes time in which the thread was not scheduled.
    #[serde(default)]
    pub longest_pass: f64,
    /// Passes of the data thread that took longer than 5 ms.
    #[serde(default)]
    pub long_passes: u64,
    /// Connections, if asked for.
    pub connections: Vec<ConnectionStatus>,
    /// What was counted of all peers together.
    pub counters: Counters,
}

/// The way to another gateway.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// Its name.
    pub name: String,
    /// Whether connections are carried to it: packets can be sent, and the kernel knows that its networks are taken.
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
    /// How often it went down.
    pub downs: u64,
    /// True if it is up without a connection: its connections wait for the next one.
    #[serde(default)]
    pub detached: bool,
    /// Whether it does not answer: then new connections are not carried to it, while those that are wait.
    #[serde(default)]
    pub unresponsive: bool,
    /// How often it became unresponsive.
    #[serde(default)]
    pub stalls: u64,
    /// Smoothed round-trip time (s).
    pub rtt: f64,
    /// Largest packet to it (octets of payload of the transport).
    pub payload: u64,
    /// The rate of the line (bit/s): as configured, or as estimated until now.
    pub rate: f64,
    /// The rate at which packets leave now (bit/s): less than `rate` while that is above what the line carries and
    /// `rate-guard` acts.
    #[serde(default)]
    pub sending_rate: f64,
    /// The rate that fits, while the one that is configured is above what the line carries (bit/s).
    #[serde(default)]
    pub fits: Option<f64>,
    /// How often the configured rate was found to be too high.
    #[serde(default)]
    pub overloads: u64,
    /// Octets of IP packets sent to it, everything included.
    pub line_octets: u64,
    /// Packets sent to it.
    pub packets_sent: u64,
    /// Packets from it.
    pub packets_received: u64,
    /// Packets taken for lost.
    pub packets_lost: u64,
    /// Bytes of connections sent again.
    pub resent_bytes: u64,
    /// Bytes of connections sent, those sent again not counted.
    pub sent_bytes: u64,
    /// Bytes of connections received, each once.
    pub received_bytes: u64,
    /// Bytes held: not acknowledged by the peer, or not taken by a host.
    pub buffered_bytes: u64,
    /// Connections open.
    pub connections: u64,
    /// Connections that wait for the far host's answer.
    pub opening: u64,
    /// Its classes, that of connections in no other class last.
    #[serde(default)]
    pub classes: Vec<ClassStatus>,
}

/// A class of connections to a peer, of what is sent to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassStatus {
    /// Its name.
    pub name: String,
    /// Its weight beside the other classes.
    pub share: u16,
    /// The most that is sent of it (bit/s); none: no limit.
    pub ceiling: Option<f64>,
    /// Connections that have not ended.
    pub connections: u64,
    /// Data frames sent.
    pub frames: u64,
    /// Bytes of connections in them, each time they were sent.
    pub sent_bytes: u64,
    /// Their octets on the line.
    pub line_octets: u64,
    /// The time in which it had data to send and waited for its ceiling (s).
    pub at_ceiling: f64,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// The peer's name.
    pub peer: String,
    /// Whether the client is on this side.
    pub opened_here: bool,
    /// The client.
    pub client: Option<SocketAddr>,
    /// The server, as the client named it.
    pub server: String,
    /// `opening`, `open`, `half-closed` or `ending`.
    pub state: String,
    /// How long it has been (s).
    pub age: f64,
    /// Bytes from the host here to the peer.
    pub sent_bytes: u64,
    /// Bytes from the peer to the host here.
    pub received_bytes: u64,
    /// Bytes held here, both directions.
    pub buffered_bytes: u64,
}

/// What was counted since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Connections by how they came: `intercepted`, `proved` (intercepted, answered here before the server has),
    /// `forward`, `socks`, `peer`.
    pub opened: BTreeMap<String, u64>,
    /// Refused openings by reason (`cellway_gateway::Reason::name`).
    pub refused: BTreeMap<String, u64>,
    /// Ended connections by `clean` or the reason.
    pub ended: BTreeMap<String, u64>,
    /// Time from an opening to its answer: a bound in seconds (0.001, 0.002, 0.005, ... 10, and `f64::MAX` for
    /// more, since JSON knows no infinity) and how many were above the one before and not above this.
    pub connect_seconds: Vec<(f64, u64)>,
    /// The sum of those times (s).
    pub connect_seconds_sum: f64,
    /// How often a host was not read because the line was behind.
    pub held_back: u64,
    /// Openings that went on to their servers without the pair, because the peer could not be reached.
    #[serde(default)]
    pub passed: u64,
    /// Openings that this machine has answered before their servers have, so that their clients prove their addresses.
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
