//! What a gateway is told: the model that a configuration file becomes.

mod check;
mod file;
mod kinds;
mod schema;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cellway_gateway::Classes;
use cellway_settings::found::{self, Found, Sources};
use cellway_settings::leaf::{Kind, Refusal};
use cellway_settings::shape;
use cellway_settings::tree::Node;
use cellway_units::{Bytes, Rate, Span};
use ipnet::IpNet;

pub use cellway_settings::problem::{Error as ConfigErrors, Problem};
pub(crate) use schema::{reference, schema};

/// All that a gateway is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The name of this gateway, the one in its certificate.
    pub name: String,
    /// Its certificate, its key, and whom it trusts.
    pub identity: Identity,
    /// Where peers reach it; none if it only dials.
    pub listen: Option<Listen>,
    /// The networks behind this gateway: a peer can make it connect there and nowhere else.
    pub local: Vec<IpNet>,
    /// The other gateways.
    pub peers: Vec<Peer>,
    /// Taking connections that pass through this machine; none if only forwards and SOCKS are served.
    pub intercept: Option<Intercept>,
    /// Ports here that stand for a server behind a peer.
    pub forwards: Vec<Forward>,
    /// A SOCKS5 port (RFC 1928).
    pub socks: Option<Socks>,
    /// Bounds on what is held for others.
    pub limits: Limits,
    /// Where it can be watched.
    pub control: Control,
}

impl Config {
    /// The configuration in the file `path`.
    ///
    /// # Errors
    /// The file cannot be read, or something is wrong in it: all that is.
    pub fn read(path: &Path) -> Result<Config, ConfigErrors> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigErrors::from(Problem::of_file(&file, format!("cannot be read: {error}"))))?;
        Config::parse(&text, path)
    }

    /// The configuration in `text`, which stands in the file `origin`: its name goes into messages, and relative
    /// paths start at its folder.
    ///
    /// # Errors
    /// All that is wrong in it.
    pub fn parse(text: &str, origin: &Path) -> Result<Config, ConfigErrors> {
        let file = origin.display().to_string();
        let folder = origin.parent().unwrap_or(Path::new(""));
        let told = |found: Vec<Found>| found::error_of(&Sources::of_file(&file, text), found);
        let mut tree = Node::parse(text, 0).map_err(told)?;
        let found = shape::check(&mut tree, schema::root());
        let mut check = check::Check::new(found, &tree, folder);
        let config = match serde_json::from_value(tree.to_leaves()) {
            Ok(file) => check.config(file),
            Err(error) => {
                check.found.push(Found::new(0..0, "", error.to_string()));
                None
            }
        };
        match config {
            Some(config) if check.found.is_empty() => Ok(config),
            _ => Err(told(check.found)),
        }
    }
}

/// Checks the name of a gateway as in a file.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let told = |refusal: Refusal| {
        let meant = refusal.suggestion.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
        format!("{}{meant}; accepted: {}", refusal.message, <kinds::Name as Kind>::accepted())
    };
    kinds::Name::new(name).map(drop).map_err(told)
}

/// Files in PEM.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Certificates of the authorities that peers' certificates must come from.
    pub authority: PathBuf,
    /// This gateway's certificate, with intermediate ones after it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Where peers reach a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Address and UDP port for QUIC; the TCP port of the same number takes TLS.
    pub address: SocketAddr,
}

/// Another gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Its name, the one in its certificate.
    pub name: String,
    /// Where to dial it (address or name, and port); none waits for it to dial.
    pub address: Option<String>,
    /// The networks behind it.
    pub prefixes: Vec<IpNet>,
    /// The rate of all that is sent to it.
    pub rate: LineRate,
    /// What is done where the rate is above what the line carries.
    pub rate_guard: RateGuard,
    /// How packets travel to it: QUIC, TLS over TCP, or QUIC and else TLS.
    pub transport: TransportChoice,
    /// When a client's connection is answered.
    pub connect: Connect,
    /// What happens to new connections while it cannot be reached.
    pub down: PeerDown,
    /// How long it may be silent before the connections over it are reset.
    pub outage: Span,
    /// Classes of connections that share the rate to it.
    pub classes: Classes,
}

/// The rate towards a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRate {
    /// Known: everything is paced at it from the first packet. `atm` counts whole cells of AAL5
    /// frames, else the octets of IP packets are counted.
    Fixed {
        /// The rate.
        rate: Rate,
        /// Whether the line carries cells.
        atm: bool,
    },
    /// Not known: found out and followed, up to `most`.
    Auto {
        /// Never more than this.
        most: Option<Rate>,
    },
}

/// What is done where a rate that is given is above what the line carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateGuard {
    /// It is reported, and less is sent, as much as fits.
    #[default]
    On,
    /// It is reported.
    Off,
}

/// How packets travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransportChoice {
    /// QUIC, and TLS over TCP where UDP does not get through.
    #[default]
    Auto,
    /// QUIC only.
    Quic,
    /// TLS over TCP only.
    Tls,
}

/// When a client's connection is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connect {
    /// When the server has answered.
    #[default]
    Late,
    /// At once; its first bytes travel with the opening.
    Early,
}

/// What happens to new connections for a peer that cannot be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerDown {
    /// They pass this gateway untouched.
    #[default]
    Direct,
    /// They are refused.
    Refuse,
}

/// Taking connections that pass through this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Intercept {
    /// Devices through which clients' packets come in; any if empty.
    pub interfaces: Vec<String>,
    /// The port that intercepted connections are delivered to.
    pub port: u16,
    /// The packet mark that sends a packet into this machine; the next one up sends an opening
    /// segment to the device where it waits.
    pub mark: u32,
    /// The routing table for packets with the first mark; the next one up is for the second.
    pub table: u32,
    /// The name of the device where opening segments wait.
    pub device: String,
    /// From which address the far side connects.
    pub source: Source,
}

impl Default for Intercept {
    fn default() -> Intercept {
        // Mark and tables are "cw" in ASCII: a number that nothing else on a machine is likely to use.
        Intercept {
            interfaces: Vec::new(),
            port: 4434,
            mark: 0x6377,
            table: 0x6377,
            device: "cellway0".to_owned(),
            source: Source::Client,
        }
    }
}

/// From which address a gateway connects to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The client's, and its port where that is free.
    #[default]
    Client,
    /// The gateway's own.
    Gateway,
}

/// A port here that stands for a server behind a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The peer's name.
    pub peer: String,
    /// The server: address or name (which the peer looks up), and port.
    pub to: String,
}

/// A SOCKS5 port.
#[derive(Clone, Debug, PartialEq)]
pub struct Socks {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The peer for names, and for addresses in no peer's networks.
    pub peer: Option<String>,
}

/// Bounds on what is held for others.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Most bytes of one connection and direction; none takes four times what fits on the line, at most 64 MiB.
    pub window: Option<Bytes>,
    /// Memory for the bytes of all connections.
    pub memory: Bytes,
    /// Most connections.
    pub connections: u32,
    /// Most connections of one client address.
    pub per_source: u32,
    /// Most openings that wait for their answer.
    pub opening: u32,
    /// Most openings whose clients have not proved their addresses.
    pub unproven: u32,
    /// A host that has been silent this long is asked whether it is still there.
    pub keepalive: Span,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            window: None,
            memory: Bytes(1 << 30),
            connections: 16_000,
            per_source: 2_000,
            opening: 2_048,
            unproven: 256,
            keepalive: Span::from_secs(75),
        }
    }
}

/// The status socket and the metrics of a gateway, and its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Control {
    /// The socket that `status` asks.
    pub socket: Option<PathBuf>,
    /// Where `/metrics` is served.
    pub metrics: Option<SocketAddr>,
    /// The time for which connections may end by themselves after a signal to stop; none: they are reset.
    pub drain: Option<Span>,
}
