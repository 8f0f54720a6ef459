//! Reading the outcomes of a store: from many threads at once, each checked against its checksum.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::held::{Piece, Place};
use super::{Outcome, Store};
use crate::codec;
use crate::error::Error;
use crate::frame::Kind;
use crate::key::Key;
use crate::log;

/// The runs whose places are looked up under one lock.
const LOOKED_UP: usize = 1024;

impl Store {
    /// Returns the outcome of a run, if the store has it. One that is damaged is reported by [`Store::damage`], and
    /// counts as missing from then on.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn get(&self, key: Key) -> Result<Option<Outcome>, Error> {
        let decoded = |piece: &Piece, at: u64| {
            let (kind, octets) = log::read(&piece.file, &piece.path, at)?;
            let outcome = match kind {
                Kind::Record => codec::decode(&octets).map(Outcome::Finished),
                Kind::Failure => String::from_utf8(octets).map(Outcome::Failed).map_err(|error| error.to_string()),
            };
            outcome.map_err(|reason| Error::Damaged { path: piece.path.clone(), at, reason })
        };
        let outcome = self.first_whole(key, decoded)?;
        self.served.fetch_add(u64::from(matches!(outcome, Some(Outcome::Finished(_)))), Ordering::Relaxed);
        Ok(outcome)
    }

    /// Returns true if the store has an outcome of a run whose octets are those that were written. One that is damaged is
    /// treated as by [`Store::get`].
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn has_whole(&self, key: Key) -> Result<bool, Error> {
        let checked = |piece: &Piece, at: u64| log::read(&piece.file, &piece.path, at);
        Ok(self.first_whole(key, checked)?.is_some())
    }

    /// As [`Store::has_whole`], of many runs, on so many threads.
    ///
    /// # Errors
    /// As [`Store::has_whole`].
    pub fn have_whole(&self, keys: &[Key], threads: usize) -> Result<Vec<bool>, Error> {
        let share = keys.len().div_ceil(threads.max(1)).max(1);
        std::thread::scope(|scope| {
            let work = |keys: &[Key]| {
                let mut whole = Vec::with_capacity(keys.len());
                for keys in keys.chunks(LOOKED_UP) {
                    let places: Vec<Option<Place>> = {
                        let held = self.held();
                        keys.iter().map(|key| held.index.get(key).copied()).collect()
                    };
                    let pieces = self.held().files.clone();
                    for (key, place) in keys.iter().zip(places) {
                        let Some(place) = place else {
                            whole.push(false);
                            continue;
                        };
                        let piece = &pieces[place.file as usize];
                        whole.push(match log::read(&piece.file, &piece.path, place.at) {
                            Ok(_) => true,
                            // An earlier outcome may be whole.
                            Err(Error::Damaged { .. }) => self.has_whole(*key)?,
                            Err(error) => return Err(error),
                        });
                    }
                }
                Ok(whole)
            };
            let parts: Vec<_> = keys.chunks(share).map(|keys| scope.spawn(move || work(keys))).collect();
            let mut whole = Vec::with_capacity(keys.len());
            for part in parts {
                match part.join() {
                    Ok(part) => whole.extend(part?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(whole)
        })
    }

    /// Returns what `read` makes of the outcome of a run that counts; one that it finds damaged counts no longer.
    fn first_whole<T>(&self, key: Key, read: impl Fn(&Piece, u64) -> Result<T, Error>) -> Result<Option<T>, Error> {
        loop {
            // Others may read while this one is read.
            let found: Option<(Place, Arc<Piece>)> = {
                let held = self.held();
                held.index.get(&key).map(|place| (*place, held.files[place.file as usize].clone()))
            };
            let Some((place, piece)) = found else { return Ok(None) };
            match read(&piece, place.at) {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(error @ Error::Damaged { .. }) => self.held().drop_damaged(key, place, &error),
                Err(error) => return Err(error),
            }
        }
    }
}
