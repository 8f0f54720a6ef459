//! The configuration of a gateway, as the program uses it.

mod check;
mod file;
mod kinds;
mod schema;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cellway_gateway::Classes;
use cellway_settings::found::{self, Found, Sources};
use cellway_settings::in_file::InFile;
use cellway_settings::kinds::FilePath;
use cellway_settings::quantity::Format;
use cellway_settings::shape;
use cellway_settings::tree::Node;
use cellway_settings::{choice, section};
use cellway_units::{Bytes, Rate, Span};
use ipnet::IpNet;

pub use cellway_settings::problem::{Error as ConfigErrors, Problem};
pub use cellway_spec::{Connect, TransportChoice};
pub use kinds::{Device, DeviceNames};
pub(crate) use schema::{reference, schema};

/// The configuration of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The name of this gateway, the one in its certificate.
    pub name: String,
    /// Its certificate, its key, and the authorities that it trusts.
    pub identity: Identity,
    /// The address at which peers dial it; none if it only dials.
    pub listen: Option<Listen>,
    /// The networks behind this gateway: a peer can make it connect there and nowhere else.
    pub local: Vec<IpNet>,
    /// The other gateways.
    pub peers: Vec<Peer>,
    /// Interception of connections that pass through this machine; none if only forwards and SOCKS are served.
    pub intercept: Option<Intercept>,
    /// Local ports that are forwarded to a server behind a peer.
    pub forwards: Vec<Forward>,
    /// A SOCKS5 port (RFC 1928).
    pub socks: Option<Socks>,
    /// Limits on connections and memory.
    pub limits: Limits,
    /// Its status socket and metrics.
    pub control: Control,
}

impl Config {
    /// Reads the configuration in the file `path`.
    ///
    /// # Errors
    /// The file cannot be read, or has problems, all of which are reported.
    pub fn read(path: &Path) -> Result<Config, ConfigErrors> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigErrors::from(Problem::of_file(&file, format!("cannot be read: {error}"))))?;
        Config::parse(&text, path)
    }

    /// Parses the configuration `text` of the file `origin`, whose name goes into messages and whose folder is the base
    /// of relative paths.
    ///
    /// # Errors
    /// All problems of the text.
    pub fn parse(text: &str, origin: &Path) -> Result<Config, ConfigErrors> {
        let file = origin.display().to_string();
        let folder = origin.parent().unwrap_or(Path::new(""));
        let problems = |found: Vec<Found>| found::error_of(&Sources::of_file(&file, text), found);
        let mut tree = Node::parse(text, 0).map_err(problems)?;
        let found = shape::check(&mut tree, schema::root());
        let mut check = check::Check::new(found, &tree, folder);
        let config = match file::File::read(tree.to_json()) {
            Ok(file) => check.config(file),
            Err(error) => {
                check.found.push(Found::new(0..0, "", error.to_string()));
                None
            }
        };
        match config {
            Some(config) if check.found.is_empty() => Ok(config),
            _ => Err(problems(check.found)),
        }
    }
}

/// Checks the name of a gateway as in a file.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let form = Format::of::<kinds::Name>();
    let Some(refusal) = form.refusal(name) else { return Ok(()) };
    let meant = refusal.suggestion.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    Err(format!("{}{meant}; accepted: {}", refusal.message, form.accepted(None)))
}

/// The files of an identity, in PEM.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Certificates of the authorities that sign the certificates of peers.
    pub authority: PathBuf,
    /// This gateway's certificate, with intermediate ones after it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The address at which peers dial a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Address and UDP port for QUIC; the TCP port of the same number is for TLS.
    pub address: SocketAddr,
}

/// Another gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Its name, the one in its certificate.
    pub name: String,
    /// The address that is dialled (address or name, and port); none if the peer dials.
    pub address: Option<String>,
    /// The networks behind it.
    pub prefixes: Vec<IpNet>,
    /// The rate of all packets to it.
    pub rate: LineRate,
    /// The reaction to a rate above the bandwidth of the path.
    pub rate_guard: RateGuard,
    /// The transport to it: QUIC, TLS over TCP, or QUIC and else TLS.
    pub transport: TransportChoice,
    /// The time at which a client's connection is answered.
    pub connect: Connect,
    /// The treatment of new connections while it cannot be reached.
    pub down: PeerDown,
    /// The time for which it may send nothing before the connections over it are reset.
    pub outage: Span,
    /// Classes of connections that share the rate to it.
    pub classes: Classes,
}

/// The rate towards a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRate {
    /// A known rate: all packets are paced at it from the first one on. `atm` counts full cells of AAL5 frames, else
    /// the octets of IP packets count.
    Fixed {
        /// The rate.
        rate: Rate,
        /// True if the link carries cells.
        atm: bool,
    },
    /// Unknown: the gateway estimates it, up to `most`.
    Auto {
        /// The upper bound.
        most: Option<Rate>,
    },
}

choice! {
    /// The reaction to a configured rate above the bandwidth of the path.
    pub enum RateGuard {
        /// The gateway reports it and sends less until the queue has drained, then at the rate that fits. It tries the
        /// configured rate again after 10 s, then at growing intervals.
        On = "on",
        /// The gateway reports it.
        Off = "off",
    }
}

choice! {
    /// The treatment of new connections for a peer that cannot be reached.
    pub enum PeerDown {
        /// They bypass the gateways.
        Direct = "direct",
        /// They are refused, also when this gateway has died.
        Refuse = "refuse",
    }
}

section! {
    /// Interception of the TCP connections that pass through this machine as a router. Left out, only forwards and SOCKS
    /// are served. The values have to be changed only if they are already in use on this machine.
    pub struct Intercept, InterceptKeys {
        /// Devices on which clients' packets arrive; any if empty.
        pub interfaces: Vec<DeviceNames> = Vec::new(),
        /// The local TCP port that intercepted connections are delivered to.
        #[range(min = 1)]
        pub port: u16 = 4434,
        /// The packet mark of packets that are delivered locally; the next one up is also used.
        #[range(min = 1, max = 4_294_967_294u32)]
        pub mark: u32 = CW,
        /// The routing table for packets with this mark; the next one up is also used.
        #[range(min = 1, max = 4_294_967_294u32)]
        pub table: u32 = CW,
        /// The name of the TUN device on which SYNs wait for the far side's answer.
        pub device: Device = Device("cellway0".to_owned()),
        /// The source address of connections to servers here in the name of peers' clients.
        pub source: Source = Source::Client,
    }
}

/// "cw" in ASCII: a number that nothing else on a machine is likely to use.
const CW: u32 = 0x6377;

impl Default for Intercept {
    fn default() -> Intercept {
        InterceptKeys::NONE.resolve().expect("every key has a default")
    }
}

choice! {
    /// The source address of connections of a gateway to servers.
    pub enum Source {
        /// The client's, and its port if that is free.
        Client = "client",
        /// This gateway's own.
        Gateway = "gateway",
    }
}

/// A local port that is forwarded to a server behind a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// The address of the listener.
    pub listen: SocketAddr,
    /// The peer's name.
    pub peer: String,
    /// The server: address or name (which the peer resolves), and port.
    pub to: String,
}

/// A SOCKS5 port.
#[derive(Clone, Debug, PartialEq)]
pub struct Socks {
    /// The address of the listener.
    pub listen: SocketAddr,
    /// The peer for names, and for addresses in no peer's networks.
    pub peer: Option<String>,
}

section! {
    /// Limits on connections and memory.
    #[derive(Copy)]
    pub struct Limits, LimitsKeys {
        /// Most bytes of one connection and direction; not more than `memory`. Default: four bandwidth-delay products, at
        /// most "64 MiB".
        #[range(min = "16 KiB")]
        pub window: Option<Bytes>,
        /// Memory for the bytes of all connections.
        #[range(min = "1 MiB")]
        pub memory: Bytes = Bytes(1 << 30),
        /// Most connections.
        #[range(min = 1, max = 4_294_967_294u32)]
        pub connections: u32 = 16_000,
        /// Most connections of one client address; not more than `connections`.
        #[range(min = 1, max = 4_294_967_294u32)]
        pub per_source: u32 = 2_000,
        /// Most connections that wait for their answer, or for their client to acknowledge it; not more than `connections`.
        #[range(min = 1, max = 4_294_967_294u32)]
        pub opening: u32 = 2_048,
        /// Most of these whose clients have not proved their addresses, not more than `opening`; further clients are
        /// answered before their servers, as with `connect = "early"`, until clients acknowledge again.
        #[range(min = 1, max = 4_294_967_294u32)]
        pub unproven: u32 = 256,
        /// The time without packets of a host after which a keep-alive probe is sent to it.
        // TCP_KEEPIDLE accepts at most 32767 s.
        #[range(min = "1 s", max = "9 h")]
        pub keepalive: Span = Span::from_secs(75),
    }
}

impl Default for Limits {
    fn default() -> Limits {
        LimitsKeys::NONE.resolve().expect("every key has a default")
    }
}

section! {
    /// The status socket and the metrics of this gateway, and its end. What is left out is not served.
    pub struct Control, ControlKeys {
        /// The UNIX socket of `cellway-gateway status`, like "/run/cellway-gateway/control.sock"; readable for its owner
        /// and group.
        pub socket: Option<FilePath>,
        /// The address of `/metrics` for Prometheus; without authentication.
        pub metrics: Option<SocketAddr>,
        /// The time after SIGTERM for which connections may end by themselves, before the rest are reset. New ones are not
        /// accepted meanwhile. Default: they are reset at once.
        #[range(min = "1 s", max = "1 h")]
        pub drain: Option<Span>,
    }
}

impl Default for Control {
    fn default() -> Control {
        ControlKeys::NONE.resolve().expect("every key has a default")
    }
}
