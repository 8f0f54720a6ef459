//! The parts of an emulation beyond the network.

use cellway_settings::section;
use cellway_spec::{Connect, TransportChoice};
use cellway_units::Span;

use crate::model::{NodeIndex, Scenario, Slot};

section! {
    /// Limits of an emulation.
    #[derive(Copy, Eq)]
    pub struct Emulate, EmulateKeys {
        /// The largest 99th percentile of lateness. Above it a run is invalid.
        #[range(above = "0 s")]
        pub lateness_limit: Span = Span::from_ms(1),
        /// The maximum number of conversations of real packets.
        #[range(min = 1, max = 65_504)]
        pub conversations: u32 = 1024,
        /// A conversation without packets is closed after this time.
        #[range(above = "0 s")]
        pub idle: Span = Span::from_secs(60),
        /// True: the traffic groups run over the TCP of the hosts, in addition to the commands.
        pub play: bool = true,
        /// True: gateways split connections. False: they forward packets as routers do.
        pub gateways: bool = true,
        /// True: hosts use segmentation offload, as with a network card (TSO, USO, GRO). False: each packet is read and
        /// written alone, at a higher cost.
        pub offload: bool = true,
        /// Options of all real gateways.
        pub gateway: EmulatedGateway,
    }
}

section! {
    /// Options of all real gateways.
    #[derive(Copy, Eq)]
    pub struct EmulatedGateway, EmulatedGatewayKeys {
        /// The transport between gateways.
        pub transport: TransportChoice = TransportChoice::Auto,
        /// When a gateway answers a connection.
        pub connect: Connect = Connect::Late,
    }
}
/// A program that an emulation starts in a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Unique among commands, and not the name of a group or slot.
    pub name: String,
    /// The host that runs it.
    pub host: CommandHost,
    /// The program and its arguments; no shell reads them. Never empty.
    pub run: Vec<String>,
    /// The time at which it is started, from the start of the run: within the run.
    pub start: Span,
    /// The time at which it is ended; later than `start`, at most the end of the run. If absent it is ended with the run.
    pub stop: Option<Span>,
    /// The exit status that is no failure.
    pub expect: u8,
    /// The sign that it is ready, if the run waits for that; only with a `start` of 0.
    pub ready: Option<Ready>,
    /// The numbers recorded from its output.
    pub figures: Vec<Figure>,
}

/// The condition under which a command is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A socket in its host listens on this TCP port or is bound to this UDP port. Never 0.
    Port(u16),
    /// A line of its output matches this regular expression (syntax of the crate `regex`).
    Pattern(String),
}

/// A host that commands run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandHost {
    /// A node of the file, which is a host.
    Node(NodeIndex),
    /// The own host of a slot at the originator's end: "bulk-1".
    Originator(Slot),
    /// That at the responder's end: "bulk-1-sink".
    Responder(Slot),
}

/// A number that a command prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in results; unique among the figures of a command.
    pub metric: String,
    /// The unit of the recorded value.
    pub unit: String,
    /// Its source.
    pub source: FigureSource,
    /// The factor by which the number is multiplied to be in `unit`; finite and not zero.
    pub times: f64,
}

/// The location of a figure in the standard output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FigureSource {
    /// In JSON: keys, and numbers of elements from 0. Never empty.
    Json(Vec<String>),
    /// In text: a regular expression (syntax of the crate `regex`) with one group; the last match counts.
    Pattern(String),
}

impl Scenario {
    /// The name of a host that commands run in: that of its node, or "bulk-1" and "bulk-1-sink" of a slot.
    pub fn command_host(&self, host: CommandHost) -> String {
        match host {
            CommandHost::Node(node) => self.nodes[node.0].name.clone(),
            CommandHost::Originator(slot) => self.traffic[slot.traffic].slot(slot.number),
            CommandHost::Responder(slot) => format!("{}-sink", self.traffic[slot.traffic].slot(slot.number)),
        }
    }
}

/// The environment variable in which commands find the address of `host`: `CELLWAY_HOST_bulk_1` for "bulk-1".
pub fn host_variable(host: &str) -> String {
    format!("CELLWAY_HOST_{}", host.replace('-', "_"))
}
