//! The index of an open store: the place of each outcome in its files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use super::Damage;
use crate::error::Error;
use crate::frame::Kind;
use crate::key::Key;
use crate::log::{self, Frame, Scanned, Writer};

/// A file of runs, open to read.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) files: Vec<Arc<Piece>>,
    /// The offset up to which each file is in the index.
    ends: Vec<u64>,
    /// Of several outcomes of a run the last counts, and one that finished before one that failed.
    pub(super) index: BTreeMap<Key, Place>,
    /// The others, in the order of the files, of the few runs with several.
    earlier: BTreeMap<Key, Vec<Place>>,
    pub(super) writer: Option<(usize, Writer)>,
    pub(super) damage: Vec<Damage>,
}

/// The place of an outcome: few octets, as a store may have millions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) file: u32,
    pub(super) kind: Kind,
}

impl Held {
    /// Adds a file, and the runs in it.
    pub(super) fn add(&mut self, path: PathBuf) -> Result<(), Error> {
        let file = File::open(&path).map_err(Error::io("cannot be opened", &path))?;
        let mut frames = Vec::new();
        let scanned = log::scan(&file, &path, |frame| frames.push(frame))?;
        self.add_scanned(Piece { path, file }, &frames, scanned);
        Ok(())
    }

    /// Adds a file whose frames are known.
    pub(super) fn add_scanned(&mut self, piece: Piece, frames: &[Frame], scanned: Scanned) {
        let number = self.files.len();
        self.files.push(Arc::new(piece));
        self.ends.push(0);
        self.take(number, frames, &scanned);
    }

    /// Adds what other processes have appended to a file since it was read.
    pub(super) fn read_on(&mut self, number: usize) -> Result<(), Error> {
        let (piece, end) = (self.files[number].clone(), self.ends[number]);
        let length = piece.file.metadata().map_err(Error::io("cannot be read", &piece.path))?.len();
        if length > end {
            let mut frames = Vec::new();
            let scanned = log::scan_on(&piece.file, &piece.path, end, |frame| frames.push(frame))?;
            self.take(number, &frames, &scanned);
        }
        Ok(())
    }

    fn take(&mut self, number: usize, frames: &[Frame], scanned: &Scanned) {
        for frame in frames {
            self.insert(frame.head.key, Place { at: frame.at, file: number as u32, kind: frame.head.kind });
        }
        let path = &self.files[number].path;
        let damage = |at: &u64| {
            let (path, reason) = (path.clone(), "these octets are no run".to_owned());
            Damage { message: Error::Damaged { path, at: *at, reason }.to_string() }
        };
        self.damage.extend(scanned.gaps.iter().map(damage));
        self.ends[number] = scanned.end;
    }

    pub(super) fn insert(&mut self, key: Key, place: Place) {
        if let Some(before) = self.index.insert(key, place) {
            let mut other = before;
            // A run that failed and was run again may have its failure in a file that is read later.
            if before.kind == Kind::Record && place.kind == Kind::Failure {
                self.index.insert(key, before);
                other = place;
            }
            self.earlier.entry(key).or_default().push(other);
        }
    }

    /// Removes all failures, so that the runs count as missing.
    pub(super) fn forget_failures(&mut self) {
        self.index.retain(|_, place| place.kind == Kind::Record);
        self.earlier.values_mut().for_each(|places| places.retain(|place| place.kind == Kind::Record));
    }

    /// Returns the places of the outcomes of a run, that which counts first. Each of the others counts if all before it
    /// are damaged: those that finished, then those that failed, the last ones first.
    pub(super) fn places(&self, key: Key) -> Vec<Place> {
        let mut others = self.earlier.get(&key).cloned().unwrap_or_default();
        others.reverse();
        others.sort_by_key(|place| place.kind == Kind::Failure);
        self.index.get(&key).copied().into_iter().chain(others).collect()
    }

    /// Lets the next of [`Held::places`] count in place of a damaged one. Another thread may have replaced it already.
    pub(super) fn drop_damaged(&mut self, key: Key, damaged: Place, error: &Error) {
        if self.index.get(&key).is_none_or(|now| (now.file, now.at) != (damaged.file, damaged.at)) {
            return;
        }
        self.damage.push(Damage { message: error.to_string() });
        let others = self.places(key);
        match others.get(1) {
            Some(next) => {
                self.index.insert(key, *next);
                let left = others.iter().skip(2).rev().copied().collect();
                self.earlier.insert(key, left);
            }
            None => {
                self.index.remove(&key);
            }
        }
    }
}
