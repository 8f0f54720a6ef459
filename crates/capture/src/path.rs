//! A path from captures of bulk transfers over it: the rate of its bottleneck, its base round trip, buffer and loss.
//!
//! - Waits: delays at the tap above the least ones, on the side of the tap where they vary most; of data alone, by the
//!   clocks of timestamps, where acknowledgements wait, too.
//! - Rate: what is delivered while waits show that the link is busy.
//! - Round trip: the least time from data to their acknowledgement at the tap, and that from a timestamp of the
//!   receiver to its echo, for the other side of the tap (K. Nichols, pping, 2017), or what the handshake shows of it.
//! - Buffer: the waits beside lost packets, times the rate, if losses gather at the longest waits.
//! - Loss: retransmissions, and gaps that are filled later than by reordering.

mod acknowledged;
mod buffer;
mod bulk;
mod busy;
mod clock;
mod dispersion;
mod estimate;
mod half;
mod options;
mod series;
mod trips;
mod view;
mod windows;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use estimate::{Doubt, Interval, PathEstimate};

use crate::derive::{Next, Progress};
use crate::fault::{Error, Fault};
use crate::packet::{Packet, Transport};
use crate::reader::{Reader, Record};
use crate::table::Key;
use bulk::Bulk;

/// The most connections. When there are as many, those that are idle and no bulk transfers are forgotten; if none are,
/// packets of further connections are ignored.
const MAX_CONNECTIONS: usize = 2_000;
/// The idle time after which a connection may be forgotten, in ns.
const IDLE: u64 = 10_000_000_000;
/// The most samples of all connections together.
const MAX_SAMPLES: usize = 4_000_000;
/// Records between two calls of the function for the progress.
const STEP: u64 = 1 << 14;

/// A path, and the files that could not be read to their end.
#[derive(Debug)]
pub struct MeasuredPath {
    /// The estimate; `None` if the captures have no bulk transfer.
    pub estimate: Option<PathEstimate>,
    /// Records of the files.
    pub records: u64,
    /// The files with a fault, each with the place and the reason.
    pub faults: Vec<(PathBuf, Fault)>,
}

/// The connections of a capture.
#[derive(Default)]
pub(crate) struct Connections {
    index: HashMap<Key, usize>,
    /// In the order of their first packets.
    all: Vec<(Key, Bulk)>,
    samples: usize,
    /// The time of the last attempt to forget some, in ns.
    cleared: u64,
    /// The number of the file.
    file: usize,
    /// True if a connection of a file is in an earlier one at the same time.
    has_two_places: bool,
}

impl Connections {
    pub(crate) fn record(&mut self, record: &Record<'_>) {
        let (Some(link), Some(now)) = (record.link, record.time) else { return };
        let Ok(header) = link.header(record.octets) else { return };
        let octets = &record.octets[header..];
        let Ok(packet) = Packet::parse(octets, record.wire.saturating_sub(header as u32)) else { return };
        let Transport::Tcp(segment) = packet.transport else { return };
        let (key, side) = Key::of(packet.source, packet.destination);
        let is_another = |at: usize| self.all[at].1.is_another(side, &segment);
        let at = match self.index.get(&key).copied().filter(|at| !is_another(*at)) {
            Some(at) => at,
            None => {
                if self.all.len() >= MAX_CONNECTIONS {
                    self.forget(now);
                }
                if self.all.len() >= MAX_CONNECTIONS {
                    return;
                }
                self.all.push((key, Bulk::default()));
                self.index.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        let options = options::options(octets, packet.header);
        let may_keep = self.samples < MAX_SAMPLES;
        let bulk = &mut self.all[at].1;
        self.has_two_places |= bulk.file != self.file && now < bulk.last();
        bulk.file = self.file;
        self.samples += bulk.packet(side, &segment, &options, packet.length, now, may_keep);
    }

    /// Forgets connections that are idle and no bulk transfers, at most once for each idle time.
    fn forget(&mut self, now: u64) {
        if now.saturating_sub(self.cleared) < IDLE {
            return;
        }
        self.cleared = now;
        let samples = &mut self.samples;
        self.all.retain(|(_, bulk)| {
            let stays = bulk.is_bulk() || now.saturating_sub(bulk.last()) < IDLE;
            *samples -= if stays { 0 } else { bulk.samples() };
            stays
        });
        self.index = self.all.iter().enumerate().map(|(at, (key, _))| (*key, at)).collect();
    }

    pub(crate) fn estimate(self) -> Option<PathEstimate> {
        let bulk = self.all.into_iter().map(|(key, bulk)| (key.ends.map(|end| end.address), bulk)).collect();
        estimate::estimate(bulk)
    }
}

/// Estimates a path from captures.
///
/// # Errors
/// A file cannot be opened or is no capture, two files have the same packets at two places, or the caller has requested
/// to stop.
pub fn measure(files: &[PathBuf], progress: &mut dyn FnMut(Progress) -> Next) -> Result<MeasuredPath, Error> {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |about| about.len());
    let total = files.iter().map(size).sum();
    let mut connections = Connections::default();
    let (mut records, mut faults, mut before) = (0, Vec::new(), 0);
    for path in files {
        let (mut reader, size) = Reader::open(path)?;
        loop {
            match reader.read() {
                Ok(Some(record)) => connections.record(&record),
                Ok(None) => break,
                Err(fault) => {
                    faults.push((Path::new(path).to_owned(), fault));
                    break;
                }
            }
            records += 1;
            let done = before + reader.read_from_file().min(size);
            if records % STEP == 0 && progress(Progress { done, total }) == Next::Stop {
                return Err(Error::Stopped);
            }
        }
        if connections.has_two_places {
            return Err(Error::TwoPlaces { path: path.to_owned() });
        }
        connections.file += 1;
        before += size;
    }
    Ok(MeasuredPath { estimate: connections.estimate(), records, faults })
}
