//! Support for programs that run gateways on their own threads, as the emulator does.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::config::{Config, Identity};
use crate::error::Error;
use crate::intercept::Rules;
use crate::peering::identity::{make_authority, make_certificate};

/// The validity of its certificates (days).
const DAYS: u32 = 1;

/// Makes an authority, whose key is not kept, and certificates and keys of the gateways `names`, as files in `folder`.
/// Returns them in the order of the names.
///
/// # Errors
/// A name is not allowed in a certificate, or a file cannot be written.
pub fn make_identities(folder: &Path, names: &[String]) -> io::Result<Vec<Identity>> {
    let authority = make_authority("cellway").map_err(io::Error::other)?;
    let root = write(folder, "authority.pem", &authority.made.certificate)?;
    let identity = |(place, name): (usize, &String)| {
        let made = make_certificate(&authority, name, DAYS).map_err(io::Error::other)?;
        Ok(Identity {
            authority: root.clone(),
            certificate: write(folder, &format!("{place}.pem"), &made.certificate)?,
            key: write(folder, &format!("{place}.key"), &made.key)?,
        })
    };
    names.iter().enumerate().map(identity).collect()
}

/// Writes a new file that only its owner can read.
fn write(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

/// Sets the rules of interception of a configuration in the network namespace of the calling thread, where they exist
/// as long as the namespace. A daemon on such a thread then sets the intercepted networks.
///
/// # Errors
/// `nft` or `ip` is missing, or refuses a rule.
pub fn apply_rules(config: &Config) -> Result<(), Error> {
    Rules::of(config).apply()
}
