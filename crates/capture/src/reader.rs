//! The records of a capture, one after the other.

use std::path::Path;

use crate::fault::{Cause, Error, Fault};
use crate::link::Link;
use crate::octets::Octets;
use crate::pcap::Classic;
use crate::pcapng::NextGeneration;

/// The most octets of a record. Libpcap keeps at most 262,144 octets of a packet.
pub const MAX_RECORD: usize = 1 << 20;

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Nanoseconds since the start of 1970 UTC; `None` if the format has no time for it.
    pub time: Option<u64>,
    /// The link type; `None` if it is not one that is read.
    pub link: Option<Link>,
    /// The octets that the packet had on the link.
    pub wire: u32,
    /// The octets that were kept of it.
    pub octets: &'a [u8],
}

#[derive(Debug)]
enum Format {
    Classic(Classic),
    NextGeneration(NextGeneration),
}

/// Reads a capture in pcap or pcapng, plain or compressed, in constant memory.
pub struct Reader {
    from: Octets,
    format: Format,
    /// True after the end of the file or a fault.
    has_ended: bool,
}

impl Reader {
    /// Opens a file. Returns its size as well, in octets.
    ///
    /// # Errors
    /// The file cannot be opened, or does not begin as a capture.
    pub fn open(path: &Path) -> Result<(Reader, u64), Error> {
        let (octets, size) = Octets::open(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        let reader = Reader::new(octets).map_err(|fault| match fault.cause {
            Cause::Io(source) => Error::Open { path: path.to_owned(), source },
            cause => Error::NoCapture { path: path.to_owned(), fault: Fault { cause, ..fault } },
        })?;
        Ok((reader, size))
    }

    /// Begins to read octets.
    ///
    /// # Errors
    /// They do not begin as a capture.
    pub fn new(mut from: Octets) -> Result<Reader, Fault> {
        let format = (|| {
            let first = from.peek(4)?.to_vec();
            match &first[..] {
                [] => Err(Cause::Empty),
                octets if Octets::is_compressed(octets) => Err(Cause::Compressed),
                octets if Classic::is_magic(octets) => Classic::begin(&mut from).map(Format::Classic),
                octets if NextGeneration::is_magic(octets) => {
                    NextGeneration::begin(&mut from).map(Format::NextGeneration)
                }
                _ => Err(Cause::NoCapture { first }),
            }
        })();
        match format {
            Ok(format) => Ok(Reader { from, format, has_ended: false }),
            Err(cause) => Err(Fault { offset: from.offset(), cause }),
        }
    }

    /// Returns the next record; `None` at the end of the file, and after a fault.
    ///
    /// # Errors
    /// The file is damaged or ends too early.
    pub fn read(&mut self) -> Result<Option<Record<'_>>, Fault> {
        if self.has_ended {
            return Ok(None);
        }
        let offset = self.from.offset();
        let (record, offset) = match &mut self.format {
            Format::Classic(format) => (format.next(&mut self.from), offset),
            Format::NextGeneration(format) => {
                let record = format.next(&mut self.from);
                (record, format.block())
            }
        };
        match record {
            Ok(Some(record)) => Ok(Some(record)),
            Ok(None) => {
                self.has_ended = true;
                Ok(None)
            }
            Err(cause) => {
                self.has_ended = true;
                Err(Fault { offset, cause })
            }
        }
    }

    /// Returns the octets that have been read from the file, compressed or not.
    pub fn read_from_file(&self) -> u64 {
        self.from.read_from_file()
    }
}
