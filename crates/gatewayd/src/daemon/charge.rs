//! Counts what the transport sends beside the packets of the state machine against the configured or highest rate.

use cellway_units::Bits;

use super::Daemon;

/// Bits of a cell for each octet of its payload, as a fraction (ITU-T I.361: 53 octets carry 48).
const CELL: (i64, i64) = (53, 48);
/// How far the machine's count may be ahead: of what it has handed on and the transport has not sent
/// yet, and of headers that were shorter than it takes them for (octets).
const MOST_AHEAD: i64 = 1 << 20;

impl Daemon {
    /// Tells each machine of what was sent and it has not counted.
    pub(crate) fn charge(&mut self) {
        for (peer, link) in self.links.iter_mut() {
            if !link.up {
                continue;
            }
            let now = link.time(self.now);
            let octets = self.peering.octets(peer);
            let sent = octets - link.seen_octets;
            link.seen_octets = octets;
            link.line_octets += sent;
            link.uncounted = (link.uncounted + sent as i64).max(-MOST_AHEAD);
            if link.uncounted > 0 {
                let bits = link.uncounted * 8;
                let bits = if link.cells { bits * CELL.0 / CELL.1 } else { bits };
                link.machine.charge(now, Bits(bits as u64));
                link.uncounted = 0;
            }
        }
    }
}
