//! The index of an open store: the place of each outcome in its files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use super::Damage;
use crate::error::Error;
use crate::frame::Kind;
use crate::key::Key;
use crate::log::{self, Writer};

#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) files: Vec<(PathBuf, File)>,
    /// Of several outcomes of a run the last counts.
    pub(super) index: BTreeMap<Key, Place>,
    /// Those before the last, of the few runs with several: one of them counts if the last is damaged.
    pub(super) earlier: BTreeMap<Key, Vec<Place>>,
    pub(super) writer: Option<(usize, Writer)>,
    pub(super) damage: Vec<Damage>,
    /// Records that were read from it.
    pub(super) served: u64,
}

/// The place of an outcome: few octets, as a store may have millions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) file: u32,
    pub(super) kind: Kind,
    /// True after its octets were compared with their checksum, or were written by this process.
    pub(super) is_whole: bool,
}

impl Held {
    pub(super) fn add(&mut self, path: PathBuf, mut file: File) -> Result<(), Error> {
        let number = self.files.len() as u32;
        let scanned = log::scan(&mut file, &path, |frame| {
            let place = Place { at: frame.at, file: number, kind: frame.head.kind, is_whole: false };
            self.insert(frame.head.key, place);
        })?;
        let damage = |at: &u64| {
            let (path, reason) = (path.clone(), "these octets are no run".to_owned());
            Damage { message: Error::Damaged { path, at: *at, reason }.to_string() }
        };
        self.damage.extend(scanned.gaps.iter().map(damage));
        self.files.push((path, file));
        Ok(())
    }

    pub(super) fn insert(&mut self, key: Key, place: Place) {
        if let Some(before) = self.index.insert(key, place) {
            self.earlier.entry(key).or_default().push(before);
        }
    }

    /// Lets the outcome before a damaged one count, if there is one. Another thread may have replaced it already.
    pub(super) fn drop_damaged(&mut self, key: Key, damaged: Place, error: &Error) {
        if self.index.get(&key).is_none_or(|now| (now.file, now.at) != (damaged.file, damaged.at)) {
            return;
        }
        self.damage.push(Damage { message: error.to_string() });
        match self.earlier.get_mut(&key).and_then(Vec::pop) {
            Some(before) => self.index.insert(key, before),
            None => self.index.remove(&key),
        };
    }
}
