//! Creation of authorities and certificates.

use std::fmt;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

const DAY: Duration = Duration::from_secs(86_400);
/// Clocks of gateways differ: the validity of a certificate begins this long before its creation.
const EARLIER: Duration = Duration::from_secs(3_600);
/// The validity of an authority (days): ten years.
const AUTHORITY_DAYS: u32 = 3_653;

/// A certificate and its key in PEM. `Debug` does not show the key.
pub(crate) struct Made {
    /// The certificate.
    pub(crate) certificate: String,
    /// The private key (PKCS #8).
    pub(crate) key: String,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// An authority that can sign certificates. `Debug` does not show its key.
#[derive(Debug)]
pub(crate) struct Authority {
    /// Its own certificate and key, to be written to files.
    pub(crate) made: Made,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Loads the authority with this certificate and this key, both in PEM.
    ///
    /// # Errors
    /// They do not belong to an authority, or not to the same one.
    pub(crate) fn load(certificate: &str, key: &str) -> Result<Authority, String> {
        let key_pair = KeyPair::from_pem(key).map_err(|error| format!("the key cannot be read: {error}"))?;
        let (_, pem) = x509_parser::pem::parse_x509_pem(certificate.as_bytes())
            .map_err(|error| format!("the certificate cannot be read: {error}"))?;
        let parsed = pem.parse_x509().map_err(|error| format!("the certificate cannot be read: {error}"))?;
        if !parsed.is_ca() {
            return Err("the certificate is not that of an authority".to_owned());
        }
        // The bit string of the certificate's key, as in RFC 5280, section 4.1.2.7.
        if parsed.public_key().subject_public_key.data.as_ref() != key_pair.public_key_raw() {
            return Err("certificate and key do not belong together".to_owned());
        }
        let issuer = Issuer::from_ca_cert_pem(certificate, key_pair).map_err(|error| error.to_string())?;
        Ok(Authority { made: Made { certificate: certificate.to_owned(), key: key.to_owned() }, issuer })
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// Makes an authority: ECDSA on P-256, valid for ten years.
///
/// # Errors
/// The name is not allowed in a certificate.
pub(crate) fn make_authority(name: &str) -> Result<Authority, rcgen::Error> {
    let now = SystemTime::now();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name = named(name);
    params.not_before = (now - EARLIER).into();
    params.not_after = (now + DAY * AUTHORITY_DAYS).into();
    let key = KeyPair::generate()?;
    let made = Made { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() };
    Ok(Authority { made, issuer: Issuer::new(params, key) })
}

/// Makes a certificate of the gateway `name`, valid for `days` from now, for dialling and for being dialled.
///
/// # Errors
/// The name is not allowed in a certificate.
pub(crate) fn make_certificate(authority: &Authority, name: &str, days: u32) -> Result<Made, rcgen::Error> {
    let now = SystemTime::now();
    make_between(authority, name, now - EARLIER, now + DAY * days)
}

/// Makes a certificate with this validity.
///
/// # Errors
/// The name is not allowed in a certificate.
pub(crate) fn make_between(
    authority: &Authority,
    name: &str,
    from: SystemTime,
    until: SystemTime,
) -> Result<Made, rcgen::Error> {
    let mut params = CertificateParams::new([name.to_owned()])?;
    params.distinguished_name = named(name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = from.into();
    params.not_after = until.into();
    let key = KeyPair::generate()?;
    Ok(Made { certificate: params.signed_by(&key, &authority.issuer)?.pem(), key: key.serialize_pem() })
}
