//! Reading at an offset, so that several threads can read one open file.

use std::fs::File;
use std::io;

/// The octets that are read at once where many small frames follow each other.
const WINDOW: usize = 1 << 16;

/// Fills `octets` from an offset on; returns the number that the file has there, fewer only at its end.
pub(crate) fn read_at(file: &File, octets: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < octets.len() {
        match once(file, &mut octets[done..], at + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(unix)]
fn once(file: &File, octets: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, octets, at)
}

#[cfg(not(unix))]
fn once(file: &File, octets: &mut [u8], at: u64) -> io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    use std::sync::{Mutex, PoisonError};
    // All threads share the position of a file.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut file = file;
    file.seek(SeekFrom::Start(at))?;
    file.read(octets)
}

/// A piece of a file in memory, so that reading small frames in their order takes few calls of the system.
pub(crate) struct Window<'a> {
    file: &'a File,
    /// The offset of `octets` in the file.
    begin: u64,
    octets: Vec<u8>,
}

impl Window<'_> {
    pub(crate) fn new(file: &File) -> Window<'_> {
        Window { file, begin: 0, octets: Vec::new() }
    }

    /// Returns `length` octets from an offset on; fewer only at the end of the file.
    pub(crate) fn get(&mut self, at: u64, length: usize) -> io::Result<&[u8]> {
        let end = self.begin + self.octets.len() as u64;
        if at < self.begin || at + length as u64 > end {
            self.octets.resize(WINDOW.max(length), 0);
            self.begin = at;
            let read = read_at(self.file, &mut self.octets, at)?;
            self.octets.truncate(read);
        }
        let offset = (at - self.begin) as usize;
        Ok(&self.octets[offset..(offset + length).min(self.octets.len())])
    }
}
