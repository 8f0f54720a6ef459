//! A snapshot of a running emulation: for views and JSON lines.

use serde::Serialize;

/// The network and its conversations over the last interval.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Seconds since the start.
    pub t: f64,
    /// Seconds that the rates are means over.
    pub interval: f64,
    /// The 99th percentile of lateness in the interval, in seconds.
    pub lateness_p99: f64,
    /// True if the run's lateness so far is within its limit.
    pub valid: bool,
    /// Output ports, in the order of the file.
    pub ports: Vec<PortView>,
    /// Conversations, the fastest first.
    pub conversations: Vec<ConversationView>,
    /// Packets of hosts that did not enter the network since the start, by reason; only reasons that occurred.
    pub refused: Vec<(&'static str, u64)>,
}

/// An output port.
#[derive(Clone, Debug, Serialize)]
pub struct PortView {
    /// "near>far".
    pub name: String,
    /// The share of the time that the line was sending.
    pub utilisation: f64,
    /// Units waiting.
    pub queue: u32,
    /// "cell" or "packet".
    pub unit: &'static str,
    /// Frames, packets and cells dropped or lost since the start.
    pub dropped: u64,
}

/// A conversation of two hosts.
#[derive(Clone, Debug, Serialize)]
pub struct ConversationView {
    /// The side that sent the first packet, with its port: "client:40332".
    pub from: String,
    /// The other side.
    pub to: String,
    /// "tcp", "udp", "icmp", or the number of the protocol.
    pub protocol: String,
    /// Its type by the table of ports: "ftp", "http", "other".
    pub kind: &'static str,
    /// The received rate, in bit/s of IP packets, in the two directions.
    pub rate: [f64; 2],
    /// Units of its channels that wait anywhere.
    pub queue: u32,
    /// Packets lost inside the network since the start.
    pub dropped: u64,
    /// Seconds since its last packet.
    pub idle: f64,
}
