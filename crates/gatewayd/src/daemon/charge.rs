//! What the transport sends beside the machine's packets counts against the same rate.

use cellway_units::Bits;

use super::Daemon;

/// Bits of a cell for each octet of its payload, as a fraction (ITU-T I.361: 53 octets carry 48).
const CELL: (i64, i64) = (53, 48);

impl Daemon {
    /// Tells each machine of what was sent and it has not counted.
    pub(crate) fn charge(&mut self) {
        let now = self.time();
        for (peer, link) in self.links.iter_mut().enumerate() {
            if !link.up {
                continue;
            }
            let octets = self.peering.octets(peer);
            let line = link.machine.stats().line.0;
            let sent = (octets - link.seen_octets) as i64 * 8;
            let sent = if link.cells { sent * CELL.0 / CELL.1 } else { sent };
            link.line_octets += octets - link.seen_octets;
            link.uncounted += sent - (line - link.seen_line) as i64;
            (link.seen_octets, link.seen_line) = (octets, line);
            if link.uncounted > 0 {
                link.machine.charge(now, Bits(link.uncounted as u64));
                link.uncounted = 0;
                // The machine counts what it is charged with.
                link.seen_line = link.machine.stats().line.0;
            }
        }
    }
}
