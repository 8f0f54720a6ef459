//! A path from captures of bulk transfers over it: the rate of its bottleneck, its base round trip, buffer and loss.
//!
//! - Rate: octets that receivers have acknowledged, selectively or not, in windows of several round trips. The stream
//!   of acknowledgements has the speed of the bottleneck wherever the tap is.
//! - Round trip: the least time from data to their acknowledgement at the tap, and that from a timestamp of the
//!   receiver to its echo, for the other side of the tap (K. Nichols, pping, 2017), or what the handshake shows of it.
//! - Buffer: the round trip of the packets in front of a lost one, above the base round trip, times the rate.
//! - Loss: retransmissions, and gaps that are filled later than by reordering.

mod acknowledged;
mod bulk;
mod dispersion;
mod estimate;
mod options;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use estimate::{Interval, PathEstimate};

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
/// The most deliveries of all connections together.
const MAX_DELIVERIES: usize = 6_000_000;
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
    deliveries: usize,
    /// The time of the last attempt to forget some, in ns.
    cleared: u64,
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
        let may_deliver = self.deliveries < MAX_DELIVERIES;
        let bulk = &mut self.all[at].1;
        self.deliveries += bulk.packet(side, &segment, &options, packet.length, now, may_deliver);
    }

    /// Forgets connections that are idle and no bulk transfers, at most once for each idle time.
    fn forget(&mut self, now: u64) {
        if now.saturating_sub(self.cleared) < IDLE {
            return;
        }
        self.cleared = now;
        let deliveries = &mut self.deliveries;
        self.all.retain(|(_, bulk)| {
            let stays = bulk.is_bulk() || now.saturating_sub(bulk.last()) < IDLE;
            *deliveries -= if stays { 0 } else { bulk.deliveries() };
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
/// A file cannot be opened or is no capture, or the caller has requested to stop.
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
        before += size;
    }
    Ok(MeasuredPath { estimate: connections.estimate(), records, faults })
}
