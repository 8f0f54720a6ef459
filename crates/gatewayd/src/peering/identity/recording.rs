//! Certificate verifiers that record the reasons of refusals.
//!
//! QUIC and TLS report a failed handshake without the certificate, and quinn-proto without the error value. The log
//! needs both: the peer that was refused, and the reason.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::messages;

/// Most errors that are stored: one pass accepts no more new connections than this.
const KEPT: usize = 128;

/// The refusals of one identity's verifiers.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    errors: VecDeque<Error>,
    /// The names in the client certificate that was refused last.
    names: Option<Vec<String>>,
}

impl Refusals {
    fn add(&self, error: &Error, names: Option<Vec<String>>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.errors.len() == KEPT {
            kept.errors.pop_front();
        }
        kept.errors.push_back(error.clone());
        kept.names = names.or_else(|| kept.names.take());
    }

    /// Removes and returns the error with this text. Errors of several connections with the same text are
    /// interchangeable, as only the text is logged.
    pub(super) fn take(&self, text: &str) -> Option<Error> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.errors.iter().rposition(|error| error.to_string() == text)?;
        kept.errors.remove(at)
    }

    /// Removes and returns the names in the client certificate that was refused last.
    pub(super) fn take_names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).names.take().unwrap_or_default()
    }
}

/// Verifies as `inner` does, and records its refusals.
#[derive(Debug)]
pub(super) struct Recording<V: ?Sized> {
    refusals: Arc<Refusals>,
    inner: Arc<V>,
}

impl<V: ?Sized> Recording<V> {
    pub(super) fn new(inner: Arc<V>, refusals: &Arc<Refusals>) -> Recording<V> {
        Recording { refusals: Arc::clone(refusals), inner }
    }
}

impl<V: ClientCertVerifier + ?Sized> ClientCertVerifier for Recording<V> {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }
    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(end_entity, intermediates, now);
        verified.inspect_err(|error| self.refusals.add(error, Some(messages::names(end_entity))))
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verified = self.inner.verify_tls13_signature(message, cert, dss);
        verified.inspect_err(|error| self.refusals.add(error, None))
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
    fn offer_client_auth(&self) -> bool {
        self.inner.offer_client_auth()
    }
    fn client_auth_mandatory(&self) -> bool {
        self.inner.client_auth_mandatory()
    }
    fn requires_raw_public_keys(&self) -> bool {
        self.inner.requires_raw_public_keys()
    }
}

impl<V: ServerCertVerifier + ?Sized> ServerCertVerifier for Recording<V> {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        verified.inspect_err(|error| self.refusals.add(error, None))
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verified = self.inner.verify_tls13_signature(message, cert, dss);
        verified.inspect_err(|error| self.refusals.add(error, None))
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
    fn requires_raw_public_keys(&self) -> bool {
        self.inner.requires_raw_public_keys()
    }
    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.inner.root_hint_subjects()
    }
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn a_refusal_is_found_once_by_its_text() {
        let refusals = Refusals::default();
        let [unknown, expired] = [CertificateError::UnknownIssuer, CertificateError::Expired];
        let [unknown, expired] = [unknown, expired].map(Error::InvalidCertificate);
        refusals.add(&unknown, Some(vec!["near".to_owned()]));
        refusals.add(&expired, None);
        assert_eq!(refusals.take("another text"), None);
        assert_eq!(refusals.take(&unknown.to_string()), Some(unknown.clone()));
        assert_eq!(refusals.take(&unknown.to_string()), None);
        assert_eq!(refusals.take(&expired.to_string()), Some(expired));
        assert_eq!(refusals.take_names(), ["near"], "the refusal of a server has no names of a client");
        assert!(refusals.take_names().is_empty());
    }

    #[test]
    fn new_refusals_replace_the_oldest() {
        let refusals = Refusals::default();
        let error = |n: usize| Error::General(n.to_string());
        (0..=KEPT).for_each(|n| refusals.add(&error(n), None));
        assert_eq!(refusals.take(&error(0).to_string()), None);
        assert_eq!(refusals.take(&error(1).to_string()), Some(error(1)));
        assert_eq!(refusals.take(&error(KEPT).to_string()), Some(error(KEPT)));
    }
}
