//! Handshake slots: bounds on the connections that are not yet authenticated as a peer's.
//!
//! A connection takes a slot until its certificate is verified. Slots are shared among source networks, so that one
//! network cannot lock the others out, and addresses of peers have slots of their own. Without a free slot a newcomer
//! replaces a connection: of its own source if that is at its limit, else of the network that holds most. The oldest one
//! without a ClientHello goes first. A newcomer that can replace none is refused.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Slots for clients at unknown addresses.
pub(super) const SLOTS: usize = 128;
/// Most slots of one network of unknown clients: a quarter.
pub(super) const PER_NETWORK: usize = 32;
/// Slots of each address of a peer, in addition to [`SLOTS`]: several gateways may share one address.
pub(super) const PER_PEER_ADDRESS: usize = 16;
/// When this many slots are in use, a QUIC client must prove that its address is its own (Retry, RFC 9000, section
/// 8.1.2).
pub(super) const UNPROVEN: usize = 32;
/// When this many slots of one address of a peer are in use, a client from there must also prove it. So datagrams with a
/// forged source address cannot take the other slots.
const UNPROVEN_OF_PEER: usize = 4;
/// The timeout of the ClientHello. A client sends it together with the acknowledgement that completes the handshake of
/// TCP. If it is lost, the next one follows after a second or a few round trips (RFC 6298, section 2).
pub(super) const CLIENT_HELLO_TIMEOUT: Duration = Duration::from_secs(3);
/// A handshake younger than this is replaced only for a network that holds fewer (one over a satellite takes 2 s).
const PATIENCE: Duration = Duration::from_secs(4);

/// The prefixes by which unknown clients are counted: the longest that are routed between providers (RFC 7454, section
/// 6.1.3), so that many addresses of one network do not count as many clients.
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 48;

/// A group of connections that share slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// An address of a configured peer.
    Peer(IpAddr),
    /// A network of unknown clients.
    Network(IpNet),
}

impl Source {
    fn slots(self) -> usize {
        match self {
            Source::Peer(_) => PER_PEER_ADDRESS,
            Source::Network(_) => PER_NETWORK,
        }
    }
}

/// Returns the network of an unknown client.
pub(super) fn network(address: IpAddr) -> IpNet {
    match address.to_canonical() {
        IpAddr::V4(ip) => IpNet::V4(Ipv4Net::new_assert(ip, PREFIX_V4).trunc()),
        IpAddr::V6(ip) => IpNet::V6(Ipv6Net::new_assert(ip, PREFIX_V6).trunc()),
    }
}

/// A connection without a verified certificate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) number: u64,
    pub(super) source: Source,
    pub(super) since: Instant,
    pub(super) state: State,
}

/// The state of such a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Accepted, and nothing received.
    NoClientHello,
    /// The handshake has begun.
    Handshake,
    /// It has ended here, and QUIC still answers packets of it for a short time (RFC 9000, section 10.2).
    Closing,
}

/// The decision about a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// There is a slot.
    Free,
    /// The newcomer gets the slot of this connection.
    Replace(u64),
    /// There is no slot.
    Full,
}

/// Decides about a newcomer from `new`.
pub(super) fn admit(held: &[Held], new: Source, now: Instant) -> Admission {
    let is_unknown = matches!(new, Source::Network(_));
    let (closing, open): (Vec<&Held>, Vec<&Held>) = held.iter().partition(|one| one.state == State::Closing);
    let unknown = |all: &[&Held]| all.iter().filter(|one| matches!(one.source, Source::Network(_))).count();
    let of = |all: &[&Held], source| all.iter().filter(|one| one.source == source).count();
    // Closing connections take no slot, but still memory.
    if of(&closing, new) >= 2 * new.slots() || is_unknown && unknown(&closing) >= 4 * SLOTS {
        return Admission::Full;
    }
    let own = of(&open, new);
    if own < new.slots() && !(is_unknown && unknown(&open) >= SLOTS) {
        return Admission::Free;
    }
    let mut counts: BTreeMap<Source, usize> = BTreeMap::new();
    for one in open.iter().filter(|one| matches!(one.source, Source::Network(_))) {
        *counts.entry(one.source).or_default() += 1;
    }
    let largest = counts.values().copied().max().unwrap_or(0);
    let among_own = own >= new.slots() || own >= largest;
    let yields = |one: &Held| if among_own { one.source == new } else { counts.get(&one.source) == Some(&largest) };
    let candidates = || open.iter().filter(|one| yields(one));
    let without_hello = candidates().filter(|one| one.state == State::NoClientHello).min_by_key(|one| one.since);
    let fewer = !among_own && own + 1 < largest;
    let old = || candidates().filter(|one| fewer || now >= one.since + PATIENCE).min_by_key(|one| one.since);
    without_hello.or_else(old).map_or(Admission::Full, |one| Admission::Replace(one.number))
}

/// Returns true if a QUIC client from `new` must first prove its address: if few slots are left, or if it would take the
/// slot of another client.
pub(super) fn must_prove(held: &[Held], new: Source, now: Instant) -> bool {
    // Closing connections count as well: forged datagrams leave such behind.
    let open = || held.iter();
    let many = match new {
        Source::Peer(_) => open().filter(|one| one.source == new).count() >= UNPROVEN_OF_PEER,
        Source::Network(_) => open().filter(|one| matches!(one.source, Source::Network(_))).count() >= UNPROVEN,
    };
    many || admit(held, new, now) != Admission::Free
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Source {
        Source::Network(network(address.parse().unwrap()))
    }

    /// Returns `count` connections from `source`, a millisecond apart, the first `age` old.
    fn held(from: u64, count: u64, source: Source, state: State, now: Instant, age: Duration) -> Vec<Held> {
        let since = |index| now.checked_sub(age).unwrap() + Duration::from_millis(index);
        (0..count).map(|index| Held { number: from + index, source, since: since(index), state }).collect()
    }

    #[test]
    fn unknown_clients_are_counted_by_network() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.255", true),
            ("192.0.2.1", "192.0.3.1", false),
            ("::ffff:192.0.2.1", "192.0.2.7", true),
            ("2001:db8:1::1", "2001:db8:1:ffff::1", true),
            ("2001:db8:1::1", "2001:db8:2::1", false),
        ] {
            assert_eq!(at(one) == at(other), same, "{one} {other}");
        }
    }

    #[test]
    fn one_network_takes_a_quarter_and_replaces_its_own() {
        let now = Instant::now();
        let (crowd, second) = (at("192.0.2.1"), Duration::from_secs(1));
        let full = held(100, PER_NETWORK as u64, crowd, State::NoClientHello, now, second);
        assert_eq!(admit(&full[1..], crowd, now), Admission::Free);
        assert_eq!(admit(&full, crowd, now), Admission::Replace(100), "the oldest");
        assert_eq!(admit(&full, at("192.0.3.1"), now), Admission::Free);
        // A connection in its handshake stays while there is one without a ClientHello, and while it is young.
        let mut mixed = full.clone();
        mixed[0].state = State::Handshake;
        assert_eq!(admit(&mixed, crowd, now), Admission::Replace(101));
        let busy = held(100, PER_NETWORK as u64, crowd, State::Handshake, now, second);
        assert_eq!(admit(&busy, crowd, now), Admission::Full);
        assert_eq!(admit(&busy, crowd, now + PATIENCE), Admission::Replace(100));
    }

    #[test]
    fn the_largest_network_yields_to_a_smaller_one() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut all = Vec::new();
        for crowd in 0..4 {
            let source = at(&format!("192.0.{crowd}.1"));
            all.extend(held(1000 * crowd, PER_NETWORK as u64, source, State::Handshake, now, second));
        }
        assert_eq!(admit(&all, at("198.51.100.1"), now), Admission::Replace(0), "although it is young");
        // With one connection for each network none has more than the newcomer would: only an old one is replaced.
        let many: Vec<Held> = (0..SLOTS as u64)
            .flat_map(|n| held(n, 1, at(&format!("10.0.{n}.1")), State::Handshake, now, second))
            .collect();
        assert_eq!(admit(&many, at("198.51.100.1"), now), Admission::Full);
        assert_eq!(admit(&many, at("198.51.100.1"), now + PATIENCE), Admission::Replace(0));
        let mut one_without_hello = many.clone();
        one_without_hello[7].state = State::NoClientHello;
        assert_eq!(admit(&one_without_hello, at("198.51.100.1"), now), Admission::Replace(7));
    }

    #[test]
    fn addresses_of_peers_have_slots_of_their_own() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let peer = Source::Peer("192.0.2.1".parse().unwrap());
        let crowds = (0..4).flat_map(|crowd| {
            held(1000 * crowd, PER_NETWORK as u64, at(&format!("192.0.{crowd}.1")), State::Handshake, now, second)
        });
        let mut all: Vec<Held> = crowds.collect();
        for taken in 0..PER_PEER_ADDRESS as u64 {
            assert_eq!(admit(&all, peer, now), Admission::Free);
            assert_eq!(must_prove(&all, peer, now), taken >= UNPROVEN_OF_PEER as u64);
            all.extend(held(9000 + taken, 1, peer, State::Handshake, now, second));
        }
        assert_eq!(admit(&all, peer, now), Admission::Full);
        assert_eq!(admit(&all, peer, now + PATIENCE), Admission::Replace(9000), "never one of a stranger");
        assert_ne!(admit(&all, at("198.51.100.1"), now), Admission::Replace(9000));
    }

    #[test]
    fn closing_connections_are_bounded() {
        let now = Instant::now();
        let crowd = at("192.0.2.1");
        let closing = held(0, 2 * PER_NETWORK as u64, crowd, State::Closing, now, Duration::ZERO);
        assert_eq!(admit(&closing[1..], crowd, now), Admission::Free);
        assert_eq!(admit(&closing, crowd, now), Admission::Full);
        assert_eq!(admit(&closing, at("192.0.3.1"), now), Admission::Free);
    }
}
