//! A run as a reader sees it who draws it: its network and traffic, and the cells, packets and windows at an instant.

use cellway_tcp::congestion::BbrState;
use cellway_units::{Rate, Span, Time};

/// The network and the traffic of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The nodes.
    pub nodes: Vec<NodeScene>,
    /// The ports; those of a link follow each other, in its two directions.
    pub ports: Vec<PortScene>,
    /// The slots of traffic groups, then the pairs of gateways.
    pub flows: Vec<FlowScene>,
    /// The number of pairs of gateways.
    pub pairs: usize,
    /// The simulated time at the end of the run.
    pub duration: Span,
}

/// A node of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeScene {
    /// Its name. The inner node of a gateway, or of a host with limits, has that of its owner.
    pub name: String,
    /// "host", "router", "switch", "gateway", or "inside" for such an inner node.
    pub kind: &'static str,
}

/// An output port, with the line and the link behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortScene {
    /// The name of the port, as in tables: "a>b".
    pub name: String,
    /// The name of the link; `None` if it is not one of the file.
    pub link: Option<String>,
    /// The node before it.
    pub from: usize,
    /// The node at the far end of its link.
    pub to: usize,
    /// True if its line sends cells.
    pub cells: bool,
    /// The rate of the line now.
    pub rate: Rate,
    /// The delay of the link now, without a random part.
    pub delay: Span,
}

/// The traffic between two hosts, or between two gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowScene {
    /// The name of the slot, "ftp-3", or those of the two gateways, "g1-g2".
    pub name: String,
    /// The traffic group; `None` between gateways.
    pub group: Option<String>,
    /// "tcp", "udp", "stack" or "gateways".
    pub kind: &'static str,
    /// The nodes of originator and responder, or the gateways.
    pub ends: [usize; 2],
    /// The flow between the gateways that split its connections.
    pub through: Option<usize>,
}

/// The cells, packets and windows of a run at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The instant.
    pub now: Time,
    /// By port.
    pub ports: Vec<PortView>,
    /// By slot; `None` without an open connection of TCP.
    pub flows: Vec<Option<WindowView>>,
    /// By pair of gateways.
    pub gateways: Vec<GatewayView>,
}

/// The units at a port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortView {
    /// The units that wait, in the order of service as far as the queue has one.
    pub waiting: Vec<UnitsView>,
    /// The number of units that wait and are not listed.
    pub more: u64,
    /// The unit on the line.
    pub line: Option<LineView>,
    /// The units on the link, those that arrive first before others.
    pub flight: Vec<FlightView>,
    /// The number of further entries of `flight` that are not listed.
    pub more_flight: u64,
}

/// A packet or adjacent cells of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitsView {
    /// The flow: its place in [`Scene::flows`]. Cells of resource management are those of a flow of their channel.
    pub flow: Option<usize>,
    /// The contents.
    pub contents: Contents,
    /// The number of cells; 1 for a packet.
    pub units: u32,
    /// The octets of the cells, or those of the IP packet.
    pub octets: u64,
}

/// The contents of a packet, or of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contents {
    /// A packet with data, or cells of it.
    Data,
    /// A packet without data, such as a bare acknowledgement, or cells of it.
    Control,
    /// A cell of resource management.
    Rm,
}

/// The unit on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineView {
    /// The cell or packet.
    pub unit: UnitsView,
    /// The part of it that has been sent, from 0 to 1.
    pub part: f64,
}

/// A unit on a link, or adjacent cells of one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlightView {
    /// The cells or the packet.
    pub units: UnitsView,
    /// The place of the last bit of the first cell or of the packet, from 0 at the line to 1 at the far end.
    pub head: f64,
    /// That of the last cell; of a packet the same.
    pub tail: f64,
}

/// The window of the newest connection of a slot, at the host that has sent more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowView {
    /// The congestion window, in octets.
    pub window: u64,
    /// The slow start threshold, in octets; `None` before the first loss, if it has no initial value.
    pub threshold: Option<u64>,
    /// The octets sent and not acknowledged.
    pub in_flight: u64,
    /// The smoothed round-trip time; `None` before the first measurement.
    pub rtt: Option<Span>,
    /// One of [`window_states`].
    pub state: &'static str,
    /// The host: 0 for the originator, 1 for the responder.
    pub end: usize,
}

/// The octets that a pair of gateways holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayView {
    /// Those on the way from the hosts of the first gateway to those of the second: at the first, at the second.
    pub there: [u64; 2],
    /// Those in the other direction: at the first, at the second.
    pub back: [u64; 2],
}

/// A connection whose handshake has not ended.
pub(crate) const HANDSHAKE: &str = "handshake";

/// Returns the states of a window: that of the handshake, the phases of RFC 5681, the states of BBR.
pub fn window_states() -> impl Iterator<Item = &'static str> {
    let phases = [HANDSHAKE, "slow_start", "congestion_avoidance", "recovery"];
    phases.into_iter().chain(BbrState::ALL.map(BbrState::name))
}
