//! Requests of clients.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use serde::{Deserialize, Serialize};

use bytes::BufMut;

/// Most octets of a server's name. RFC 1928, section 5.
pub const MAX_NAME: usize = 255;

/// The request of a client, which travels in the `Open` of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// The address of the client, if the far gateway is to connect with it.
    pub client: Option<SocketAddr>,
    /// The destination.
    pub server: Server,
    /// Set if the client is answered before the server has answered.
    pub early: bool,
}

/// The destination of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Server {
    /// Address and port.
    Address(SocketAddr),
    /// A name that the far gateway looks up, of at most [`MAX_NAME`] octets, and a port.
    Name(Box<str>, u16),
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::Address(address) => address.fmt(f),
            Server::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

impl Request {
    /// A request without a client and with an unspecified server, for uses in which the hosts are given otherwise.
    pub const UNNAMED: Request = Request {
        client: None,
        server: Server::Address(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0))),
        early: false,
    };

    /// Returns its length on the wire (octets).
    pub(crate) fn octets(&self) -> u32 {
        let server = match &self.server {
            Server::Address(address) => address_octets(address),
            Server::Name(name, _) => 1 + name.len().min(MAX_NAME) as u32 + 2,
        };
        1 + self.client.as_ref().map_or(0, address_octets) + server
    }
    pub(crate) fn encode(&self, out: &mut impl BufMut) {
        let client = self.client.map_or(0, |address| version(&address));
        let server = match &self.server {
            Server::Address(address) => version(address),
            Server::Name(..) => NAME,
        };
        out.put_u8(u8::from(self.early) << 4 | client << 2 | server);
        if let Some(client) = &self.client {
            put_address(client, out);
        }
        match &self.server {
            Server::Address(address) => put_address(address, out),
            Server::Name(name, port) => {
                let name = &name.as_bytes()[..name.len().min(MAX_NAME)];
                out.put_u8(name.len() as u8);
                out.put_slice(name);
                out.put_u16(*port);
            }
        }
    }
    /// Decodes the request at the start of `input`, and advances `input` past it.
    pub(crate) fn decode(input: &mut &[u8]) -> Option<Request> {
        let (&flags, rest) = input.split_first().filter(|(flags, _)| **flags < 0x20)?;
        *input = rest;
        let client = match flags >> 2 & 3 {
            0 => None,
            version => Some(take_address(version, input)?),
        };
        let server = match flags & 3 {
            NAME => {
                let (&len, rest) = input.split_first()?;
                let (name, rest) = rest.split_at_checked(len.into())?;
                let (port, rest) = rest.split_first_chunk()?;
                *input = rest;
                Server::Name(str::from_utf8(name).ok()?.into(), u16::from_be_bytes(*port))
            }
            version => Server::Address(take_address(version, input)?),
        };
        Some(Request { client, server, early: flags & 0x10 != 0 })
    }
    /// Returns true if it can be encoded.
    pub(crate) fn is_valid(&self) -> bool {
        !matches!(&self.server, Server::Name(name, _) if name.len() > MAX_NAME)
    }
}

/// Kinds of addresses in the flags of a request; 0 is none.
const V4: u8 = 1;
const V6: u8 = 2;
const NAME: u8 = 3;

fn version(address: &SocketAddr) -> u8 {
    if address.is_ipv4() { V4 } else { V6 }
}
fn address_octets(address: &SocketAddr) -> u32 {
    if address.is_ipv4() { 6 } else { 18 }
}
fn put_address(address: &SocketAddr, out: &mut impl BufMut) {
    match address {
        SocketAddr::V4(v4) => out.put_slice(&v4.ip().octets()),
        SocketAddr::V6(v6) => out.put_slice(&v6.ip().octets()),
    }
    out.put_u16(address.port());
}
fn take_address(version: u8, input: &mut &[u8]) -> Option<SocketAddr> {
    let address = match version {
        V4 => {
            let (octets, rest) = input.split_first_chunk::<4>()?;
            *input = rest;
            (*octets).into()
        }
        V6 => {
            let (octets, rest) = input.split_first_chunk::<16>()?;
            *input = rest;
            std::net::IpAddr::from(*octets)
        }
        _ => return None,
    };
    let (port, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(SocketAddr::new(address, u16::from_be_bytes(*port)))
}
