//! The key of a run: a digest of all that its result depends on.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 of the resolved scenario of a point, its workloads included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

/// The key of a run: a SHA-256 of the [`Digest`] of its point, its seed, and the version of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// Returns the key of the run of a point with a seed, by a simulator whose results have the version `version`.
    pub fn new(point: Digest, seed: u64, version: u32) -> Key {
        let mut hash = Sha256::new();
        hash.update(b"cellway run\0");
        hash.update(version.to_le_bytes());
        hash.update(seed.to_le_bytes());
        hash.update(point.0);
        Key(hash.finalize().into())
    }
}

/// Takes text piece by piece, and returns its digest.
#[derive(Clone, Debug, Default)]
pub struct KeyWriter(Sha256);

impl KeyWriter {
    /// Returns the digest of all text so far.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl fmt::Write for KeyWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

fn hex(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn a_key_depends_on_point_seed_and_version() {
        let point = |text: &str| {
            let mut writer = KeyWriter::default();
            writer.write_str(text).unwrap();
            writer.finish()
        };
        // `printf abc | sha256sum`.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(point("abc").to_string(), abc);
        let key = Key::new(point("abc"), 1, 1);
        for other in [Key::new(point("abe"), 1, 1), Key::new(point("abc"), 2, 1), Key::new(point("abc"), 1, 2)] {
            assert_ne!(key, other);
        }
        assert_eq!(key, Key::new(point("abc"), 1, 1));
    }
}
