//! The octets of a capture in order, from a plain or a compressed file, with their offset.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fault::Cause;

/// Octets that are read from the file at once.
const BLOCK: usize = 256 << 10;
/// The first octets of a gzip member. RFC 1952, section 2.3.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first octets of a zstd frame. RFC 8878, section 3.1.1.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Counts the octets that are read from a file, for the progress of a compressed one.
struct Counted<R> {
    from: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A buffer of octets in front of a source. The octets that [`Octets::peek`] returns stay until they are consumed.
pub struct Octets {
    from: Box<dyn Read>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The offset of `buffer[start]` in the uncompressed file.
    offset: u64,
    read: Arc<AtomicU64>,
}

impl Octets {
    /// Opens a file, and decompresses it if its first octets are those of gzip or zstd. Returns its size as well, in
    /// octets.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<(Octets, u64)> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut first = [0; 4];
        let mut found = 0;
        // A pipe cannot be read twice, so it is taken as it is.
        if file.metadata()?.is_file() {
            while found < first.len() {
                match file.read(&mut first[found..])? {
                    0 => break,
                    more => found += more,
                }
            }
            file.seek(SeekFrom::Start(0))?;
        }
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { from: file, read: Arc::clone(&read) };
        let from: Box<dyn Read> = if first[..2] == GZIP {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BLOCK, counted)))
        } else if first == ZSTD {
            Box::new(zstd_stream(BufReader::with_capacity(BLOCK, counted))?)
        } else {
            Box::new(counted)
        };
        Ok((Octets::with_count(from, read), size))
    }

    /// Reads octets from any source, uncompressed.
    pub fn new(from: impl Read + 'static) -> Octets {
        let read = Arc::new(AtomicU64::new(0));
        Octets::with_count(Box::new(Counted { from, read: Arc::clone(&read) }), read)
    }

    /// Returns true if a file that begins with these octets is compressed.
    pub(crate) fn is_compressed(first: &[u8]) -> bool {
        first.starts_with(&GZIP) || first.starts_with(&ZSTD)
    }

    fn with_count(from: Box<dyn Read>, read: Arc<AtomicU64>) -> Octets {
        Octets { from, buffer: vec![0; 2 * BLOCK], start: 0, end: 0, offset: 0, read }
    }

    /// Returns the offset of the next octet, in octets.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the octets that have been read from the file itself, compressed or not.
    pub fn read_from_file(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns the next `needed` octets, or fewer at the end of the file.
    ///
    /// # Errors
    /// The error of the source.
    pub fn peek(&mut self, needed: usize) -> io::Result<&[u8]> {
        while self.end - self.start < needed {
            if self.start > 0 && self.buffer.len() - self.start < needed.max(BLOCK) {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.buffer.len() < needed {
                self.buffer.resize(needed + BLOCK, 0);
            }
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(more) => self.end += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + needed)])
    }

    /// Returns the next `needed` octets. `what` names them in errors.
    ///
    /// # Errors
    /// [`Cause::Truncated`] at the end of the file, or the error of the source.
    pub(crate) fn exactly(&mut self, needed: usize, what: &'static str) -> Result<&[u8], Cause> {
        let found = self.peek(needed)?.len();
        if found < needed {
            return Err(Cause::Truncated { what, needed, found });
        }
        Ok(&self.buffer[self.start..self.start + needed])
    }

    /// Removes octets that [`Octets::peek`] returned.
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Returns the last octets that were consumed. They stay until the next call that reads.
    pub(crate) fn consumed(&self, count: usize) -> &[u8] {
        &self.buffer[self.start.saturating_sub(count)..self.start]
    }

    /// Skips octets without keeping them.
    pub(crate) fn skip(&mut self, mut count: u64, what: &'static str) -> Result<(), Cause> {
        while count > 0 {
            let step = count.min(BLOCK as u64) as usize;
            let found = self.peek(step)?.len();
            self.consume(found);
            if found < step {
                return Err(Cause::Truncated { what, needed: step, found });
            }
            count -= step as u64;
        }
        Ok(())
    }
}

/// Returns the content of zstd frames. A frame whose window is larger than 128 MiB is refused by the library.
fn zstd_stream(from: impl BufRead) -> io::Result<impl Read> {
    zstd::stream::read::Decoder::with_buffer(from)
}
