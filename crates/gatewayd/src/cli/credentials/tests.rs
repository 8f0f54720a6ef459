//! Certificates that are not valid now, and the output about keys.

use super::*;
use crate::peering::identity::{make_authority, make_between, make_certificate};

const DAY: Duration = Duration::from_secs(86_400);

/// Returns the findings about a certificate that is valid between these days from now, and about its authority.
fn examined(from: i64, until: i64, now: i64) -> Examined {
    let dir = tempfile::tempdir().unwrap();
    let day = |n: i64| {
        let distance = DAY * n.unsigned_abs() as u32;
        if n < 0 { SystemTime::now() - distance } else { SystemTime::now() + distance }
    };
    let authority = make_authority("test").unwrap();
    let made = make_between(&authority, "paris", day(from), day(until)).unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        path
    };
    let identity = Identity {
        authority: write("authority.pem", &authority.made.certificate),
        certificate: write("paris.pem", &made.certificate),
        key: write("paris.key", &made.key),
    };
    examine(&identity, "paris", day(now))
}

#[test]
fn times_are_formatted_in_two_units() {
    let good = examined(-1, 100, 0);
    assert_eq!((good.problems.as_slice(), good.warnings.as_slice()), (&[][..], &[][..]));
    assert!(good.until.is_some());
    let soon = examined(-1, 10, 0);
    assert!(soon.problems.is_empty() && soon.warnings[0].contains("paris.pem: expires on 20"), "{soon:?}");
    let late = examined(-3, -1, 0);
    assert!(late.problems.len() == 1 && late.problems[0].contains("paris.pem: expired on 20"), "{late:?}");
    let early = examined(1, 100, 0);
    assert!(early.problems.len() == 1 && early.problems[0].contains("is not valid before 20"), "{early:?}");
    // After eleven years the authority has expired, which does not affect the certificates that it has signed.
    let both = examined(0, 5_000, 4_100);
    assert!(both.problems.is_empty() && both.warnings.len() == 1, "{both:?}");
    assert!(both.warnings[0].contains("authority.pem: expired on 20"), "{both:?}");
}

/// A certificate that is never valid, as its validity ends before it begins: signed by mistake, or forged.
#[test]
fn a_certificate_that_ends_before_it_begins_is_a_problem() {
    for now in [0, 2, 20] {
        let never = examined(10, 1, now);
        let about: Vec<_> = never.problems.iter().filter(|problem| problem.contains("paris.pem")).collect();
        assert!(about.iter().any(|problem| problem.contains("ends before it begins")), "{never:?}");
    }
}

/// Returns the middle of a PEM text, which no output may contain.
fn secret(pem: &str) -> String {
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    body[20..60].to_owned()
}

#[test]
fn no_debug_output_shows_a_key() {
    let authority = make_authority("test").unwrap();
    let made = make_certificate(&authority, "paris", 10).unwrap();
    let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes()).unwrap();
    let certified = CertifiedKey::from_der(
        vec![CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap()],
        key.clone_key(),
        &rustls::crypto::ring::default_provider(),
    )
    .unwrap();
    let shown = format!("{authority:?} {made:?} {key:?} {certified:?}");
    assert!(shown.contains("BEGIN CERTIFICATE") && !shown.contains("PRIVATE KEY"), "{shown}");
    for pem in [&made.key, &authority.made.key] {
        assert!(pem.contains("PRIVATE KEY") && !shown.contains(&secret(pem)));
    }
    // Also not as numbers, as lists of octets are formatted.
    let numbers = format!("{:?}", &key.secret_der()[40..60]);
    assert!(!shown.contains(numbers.trim_matches(['[', ']'])));
}
