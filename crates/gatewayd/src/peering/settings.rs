//! The settings of QUIC between gateways.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, RandomConnectionIdGenerator,
    ServerConfig, TransportConfig, VarInt,
};
use rustls::crypto::tls13::OkmBlock;

use super::hello;
use super::identity::Identity;
use super::unlimited::Unlimited;

/// Octets of a connection identifier: enough to distinguish the few connections of a gateway.
const CONNECTION_ID: usize = 4;
/// Largest UDP payload (octets). Ten of them fit one segmented send.
pub(super) const MOST_PAYLOAD: u16 = 6_550;
/// Every path of QUIC carries this (RFC 9000, section 14).
const LEAST_PAYLOAD: u16 = 1_200;
/// Used if the kernel does not report the MTU of the first link.
const USUAL_PAYLOAD: u16 = 1_452;
/// Octets of datagrams that wait in a connection to be sent.
pub(super) const DATAGRAMS: usize = 8 << 20;
/// The bounds of a socket's buffers, and of received datagrams that wait in a connection (octets).
const LEAST_BUFFER: usize = 4 << 20;
const MOST_BUFFER: usize = 64 << 20;
/// The time of the path's rate that they hold (s).
const BUFFERED: f64 = 0.2;

/// Returns the octets of buffers that hold 200 ms of a link of `rate` octets per second: for this time the data thread
/// may be busy, or not scheduled.
pub(super) fn buffer(rate: f64) -> usize {
    ((rate * BUFFERED) as usize).clamp(LEAST_BUFFER, MOST_BUFFER)
}

/// Returns the settings of a socket. `reset` is the same after a restart, so that a gateway without the state of a
/// connection can notify its peer (a stateless reset, RFC 9000, section 10.3), which would otherwise wait for the idle
/// timeout.
pub(super) fn endpoint(reset: [u8; 32]) -> Arc<EndpointConfig> {
    let mut config = EndpointConfig::new(Arc::new(ResetKey(reset)));
    config.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(CONNECTION_ID)));
    config.supported_versions(vec![1]);
    // In bounds by definition; otherwise the default applies.
    let _ = config.max_udp_payload_size(MOST_PAYLOAD);
    Arc::new(config)
}

/// Returns the settings for dialling a peer at `remote`.
///
/// A connection holds at most `buffer` octets of received datagrams: packets wait there for their turn, so that no peer waits
/// for the packets of another.
pub(super) fn client(identity: &Identity, outage: Duration, buffer: usize, remote: SocketAddr) -> Option<ClientConfig> {
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(Arc::clone(&identity.client)).ok()?));
    config.version(1);
    config.transport_config(transport(outage, buffer, largest_payload(remote)));
    Some(config)
}

/// Returns the settings for being dialled, by `remote` if it is already known; `buffer` as in [`client`].
pub(super) fn server(
    identity: &Identity,
    outage: Duration,
    buffer: usize,
    remote: Option<SocketAddr>,
) -> Option<Arc<ServerConfig>> {
    let crypto = QuicServerConfig::try_from(Arc::clone(&identity.server)).ok()?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport(outage, buffer, remote.map_or(LEAST_PAYLOAD, largest_payload)));
    Some(Arc::new(config))
}

fn transport(outage: Duration, buffer: usize, largest: u16) -> Arc<TransportConfig> {
    let mut acknowledgements = AckFrequencyConfig::default();
    // The gateways have their own acknowledgements; those of QUIC are for its own timers only.
    acknowledgements
        .ack_eliciting_threshold(VarInt::from_u32(64))
        .max_ack_delay(Some(Duration::from_millis(100)))
        .reordering_threshold(VarInt::from_u32(0));
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(largest).minimum_change(10);
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(Arc::new(Unlimited))
        .ack_frequency_config(Some(acknowledgements))
        .mtu_discovery_config(Some(discovery))
        .initial_mtu(LEAST_PAYLOAD)
        .min_mtu(LEAST_PAYLOAD)
        .max_idle_timeout(IdleTimeout::try_from(outage).ok())
        .keep_alive_interval(Some(keep_alive(outage)))
        .datagram_send_buffer_size(DATAGRAMS)
        .datagram_receive_buffer_size(Some(buffer))
        // One stream each way, for the hello.
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(1))
        .stream_receive_window(VarInt::from_u32(hello::MOST as u32));
    Arc::new(config)
}

/// Returns the interval of keep-alives of an idle gateway.
pub(super) fn keep_alive(outage: Duration) -> Duration {
    (outage / 6).min(Duration::from_secs(5))
}

/// Returns the largest UDP payload of the first link towards `remote`, within the limits used here.
pub(super) fn largest_payload(remote: SocketAddr) -> u16 {
    let (any, headers): (IpAddr, u32) = match remote.ip().to_canonical() {
        IpAddr::V4(_) => (std::net::Ipv4Addr::UNSPECIFIED.into(), 28),
        IpAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED.into(), 48),
    };
    let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
    // connect(2) of a UDP socket sends nothing, and returns its route.
    let mtu = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(remote)?;
        let mtu = if remote.is_ipv4() {
            rustix::net::sockopt::ip_mtu(&socket)
        } else {
            rustix::net::sockopt::ipv6_mtu(&socket)
        };
        mtu.map_err(std::io::Error::from)
    });
    mtu.map_or(USUAL_PAYLOAD, |mtu| {
        let most = u32::from(MOST_PAYLOAD);
        let payload = mtu.saturating_sub(headers).clamp(u32::from(LEAST_PAYLOAD), most);
        u16::try_from(payload).unwrap_or(MOST_PAYLOAD)
    })
}

/// HMAC-SHA256 by rustls' provider.
struct ResetKey([u8; 32]);

impl ResetKey {
    fn tag(&self, data: &[u8]) -> Option<rustls::crypto::hmac::Tag> {
        let suite = rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13()?;
        Some(suite.hkdf_provider.hmac_sign(&OkmBlock::new(&self.0), data))
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        if let Some(tag) = self.tag(data) {
            signature_out.copy_from_slice(tag.as_ref());
        }
    }
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let tag = self.tag(data).ok_or(CryptoError)?;
        let different = tag.as_ref().iter().zip(signature).fold(0, |all, (a, b)| all | (a ^ b));
        if different == 0 && tag.as_ref().len() == signature.len() { Ok(()) } else { Err(CryptoError) }
    }
}
