//! Making authorities and certificates.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

const DAY: Duration = Duration::from_secs(86_400);
/// Clocks of gateways differ: a certificate is good a little before it is made.
const EARLIER: Duration = Duration::from_secs(3_600);

/// A certificate and its key in PEM. `Debug` does not show the key.
pub(crate) struct Made {
    /// The certificate.
    pub(crate) certificate: String,
    /// The private key (PKCS #8).
    pub(crate) key: String,
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Made").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// An authority that can sign certificates.
pub(crate) struct Authority {
    /// Its own certificate and key, to be written down.
    pub(crate) made: Made,
    issuer: Issuer<'static, KeyPair>,
}

/// A new authority: ECDSA on P-256, good for ten years.
///
/// # Errors
/// The name cannot stand in a certificate.
pub(crate) fn make_authority(name: &str) -> Result<Authority, rcgen::Error> {
    let now = SystemTime::now();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = (now - EARLIER).into();
    params.not_after = (now + DAY * 3_653).into();
    let key = KeyPair::generate()?;
    let made = Made { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() };
    Ok(Authority { made, issuer: Issuer::new(params, key) })
}

/// A certificate of the gateway `name`, good for `days` from now: it can dial and be dialled.
///
/// # Errors
/// The name cannot stand in a certificate.
pub(crate) fn make_certificate(authority: &Authority, name: &str, days: u32) -> Result<Made, rcgen::Error> {
    let now = SystemTime::now();
    make_between(authority, name, now - EARLIER, now + DAY * days)
}

/// The same with both ends given.
pub(crate) fn make_between(
    authority: &Authority,
    name: &str,
    from: SystemTime,
    until: SystemTime,
) -> Result<Made, rcgen::Error> {
    let mut params = CertificateParams::new([name.to_owned()])?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = from.into();
    params.not_after = until.into();
    let key = KeyPair::generate()?;
    Ok(Made { certificate: params.signed_by(&key, &authority.issuer)?.pem(), key: key.serialize_pem() })
}
