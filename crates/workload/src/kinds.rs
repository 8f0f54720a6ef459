//! The distributions that a class can have.

use cellway_apps::MOST_SECONDS;

use crate::file::Transport;

/// The most exchanges of a conversation.
pub const MOST_EXCHANGES: f64 = 1e6;
/// The largest payload of a datagram (octets): a packet of IPv4 without its headers.
pub const MOST_PAYLOAD: f64 = 65_507.0;
/// The most packets of a conversation.
const MOST_PACKETS: f64 = 1e9;
/// The most octets of a message.
pub(crate) const MOST_OCTETS: f64 = 1e15;

/// A distribution that a class can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistributionKind {
    /// Its name in files.
    pub name: &'static str,
    /// The protocol of the classes that have it; any if absent.
    pub transport: Option<Transport>,
    /// True if a class of this protocol must have it.
    pub required: bool,
    /// The unit: "s", "B", or nothing for a count.
    pub unit: &'static str,
    /// The largest value that is accepted.
    pub most: f64,
}

const fn kind(name: &'static str, transport: Option<Transport>, unit: &'static str, most: f64) -> DistributionKind {
    DistributionKind { name, transport, required: false, unit, most }
}

const fn required(name: &'static str, transport: Transport, unit: &'static str, most: f64) -> DistributionKind {
    DistributionKind { required: true, ..kind(name, Some(transport), unit, most) }
}

const TCP: Option<Transport> = Some(Transport::Tcp);
const UDP: Option<Transport> = Some(Transport::Udp);

impl DistributionKind {
    /// All, in the order of files.
    pub const ALL: [DistributionKind; 13] = [
        kind("arrival_gap", None, "s", MOST_SECONDS),
        required("exchanges", Transport::Tcp, "", MOST_EXCHANGES),
        required("request", Transport::Tcp, "B", MOST_OCTETS),
        kind("response", TCP, "B", MOST_OCTETS),
        kind("pause", TCP, "s", MOST_SECONDS),
        kind("think", TCP, "s", MOST_SECONDS),
        kind("rtt", TCP, "s", MOST_SECONDS),
        required("packets", Transport::Udp, "", MOST_PACKETS),
        kind("packets_back", UDP, "", MOST_PACKETS),
        required("size", Transport::Udp, "B", MOST_PAYLOAD),
        kind("size_back", UDP, "B", MOST_PAYLOAD),
        kind("gap", UDP, "s", MOST_SECONDS),
        kind("gap_back", UDP, "s", MOST_SECONDS),
    ];

    /// Returns those of a protocol.
    pub fn of(transport: Transport) -> impl Iterator<Item = DistributionKind> {
        DistributionKind::ALL.into_iter().filter(move |kind| kind.transport.is_none_or(|of| of == transport))
    }

    /// Returns the one of a name.
    pub fn named(name: &str) -> Option<DistributionKind> {
        DistributionKind::ALL.into_iter().find(|kind| kind.name == name)
    }
}
