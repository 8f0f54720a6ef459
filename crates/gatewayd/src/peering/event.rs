//! Events of the transport to the other gateways.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;

use crate::peer_id::PeerId;

/// The transport of packets to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Datagrams of QUIC.
    Quic,
    /// Records of TLS over TCP: packets are neither lost nor reordered.
    Tls,
}

impl Transport {
    /// Returns its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::Quic => "quic",
            Transport::Tls => "tls",
        }
    }
}

/// An event of the transport to a peer.
#[derive(Debug)]
pub(crate) enum PeerEvent {
    /// Packets can be sent to it from now on.
    Up {
        /// The peer.
        peer: PeerId,
        /// True if this gateway dialled.
        dialer: bool,
        /// The transport.
        transport: Transport,
        /// Most octets of a packet.
        payload: usize,
        /// The address of the peer.
        address: SocketAddr,
        /// True if both gateways have kept the state of the flows: they continue. Otherwise they start again.
        resumed: bool,
    },
    /// It is detached, see [`Attachment`](super::attachment::Attachment), until it is up or down again.
    Detached {
        /// The peer.
        peer: PeerId,
        /// The reason.
        why: String,
    },
    /// The largest packet of the path has changed.
    Payload {
        /// The peer.
        peer: PeerId,
        /// Most octets of a packet.
        payload: usize,
    },
    /// A packet has arrived.
    Packet {
        /// Its sender.
        peer: PeerId,
        /// Its octets.
        packet: Bytes,
    },
    /// It can no longer be reached, or still not, for another reason.
    Down {
        /// The peer.
        peer: PeerId,
        /// The reason.
        why: String,
    },
}

/// The state of the transport to a peer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerTransport {
    /// The transport; none while it is down.
    pub(crate) transport: Option<Transport>,
    /// Its address.
    pub(crate) address: Option<SocketAddr>,
    /// Smoothed round-trip time of the transport.
    pub(crate) rtt: Option<Duration>,
    /// The last failed attempts; while TLS is used, the result of trying QUIC.
    pub(crate) tried: String,
    /// Connections of the peer that were ended because there were too many, see [`super::connection_limit`].
    pub(crate) surplus: u64,
}
