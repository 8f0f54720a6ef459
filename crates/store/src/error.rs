//! What can be wrong with a store.

use std::io;
use std::path::{Path, PathBuf};

/// A store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder of the store could not be read or written.
    #[error("the store {path}: {action}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The step that failed.
        action: &'static str,
        /// The reason of the system.
        source: io::Error,
    },
    /// The folder has other content.
    #[error("{path} is no store of runs: {found}; accepted: a folder that a sweep has made, an empty one, or a new name", path = path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
        /// The content that shows it.
        found: String,
    },
    /// The files are of a version of the format that this one does not know.
    #[error("the store {path} has format {found}; accepted: {accepted}. Another version of Cellway wrote it: use that one, or a new folder", path = path.display(), accepted = crate::log::FORMAT)]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: String,
    },
    /// A stored run does not read back as it was written.
    #[error("the store {path}: damage at octet {at} ({reason}): what it touches counts as missing", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset of the run.
        at: u64,
        /// The damage.
        reason: String,
    },
    /// Another process writes to the same part of the store.
    #[error("the store {path} is in use by another process; wait for its end, or stop it", path = path.display())]
    InUse {
        /// The file that the other process has locked.
        path: PathBuf,
    },
}

impl Error {
    /// Returns a function that adds path and action to an error of the system.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { path, action, source }
    }
}
