//! One file of runs: a line with the format, then frames, one appended for each run that has ended.
//!
//! A process that is killed leaves at most one frame that is not whole, the last. A reader ends before it, and the next
//! writer cuts it off. Damage in the middle costs the runs that it touches.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::at::{Window, read_at};
use crate::error::Error;
use crate::frame::{HEAD, Head, Kind, MARK};
use crate::key::Key;

/// The version of the format of files.
pub(crate) const FORMAT: u32 = 1;
/// The end of a file's name.
pub(crate) const SUFFIX: &str = ".runs";
/// The octets of a file that are searched at once.
const BLOCK: usize = 1 << 20;
/// The octets of an outcome that are read with its head, in one call of the system: more than most have.
const FIRST: usize = 4096;
const TITLE: &str = "cellway-runs ";
/// The longest time that a run is only in memory of the system, where a machine that stops can lose it.
const SYNC: Duration = Duration::from_secs(1);

/// A frame in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) head: Head,
    /// The offset of the head.
    pub(crate) at: u64,
}

fn title() -> String {
    format!("{TITLE}{FORMAT}\n")
}

/// The begin of a file.
enum Start {
    /// It has no title and no run: it is to be begun.
    Empty,
    /// The title is right; runs begin at this offset.
    Titled(u64),
    /// The title is damaged; the first run that is whole is at this offset.
    Damaged(u64),
}

/// Reads the title. Where it is damaged, the first run decides that the file is one of runs.
fn start(file: &File, path: &Path) -> Result<Start, Error> {
    let failed = |error| Error::io("cannot be read", path)(error);
    let title = title();
    let mut found = vec![0; title.len()];
    if read_at(file, &mut found, 0).map_err(failed)? < title.len() {
        return Ok(Start::Empty);
    }
    if found == title.as_bytes() {
        return Ok(Start::Titled(title.len() as u64));
    }
    let line = String::from_utf8_lossy(&found).trim_end().to_owned();
    let version = line.strip_prefix(TITLE).filter(|version| version.parse::<u32>().is_ok());
    if version.is_none() {
        let length = file.metadata().map_err(failed)?.len();
        if let Some(at) = search_from(file, 0, length).map_err(failed)? {
            return Ok(Start::Damaged(at));
        }
        // A machine that stops can leave zeros.
        if found.iter().all(|octet| *octet == 0) {
            return Ok(Start::Empty);
        }
    }
    let found = version.map_or_else(|| format!("{line:?}"), str::to_owned);
    Err(Error::Format { path: path.to_owned(), found })
}

/// The content of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanned {
    /// The offset after the last whole frame.
    pub(crate) end: u64,
    /// The offsets at which octets that are no frame begin, before others that are.
    pub(crate) gaps: Vec<u64>,
    /// True if the title is damaged, and can be written again without touching a run.
    lacks_title: bool,
}

/// Calls `each` with every whole frame. Only heads are read, unless one of them is damaged: then the next
/// frame is searched for, so that damage costs no other run.
pub(crate) fn scan(file: &File, path: &Path, each: impl FnMut(Frame)) -> Result<Scanned, Error> {
    let begun = match start(file, path)? {
        Start::Empty => return Ok(Scanned::default()),
        Start::Titled(first) => Scanned { end: first, ..Scanned::default() },
        Start::Damaged(first) => Scanned { end: first, gaps: vec![0], lacks_title: first >= title().len() as u64 },
    };
    scan_frames(file, path, begun, each)
}

/// As [`scan`], from the end of an earlier one on: another process may have appended frames.
pub(crate) fn scan_on(file: &File, path: &Path, end: u64, each: impl FnMut(Frame)) -> Result<Scanned, Error> {
    match end {
        0 => scan(file, path, each),
        end => scan_frames(file, path, Scanned { end, ..Scanned::default() }, each),
    }
}

fn scan_frames(file: &File, path: &Path, begun: Scanned, mut each: impl FnMut(Frame)) -> Result<Scanned, Error> {
    let failed = |error| Error::io("cannot be read", path)(error);
    let mut scanned = begun;
    let length = file.metadata().map_err(failed)?.len();
    let mut window = Window::new(file);
    // The length in a damaged head leads past others, so the search begins within the frame before.
    let (mut at, mut search) = (scanned.end, scanned.end);
    while at < length {
        if let Some(frame) = head_at(&mut window, at, length).map_err(failed)? {
            each(frame);
            search = at + HEAD as u64;
            at = frame.end();
        } else {
            let Some(found) = search_from(file, search, length).map_err(failed)? else { break };
            scanned.gaps.push(if found > at { at } else { search - HEAD as u64 });
            at = found;
        }
        scanned.end = scanned.end.max(at);
    }
    Ok(scanned)
}

impl Frame {
    /// Returns the offset after the frame.
    fn end(&self) -> u64 {
        self.at + HEAD as u64 + u64::from(self.head.length)
    }
}

/// Returns the frame at an offset, if its head is one and the file is long enough for it.
fn head_at(window: &mut Window<'_>, at: u64, length: u64) -> std::io::Result<Option<Frame>> {
    if at + HEAD as u64 > length {
        return Ok(None);
    }
    let head = window.get(at, HEAD)?.first_chunk().and_then(Head::read);
    Ok(head.map(|head| Frame { head, at }).filter(|frame| frame.end() <= length))
}

/// Returns the offset of the first frame from `from` on whose checksum is right.
fn search_from(file: &File, from: u64, length: u64) -> std::io::Result<Option<u64>> {
    let (mut block, mut window) = (vec![0; BLOCK + HEAD], Window::new(file));
    let mut begin = from;
    while begin + HEAD as u64 <= length {
        let read = read_at(file, &mut block, begin)?;
        let marks = block[..read].windows(MARK.len()).enumerate().filter(|(_, octets)| *octets == MARK);
        for (offset, _) in marks.take_while(|(offset, _)| *offset < BLOCK) {
            if let Some(frame) = head_at(&mut window, begin + offset as u64, length)? {
                let mut octets = vec![0; frame.head.length as usize];
                read_at(file, &mut octets, frame.at + HEAD as u64)?;
                if frame.head.matches(&octets) {
                    return Ok(Some(frame.at));
                }
            }
        }
        begin += BLOCK as u64;
    }
    Ok(None)
}

/// Reads the octets of an outcome, whose frame begins at an offset. Several threads may read a file at once.
///
/// # Errors
/// [`Error::Damaged`] if they are not those that were written.
pub(crate) fn read(file: &File, path: &Path, at: u64) -> Result<(Kind, Vec<u8>), Error> {
    let failed = |error| Error::io("cannot be read", path)(error);
    let damaged = |reason: &str| Error::Damaged { path: path.to_owned(), at, reason: reason.to_owned() };
    let mut first = [0; FIRST];
    let read = read_at(file, &mut first, at).map_err(failed)?;
    let head = first[..read].first_chunk().and_then(Head::read).ok_or_else(|| damaged("it has no head"))?;
    let length = head.length as usize;
    let have = &first[HEAD..read.min(HEAD + length)];
    let mut octets = have.to_vec();
    if octets.len() < length {
        let begin = at + HEAD as u64;
        // The length in a damaged head takes no memory.
        if file.metadata().map_err(failed)?.len() < begin + length as u64 {
            return Err(damaged("it is longer than the file"));
        }
        octets.resize(length, 0);
        read_at(file, &mut octets[have.len()..], begin + have.len() as u64).map_err(failed)?;
    }
    match head.matches(&octets) {
        true => Ok((head.kind, octets)),
        false => Err(damaged("its checksum differs")),
    }
}

/// The one process that appends to a file: it has the lock.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    file: File,
    end: u64,
    synced: Instant,
}

impl Writer {
    /// Opens the file, which is made if there is none, and calls `each` with every whole frame in it; `None` if another
    /// process writes to it.
    pub(crate) fn open(path: &Path, each: impl FnMut(Frame)) -> Result<Option<(Writer, Scanned)>, Error> {
        let mut each = each;
        loop {
            let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
            let file = open.map_err(Error::io("cannot be opened for writing", path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(Error::io("cannot be locked", path)(error)),
            }
            // A compaction can have removed it between the two: no later process would find its runs.
            if is_removed(&file, path).map_err(Error::io("cannot be read", path))? {
                continue;
            }
            let scanned = scan(&file, path, &mut each)?;
            let mut writer = Writer { path: path.to_owned(), file, end: scanned.end, synced: Instant::now() };
            writer.cut()?;
            if writer.end == 0 {
                writer.add(title().as_bytes())?;
                writer.sync()?;
                sync_folder(path).map_err(Error::io("cannot be written", path))?;
            } else if scanned.lacks_title {
                writer.write_title().map_err(Error::io("cannot be written", path))?;
            }
            return Ok(Some((writer, scanned)));
        }
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an outcome; returns the offset of its frame. If that fails, the file is as before.
    pub(crate) fn append(&mut self, key: Key, kind: Kind, octets: &[u8]) -> Result<u64, Error> {
        let large = || std::io::Error::new(ErrorKind::FileTooLarge, "a run has more than 4 GiB");
        let head = Head::new(key, kind, octets).ok_or_else(|| Error::io("cannot be written", &self.path)(large()))?;
        let at = self.end;
        self.add(&[&head.octets(), octets].concat())?;
        if self.synced.elapsed() >= SYNC {
            self.sync()?;
        }
        Ok(at)
    }

    /// Waits until all that was appended survives a machine that stops.
    ///
    /// # Errors
    /// If it cannot be written, or somebody has removed the file.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        let synced = self.file.sync_data().and_then(|()| match is_removed(&self.file, &self.path)? {
            true => {
                Err(std::io::Error::new(ErrorKind::NotFound, "it was removed while runs were added, and they with it"))
            }
            false => Ok(()),
        });
        synced.map_err(Error::io("cannot be written", &self.path))?;
        self.synced = Instant::now();
        Ok(())
    }

    fn add(&mut self, octets: &[u8]) -> Result<(), Error> {
        let written = self.file.seek(SeekFrom::Start(self.end)).and_then(|_| self.file.write_all(octets));
        if let Err(error) = written {
            // On a full disk a part may be there; a reader ends before it even if it cannot be removed.
            let _ = self.cut();
            return Err(Error::io("cannot be written", &self.path)(error));
        }
        self.end += octets.len() as u64;
        Ok(())
    }

    fn write_title(&mut self) -> std::io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(title().as_bytes())
    }

    fn cut(&mut self) -> Result<(), Error> {
        self.file.set_len(self.end).map_err(Error::io("cannot be cut", &self.path))
    }
}

impl Drop for Writer {
    /// Closing alone would not free the lock while a process that this one is just starting has the descriptor.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Returns true if an open file has no name any more. A system that counts no names has that of `path` without one,
/// too.
#[cfg(unix)]
pub(crate) fn is_removed(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() == 0 && std::fs::metadata(path).map_or(true, |named| named.nlink() > 0))
}

#[cfg(not(unix))]
pub(crate) fn is_removed(_: &File, path: &Path) -> std::io::Result<bool> {
    path.try_exists().map(|exists| !exists)
}

/// Waits until the name of a file survives a machine that stops.
#[cfg(unix)]
pub(crate) fn sync_folder(of: &Path) -> std::io::Result<()> {
    of.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_ends_frees_its_lock_though_a_starting_process_has_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.runs");
        let open = || Writer::open(&path, |_| ()).unwrap();
        let (writer, _) = open().unwrap();
        let of_child = writer.file.try_clone().unwrap();
        assert!(open().is_none());
        drop(writer);
        assert!(open().is_some());
        drop(of_child);
    }
}
