//! Entry points of fuzzing. Each function parses octets as the daemon does, and panics if an invariant of the result
//! does not hold. The targets are in `fuzz/`; a test runs their inputs again.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use cellway_gateway::{MAX_NAME, Reason, Server};
use cellway_wire::ip::checksum::checksum;

use crate::config::{Config, LineRate};
use crate::daemon::socks::{Dialogue, Step};
use crate::intercept::Rules;
use crate::intercept::answer::{About, answer};
use crate::intercept::packet::{Kind, disown, kind};
use crate::peering::hello::{self, Hello};
use crate::peering::records::{PAYLOAD, Record, Records};

/// The text of a configuration: refused with the location of each problem, or valid.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let config = match Config::parse(text, Path::new("/etc/gateway.toml")) {
        Ok(config) => config,
        Err(errors) => {
            assert!(!errors.problems.is_empty(), "refused without a reason");
            for problem in &errors.problems {
                let lines = text.matches('\n').count() + 1;
                assert!(problem.line.is_some_and(|line| (1..=lines).contains(&line)), "{problem:?} of {lines} lines");
                assert!(!problem.message.is_empty());
            }
            assert!(!errors.to_string().is_empty());
            return;
        }
    };
    let names: BTreeSet<&str> = config.peers.iter().map(|peer| peer.name.as_str()).collect();
    assert!(!names.is_empty() && names.len() == config.peers.len() && !names.contains(config.name.as_str()));
    for peer in &config.peers {
        let (LineRate::Fixed { rate, .. } | LineRate::Auto { most: Some(rate) }) = peer.rate else { continue };
        assert!(rate.as_bps() > 0, "{peer:?}");
    }
    assert!(config.forwards.iter().all(|forward| names.contains(forward.peer.as_str())));
    let limits = &config.limits;
    assert!(limits.window.is_none_or(|window| window <= limits.memory));
    assert!((1..=limits.connections).contains(&limits.per_source) && limits.opening <= limits.connections);
    let rules = Rules::of(&config).text();
    assert!(rules.starts_with('#') && rules.ends_with('\n'));
}

/// The hello of a peer.
pub fn hello(data: &[u8]) {
    let Ok(hello) = Hello::decode(data) else { return };
    let again = hello.encode();
    assert!(data.starts_with(&again), "{hello:?} was read from something else");
    assert!(again.len() <= hello::MOST);
}

/// A peer's octets over TLS: the same records, however they are split into pieces (as the first octet selects).
pub fn records(data: &[u8]) {
    let Some((&piece, stream)) = data.split_first() else { return };
    let whole = records_of(std::iter::once(stream));
    let pieces = records_of(stream.chunks(1 + usize::from(piece)));
    assert_eq!(whole, pieces);
    assert!(whole.0.iter().skip(1).all(|record| matches!(record, Record::Packet(_))));
}

/// Returns all records, and the reason for the end, if any.
fn records_of<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Record>, Option<String>) {
    let (mut records, mut all) = (Records::default(), Vec::new());
    for piece in pieces {
        records.room(piece.len()).copy_from_slice(piece);
        loop {
            match records.next() {
                Ok(None) => break,
                Ok(Some(record)) => {
                    let (Record::Hello(octets) | Record::Packet(octets)) = &record;
                    assert!(!octets.is_empty() && octets.len() <= PAYLOAD);
                    all.push(record);
                }
                Err(loss) => {
                    assert!(!loss.why.chars().any(char::is_control), "{:?}", loss.why);
                    return (all, Some(loss.why));
                }
            }
        }
    }
    (all, None)
}

/// A packet on the TUN device of SYNs, and the answer to it.
pub fn segment(data: &[u8]) {
    let mut own = data.to_vec();
    if disown(&mut own) && kind(data) == Kind::Unreachable {
        assert_eq!(kind(&own), Kind::Unreachable);
        let header = usize::from(own[0] & 0x0f) * 4;
        assert!(own[0] >> 4 != 4 || checksum(&own[..header]) == 0, "the sum over a header with its checksum");
    }
    assert_eq!(own.len(), data.len());
    let Kind::Syn { client, server, acknowledgement, .. } = kind(data) else { return };
    assert_eq!(client.is_ipv4(), server.is_ipv4());
    let router = || -> std::io::Result<IpAddr> {
        Ok(if client.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() })
    };
    let about = About { client, server, acknowledgement, packet: data };
    for reason in Reason::ALL {
        let packet = answer(&about, reason, router).unwrap_or_else(|error| panic!("{reason}: {error}"));
        assert_eq!(packet.is_none(), reason == Reason::TimedOut, "{reason}");
        let Some(packet) = packet else { continue };
        // The answer never amplifies: it is at most the headers of ICMPv6 longer.
        assert!(packet.len() <= data.len() + 48 && packet.len() <= 1280, "{} octets to {}", packet.len(), data.len());
        assert!(!matches!(kind(&packet), Kind::Syn { .. }), "{reason}: {packet:?}");
    }
}

/// A SOCKS client's octets: the same dialogue, however they are split into pieces (as the first octet selects).
pub fn socks(data: &[u8]) {
    let Some((&piece, stream)) = data.split_first() else { return };
    let whole = dialogue(std::iter::once(stream));
    assert_eq!(whole, dialogue(stream.chunks(1 + usize::from(piece))));
    match whole.1 {
        Some(Server::Name(name, _)) => {
            assert!((1..=MAX_NAME).contains(&name.len()) && name.parse::<IpAddr>().is_err(), "{name:?}");
            assert!(name.bytes().all(|octet| octet.is_ascii_graphic()), "{name:?}");
        }
        Some(Server::Address(_)) | None => {}
    }
}

/// Returns the replies, and the server that the client requests.
fn dialogue<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, Option<Server>) {
    let (mut dialogue, mut waiting, mut answers) = (Dialogue::default(), Vec::new(), Vec::new());
    for piece in pieces {
        waiting.extend_from_slice(piece);
        loop {
            match dialogue.next(&waiting) {
                Step::Wait => break,
                Step::Answer(used, answer) => {
                    assert!(used > 0, "an answer to nothing");
                    waiting.drain(..used);
                    answers.extend(answer);
                }
                Step::Connect(used, server) => {
                    assert!(used <= waiting.len());
                    return (answers, Some(server));
                }
                Step::Refuse(answer) => {
                    answers.extend(answer);
                    return (answers, None);
                }
            }
        }
    }
    (answers, None)
}
