//! Traffic groups.

use cellway_spec::{Dscp, Family, UdpSource};
use cellway_units::{Bytes, Rate, Span};

use crate::model::{Access, App, AppFile, Framing, HostSpec, LinkIndex, NodeIndex, Service, TcpSpec, WorkloadSpec};

/// A group of like conversations. Slot `i` (from 1) is called "name-i"; see [`Traffic::slot`].
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Unique among groups.
    pub name: String,
    /// The traffic of each slot, and its protocol.
    pub protocol: Protocol,
    /// The number of slots.
    pub count: u32,
    /// The place of the originators.
    pub from: Attachment,
    /// The place of the responders.
    pub to: Attachment,
    /// The link of each implicit host; present exactly if `from` or `to` is no host.
    pub access: Option<Access>,
    /// The limits and costs of the implicit hosts.
    pub host: HostSpec,
    /// The start of slot 1.
    pub start: Span,
    /// Slot `i` starts at `start + (i - 1) × stagger`.
    pub stagger: Span,
    /// Each slot starts later than that by a time drawn evenly from [0, jitter).
    pub jitter: Span,
    /// The class that its hosts write into packets.
    pub dscp: Dscp,
    /// The service that its channels ask of the network.
    pub service: Service,
    /// The links from `from` to `to`, without access links; the way back is the same links in
    /// reverse. See [`Scenario::route`](crate::Scenario::route).
    pub route: Vec<LinkIndex>,
    /// The rate of the slowest link on `route` when the run starts, in the direction from `from` to `to`; access links
    /// included where no link of it carries cells.
    pub bottleneck: Rate,
    /// The framing of that link.
    pub bottleneck_framing: Framing,
    /// The largest IP packet that crosses every link its packets take: access links included, links between the
    /// gateways that split its connections left out.
    pub mtu: Bytes,
}

/// The traffic of each slot of a group, and its protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Protocol {
    /// Conversations of an application, one after the other, over TCP.
    Tcp(Box<TcpTraffic>),
    /// Datagrams of a source, from the originator to the responder, and the echoes of pings. Gateways forward them as routers do.
    Udp(UdpSource),
    /// Datagrams of a class of a workload file, in both directions: of a group whose file has been read.
    Class(Box<ClassDatagrams>),
}

/// Datagrams of a class of a workload file.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassDatagrams {
    /// The class and its use.
    pub spec: WorkloadSpec,
    /// The version of IP.
    pub family: Family,
}

/// Conversations of an application over TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpTraffic {
    /// The application of the conversations.
    pub app: App,
    /// The version of IP.
    pub family: Family,
    /// True if a slot begins the next conversation when one ends; else it runs one only.
    pub repeat: bool,
    /// TCP of the hosts. Complete: the file's defaults with what the group overrides.
    pub tcp: TcpSpec,
    /// The gateways that its connections are split at, in the direction from the originator to the responder.
    pub gateways: Option<[NodeIndex; 2]>,
    /// TCP of the gateway ends: near the originator, near the responder. As `tcp` where nothing differs.
    pub gateway_tcp: [TcpSpec; 2],
}

impl Traffic {
    /// Returns the conversations over TCP, if the group has these.
    pub fn tcp(&self) -> Option<&TcpTraffic> {
        match &self.protocol {
            Protocol::Tcp(tcp) => Some(tcp),
            Protocol::Udp(_) | Protocol::Class(_) => None,
        }
    }
    /// Returns the source of datagrams, if the group has one.
    pub fn udp(&self) -> Option<&UdpSource> {
        match &self.protocol {
            Protocol::Tcp(_) | Protocol::Class(_) => None,
            Protocol::Udp(source) => Some(source),
        }
    }
    /// Returns the version of IP of its packets. Those between a pair of gateways have that of the gateways.
    pub fn family(&self) -> Family {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.family,
            Protocol::Udp(source) => source.family,
            Protocol::Class(class) => class.family,
        }
    }
    /// Returns the application, if the group has one.
    pub fn app(&self) -> Option<&App> {
        self.tcp().map(|tcp| &tcp.app)
    }
    /// Returns what its application needs to be read before a run, with the key that names it.
    pub fn file(&self) -> Option<(AppFile<'_>, &'static [&'static str])> {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.app.file(),
            Protocol::Class(class) => {
                Some((AppFile::Workload { file: &class.spec.file, class: &class.spec.class }, &["app"][..]))
            }
            Protocol::Udp(_) => None,
        }
    }
    /// Turns conversations of a class of a workload file, which is of UDP, into its datagrams.
    pub fn use_datagrams(&mut self) {
        if let Protocol::Tcp(tcp) = &self.protocol
            && let App::Workload(spec) = &tcp.app
        {
            let (spec, family) = (spec.clone(), tcp.family);
            self.protocol = Protocol::Class(Box::new(ClassDatagrams { spec, family }));
        }
    }
    /// Returns the gateways that its connections are split at, in the direction from `from` to `to`.
    pub fn gateways(&self) -> Option<[NodeIndex; 2]> {
        self.tcp().and_then(|tcp| tcp.gateways)
    }
    /// Returns the largest IP packet that its hosts send.
    pub fn largest_packet(&self) -> Bytes {
        match &self.protocol {
            Protocol::Tcp(tcp) => Bytes(tcp.tcp.mss.0 + tcp.family.tcp_headers()),
            Protocol::Udp(source) => source.packet,
            Protocol::Class(_) => self.mtu,
        }
    }
    /// Returns whether most data goes from the responder to the originator.
    pub fn responder_sends(&self) -> bool {
        match self.app() {
            // That of a measured class is known only to its file; most traffic of clients is what they fetch.
            Some(App::FtpGet { .. } | App::Www { .. } | App::Page(_) | App::Workload(_)) => true,
            Some(App::RequestResponse { request, response, .. }) => response > request,
            _ => false,
        }
    }
    /// The name of slot `i`, counted from 1: "ftp-3".
    pub fn slot(&self, i: u32) -> String {
        format!("{}-{i}", self.name)
    }
    /// Returns the time at which slot `i`, counted from 1, starts its first conversation, jitter not counted.
    pub fn slot_start(&self, i: u32) -> Span {
        self.start + self.stagger.saturating_mul(u64::from(i.saturating_sub(1)))
    }
}

/// The place of one end of a group's conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attachment {
    /// Each slot has a host of its own, attached to this router, switch or gateway by a link of [`Traffic::access`].
    Router(NodeIndex),
    /// All slots use this host.
    Host(NodeIndex),
}

impl Attachment {
    /// The node that the file names.
    pub const fn node(self) -> NodeIndex {
        match self {
            Attachment::Router(node) | Attachment::Host(node) => node,
        }
    }
}
