//! Compaction: all runs that are wanted into one file.

use std::fs;
use std::path::{Path, PathBuf};

use super::{RUNS, Store, check, claim, names, numbered};
use crate::error::Error;
use crate::key::Key;
use crate::log::{self, SUFFIX, Writer};

impl Store {
    /// Writes the runs that `wanted` chooses into one file, in the order of their keys, and removes all others. Returns
    /// the octets that became free.
    ///
    /// # Errors
    /// [`Error::InUse`] if a process writes to the store; or if it cannot be written, and then it is as before.
    pub fn compact(folder: &Path, mut wanted: impl FnMut(Key) -> bool) -> Result<u64, Error> {
        check(folder)?;
        let runs = folder.join(RUNS);
        let target = runs.join(format!("{}{SUFFIX}", numbered(0)));
        let mut paths = names(&runs)?;
        if !paths.contains(&target) {
            paths.push(target.clone());
        }
        // The locks come before the reading, so that no run is missed that another process adds in between.
        let open = |path: &PathBuf| {
            let opened = Writer::open(path, |_| ())?.ok_or(Error::InUse { path: path.clone() })?;
            Ok(opened.0)
        };
        let locks = paths.iter().map(open).collect::<Result<Vec<Writer>, Error>>()?;
        let store = Store::read_files(folder, paths, None)?;
        let before = store.totals()?.octets;
        let held = store.held();
        let partial = runs.join("compact.partial");
        let _ = fs::remove_file(&partial);
        let opened = Writer::open(&partial, |_| ())?.ok_or(Error::InUse { path: partial.clone() });
        let written = opened.and_then(|(mut to, _)| {
            for key in held.index.keys().filter(|key| wanted(**key)) {
                for place in held.places(*key) {
                    let piece = &held.files[place.file as usize];
                    match log::read(&piece.file, &piece.path, place.at) {
                        Ok((kind, octets)) => {
                            to.append(*key, kind, &octets)?;
                            break;
                        }
                        // A damaged run counts as missing anyway.
                        Err(Error::Damaged { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            to.sync()
        });
        if let Err(error) = written {
            let _ = fs::remove_file(&partial);
            return Err(error);
        }
        // Whatever ends the process in between, each run is in one of the files.
        fs::rename(&partial, &target).map_err(Error::io("cannot be replaced", &target))?;
        log::sync_folder(&target).map_err(Error::io("cannot be replaced", &target))?;
        for piece in held.files.iter().filter(|piece| piece.path != target) {
            fs::remove_file(&piece.path).map_err(Error::io("cannot be removed", &piece.path))?;
        }
        claim::remove_all(folder);
        drop(locks);
        let after = fs::metadata(&target).map_err(Error::io("cannot be read", &target))?.len();
        Ok(before.saturating_sub(after))
    }
}
