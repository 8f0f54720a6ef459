//! Claims: the right of one process at a time to do a run, as a locked file.
//!
//! A claim is freed when its process ends, whatever ended it. A run that a process has done under its claim is found by
//! the next that claims it, because a claim is given only after the files of runs were read on.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::held::Held;
use super::{ALL_RUNS, RUNS, Store, numbered};
use crate::error::Error;
use crate::key::Key;
use crate::log::{SUFFIX, is_removed};

/// The folder of the files of claims.
const CLAIMS: &str = "claims";

/// The right to do a run; dropping it frees it.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _locked: File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The name goes before the lock: a process that has opened the file in between finds that it has none.
        let _ = fs::remove_file(&self.path);
    }
}

impl Store {
    /// Claims a run; `None` if another process, or another thread, is doing it. Whatever others that claim their runs had
    /// done before is in the index after this call, so the caller must ask the store again before it does the run.
    ///
    /// # Errors
    /// If the file of the claim, or a file of runs, cannot be used.
    pub fn claim(&self, key: Key) -> Result<Option<Claim>, Error> {
        let path = self.folder().join(CLAIMS).join(key.to_string());
        let locked = loop {
            let open = || OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            let file = match open() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let folder = self.folder().join(CLAIMS);
                    fs::create_dir_all(&folder).map_err(Error::io("cannot be made", &folder))?;
                    open()
                }
                opened => opened,
            };
            let file = file.map_err(Error::io("cannot be opened for writing", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(Error::io("cannot be locked", &path)(error)),
            }
            if !is_removed(&file, &path).map_err(Error::io("cannot be read", &path))? {
                break file;
            }
        };
        let claim = Claim { path, _locked: locked };
        self.held().read_claimed(&self.folder().join(RUNS))?;
        Ok(Some(claim))
    }
}

impl Held {
    /// Adds what others that claim their runs have done since: those of numbered files, and of [`ALL_RUNS`].
    fn read_claimed(&mut self, runs: &Path) -> Result<(), Error> {
        let own = self.writer.as_ref().map(|(file, _)| *file);
        let (mut numbers, mut has_all) = (Vec::new(), false);
        for file in 0..self.files.len() {
            let name = self.files[file].path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let name = name.strip_suffix(SUFFIX).unwrap_or_default();
            let number = name.parse::<u32>().ok().filter(|number| numbered(*number) == name);
            if number.is_none() && name != ALL_RUNS {
                continue;
            }
            numbers.extend(number);
            has_all |= number.is_none();
            if own != Some(file) {
                self.read_on(file)?;
            }
        }
        if !has_all {
            self.add_if_there(runs.join(format!("{ALL_RUNS}{SUFFIX}")))?;
        }
        numbers.sort_unstable();
        // Writers take the first number that is free, so there is a file of each number below one in use.
        let mut number = 0;
        while numbers.binary_search(&number).is_ok()
            || self.add_if_there(runs.join(format!("{}{SUFFIX}", numbered(number))))?
        {
            number += 1;
        }
        Ok(())
    }

    fn add_if_there(&mut self, path: PathBuf) -> Result<bool, Error> {
        match self.add(path) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(false),
            added => added.map(|()| true),
        }
    }
}

/// Removes the files of claims that processes have left that were killed.
pub(super) fn remove_all(folder: &Path) {
    for entry in fs::read_dir(folder.join(CLAIMS)).into_iter().flatten().flatten() {
        let path = entry.path();
        // One whose owner has removed it in the meantime may have another file of this name.
        let is_left = |file: File| file.try_lock().is_ok() && is_removed(&file, &path).is_ok_and(|removed| !removed);
        if File::open(&path).is_ok_and(is_left) {
            let _ = fs::remove_file(&path);
        }
    }
}
