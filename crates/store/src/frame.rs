//! The frame of one run in a file: a head of fixed length with a checksum, then the octets of the outcome.

use sha2::{Digest as _, Sha256};

use crate::key::Key;

/// Begins every frame, so that octets that were never written are recognised: a machine that stops can leave zeros.
pub(crate) const MARK: [u8; 4] = *b"run:";
/// The length of a head.
pub(crate) const HEAD: usize = 52;

/// The kinds of outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The record of a run that finished.
    Record,
    /// The message of a run that failed.
    Failure,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) key: Key,
    pub(crate) kind: Kind,
    /// The octets that follow.
    pub(crate) length: u32,
    check: [u8; 8],
}

impl Head {
    /// Returns the head of the outcome `octets` of a run; `None` if they are more than a head can count.
    pub(crate) fn new(key: Key, kind: Kind, octets: &[u8]) -> Option<Head> {
        let length = u32::try_from(octets.len()).ok()?;
        Some(Head { key, kind, length, check: check(key, kind, octets) })
    }

    /// Returns the octets of the head.
    pub(crate) fn octets(&self) -> [u8; HEAD] {
        let mut octets = [0; HEAD];
        octets[..4].copy_from_slice(&MARK);
        octets[4] = self.kind as u8;
        octets[8..12].copy_from_slice(&self.length.to_le_bytes());
        octets[12..44].copy_from_slice(&self.key.0);
        octets[44..].copy_from_slice(&self.check);
        octets
    }

    /// Reads a head; `None` if these octets are none.
    pub(crate) fn read(octets: &[u8; HEAD]) -> Option<Head> {
        let (mark, rest) = octets.split_first_chunk::<4>()?;
        let ([kind, 0, 0, 0], rest) = rest.split_first_chunk::<4>()? else { return None };
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_first_chunk::<32>()?;
        let kind = [Kind::Record, Kind::Failure].into_iter().find(|known| *known as u8 == *kind)?;
        let head = Head { key: Key(*key), kind, length: u32::from_le_bytes(*length), check: rest.try_into().ok()? };
        (*mark == MARK).then_some(head)
    }

    /// Returns true if `octets` are those that this head was made for.
    pub(crate) fn matches(&self, octets: &[u8]) -> bool {
        octets.len() == self.length as usize && self.check == check(self.key, self.kind, octets)
    }
}

fn check(key: Key, kind: Kind, octets: &[u8]) -> [u8; 8] {
    let mut hash = Sha256::new();
    hash.update([kind as u8]);
    hash.update(key.0);
    hash.update(octets);
    let digest: [u8; 32] = hash.finalize().into();
    *digest.first_chunk().expect("a SHA-256 has 32 octets")
}
