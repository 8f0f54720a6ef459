//! Checks of the certificates and keys of a gateway.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, RootCertStore};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

use crate::config::Identity;

#[cfg(test)]
mod tests;

/// A certificate that expires sooner than this gets a warning.
const SOON: i64 = 30 * 86_400;

/// The results of the checks.
#[derive(Debug, Default)]
pub(super) struct Examined {
    /// Problems with which the gateway will not work.
    pub(super) problems: Vec<String>,
    /// Other findings.
    pub(super) warnings: Vec<String>,
    /// The end of the validity of the certificate, as a date.
    pub(super) until: Option<String>,
}

/// Checks the files of `identity`, which must be those of the gateway `name`, at the time `now`.
pub(super) fn examine(identity: &Identity, name: &str, now: SystemTime) -> Examined {
    let mut findings = Examined::default();
    let now = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() as i64;
    let authorities = certificates(&identity.authority, &mut findings);
    let chain = certificates(&identity.certificate, &mut findings);
    for authority in &authorities {
        let end = parse(authority, &identity.authority, &mut findings);
        // TLS uses the key of a trusted authority, and ignores its validity (RFC 5280, section 6.1.1, d).
        findings.warnings.extend(end.as_ref().and_then(|parsed| ended(parsed, &identity.authority, now)));
        if end.is_some_and(|parsed| !parsed.is_ca()) {
            findings.problems.push(format!("{}: is not the certificate of an authority", identity.authority.display()));
        }
    }
    if let Some(own) = chain.first()
        && let Some(parsed) = parse(own, &identity.certificate, &mut findings)
    {
        leaf(&parsed, identity, name, now, &mut findings);
        let validity = parsed.validity();
        let (from, until) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        if !authorities.is_empty() && from <= until {
            // Verified at a time within its validity: an expired certificate is reported above.
            let at = now.clamp(from, until);
            issuer(&parsed, &chain, &authorities, identity, at, &mut findings);
        }
    }
    key(identity, chain, &mut findings);
    findings
}

/// Reads the certificates in a file; it is a problem if there are none.
fn certificates(path: &Path, findings: &mut Examined) -> Vec<CertificateDer<'static>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => {
            findings.problems.push(format!("{}: there is no certificate in it (PEM)", path.display()));
            found
        }
        Ok(found) => found,
        Err(error) => {
            findings.problems.push(format!("{}: {}", path.display(), reason(&error)));
            Vec::new()
        }
    }
}

fn reason(error: &rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(error) => error.to_string(),
        other => format!("is not PEM: {other}"),
    }
}

fn parse<'a>(der: &'a CertificateDer<'_>, path: &Path, findings: &mut Examined) -> Option<X509Certificate<'a>> {
    match X509Certificate::from_der(der) {
        Ok((_, parsed)) => Some(parsed),
        Err(error) => {
            findings.problems.push(format!("{}: is no certificate: {error}", path.display()));
            None
        }
    }
}

/// Formats a time: UTC, to the minute.
fn shown(time: ASN1Time) -> String {
    let t = time.to_datetime();
    format!("{} {:02}:{:02} UTC", t.date(), t.hour(), t.minute())
}

/// Returns the reason for which a certificate is not valid now, if any.
fn ended(parsed: &X509Certificate<'_>, path: &Path, now: i64) -> Option<String> {
    let validity = parsed.validity();
    if validity.not_before.timestamp() > validity.not_after.timestamp() {
        let (from, until) = (shown(validity.not_before), shown(validity.not_after));
        return Some(format!("{}: is never valid: it ends before it begins ({from} to {until})", path.display()));
    }
    if now > validity.not_after.timestamp() {
        return Some(format!("{}: expired on {}", path.display(), shown(validity.not_after)));
    }
    if now < validity.not_before.timestamp() {
        let from = shown(validity.not_before);
        return Some(format!("{}: is not valid before {from}; is this machine's clock right?", path.display()));
    }
    None
}

/// Checks the validity and the names of the gateway's own certificate.
fn leaf(parsed: &X509Certificate<'_>, identity: &Identity, name: &str, now: i64, findings: &mut Examined) {
    let path = &identity.certificate;
    let end = parsed.validity().not_after;
    findings.until = Some(end.to_datetime().date().to_string());
    match ended(parsed, path, now) {
        Some(problem) => findings.problems.push(problem),
        None if end.timestamp() - now < SOON => {
            findings.warnings.push(format!("{}: expires on {}", path.display(), shown(end)));
        }
        None => {}
    }
    let names: Vec<&str> = parsed
        .subject_alternative_name()
        .ok()
        .flatten()
        .into_iter()
        .flat_map(|extension| &extension.value.general_names)
        .filter_map(|general| if let GeneralName::DNSName(name) = general { Some(*name) } else { None })
        .collect();
    if !names.contains(&name) {
        let is = if names.is_empty() { "has no name".to_owned() } else { format!("is of {}", names.join(", ")) };
        findings.problems.push(format!("{}: {is}, and this gateway is \"{name}\"", path.display()));
    }
}

/// Checks that one of the authorities has signed the certificate, as a peer does.
fn issuer(
    parsed: &X509Certificate<'_>,
    chain: &[CertificateDer<'static>],
    authorities: &[CertificateDer<'static>],
    identity: &Identity,
    at: i64,
    findings: &mut Examined,
) {
    let path = identity.certificate.display();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let Ok(verifier) = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build() else { return };
    let [own, intermediates @ ..] = chain else { return };
    let at = UnixTime::since_unix_epoch(Duration::from_secs(at.max(0) as u64));
    match verifier.verify_client_cert(own, intermediates, at) {
        Ok(_) => {}
        Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            let authority = identity.authority.display();
            findings
                .problems
                .push(format!("{path}: comes from another authority ({}) than {authority}", parsed.issuer()));
        }
        Err(error) => findings.problems.push(format!("{path}: peers will refuse it: {error}")),
    }
}

/// Checks that the private key is readable, private, and that of the certificate. It is dropped at once.
fn key(identity: &Identity, chain: Vec<CertificateDer<'static>>, findings: &mut Examined) {
    use std::os::unix::fs::PermissionsExt;
    let path = identity.key.display();
    let key = match PrivateKeyDer::from_pem_file(&identity.key) {
        Ok(key) => key,
        Err(rustls::pki_types::pem::Error::NoItemsFound) => {
            findings.problems.push(format!("{path}: there is no private key in it (PEM)"));
            return;
        }
        Err(error) => {
            findings.problems.push(format!("{path}: {}", reason(&error)));
            return;
        }
    };
    let mode = std::fs::metadata(&identity.key).map(|meta| meta.permissions().mode() & 0o777).unwrap_or(0o600);
    if mode & 0o037 != 0 {
        let group = "its owner, and a group that may read it";
        findings
            .warnings
            .push(format!("{path}: its mode is {mode:04o}; only {group} should have access (0600 or 0640)"));
    }
    if chain.is_empty() {
        return;
    }
    match CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider()) {
        Ok(_) => {}
        Err(rustls::Error::InconsistentKeys(_)) => {
            findings.problems.push(format!("{path}: is not the key of {}", identity.certificate.display()));
        }
        Err(error) => findings.problems.push(format!("{path}: cannot be used: {error}")),
    }
}
