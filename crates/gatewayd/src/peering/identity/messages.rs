//! Messages about the errors of TLS with a certificate.

use std::path::Path;

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{AlertDescription, CertificateError, Error};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::time::ASN1Time;

/// Returns the predicate of a sentence that begins with "its certificate" or "certificate FILE". `authority` is the
/// file with the trusted authorities.
pub(crate) fn tls_message(error: &Error, authority: &Path) -> String {
    match error {
        Error::InvalidCertificate(error) => certificate_words(error, authority),
        Error::AlertReceived(alert) => alert_message(u8::from(*alert)),
        Error::NoCertificatesPresented => "it shows no certificate".to_owned(),
        Error::PeerIncompatible(_) | Error::PeerMisbehaved(_) => format!("it is no gateway of this kind ({error})"),
        error => format!("TLS failed: {error}"),
    }
}

fn certificate_words(error: &CertificateError, authority: &Path) -> String {
    match error {
        CertificateError::Expired => "it has expired".to_owned(),
        CertificateError::ExpiredContext { not_after, time } => {
            format!("it expired on {} (the clock here says {})", date(*not_after), date(*time))
        }
        CertificateError::NotValidYet => "it is not valid yet".to_owned(),
        CertificateError::NotValidYetContext { not_before, time } => {
            format!("it is not valid before {} (the clock here says {})", date(*not_before), date(*time))
        }
        CertificateError::UnknownIssuer => format!("it is from an authority that is not in {}", authority.display()),
        // Authorities made by the same program have the same name.
        CertificateError::BadSignature => {
            format!("it is from an authority that is not in {} (one of the same name is)", authority.display())
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            format!("it is of {}, where {} is configured", list(presented), expected.to_str())
        }
        error => format!("it is not accepted: {error}"),
    }
}

/// Returns the message about an alert of the peer (RFC 8446, section 6.2), which concerns the certificate of this
/// gateway.
pub(crate) fn alert_message(code: u8) -> String {
    let why = match AlertDescription::from(code) {
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "it is from an authority that is not trusted there"
        }
        AlertDescription::CertificateExpired => "it has expired, or is not valid yet, by the clock there",
        AlertDescription::CertificateRequired => "none was shown",
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => "it is not accepted there",
        AlertDescription::NoApplicationProtocol => return "it is no gateway of this kind".to_owned(),
        other => return format!("it ended the handshake: {other:?}"),
    };
    format!("it refuses our certificate: {why}")
}

/// Returns the DNS names in a certificate.
pub(super) fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let Ok(Some(extension)) = parsed.subject_alternative_name() else { return Vec::new() };
    let dns = extension.value.general_names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    dns.collect()
}

/// Returns the DNS names in a certificate, as a list for messages.
pub(crate) fn names_of(certificate: &CertificateDer<'_>) -> String {
    list(&names(certificate))
}

fn list(names: &[String]) -> String {
    let clean = |name: &String| {
        let name = name.strip_prefix("DnsName(\"").and_then(|name| name.strip_suffix("\")")).unwrap_or(name);
        name.to_owned()
    };
    if names.is_empty() {
        "nobody (it has no DNS name)".to_owned()
    } else {
        names.iter().map(clean).collect::<Vec<_>>().join(", ")
    }
}

fn date(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    ASN1Time::from_timestamp(seconds).map_or_else(|_| format!("{seconds} s after 1970"), |time| time.to_string())
}
