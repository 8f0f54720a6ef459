//! Packets of peers that the kernel drops because this machine does not read them in time.

use cellway_units::Span;

use super::moment::Moment;

/// The interval between two reads of the kernel's counters.
const EVERY: Span = Span::from_secs(1);
/// The interval between two log lines.
const LOG_EVERY: Span = Span::from_secs(60);

/// The count of such packets.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Datagrams dropped since the start.
    total: u64,
    /// The part of `total` that was logged, and the time from which more may be.
    logged: u64,
    log_at: Moment,
    read_at: Moment,
}

impl Drops {
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
    /// Returns true if the kernel's counters are to be read again.
    pub(crate) fn is_due(&self, now: Moment) -> bool {
        now >= self.read_at
    }
    /// Sets the sum of the kernel's counters.
    pub(crate) fn set(&mut self, total: u64, now: Moment) {
        (self.total, self.read_at) = (total, now + EVERY);
        let fresh = total - self.logged;
        if fresh > 0 && now >= self.log_at {
            (self.logged, self.log_at) = (total, now + LOG_EVERY);
            tracing::warn!(
                packets = fresh,
                "packets of peers were lost here, not on the line: they were not read in time. The peers count them as lost; a \
                 lower rate does not help where the processor is busy with other work"
            );
        }
    }
}
