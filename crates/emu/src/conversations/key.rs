//! The key of a conversation: the same for both of its directions.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::net::IpAddr;

use cellway_wire::ip::{Datagram, FlowKey};

/// A host at the edge of the network, by the number that the caller gave it.
pub type Host = u16;

/// Hashes with keys that are always the same: a run does not depend on chance.
pub(super) type Fixed = BuildHasherDefault<DefaultHasher>;

/// A five-tuple and the hosts at its ends, the lower end first. Addresses are numbers, so that hashing is one write for
/// each; `tail` distinguishes IPv4 from IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    low: u128,
    high: u128,
    /// Ports, low and high; hosts, low and high.
    ends: u64,
    /// Protocol, and 256 for IPv4.
    tail: u16,
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl Key {
    /// Returns the key of a packet from one host to another, and true if its source is the lower end.
    pub(super) fn new(flow: &FlowKey, from: Host, to: Host) -> (Key, bool) {
        let source = (number(flow.source), flow.source_port, from);
        let destination = (number(flow.destination), flow.destination_port, to);
        let upward = source <= destination;
        let (low, high) = if upward { (source, destination) } else { (destination, source) };
        let ends = u64::from(low.1) << 48 | u64::from(high.1) << 32 | u64::from(low.2) << 16 | u64::from(high.2);
        let tail = u16::from(flow.protocol) | if flow.source.is_ipv4() { 256 } else { 0 };
        (Key { low: low.0, high: high.0, ends, tail }, upward)
    }
}

/// A fragmented packet from one host to another.
pub(super) type DatagramKey = (Datagram, Host, Host);

/// Returns two hosts, the lower first, and true if the packet is from the lower.
pub(super) fn pair(from: Host, to: Host) -> ((Host, Host), bool) {
    if from <= to { ((from, to), true) } else { ((to, from), false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(source: &str, destination: &str, source_port: u16, destination_port: u16) -> FlowKey {
        let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
        FlowKey { source, destination, protocol: 6, source_port, destination_port }
    }

    #[test]
    fn both_directions_have_one_key() {
        let there = flow("10.0.0.9", "10.0.0.2", 80, 40_000);
        let (key, upward) = Key::new(&there, 1, 2);
        assert_eq!(Key::new(&there.reversed(), 2, 1), (key, !upward));
        // The same addresses, distinguished only by their ports.
        let own = flow("10.0.0.9", "10.0.0.9", 80, 40_000);
        assert_eq!((Key::new(&own, 1, 1).1, Key::new(&own.reversed(), 1, 1).1), (true, false));
    }

    #[test]
    fn any_difference_makes_another_key() {
        let flow4 = flow("0.0.0.1", "0.0.0.2", 1, 2);
        let others = [
            (flow("::1", "::2", 1, 2), 1, 2),
            (flow("0.0.0.1", "0.0.0.3", 1, 2), 1, 2),
            (flow("0.0.0.1", "0.0.0.2", 2, 1), 1, 2),
            (FlowKey { protocol: 17, ..flow4 }, 1, 2),
            (flow4, 2, 1),
            (flow4, 1, 3),
        ];
        let key = Key::new(&flow4, 1, 2).0;
        assert!(others.iter().all(|(flow, from, to)| Key::new(flow, *from, *to).0 != key));
    }
}
