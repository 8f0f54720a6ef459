//! The sections and keys of the file. The doc comments here are the help that the schema shows in editors and that the
//! reference prints; the same schema defines which keys are accepted.

use std::net::SocketAddr;
use std::path::PathBuf;

use cellway_settings::leaf::Leaf;
use cellway_units::{Rate, Span};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::{ClassName, Device, Devices, Framing, HostPort, Memory, Name, Ports, RateOrAuto, Wait};
use super::{Connect, Intercept, Limits, PeerDown, RateGuard, Source, TransportChoice};

/// The certificates of authorities, if the file names no others.
pub(super) const AUTHORITY: &str = "authority.pem";

/// The weight of a class, if the file gives none.
pub(super) const SHARE: u16 = 1;

/// The time for which a peer may send nothing, if the file gives none.
pub(super) const OUTAGE: Span = Span::from_secs(60);

/// The configuration of a gateway. Quantities are strings with units; relative paths start at the folder of the file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(title = "Cellway gateway")]
pub(super) struct File {
    /// The name of this gateway, the one in its certificate.
    #[schemars(required)]
    pub(super) name: Option<Leaf<Name>>,
    /// The networks behind this gateway: peers can make it connect there and nowhere else. Without any it
    /// connects nowhere, and only its own side can open connections.
    #[schemars(extend("default" = []))]
    pub(super) local: Option<Vec<Leaf<IpNet>>>,
    pub(super) identity: Option<IdentityFile>,
    pub(super) listen: Option<ListenFile>,
    #[schemars(required)]
    pub(super) peer: Option<Vec<PeerFile>>,
    pub(super) class: Option<Vec<ClassFile>>,
    pub(super) intercept: Option<InterceptFile>,
    pub(super) forward: Option<Vec<ForwardFile>>,
    pub(super) socks: Option<SocksFile>,
    pub(super) limits: Option<LimitsFile>,
    pub(super) control: Option<ControlFile>,
}

/// The identity of this gateway, and the authorities that it trusts: files in PEM. `cellway-gateway keygen` makes them
/// with the names that are the defaults here, so that this section can be left out if they are next to this file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct IdentityFile {
    /// Certificates of the authorities that sign the certificates of peers.
    #[schemars(extend("default" = AUTHORITY))]
    pub(super) authority: Option<Leaf<PathBuf>>,
    /// This gateway's certificate, with intermediate ones after it. Default: its name and ".pem".
    pub(super) certificate: Option<Leaf<PathBuf>>,
    /// Its private key. Default: its name and ".key".
    pub(super) key: Option<Leaf<PathBuf>>,
}

/// The address at which peers dial this gateway; left out, it only dials.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ListenFile {
    /// The UDP port for QUIC; the TCP port of the same number is for TLS.
    #[schemars(required)]
    pub(super) address: Option<Leaf<SocketAddr>>,
}

/// Another gateway; one such table for each.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PeerFile {
    /// Its name, the one in its certificate.
    #[schemars(required)]
    pub(super) name: Option<Leaf<Name>>,
    /// The address that this gateway dials. Left out, this gateway waits to be dialled.
    pub(super) address: Option<Leaf<HostPort>>,
    /// The networks behind it: connections to them are relayed to it. No network can belong to two.
    #[schemars(extend("default" = []))]
    pub(super) prefixes: Option<Vec<Leaf<IpNet>>>,
    /// The rate of all packets to it, headers and retransmissions included; "auto" estimates it continuously. Give the
    /// rate of the bottleneck link if it is known: then no queue builds before the link.
    #[schemars(extend("default" = "auto"))]
    pub(super) rate: Option<Leaf<RateOrAuto>>,
    /// With rate = "auto": the upper bound.
    pub(super) most: Option<Leaf<Rate>>,
    /// With a rate: the octets that count.
    #[schemars(extend("default" = Framing::default()))]
    pub(super) framing: Option<Leaf<Framing>>,
    /// With a rate: the reaction if it is above the bandwidth of the path, so that a queue builds before the bottleneck
    /// link.
    #[schemars(extend("default" = RateGuard::default()))]
    pub(super) rate_guard: Option<Leaf<RateGuard>>,
    /// The transport to it.
    #[schemars(extend("default" = TransportChoice::default()))]
    pub(super) transport: Option<Leaf<TransportChoice>>,
    /// The time at which a client's connection is answered.
    #[schemars(extend("default" = Connect::default()))]
    pub(super) connect: Option<Leaf<Connect>>,
    /// The treatment of new connections to it while it cannot be reached.
    #[schemars(extend("default" = PeerDown::default()))]
    pub(super) down: Option<Leaf<PeerDown>>,
    /// The time for which it may send nothing before the connections over it are reset.
    #[schemars(extend("default" = OUTAGE.to_string()))]
    pub(super) outage: Option<Leaf<Wait<1, 3_600>>>,
}

/// A class of connections; one such table for each. The classes that have data to send share the rate to a peer in
/// proportion to their shares, and the connections of a class share the rate of the class. A connection is in the first
/// class that it matches, in the order of the file; connections in no class are in one called "default". Each gateway
/// divides its own sending rate so: for both directions, give both gateways the same classes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ClassFile {
    /// Its name in metrics and in `status`, unique at each peer.
    #[schemars(required)]
    pub(super) name: Option<Leaf<ClassName>>,
    /// The peer whose rate it shares. Default: every peer.
    pub(super) peer: Option<Leaf<Name>>,
    /// The networks of its clients, on either side. Default: any client. A class with neither `clients` nor `ports`
    /// matches the connections in no other class, whatever its position; there can be one of them for each peer.
    pub(super) clients: Option<Vec<Leaf<IpNet>>>,
    /// The ports of its servers. Default: any port.
    pub(super) ports: Option<Vec<Leaf<Ports>>>,
    /// Its weight relative to the other classes.
    #[schemars(extend("default" = SHARE))]
    pub(super) share: Option<Leaf<u16>>,
    /// Its highest rate, even if the other classes send nothing, counted as the peer's `rate`; not more than that.
    /// Default: no limit.
    pub(super) ceiling: Option<Leaf<Rate>>,
}

/// Interception of the TCP connections that pass through this machine as a router. Left out, only forwards and SOCKS
/// are served. The values have to be changed only if they are already in use on this machine.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct InterceptFile {
    /// Devices on which clients' packets arrive; any if empty.
    #[schemars(extend("default" = []))]
    pub(super) interfaces: Option<Vec<Leaf<Devices>>>,
    /// The local TCP port that intercepted connections are delivered to.
    #[schemars(extend("default" = Intercept::default().port))]
    pub(super) port: Option<Leaf<u16>>,
    /// The packet mark of packets that are delivered locally; the next one up is also used.
    #[schemars(extend("default" = Intercept::default().mark))]
    pub(super) mark: Option<Leaf<u32>>,
    /// The routing table for packets with this mark; the next one up is also used.
    #[schemars(extend("default" = Intercept::default().table))]
    pub(super) table: Option<Leaf<u32>>,
    /// The name of the TUN device on which SYNs wait for the far side's answer.
    #[schemars(extend("default" = Intercept::default().device))]
    pub(super) device: Option<Leaf<Device>>,
    /// The source address of connections to servers here in the name of peers' clients.
    #[schemars(extend("default" = Source::default()))]
    pub(super) source: Option<Leaf<Source>>,
}

/// A local port that is forwarded to a server behind a peer; one such table for each.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ForwardFile {
    /// The address of the listener.
    #[schemars(required)]
    pub(super) listen: Option<Leaf<SocketAddr>>,
    /// The name of the peer. Default: the only one there is.
    pub(super) peer: Option<Leaf<Name>>,
    /// The server; the peer resolves its name.
    #[schemars(required)]
    pub(super) to: Option<Leaf<HostPort>>,
}

/// A SOCKS5 port (RFC 1928), without authentication.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SocksFile {
    /// The address of the listener.
    #[schemars(required)]
    pub(super) listen: Option<Leaf<SocketAddr>>,
    /// The name of the peer for names, and for addresses in no peer's networks. Default: the only one there is;
    /// of several none, and such requests are refused.
    pub(super) peer: Option<Leaf<Name>>,
}

/// Limits on connections and memory.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct LimitsFile {
    /// Most bytes of one connection and direction; not more than `memory`. Default: four bandwidth-delay products, at
    /// most "64 MiB".
    pub(super) window: Option<Leaf<Memory<{ 16 << 10 }>>>,
    /// Memory for the bytes of all connections.
    #[schemars(extend("default" = Limits::default().memory.to_string()))]
    pub(super) memory: Option<Leaf<Memory<{ 1 << 20 }>>>,
    /// Most connections.
    #[schemars(extend("default" = Limits::default().connections))]
    pub(super) connections: Option<Leaf<u32>>,
    /// Most connections of one client address; not more than `connections`.
    #[schemars(extend("default" = Limits::default().per_source))]
    pub(super) per_source: Option<Leaf<u32>>,
    /// Most connections that wait for their answer, or for their client to acknowledge it; not more than `connections`.
    #[schemars(extend("default" = Limits::default().opening))]
    pub(super) opening: Option<Leaf<u32>>,
    /// Most of these whose clients have not proved their addresses, not more than `opening`; further clients are
    /// answered before their servers, as with `connect = "early"`, until clients acknowledge again.
    #[schemars(extend("default" = Limits::default().unproven))]
    pub(super) unproven: Option<Leaf<u32>>,
    /// The time without packets of a host after which a keep-alive probe is sent to it.
    #[schemars(extend("default" = Limits::default().keepalive.to_string()))]
    pub(super) keepalive: Option<Leaf<Wait<1, 32_400>>>,
}

/// The status socket and the metrics of this gateway, and its end. What is left out is not served.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ControlFile {
    /// The UNIX socket of `cellway-gateway status`; readable for its owner and group.
    #[schemars(extend("examples" = ["/run/cellway-gateway/control.sock"]))]
    pub(super) socket: Option<Leaf<PathBuf>>,
    /// The address of `/metrics` for Prometheus; without authentication.
    #[schemars(extend("examples" = ["127.0.0.1:9433"]))]
    pub(super) metrics: Option<Leaf<SocketAddr>>,
    /// The time after SIGTERM for which connections may end by themselves, before the rest are reset. New ones are not
    /// accepted meanwhile. Default: they are reset at once.
    #[schemars(extend("examples" = ["5 min"]))]
    pub(super) drain: Option<Leaf<Wait<1, 3_600>>>,
}
