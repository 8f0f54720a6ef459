//! One transfer from the originator to the responder, as fast as the network takes it.

use cellway_units::{Bytes, Time};

use crate::action::{Action, ConnId, Side};
use crate::workload::BulkWorkload;

const CONN: ConnId = ConnId(0);

/// One bulk conversation.
#[derive(Debug)]
pub(crate) struct Bulk {
    size: Option<u64>,
    write: u64,
    since: Time,
    written: u64,
    acked: u64,
    received: u64,
}

impl Bulk {
    pub(crate) fn new(bulk: &BulkWorkload) -> Bulk {
        let size = bulk.size.map(|size| size.0);
        Bulk { size, write: bulk.write.0, since: Time::ZERO, written: 0, acked: 0, received: 0 }
    }

    pub(crate) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        if side == Side::Originator {
            self.since = now;
            self.fill(out);
        }
    }

    pub(crate) fn acked(&mut self, side: Side, bytes: u64, out: &mut Vec<Action>) {
        if side == Side::Originator {
            self.acked += bytes;
            self.fill(out);
        }
    }

    pub(crate) fn received(&mut self, now: Time, side: Side, bytes: u64, out: &mut Vec<Action>) {
        if side == Side::Responder {
            let before = self.received;
            self.received += bytes;
            if let Some(size) = self.size.filter(|size| before < *size && self.received >= *size) {
                out.push(Action::Item { bytes: Bytes(size), span: now.since(self.since) });
            }
        }
    }

    /// Writes while less than two writes are unacknowledged, and closes after the last.
    fn fill(&mut self, out: &mut Vec<Action>) {
        let left = |written: u64| self.size.map_or(u64::MAX, |size| size - written);
        while left(self.written) > 0 && self.written - self.acked <= self.write {
            let bytes = self.write.min(left(self.written));
            self.written += bytes;
            out.push(Action::Write { conn: CONN, side: Side::Originator, bytes });
            if left(self.written) == 0 {
                out.push(Action::Close { conn: CONN, side: Side::Originator });
            }
        }
    }
}
