//! The identity of this gateway, the authorities that it trusts, and the messages about certificates.

mod make;
mod messages;
mod recording;

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::config::Identity as Files;

#[cfg(test)]
pub(crate) use make::make_between;
pub(crate) use make::{Authority, Made, make_authority, make_certificate};
pub(crate) use messages::{alert_message, names_of, tls_message};
use recording::{Recording, Refusals};

/// The protocol of gateways in ALPN (RFC 7301): handshakes of other protocols fail.
const ALPN: &[u8] = b"cellway-gateway";

/// An error in the files of an identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file cannot be read or has the wrong content.
    #[error("{what} {file}: {why}; expected {accepted}")]
    File {
        /// `authority`, `certificate` or `key`.
        what: &'static str,
        /// The file.
        file: String,
        /// The error.
        why: String,
        /// The accepted content.
        accepted: &'static str,
    },
    /// The key does not belong to the certificate.
    #[error("key {key}: it is not the key of certificate {certificate}; expected the one made with it")]
    Pair {
        /// File of the key.
        key: String,
        /// File of the certificate.
        certificate: String,
    },
    /// TLS cannot use them.
    #[error("certificate {certificate}: {source}")]
    Tls {
        /// File of the certificate.
        certificate: String,
        /// The error.
        source: rustls::Error,
    },
}

/// Keys and certificates as read from their files.
#[derive(Clone)]
pub(crate) struct Identity {
    /// The configuration for dialling.
    pub(crate) client: Arc<ClientConfig>,
    /// The configuration for being dialled.
    pub(crate) server: Arc<ServerConfig>,
    refusals: Arc<Refusals>,
    verifier: Arc<dyn ClientCertVerifier>,
    chain: Vec<CertificateDer<'static>>,
    secret: [u8; 32],
    files: Files,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads the files. Problems that depend on the time or on a peer (expiry, names) are no errors: see
    /// [`Identity::problems`].
    ///
    /// # Errors
    /// A file cannot be read or parsed, or the key belongs to another certificate.
    pub(crate) fn read(files: &Files) -> Result<Identity, IdentityError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let file = |path: &Path| path.display().to_string();
        let mut roots = RootCertStore::empty();
        for certificate in certificates("authority", &files.authority)? {
            roots.add(certificate).map_err(|error| IdentityError::File {
                what: "authority",
                file: file(&files.authority),
                why: error.to_string(),
                accepted: "X.509 certificates of authorities",
            })?;
        }
        let roots = Arc::new(roots);
        let chain = certificates("certificate", &files.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| IdentityError::File {
            what: "key",
            file: file(&files.key),
            why: pem_words(&error),
            accepted: "a private key in PEM (PKCS #8, SEC 1 or PKCS #1)",
        })?;
        let secret = secret_of(&provider, key.secret_der());
        let tls = |source| match source {
            rustls::Error::InconsistentKeys(_) => {
                IdentityError::Pair { key: file(&files.key), certificate: file(&files.certificate) }
            }
            source => IdentityError::Tls { certificate: file(&files.certificate), source },
        };
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| tls(rustls::Error::General(error.to_string())))?;
        let refusals = Arc::new(Refusals::default());
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls)?
            .with_client_cert_verifier(Arc::new(Recording::new(Arc::clone(&verifier), &refusals)))
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(tls)?;
        // Every connection verifies certificates: sessions are not resumed.
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        server.alpn_protocols = vec![ALPN.to_vec()];
        let server_verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| tls(rustls::Error::General(error.to_string())))?;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls)?
            .dangerous() // Required to install a custom verifier; it calls the one of rustls.
            .with_custom_certificate_verifier(Arc::new(Recording::new(server_verifier, &refusals)))
            .with_client_auth_cert(chain.clone(), key)
            .map_err(tls)?;
        client.resumption = Resumption::disabled();
        client.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Identity {
            client: Arc::new(client),
            server: Arc::new(server),
            refusals,
            verifier,
            chain,
            secret,
            files: files.clone(),
        })
    }

    /// Returns the problems that peers will find with this gateway's own certificate, when its name is `name`. The
    /// clock may still be wrong when a machine starts: so these are logged, and do not stop the gateway.
    pub(crate) fn problems(&self, name: &str) -> Vec<String> {
        let mut problems = Vec::new();
        let whose = format!("certificate {}", self.files.certificate.display());
        let Some((own, intermediates)) = self.chain.split_first() else { return problems };
        let now =
            UnixTime::since_unix_epoch(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        if let Err(error) = self.verifier.verify_client_cert(own, intermediates, now) {
            problems.push(format!("{whose}: {}", self.message(&error)));
        }
        if !is_of(own, name) {
            problems.push(format!("{whose}: it is of {}, and this gateway is called {name}", names_of(own)));
        }
        problems
    }

    /// Returns the file with the trusted authorities.
    pub(crate) fn authority(&self) -> &Path {
        &self.files.authority
    }

    /// Returns the message about an error of TLS with a peer's certificate.
    pub(crate) fn message(&self, error: &rustls::Error) -> String {
        tls_message(error, &self.files.authority)
    }

    /// Removes and returns the names in the client certificate that was refused last.
    pub(crate) fn refused_names(&self) -> Vec<String> {
        self.refusals.take_names()
    }

    /// Removes and returns the error with this text with which a verifier of this identity refused a certificate.
    pub(crate) fn refusal(&self, text: &str) -> Option<rustls::Error> {
        self.refusals.take(text)
    }

    /// Returns a secret that is derived from the key: the same each time, and useless for finding the key.
    pub(crate) fn secret(&self) -> [u8; 32] {
        self.secret
    }
}

/// Returns true if the certificate is that of the gateway `name` (a DNS name among its subject's alternative names, RFC
/// 5280, section 4.2.1.6).
pub(crate) fn is_of(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let (Ok(parsed), Ok(name)) = (ParsedCertificate::try_from(certificate), ServerName::try_from(name)) else {
        return false;
    };
    rustls::client::verify_server_name(&parsed, &name).is_ok()
}

fn certificates(what: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let failed = |why| IdentityError::File {
        what,
        file: path.display().to_string(),
        why,
        accepted: "X.509 certificates in PEM (BEGIN CERTIFICATE)",
    };
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found = read.map_err(|error| failed(pem_words(&error)))?;
    if found.is_empty() { Err(failed("it holds no certificate".to_owned())) } else { Ok(found) }
}

fn pem_words(error: &rustls::pki_types::pem::Error) -> String {
    use rustls::pki_types::pem::Error;
    match error {
        Error::Io(error) => error.to_string(),
        Error::NoItemsFound => "it holds none".to_owned(),
        error => format!("it is no PEM: {error}"),
    }
}

/// Returns the HMAC of a label under the key: one-way, and different for each key.
fn secret_of(provider: &CryptoProvider, key: &[u8]) -> [u8; 32] {
    let mut secret = [0; 32];
    let suite = provider.cipher_suites.iter().find_map(rustls::SupportedCipherSuite::tls13);
    if let Some(suite) = suite {
        // The block of HMAC is shorter than some keys: it is extracted first (RFC 5869, section 2.2).
        let expander = suite.hkdf_provider.extract_from_secret(Some(b"cellway gateway"), key);
        if expander.expand_slice(&[b"stateless reset"], &mut secret).is_err() {
            secret = [0; 32];
        }
    }
    secret
}
