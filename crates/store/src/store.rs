//! The folder of a store: its files of runs, and the index of what they hold.

mod claim;
mod compact;
mod held;
mod outcomes;

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cellway_record::RunRecord;

use crate::codec;
use crate::error::Error;
use crate::frame::Kind;
use crate::key::Key;
use crate::log::{Frame, SUFFIX, Scanned, Writer};
pub use claim::Claim;
use held::{Held, Piece, Place};

/// The folder of the files of runs.
const RUNS: &str = "runs";
/// The part of the one process that does all runs of a plan. It claims each, as those of [`Store::open`] do.
pub const ALL_RUNS: &str = "sweep";
/// More writers at once than any machine has; beyond them a store is refused rather than searched without end.
const MOST_WRITERS: u32 = 100_000;
/// The most times that a folder is read again, because a compaction removed a file before it was opened.
const MOST_READINGS: u32 = 100;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It finished.
    Finished(RunRecord),
    /// It failed, with this message.
    Failed(String),
}

impl Outcome {
    /// Returns the record of a run that finished.
    pub fn into_record(self) -> Option<RunRecord> {
        match self {
            Outcome::Finished(record) => Some(record),
            Outcome::Failed(_) => None,
        }
    }
}

/// A stored run that does not read back. It counts as missing, so that it is run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The message, with file and place.
    pub message: String,
}

/// The sizes of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Runs that finished.
    pub finished: u64,
    /// Runs that failed.
    pub failed: u64,
    /// The octets of all files, earlier outcomes of the same runs included.
    pub octets: u64,
    /// Files.
    pub files: u64,
}

/// A store of runs, open. All threads of a process use the same one.
///
/// The folder has a folder `runs` with files that only grow, one for each process that writes at the same time. A
/// process sees the runs that were there when it opened the store, and its own.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    held: Mutex<Held>,
    /// Records that were read from it.
    served: AtomicU64,
}

/// A file that this process writes to: the lock, and what was in it.
struct Written {
    writer: Writer,
    frames: Vec<Frame>,
    scanned: Scanned,
}

impl Written {
    /// Opens a file of runs; `None` if another process writes to it.
    fn open(path: &Path) -> Result<Option<Written>, Error> {
        let mut frames = Vec::new();
        let opened = Writer::open(path, |frame| frames.push(frame))?;
        Ok(opened.map(|(writer, scanned)| Written { writer, frames, scanned }))
    }
}

impl Store {
    /// Makes an empty store; one that is there stays.
    ///
    /// # Errors
    /// If the folder has other content, or cannot be written.
    pub fn create(folder: &Path) -> Result<(), Error> {
        check(folder)?;
        let runs = folder.join(RUNS);
        fs::create_dir_all(&runs).map_err(Error::io("cannot be made", &runs))
    }

    /// Opens a store to read from it. A folder that does not exist is a store without runs.
    ///
    /// # Errors
    /// If it cannot be read, or is no store.
    pub fn read(folder: &Path) -> Result<Store, Error> {
        check(folder)?;
        Store::read_all(folder, None)
    }

    fn read_all(folder: &Path, own: Option<&Written>) -> Result<Store, Error> {
        let read = || Store::read_files(folder, names(&folder.join(RUNS))?, own);
        for _ in 0..MOST_READINGS {
            match read() {
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                read => return read,
            }
        }
        read()
    }

    /// Reads files; the content of `own` is known.
    fn read_files(folder: &Path, paths: Vec<PathBuf>, own: Option<&Written>) -> Result<Store, Error> {
        let mut held = Held::default();
        for path in paths {
            match own.filter(|own| own.writer.path() == path) {
                Some(own) => {
                    let file = File::open(&path).map_err(Error::io("cannot be opened", &path))?;
                    held.add_scanned(Piece { path, file }, &own.frames, own.scanned.clone());
                }
                None => held.add(path)?,
            }
        }
        Ok(Store::new(folder, held))
    }

    fn new(folder: &Path, held: Held) -> Store {
        Store { folder: folder.to_owned(), held: Mutex::new(held), served: AtomicU64::new(0) }
    }

    /// Opens a store to read and to add runs; it is made if there is none. Several processes may, each with a file of
    /// its own.
    ///
    /// # Errors
    /// As [`Store::read`], or if it cannot be written.
    pub fn open(folder: &Path) -> Result<Store, Error> {
        let free = |runs: &Path| {
            for number in 0..MOST_WRITERS {
                if let Some(written) = Written::open(&runs.join(format!("{}{SUFFIX}", numbered(number))))? {
                    return Ok(written);
                }
            }
            Err(Error::InUse { path: runs.to_owned() })
        };
        Store::open_with(folder, free)
    }

    /// As [`Store::open`], with the file of a part of the store that has one writer only, such as a shard.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::InUse`] if another process writes to the part.
    pub fn open_part(folder: &Path, part: &str) -> Result<Store, Error> {
        Store::open_with(folder, |runs| {
            let path = runs.join(format!("{part}{SUFFIX}"));
            Written::open(&path)?.ok_or(Error::InUse { path })
        })
    }

    /// As [`Store::open_part`], without the runs of other files: for a shard whose runs are known to be missing. The
    /// time that it takes does not depend on the size of the store.
    ///
    /// # Errors
    /// As [`Store::open_part`].
    pub fn open_part_alone(folder: &Path, part: &str) -> Result<Store, Error> {
        Store::create(folder)?;
        let path = folder.join(RUNS).join(format!("{part}{SUFFIX}"));
        let Written { writer, frames, scanned } =
            Written::open(&path)?.ok_or_else(|| Error::InUse { path: path.clone() })?;
        let mut held = Held::default();
        let file = File::open(&path).map_err(Error::io("cannot be opened", &path))?;
        held.add_scanned(Piece { path, file }, &frames, scanned);
        held.writer = Some((0, writer));
        Ok(Store::new(folder, held))
    }

    fn open_with(folder: &Path, written: impl FnOnce(&Path) -> Result<Written, Error>) -> Result<Store, Error> {
        Store::create(folder)?;
        let runs = folder.join(RUNS);
        // The lock comes before the reading, so that no run of an earlier writer of the file is missed.
        let written = written(&runs)?;
        let store = Store::read_all(folder, Some(&written))?;
        {
            let mut held = store.held();
            let Some(place) = held.files.iter().position(|piece| piece.path == written.writer.path()) else {
                return Err(Error::io("was removed", written.writer.path())(ErrorKind::NotFound.into()));
            };
            held.writer = Some((place, written.writer));
        }
        Ok(store)
    }

    /// Takes failed runs for missing ones from now on, so that they are run again. In the files they stay; one that
    /// finishes counts before its failures.
    pub fn forget_failures(&self) {
        self.held().forget_failures();
    }

    /// Returns the file of a part that `is_asked_for` chooses and another process writes to, if there is one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn part_in_use(&self, is_asked_for: impl Fn(&str) -> bool) -> Result<Option<PathBuf>, Error> {
        for path in names(&self.folder.join(RUNS))? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // A lock that others may share, for this moment.
            let is_locked = || {
                let file = File::open(&path)?;
                match file.try_lock_shared() {
                    Ok(()) => file.unlock().map(|()| false),
                    Err(TryLockError::WouldBlock) => Ok(true),
                    Err(TryLockError::Error(error)) => Err(error),
                }
            };
            if name.strip_suffix(SUFFIX).is_some_and(&is_asked_for)
                && is_locked().map_err(Error::io("cannot be locked", &path))?
            {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns true if the store has an outcome of a run.
    pub fn contains(&self, key: Key) -> bool {
        self.held().index.contains_key(&key)
    }

    /// Returns whether the run finished, without reading its rows; `None` if the store has no outcome.
    pub fn finished(&self, key: Key) -> Option<bool> {
        self.held().index.get(&key).map(|place| place.kind == Kind::Record)
    }

    /// Adds the outcome of a run. When this returns, a process that is killed loses nothing; a machine that stops loses
    /// at most the runs of one second.
    ///
    /// # Errors
    /// If it cannot be written; the runs before it stay.
    ///
    /// # Panics
    /// If the store was opened to read.
    pub fn put(&self, key: Key, outcome: &Outcome) -> Result<(), Error> {
        let (kind, octets) = match outcome {
            Outcome::Finished(record) => (Kind::Record, codec::encode(record)),
            Outcome::Failed(message) => (Kind::Failure, message.clone().into_bytes()),
        };
        let mut held = self.held();
        let (number, writer) = held.writer.as_mut().expect("the store was opened to write");
        let at = writer.append(key, kind, &octets)?;
        let place = Place { at, file: *number as u32, kind };
        held.insert(key, place);
        Ok(())
    }

    /// Waits until all runs survive a machine that stops.
    ///
    /// # Errors
    /// If the system cannot do that.
    pub fn sync(&self) -> Result<(), Error> {
        self.held().writer.as_mut().map_or(Ok(()), |(_, writer)| writer.sync())
    }

    /// Returns true if the stored record of a run has the same values as `record`, to the bit.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn has_same(&self, key: Key, record: &RunRecord) -> Result<bool, Error> {
        Ok(match self.get(key)? {
            Some(Outcome::Finished(stored)) => codec::encode(&stored) == codec::encode(record),
            _ => false,
        })
    }

    /// Returns the runs that did not read back so far.
    pub fn damage(&self) -> Vec<Damage> {
        self.held().damage.clone()
    }

    /// Returns the number of finished runs that were read from it.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// Returns the numbers of runs and octets.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn totals(&self) -> Result<Totals, Error> {
        let held = self.held();
        let finished = held.index.values().filter(|place| place.kind == Kind::Record).count() as u64;
        let mut totals =
            Totals { finished, failed: held.index.len() as u64 - finished, octets: 0, files: held.files.len() as u64 };
        for piece in &held.files {
            totals.octets += piece.file.metadata().map_err(Error::io("cannot be read", &piece.path))?.len();
        }
        Ok(totals)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Each change is whole before the lock is released.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the part of one of the processes that write at the same time, as it is in the name of its file.
fn numbered(number: u32) -> String {
    format!("{number:05}")
}

/// Checks that `folder` is a store, or could become one.
fn check(folder: &Path) -> Result<(), Error> {
    let none = |found: String| Err(Error::NoStore { path: folder.to_owned(), found });
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => none("it is a file".to_owned()),
        Err(error) => Err(Error::io("cannot be read", folder)(error)),
        Ok(_) if folder.join(RUNS).is_dir() => Ok(()),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            // Another process has just made it.
            Some(_) if folder.join(RUNS).is_dir() => Ok(()),
            Some(entry) => {
                let entry = entry.map_err(Error::io("cannot be read", folder))?;
                none(format!("it contains {:?} and no folder {RUNS:?}", entry.file_name().to_string_lossy()))
            }
        },
    }
}

/// Returns the paths of the files of runs, sorted, so that the last outcome of a run does not depend on the system.
fn names(runs: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(runs) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::io("cannot be read", runs))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io("cannot be read", runs))?.path();
        // Anything but a file is none of ours, and may never end. One that has just been removed is found when it is
        // opened.
        let is_file = || fs::metadata(&path).map_or(true, |about| about.is_file());
        if path.to_string_lossy().ends_with(SUFFIX) && is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
