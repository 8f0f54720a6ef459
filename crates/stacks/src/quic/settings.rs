//! Settings of QUIC without chance and clocks: a run must not depend on them.
//!
//! TLS draws its keys from the random numbers of the system, which cannot be seeded. So nothing that it writes may have
//! a length that depends on them: signatures are Ed25519 (64 octets always; those of ECDSA vary), the serial number of
//! the certificate is given, and there are no tickets and no resumption, by which a run would depend on the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use cellway_sim::Setup;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig, TimeSource, TransportConfig,
    ValidationTokenConfig,
};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, SerialNumber};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::pki_types::{PrivateKeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;

/// The name in the certificate of the server.
pub(super) const SERVER_NAME: &str = "responder";
/// Octets of a connection identifier.
const CONNECTION_ID: usize = 8;
/// The date of all runs, in seconds since 1970: within the validity of the certificate.
const DATE: u64 = 1_000_000_000;

/// The TLS of all connections: a certificate made for them, in memory, and the trust in it.
pub(super) struct Settings {
    client: Arc<QuicClientConfig>,
    server: Arc<QuicServerConfig>,
}

impl Settings {
    /// Makes the certificate.
    pub(super) fn new() -> Result<Settings, String> {
        Settings::made().map_err(|error| format!("the certificate of QUIC cannot be made: {error}"))
    }

    fn made() -> Result<Settings, Box<dyn std::error::Error>> {
        let key = KeyPair::generate_for(&PKCS_ED25519)?;
        let mut params = CertificateParams::new([SERVER_NAME.to_owned()])?;
        params.serial_number = Some(SerialNumber::from(1));
        let certificate = params.self_signed(&key)?.der().clone();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone())?;
        let (provider, date) = (Arc::new(rustls::crypto::ring::default_provider()), Arc::new(Date));
        let mut client = rustls::ClientConfig::builder_with_details(provider.clone(), date.clone())
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.resumption = Resumption::disabled();
        let mut server = rustls::ServerConfig::builder_with_details(provider, date)
            .with_protocol_versions(&[&TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivateKeyDer::Pkcs8(key.serialize_der().into()))?;
        server.send_tls13_tickets = 0;
        Ok(Settings {
            client: Arc::new(QuicClientConfig::try_from(Arc::new(client))?),
            server: Arc::new(QuicServerConfig::try_from(Arc::new(server))?),
        })
    }

    /// Returns the settings of an endpoint, of the client (`side` 0) or of the server.
    pub(super) fn endpoint(&self, setup: &Setup<'_>, side: u8) -> Arc<EndpointConfig> {
        let mut config = EndpointConfig::new(Arc::new(ResetKey(side)));
        let mut seed = setup.seed;
        seed[0] ^= side;
        config.rng_seed(Some(seed)).cid_generator(move || Box::new(CountedIds { side, next: 0 }));
        Arc::new(config)
    }

    pub(super) fn client(&self, transport: Arc<TransportConfig>) -> ClientConfig {
        let mut config = ClientConfig::new(self.client.clone());
        let ids = AtomicU64::new(0);
        config.initial_dst_cid_provider(Arc::new(move || connection_id(2, ids.fetch_add(1, Ordering::Relaxed))));
        config.transport_config(transport);
        config
    }

    pub(super) fn server(&self, transport: Arc<TransportConfig>) -> ServerConfig {
        // Its random key is for tokens, of which none is sent.
        let mut config = ServerConfig::with_crypto(self.server.clone());
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config.transport_config(transport).time_source(Arc::new(Date)).validation_token_config(tokens);
        config
    }
}

/// The same date at any time of any run.
#[derive(Debug)]
struct Date;

impl TimeProvider for Date {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(DATE)))
    }
}

impl TimeSource for Date {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(DATE)
    }
}

/// Connection identifiers that count up.
struct CountedIds {
    side: u8,
    next: u64,
}

impl ConnectionIdGenerator for CountedIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next += 1;
        connection_id(self.side, self.next)
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

fn connection_id(origin: u8, number: u64) -> ConnectionId {
    let mut octets = number.to_be_bytes();
    octets[0] = origin;
    ConnectionId::new(&octets)
}

/// Makes the tokens of stateless resets, which no stranger can forge here: FNV-1a in place of an HMAC.
struct ResetKey(u8);

impl ResetKey {
    fn tag(&self, data: &[u8]) -> [u8; 32] {
        let fnv = |salt: u8| {
            let octets = [self.0, salt].into_iter().chain(data.iter().copied());
            octets
                .fold(0xcbf2_9ce4_8422_2325, |hash: u64, octet| (hash ^ u64::from(octet)).wrapping_mul(0x100_0000_01b3))
        };
        let mut tag = [0; 32];
        (0..).zip(tag.chunks_exact_mut(8)).for_each(|(salt, word)| word.copy_from_slice(&fnv(salt).to_be_bytes()));
        tag
    }
}

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        signature_out.copy_from_slice(&self.tag(data));
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        if signature == self.tag(data) { Ok(()) } else { Err(CryptoError) }
    }
}
