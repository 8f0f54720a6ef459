//! Packets of peers that this machine loses itself, because nobody reads them in time.

use cellway_units::Span;

use super::Daemon;
use super::moment::Moment;

/// How often the kernel's counters are read, and how often the log says that they have grown.
const EVERY: Span = Span::from_secs(1);
const SAID_EVERY: Span = Span::from_secs(60);

/// What is known of such packets.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Datagrams dropped since the start.
    pub(crate) total: u64,
    /// What the log has said, and when it may say more.
    said: u64,
    say_at: Moment,
    read_at: Moment,
}

impl Daemon {
    /// Reads the kernel's counters if that is due.
    pub(crate) fn watch_drops(&mut self) {
        if self.now >= self.drops.read_at {
            self.read_drops();
        }
    }
    /// Reads the kernel's counters.
    pub(crate) fn read_drops(&mut self) {
        let drops = &mut self.drops;
        (drops.total, drops.read_at) = (self.peering.drops(), self.now + EVERY);
        let fresh = drops.total - drops.said;
        if fresh > 0 && self.now >= drops.say_at {
            (drops.said, drops.say_at) = (drops.total, self.now + SAID_EVERY);
            tracing::warn!(
                packets = fresh,
                "packets of peers were lost here, not on the line: they were not read in time. The peers see them as lost; a \
                 lower rate does not help where the processor is busy with other work"
            );
        }
    }
}
