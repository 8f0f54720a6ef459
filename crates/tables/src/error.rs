//! The errors of results, from rows to a result folder.

use std::path::{Path, PathBuf};

/// The reasons for which results cannot be built, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Runs were handed over out of order, or twice.
    #[error("run {run} was added after run {last}; run numbers must increase")]
    RunOrder {
        /// The run that was added too late.
        run: u32,
        /// The run before it.
        last: u32,
    },
    /// A run has two values of one figure, because two items share a subject. They must not be averaged.
    #[error(
        "run {run} has two values of {metric} of {subject:?} from {origin}; each subject of a run must have its own name"
    )]
    Twice {
        /// The run.
        run: u32,
        /// The source of the values.
        origin: String,
        /// The shared subject.
        subject: String,
        /// The figure.
        metric: String,
    },
    /// A sweep axis that would take the name of a column that every runs table has.
    #[error("the sweep axis {axis:?} has the name of a column of the runs table; rename it (not run, point, seed)")]
    AxisName {
        /// The axis.
        axis: String,
    },
    /// A result already exists at the path.
    #[error("{path} already exists; choose another folder, or use --force to replace it")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A file or folder that is no result exists at the path: force does not replace it.
    #[error("{path} exists and is no result of Cellway (it has no {manifest} of one), so it is not replaced; choose another folder", manifest = crate::manifest::FILE_NAME)]
    NotReplaceable {
        /// The folder or file.
        path: PathBuf,
    },
    /// A folder that has the name of an unfinished result, or a path without a name.
    #[error("{path} cannot name a result folder; it needs a last part, without {mark:?} in it", mark = crate::folder::PARTIAL_MARK)]
    BadName {
        /// The folder.
        path: PathBuf,
    },
    /// A file name that is taken, or not a plain name.
    #[error("{name:?} cannot name a file of a result; it needs a plain name that no other file of it has")]
    FileName {
        /// The name.
        name: String,
    },
    /// The folder of a run that was stopped before it ended.
    #[error("{path} is the unfinished result of a stopped run; delete it and run again")]
    Partial {
        /// The folder.
        path: PathBuf,
    },
    /// No manifest: not a result folder.
    #[error("{} is not a Cellway result: {}", path.display(), lacks(path))]
    NoManifest {
        /// The folder.
        path: PathBuf,
    },
    /// A manifest that does not parse, or is of another format.
    #[error("{path} is not a manifest that this version reads: {reason}")]
    BadManifest {
        /// The manifest.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// A file whose content differs from the manifest.
    #[error("{path} does not have the SHA-256 that the manifest gives; it was damaged or changed after the run")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A table that lacks a column or has it in another type.
    #[error("the table {table} has no column {column:?} of type {expected}")]
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The type that was expected.
        expected: &'static str,
    },
    /// Reading or writing a file failed.
    #[error("{action} {path}: {source}")]
    Io {
        /// The operation: `cannot write`, for instance.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Encoding or decoding Parquet failed.
    #[error("Parquet table {table}: {source}")]
    Parquet {
        /// The table.
        table: String,
        /// The error of the library.
        source: parquet::errors::ParquetError,
    },
    /// Building an Arrow table failed.
    #[error("Arrow table {table}: {source}")]
    Arrow {
        /// The table.
        table: String,
        /// The error of the library.
        source: arrow_schema::ArrowError,
    },
}

/// Returns what a folder without a manifest lacks.
fn lacks(folder: &Path) -> String {
    let name = crate::manifest::FILE_NAME;
    // The folder of a sweep, whose tables are one below.
    let tables = folder.join("results");
    if tables.join(name).is_file() {
        format!("it has no {name}; accepted: {}, which has one", tables.display())
    } else if folder.join("plan.json").is_file() {
        format!("it has no {name}; it is the store of a sweep, whose tables `cellway sweep merge` writes")
    } else if folder.is_dir() {
        format!("it has no {name}")
    } else {
        "there is no folder of this name".to_owned()
    }
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }
    pub(crate) fn parquet(table: &str) -> impl Fn(parquet::errors::ParquetError) -> Error {
        move |source| Error::Parquet { table: table.to_owned(), source }
    }
    pub(crate) fn arrow(table: &str) -> impl Fn(arrow_schema::ArrowError) -> Error {
        move |source| Error::Arrow { table: table.to_owned(), source }
    }
}
