//! The server's side of SOCKS version 5 (RFC 1928), without I/O: no authentication, `CONNECT` only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use cellway_gateway::{Reason, Server};
use serde::{Deserialize, Serialize};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NONE_ACCEPTABLE: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// The next step after bytes of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Wait for more bytes.
    Wait,
    /// Remove this many bytes, and send these.
    Answer(usize, Vec<u8>),
    /// Remove this many bytes; the client requests a connection to this server.
    Connect(usize, Server),
    /// Send these and close.
    Refuse(Vec<u8>),
}

/// The dialogue with one client.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Dialogue {
    greeted: bool,
}

impl Dialogue {
    /// Returns the next step, from all bytes of the client that were not removed.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Step {
        match bytes.first() {
            None => Step::Wait,
            Some(&version) if version != VERSION => Step::Refuse(vec![VERSION, NONE_ACCEPTABLE]),
            Some(_) if !self.greeted => self.greeting(bytes),
            Some(_) => request(bytes),
        }
    }
    fn greeting(&mut self, bytes: &[u8]) -> Step {
        let Some(&count) = bytes.get(1) else { return Step::Wait };
        let end = 2 + usize::from(count);
        let Some(methods) = bytes.get(2..end) else { return Step::Wait };
        if methods.contains(&NO_AUTHENTICATION) {
            self.greeted = true;
            Step::Answer(end, vec![VERSION, NO_AUTHENTICATION])
        } else {
            Step::Refuse(vec![VERSION, NONE_ACCEPTABLE])
        }
    }
}

fn request(bytes: &[u8]) -> Step {
    let (Some(&command), Some(&kind)) = (bytes.get(1), bytes.get(3)) else { return Step::Wait };
    if command != CONNECT {
        return Step::Refuse(reply(7));
    }
    let (start, len) = match (kind, bytes.get(4)) {
        (IPV4, _) => (4, 4),
        (IPV6, _) => (4, 16),
        (NAME, None) => return Step::Wait,
        (NAME, Some(&len)) => (5, usize::from(len)),
        _ => return Step::Refuse(reply(8)),
    };
    let end = start + len + 2;
    let Some(rest) = bytes.get(start..end) else { return Step::Wait };
    let (host, port) = rest.split_at(len);
    let port = u16::from_be_bytes([port[0], port[1]]);
    let address = |ip: IpAddr| Server::Address(SocketAddr::new(ip, port));
    let server = if let Ok(v4) = <[u8; 4]>::try_from(host).map(Ipv4Addr::from)
        && kind == IPV4
    {
        address(v4.into())
    } else if let Ok(v6) = <[u8; 16]>::try_from(host).map(Ipv6Addr::from)
        && kind == IPV6
    {
        address(v6.into())
    } else {
        // A name that is an address counts as one; others must be printable.
        match std::str::from_utf8(host) {
            Ok(name) if name.parse::<IpAddr>().is_ok() => name.parse().map_or(Server::Name(name.into(), port), address),
            Ok(name) if !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic()) => {
                Server::Name(name.into(), port)
            }
            _ => return Step::Refuse(reply(1)),
        }
    };
    Step::Connect(end, server)
}

/// Returns the reply after the server has accepted, without an address: the far gateway has the socket.
pub(crate) fn connected() -> Vec<u8> {
    reply(0)
}
/// Returns the reply after the connection was refused.
pub(crate) fn refused(reason: Reason) -> Vec<u8> {
    reply(match reason {
        Reason::Refused => 5,
        Reason::HostUnreachable | Reason::NoName => 4,
        Reason::NetUnreachable => 3,
        Reason::Prohibited | Reason::NotAllowed => 2,
        Reason::TimedOut => 6,
        _ => 1,
    })
}
fn reply(code: u8) -> Vec<u8> {
    vec![VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_greeted_and_requests_a_server() {
        let mut dialogue = Dialogue::default();
        assert_eq!(dialogue.next(&[5, 2, 2]), Step::Wait);
        assert_eq!(dialogue.next(&[5, 2, 2, 0]), Step::Answer(4, vec![5, 0]));
        let name = [&[5, 1, 0, 3, 7][..], b"example", &[0, 80]].concat();
        for end in 0..name.len() {
            assert_eq!(dialogue.next(&name[..end]), Step::Wait, "{end}");
        }
        assert_eq!(dialogue.next(&name), Step::Connect(name.len(), Server::Name("example".into(), 80)));
        let v4 = Server::Address("192.0.2.1:443".parse().unwrap());
        assert_eq!(dialogue.next(&[5, 1, 0, 1, 192, 0, 2, 1, 1, 187, 9]), Step::Connect(10, v4.clone()));
        let text = [&[5, 1, 0, 3, 9][..], b"192.0.2.1", &[1, 187]].concat();
        assert_eq!(dialogue.next(&text), Step::Connect(text.len(), v4));
        let v6 = [&[5, 1, 0, 4][..], &[0; 15], &[1, 0, 22]].concat();
        assert_eq!(dialogue.next(&v6), Step::Connect(22, Server::Address("[::1]:22".parse().unwrap())));
    }

    #[test]
    fn unsupported_requests_are_refused() {
        assert_eq!(Dialogue::default().next(&[4, 1, 0, 80]), Step::Refuse(vec![5, 0xff]));
        assert_eq!(Dialogue::default().next(&[5, 1, 2]), Step::Refuse(vec![5, 0xff]));
        let mut dialogue = Dialogue { greeted: true };
        assert!(matches!(dialogue.next(&[5, 2, 0, 1, 1, 2, 3, 4, 0, 1]), Step::Refuse(answer) if answer[1] == 7));
        assert!(matches!(dialogue.next(&[5, 1, 0, 9, 1]), Step::Refuse(answer) if answer[1] == 8));
        assert!(matches!(dialogue.next(&[5, 1, 0, 3, 1, 7, 0, 1]), Step::Refuse(answer) if answer[1] == 1));
    }
}
