//! The sections and keys of the file. The doc comments here are the help that the schema shows in editors and that the
//! reference prints; the same schema defines which keys are accepted.

use std::net::SocketAddr;

use cellway_settings::kinds::FilePath;
use cellway_settings::table;
use cellway_units::{Rate, Span};
use ipnet::IpNet;

use super::kinds::{ClassName, Framing, HostPort, Name, Ports, RateOrAuto};
use super::{Connect, ControlKeys, InterceptKeys, LimitsKeys, PeerDown, RateGuard, TransportChoice};

table! {
    /// The configuration of a gateway. Quantities are strings with units; relative paths start at the folder of the file.
    pub(super) struct File as "Cellway gateway" {
        /// The name of this gateway, the one in its certificate.
        name: Name,
        /// The networks behind this gateway: peers can make it connect there and nowhere else. Without any it
        /// connects nowhere, and only its own side can open connections.
        local: Vec<IpNet> = Vec::new(),
        identity: Option<IdentityFile>,
        listen: Option<ListenFile>,
        peer: Vec<PeerFile>,
        class: Option<Vec<ClassFile>>,
        intercept: Option<InterceptKeys>,
        forward: Option<Vec<ForwardFile>>,
        socks: Option<SocksFile>,
        limits: Option<LimitsKeys>,
        control: Option<ControlKeys>,
    }
}

table! {
    /// The identity of this gateway, and the authorities that it trusts: files in PEM. `cellway-gateway keygen` makes them
    /// with the names that are the defaults here, so that this section can be left out if they are next to this file.
    pub(super) struct IdentityFile {
        /// Certificates of the authorities that sign the certificates of peers.
        authority: FilePath = FilePath("authority.pem".into()),
        /// This gateway's certificate, with intermediate ones after it. Default: its name and ".pem".
        certificate: Option<FilePath>,
        /// Its private key. Default: its name and ".key".
        key: Option<FilePath>,
    }
}

table! {
    /// The address at which peers dial this gateway; left out, it only dials.
    pub(super) struct ListenFile {
        /// The UDP port for QUIC; the TCP port of the same number is for TLS.
        address: SocketAddr,
    }
}

table! {
    /// Another gateway; one such table for each.
    pub(super) struct PeerFile {
        /// Its name, the one in its certificate.
        name: Name,
        /// The address that this gateway dials. Left out, this gateway waits to be dialled.
        address: Option<HostPort>,
        /// The networks behind it: connections to them are relayed to it. No network can belong to two.
        prefixes: Vec<IpNet> = Vec::new(),
        /// The rate of all packets to it, headers and retransmissions included; "auto" estimates it continuously. Give the
        /// rate of the bottleneck link if it is known: then no queue builds before the link.
        #[range(above = "0 bit/s")]
        rate: RateOrAuto = RateOrAuto(None),
        /// With rate = "auto": the upper bound.
        #[range(above = "0 bit/s")]
        most: Option<Rate>,
        /// With a rate: the octets that count.
        framing: Framing = Framing::Packet,
        /// With a rate: the reaction if it is above the bandwidth of the path, so that a queue builds before the bottleneck
        /// link.
        rate_guard: RateGuard = RateGuard::On,
        /// The transport to it.
        transport: TransportChoice = TransportChoice::Auto,
        /// The time at which a client's connection is answered.
        connect: Connect = Connect::Late,
        /// The treatment of new connections to it while it cannot be reached.
        down: PeerDown = PeerDown::Direct,
        /// The time for which it may send nothing before the connections over it are reset.
        #[range(min = "1 s", max = "1 h")]
        outage: Span = Span::from_secs(60),
    }
}

table! {
    /// A class of connections; one such table for each. The classes that have data to send share the rate to a peer in
    /// proportion to their shares, and the connections of a class share the rate of the class. A connection is in the first
    /// class that it matches, in the order of the file; connections in no class are in one called "default". Each gateway
    /// divides its own sending rate so: for both directions, give both gateways the same classes.
    pub(super) struct ClassFile {
        /// Its name in metrics and in `status`, unique at each peer.
        name: ClassName,
        /// The peer whose rate it shares. Default: every peer.
        peer: Option<Name>,
        /// The networks of its clients, on either side. Default: any client. A class with neither `clients` nor `ports`
        /// matches the connections in no other class, whatever its position; there can be one of them for each peer.
        clients: Option<Vec<IpNet>>,
        /// The ports of its servers. Default: any port.
        ports: Option<Vec<Ports>>,
        /// Its weight relative to the other classes.
        #[range(min = 1)]
        share: u16 = 1,
        /// Its highest rate, even if the other classes send nothing, counted as the peer's `rate`; not more than that.
        /// Default: no limit.
        #[range(above = "0 bit/s")]
        ceiling: Option<Rate>,
    }
}

table! {
    /// A local port that is forwarded to a server behind a peer; one such table for each.
    pub(super) struct ForwardFile {
        /// The address of the listener.
        listen: SocketAddr,
        /// The name of the peer. Default: the only one there is.
        peer: Option<Name>,
        /// The server; the peer resolves its name.
        to: HostPort,
    }
}

table! {
    /// A SOCKS5 port (RFC 1928), without authentication.
    pub(super) struct SocksFile {
        /// The address of the listener.
        listen: SocketAddr,
        /// The name of the peer for names, and for addresses in no peer's networks. Default: the only one there is;
        /// of several none, and such requests are refused.
        peer: Option<Name>,
    }
}
