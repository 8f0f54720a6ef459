//! What is told of the ways to the other gateways.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;

use crate::peer_id::PeerId;

/// How packets travel to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Datagrams of QUIC.
    Quic,
    /// Records of TLS over TCP: nothing is lost or reordered.
    Tls,
}

impl Transport {
    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::Quic => "quic",
            Transport::Tls => "tls",
        }
    }
}

/// What the ways to peers tell.
#[derive(Debug)]
pub(crate) enum PeerEvent {
    /// Packets can be sent to it from now on.
    Up {
        /// The peer, by its place in the configuration.
        peer: PeerId,
        /// Whether this gateway dialled.
        dialer: bool,
        /// How packets travel.
        transport: Transport,
        /// Most octets of a packet.
        payload: usize,
        /// Where the peer is.
        address: SocketAddr,
        /// True if both gateways have kept the state of what they carry: it continues. Otherwise it begins anew.
        resumed: bool,
    },
    /// It is detached, see [`Way`](super::way::Way), until it is up or down again.
    Detached {
        /// The peer.
        peer: PeerId,
        /// The reason, in words.
        why: String,
    },
    /// The path carries larger or only smaller packets now.
    Payload {
        /// The peer.
        peer: PeerId,
        /// Most octets of a packet.
        payload: usize,
    },
    /// A packet has come.
    Packet {
        /// Its sender.
        peer: PeerId,
        /// Its octets.
        packet: Bytes,
    },
    /// It cannot be reached any more, or still not, for another reason.
    Down {
        /// The peer.
        peer: PeerId,
        /// Why, in words.
        why: String,
    },
}

/// What is known of the way to a peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerTransport {
    /// How packets travel to it; none while it is down.
    pub(crate) transport: Option<Transport>,
    /// Where it is.
    pub(crate) address: Option<SocketAddr>,
    /// Smoothed round-trip time of the transport.
    pub(crate) rtt: Option<Duration>,
    /// What was tried in vain last; while TLS is used, what came of QUIC.
    pub(crate) tried: String,
    /// Connections of the peer that were ended because there were too many, see [`super::visits`].
    pub(crate) surplus: u64,
}
