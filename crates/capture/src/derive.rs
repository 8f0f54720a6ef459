//! From captures to a workload.

use std::path::{Path, PathBuf};

use crate::classes::{By, Classes, Naming};
use crate::cluster;
use crate::collect::Collector;
use crate::conversations::{Conversations, Limits, Observer, Totals};
use crate::fault::{Error, Fault};
use crate::reader::Reader;
use crate::workload::Workload;

/// Records between two calls of the function for the progress.
const STEP: u64 = 1 << 14;

/// The settings of a derivation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The way in which conversations are divided into classes.
    pub by: By,
    /// The limits of memory and time.
    pub limits: Limits,
}

/// A workload, and what the captures had besides.
#[derive(Debug)]
pub struct Derived {
    /// The workload.
    pub workload: Workload,
    /// The totals of all files.
    pub totals: Totals,
    /// The files that could not be read to their end, each with the place and the reason.
    pub faults: Vec<(PathBuf, Fault)>,
    /// Files that begin before the end of the one before, and so were read as another capture.
    pub restarts: u64,
}

/// The progress of reading, in octets of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Octets that have been read.
    pub done: u64,
    /// Octets of all files.
    pub total: u64,
}

/// A request to go on, or to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Go on.
    Continue,
    /// Stop: nothing is derived.
    Stop,
}

/// The records of several files, as they were read.
struct Read {
    totals: Totals,
    faults: Vec<(PathBuf, Fault)>,
    restarts: u64,
}

/// Derives a workload from captures, which are parts of one capture in this order, as the ring of files that `tcpdump
/// -C` writes. A file that begins before the end of the one before is a capture of its own. A file that is damaged
/// counts up to the damage.
///
/// # Errors
/// A file cannot be opened or is no capture, or the caller has requested to stop.
pub fn derive(
    files: &[PathBuf],
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> Next,
) -> Result<Derived, Error> {
    let naming = match &options.by {
        By::Port => Naming::Port,
        By::Rules(rules) => Naming::Rules(rules.clone()),
        By::Cluster(count) => {
            // The files are read twice: the clusters of conversations are known at their ends.
            let mut features = cluster::Features::default();
            let mut first_half = |p: Progress| progress(Progress { done: p.done / 2, ..p });
            read(files, options.limits, &mut features, &mut first_half)?;
            Naming::Assigned(features.clusters(*count))
        }
    };
    let is_second = matches!(naming, Naming::Assigned(_));
    let mut collector = Collector::new(Classes::new(naming));
    let mut rest = |p: Progress| progress(if is_second { Progress { done: p.total / 2 + p.done / 2, ..p } } else { p });
    let Read { totals, faults, restarts } = read(files, options.limits, &mut collector, &mut rest)?;
    Ok(Derived { workload: collector.finish(), totals, faults, restarts })
}

fn read(
    files: &[PathBuf],
    limits: Limits,
    to: &mut impl Observer,
    progress: &mut dyn FnMut(Progress) -> Next,
) -> Result<Read, Error> {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |about| about.len());
    let total = files.iter().map(size).sum();
    let mut conversations = Conversations::new(limits);
    let (mut faults, mut restarts, mut before) = (Vec::new(), 0, 0);
    for path in files {
        let (mut reader, size) = Reader::open(path)?;
        let begun = conversations.totals().records;
        loop {
            match reader.read() {
                Ok(Some(record)) => {
                    let is_first = conversations.totals().records == begun;
                    let latest = conversations.totals().time.map(|(_, last)| last);
                    if is_first && record.time < latest && record.time.is_some() {
                        conversations.finish(to);
                        restarts += 1;
                    }
                    conversations.record(&record, to);
                }
                Ok(None) => break,
                Err(fault) => {
                    faults.push((Path::new(path).to_owned(), fault));
                    break;
                }
            }
            if conversations.totals().records.is_multiple_of(STEP) {
                let done = before + reader.read_from_file().min(size);
                if progress(Progress { done, total }) == Next::Stop {
                    return Err(Error::Stopped);
                }
            }
        }
        before += size;
    }
    conversations.finish(to);
    Ok(Read { totals: *conversations.totals(), faults, restarts })
}
