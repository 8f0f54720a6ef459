//! The result folder: written under another name in the same parent, and renamed when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::manifest::{self, FileEntry, Manifest, Provenance};
use cellway_record::Counts;

use crate::{Error, Results, Table};

/// The mark in the name of an unfinished folder: `NAME.partial-PID`.
pub const PARTIAL_MARK: &str = ".partial-";

/// Checks that a result may be written to `path`, before a long run. No file or folder may exist there, except, with
/// `force`, a finished Cellway result. It must be possible to make a folder there, which is tried in the nearest folder
/// above that exists.
pub fn check_target(path: &Path, force: bool) -> Result<(), Error> {
    check_free(path, force)?;
    let mut above = parent(path);
    while !above.exists() {
        above = parent(above);
    }
    let made = free_sibling(&above.join(path.file_name().unwrap_or_default()), |made| fs::create_dir(made))?;
    fs::remove_dir(&made).map_err(Error::io("cannot remove the folder", &made))
}

/// Checks that nothing exists at `path` that a result may not replace.
fn check_free(path: &Path, force: bool) -> Result<(), Error> {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    if name.is_empty() || name.contains(PARTIAL_MARK) {
        return Err(Error::BadName { path: path.to_owned() });
    }
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Error::io("cannot read", path)(e)),
        // A link is not followed: its target, which would be removed, is not the path that the caller gave.
        Ok(found) if found.is_dir() && Manifest::is_one(&read_manifest(path).unwrap_or_default()) => {
            if force {
                Ok(())
            } else {
                Err(Error::Exists { path: path.to_owned() })
            }
        }
        Ok(_) => Err(Error::NotReplaceable { path: path.to_owned() }),
    }
}

fn read_manifest(folder: &Path) -> io::Result<String> {
    fs::read_to_string(folder.join(manifest::FILE_NAME))
}

/// A result folder under construction. Dropped before [`ResultFolder::commit`], it is removed; a process that is killed
/// leaves a folder with [`PARTIAL_MARK`] in its name, which this crate never reads as a result.
#[derive(Debug)]
pub struct ResultFolder {
    target: PathBuf,
    partial: PathBuf,
    force: bool,
    files: Vec<FileEntry>,
    committed: bool,
}

impl ResultFolder {
    /// Starts a result at `target`. Folders above it are created.
    pub fn create(target: &Path, force: bool) -> Result<ResultFolder, Error> {
        check_free(target, force)?;
        let parent = parent(target);
        fs::create_dir_all(parent).map_err(Error::io("cannot make the folder", parent))?;
        let partial = free_sibling(target, |partial| fs::create_dir(partial))?;
        Ok(ResultFolder { target: target.to_owned(), partial, force, files: Vec::new(), committed: false })
    }

    /// Returns the folder of the files until the result is complete; for files that other code writes, such as
    /// captures.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Writes a table as `NAME.parquet`.
    pub fn write_table(&mut self, table: &Table) -> Result<(), Error> {
        self.write_with(&table.file_name(), |to| table.write_parquet(to).map(|_| ()))
    }

    /// Writes the file `name`. Long files are better written under [`ResultFolder::path`] and adopted.
    pub fn write_file(&mut self, name: &str, content: &[u8]) -> Result<(), Error> {
        let path = self.partial.join(name);
        self.write_with(name, |to| to.write_all(content).map_err(Error::io("cannot write", &path)))
    }

    /// Writes a text file; see [`ResultFolder::write_file`].
    pub fn write_text(&mut self, name: &str, text: &str) -> Result<(), Error> {
        self.write_file(name, text.as_bytes())
    }

    /// Writes the file `name` through `content`, to disk before this returns.
    fn write_with(
        &mut self,
        name: &str,
        content: impl FnOnce(&mut Hashing<BufWriter<File>>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let path = self.inside(name)?;
        let failed = |e| Error::io("cannot write", &path)(e);
        let file = File::create_new(&path).map_err(failed)?;
        let mut to = Hashing { to: BufWriter::new(file), sha256: Sha256::new(), bytes: 0 };
        content(&mut to)?;
        let Hashing { to, sha256, bytes } = to;
        let file = to.into_inner().map_err(|e| failed(e.into_error()))?;
        file.sync_all().map_err(failed)?;
        self.files.push(FileEntry { name: name.to_owned(), bytes, sha256: manifest::hex(&sha256.finalize()) });
        Ok(())
    }

    /// Returns the path of the file `name`, which must be a plain name that is not in use.
    fn inside(&self, name: &str) -> Result<PathBuf, Error> {
        let taken = name == manifest::FILE_NAME || self.files.iter().any(|f| f.name == name);
        if taken || Path::new(name).file_name() != Some(name.as_ref()) {
            return Err(Error::FileName { name: name.to_owned() });
        }
        Ok(self.partial.join(name))
    }

    /// Lists a file that was written under [`ResultFolder::path`] by other means in the manifest.
    pub fn adopt(&mut self, name: &str) -> Result<(), Error> {
        let path = self.inside(name)?;
        let failed = |e| Error::io("cannot read", &path)(e);
        let mut file = File::open(&path).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let mut to = Hashing { to: io::sink(), sha256: Sha256::new(), bytes: 0 };
        io::copy(&mut file, &mut to).map_err(failed)?;
        let sha256 = manifest::hex(&to.sha256.finalize());
        self.files.push(FileEntry { name: name.to_owned(), bytes: to.bytes, sha256 });
        Ok(())
    }

    /// Writes the manifest and renames the folder: after this the result exists, complete.
    pub fn commit(mut self, about: &Provenance, runs: u64, counts: Counts) -> Result<Manifest, Error> {
        let manifest = Manifest::new(about, runs, counts, std::mem::take(&mut self.files));
        let path = self.partial.join(manifest::FILE_NAME);
        let failed = |e| Error::io("cannot write", &path)(e);
        let mut file = File::create_new(&path).map_err(failed)?;
        file.write_all(manifest.to_json().as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        sync_folder(&self.partial)?;
        self.move_into_place()?;
        self.committed = true;
        sync_folder(parent(&self.target))?;
        Ok(manifest)
    }

    fn move_into_place(&self) -> Result<(), Error> {
        // Checked again: the run took time, and the path may be in use by now.
        check_free(&self.target, self.force)?;
        let failed = |e| Error::io("cannot move the result to", &self.target)(e);
        if !self.target.exists() {
            return fs::rename(&self.partial, &self.target).map_err(failed);
        }
        let old = free_sibling(&self.target, |old| match fs::symlink_metadata(old) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(&self.target, old),
        })?;
        if let Err(e) = fs::rename(&self.partial, &self.target) {
            // Restores the earlier result; if even that fails, the first error is reported.
            let _ = fs::rename(&old, &self.target);
            return Err(failed(e));
        }
        fs::remove_dir_all(&old)
            .map_err(Error::io("the new result is in place, but cannot remove the old one at", &old))
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        if !self.committed {
            // Best effort: a remaining folder is marked as partial.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

impl Results {
    /// Writes the three tables and the manifest as the result folder `target`.
    pub fn write(&self, target: &Path, force: bool, about: &Provenance) -> Result<Manifest, Error> {
        let mut folder = ResultFolder::create(target, force)?;
        self.write_into(&mut folder)?;
        folder.commit(about, self.runs.num_rows() as u64, self.counts)
    }

    /// Writes the three tables into a result folder that the caller commits.
    pub fn write_into(&self, folder: &mut ResultFolder) -> Result<(), Error> {
        self.tables().into_iter().try_for_each(|table| folder.write_table(table))
    }

    /// Reads a result folder back, each table checked against the SHA-256 in the manifest.
    pub fn read(folder: &Path) -> Result<(Results, Manifest), Error> {
        let manifest = Manifest::read(folder)?;
        let table = |name: &str| {
            let file = format!("{name}.parquet");
            let path = folder.join(&file);
            let content = fs::read(&path).map_err(Error::io("cannot read", &path))?;
            let listed = manifest.files.iter().find(|f| f.name == file);
            if listed.is_none_or(|f| f.sha256 != manifest::hex(&Sha256::digest(&content))) {
                return Err(Error::Damaged { path });
            }
            Table::read_parquet(name, bytes::Bytes::from(content))
        };
        let counts = Counts {
            events: manifest.events,
            cell_hops: manifest.cell_hops,
            packet_hops: manifest.packet_hops,
            packets: manifest.packets,
            simulated: cellway_units::Span::from_secs_f64(manifest.simulated_seconds),
        };
        let results = Results { runs: table("runs")?, summary: table("summary")?, series: table("series")?, counts };
        Ok((results, manifest))
    }
}

impl Manifest {
    /// Reads the manifest of the result folder `folder`.
    pub fn read(folder: &Path) -> Result<Manifest, Error> {
        if folder.file_name().is_some_and(|n| n.to_string_lossy().contains(PARTIAL_MARK)) {
            return Err(Error::Partial { path: folder.to_owned() });
        }
        let text = read_manifest(folder).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::NoManifest { path: folder.to_owned() },
            _ => Error::io("cannot read the manifest of", folder)(e),
        })?;
        Manifest::parse(&text).map_err(|reason| Error::BadManifest { path: folder.join(manifest::FILE_NAME), reason })
    }
}

/// Forwards written bytes, and hashes and counts them.
struct Hashing<W> {
    to: W,
    sha256: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let written = self.to.write(content)?;
        self.sha256.update(&content[..written]);
        self.bytes += written as u64;
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Returns the parent folder of `path`.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a sibling of `target` with the mark of the unfinished in its name, by `make`, under the first name
/// that is free: a killed process with the same number may have left one.
fn free_sibling(target: &Path, make: impl Fn(&Path) -> io::Result<()>) -> Result<PathBuf, Error> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let pid = std::process::id();
    let mut tries = 0;
    loop {
        let suffix = if tries == 0 { String::new() } else { format!("-{tries}") };
        let path = parent(target).join(format!("{name}{PARTIAL_MARK}{pid}{suffix}"));
        match make(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && tries < 10_000 => tries += 1,
            Err(e) => return Err(Error::io("cannot make a folder in", parent(target))(e)),
        }
    }
}

/// Syncs the names in a folder to the disk, if the system can.
fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = File::open(path).map_err(Error::io("cannot open", path))?;
    match folder.sync_all() {
        // Some file systems do not sync folders; the files themselves are safe.
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced.map_err(Error::io("cannot write", path)),
    }
}
