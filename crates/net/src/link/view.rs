//! The units on a link, for a reader of the network.

use cellway_units::{Span, Time};

use super::{Link, UnderWay};
use crate::line::Line;
use crate::packet::PacketRef;
use crate::port::Piece;

impl Link {
    /// Passes the units on the link, up to `most` entries, to `see`, those that arrive first before others, each with
    /// the places of the last bits of its first and its last cell; returns the number of further entries. `on_line` is
    /// a packet that has not left its line yet.
    ///
    /// A place is that of the time to the arrival within the present delay, 0 at the line and 1 at the far end: a
    /// packet with a longer delay of its own stays at 0 until then.
    pub(crate) fn view(
        &self,
        now: Time,
        line: &Line,
        on_line: Option<PacketRef>,
        most: usize,
        mut see: impl FnMut(Piece, [f64; 2]),
    ) -> u64 {
        let delay = self.delay_at(now).as_secs_f64();
        let place = |left: f64| if delay > 0.0 { (1.0 - left / delay).clamp(0.0, 1.0) } else { 0.0 };
        match &self.under_way {
            UnderWay::Cells(cells) => {
                for run in cells.runs.iter().take(most) {
                    let (count, left) = (run.end - run.next, run.first.at.since(now).as_secs_f64());
                    see(Piece::cells(run.first_cell(), count), [place(left), place(left + line.span_of(count - 1))]);
                }
                cells.runs.len().saturating_sub(most) as u64
            }
            UnderWay::Packets(packets, _) => {
                let gone = packets.iter().filter(|(_, packet)| Some(*packet) != on_line);
                for &(at, packet) in gone.take(most) {
                    let place = place(at.since(now).as_secs_f64());
                    see(Piece::packet(packet), [place; 2]);
                }
                (packets.len() - usize::from(on_line.is_some())).saturating_sub(most) as u64
            }
        }
    }

    /// Returns the packet that was pushed last, if it has not arrived.
    pub(crate) fn last_packet(&self) -> Option<PacketRef> {
        match &self.under_way {
            UnderWay::Cells(_) => None,
            UnderWay::Packets(packets, Some(varying)) => {
                varying.last().filter(|last| packets.iter().any(|(_, packet)| packet == last))
            }
            UnderWay::Packets(packets, None) => packets.back().map(|&(_, packet)| packet),
        }
    }

    /// Returns the delay of what leaves the line at `now`, without its random part.
    pub(crate) fn delay_at(&self, now: Time) -> Span {
        match &self.under_way {
            UnderWay::Packets(_, Some(varying)) => varying.base_at(now),
            _ => self.delay,
        }
    }
}
