//! The units at a port, for a reader of the network.

use cellway_units::{Rate, Span, Time};

use super::{Kind, Port};
use crate::cell::{Cell, Flags};
use crate::link::Unit;
use crate::packet::{PacketRef, Packets};

/// A packet, or adjacent cells of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) frame: PacketRef,
    pub(crate) cells: Option<CellsSeen>,
}

/// Cells of a frame: their queue, their flags and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellsSeen {
    pub(crate) slot: u32,
    pub(crate) flags: Flags,
    pub(crate) count: u16,
}

impl Piece {
    pub(crate) fn packet(frame: PacketRef) -> Piece {
        Piece { frame, cells: None }
    }

    pub(crate) fn cells(cell: Cell, count: u16) -> Piece {
        let Cell { slot, frame, flags, .. } = cell;
        Piece { frame, cells: Some(CellsSeen { slot, flags, count }) }
    }

    /// Returns the number of cells, or 1 for a packet.
    pub(crate) fn units(&self) -> u32 {
        self.cells.map_or(1, |cells| cells.count.into())
    }
}

impl Port {
    /// Passes the units that wait, up to `most` entries, to `see`; returns the number of further units. Packets that a
    /// recording delays before the queue wait behind those in the queue.
    pub(crate) fn view_waiting(&self, most: usize, mut see: impl FnMut(Piece)) -> u64 {
        let (mut seen, mut units) = (0, 0);
        let mut pass = |piece: Piece| {
            let fits = seen < most;
            if fits {
                seen += 1;
                units += u64::from(piece.units());
                see(piece);
            }
            fits
        };
        let waiting = match &self.kind {
            Kind::Cells(cells) => {
                cells.server.view(|slot, frame, flags, count| {
                    pass(Piece { frame, cells: Some(CellsSeen { slot, flags, count }) })
                });
                cells.server.waiting().into()
            }
            Kind::Packets(packets) => {
                let queued = packets.qdisc.waiting().map(|queued| queued.packet);
                let before = packets.light.iter().flat_map(|light| light.waiting());
                queued.chain(before).take(most).for_each(|packet| {
                    pass(Piece::packet(packet));
                });
                u64::from(packets.qdisc.len()) + packets.light.as_ref().map_or(0, |light| light.len() as u64)
            }
        };
        waiting - units
    }

    /// Returns the unit on the line, and the part of it that has been sent, from 0 to 1.
    pub(crate) fn view_line<B>(&self, now: Time, packets: &Packets<B>) -> Option<(Piece, f64)> {
        let packet = match self.sending {
            Some(Unit::Cell(cell)) => {
                let [sent, all] = [now.since(self.began), self.line.free_at().since(self.began)].map(Span::as_secs_f64);
                let part = if all > 0.0 { (sent / all).min(1.0) } else { 1.0 };
                return Some((Piece::cells(cell, 1), part));
            }
            Some(Unit::Packet(packet)) => packet,
            None => self.ahead_on_line(now)?,
        };
        let part = self.line.part_sent(now, self.framing().bits(packets.get(packet).octets));
        Some((Piece::packet(packet), part))
    }

    /// Returns the packet on the line that the link has taken already.
    fn ahead_on_line(&self, now: Time) -> Option<PacketRef> {
        if self.is_ahead() && self.line.free_at() > now { self.link.last_packet() } else { None }
    }

    /// Passes the units on the link, up to `most` entries, to `see`, those that arrive first before others, each with
    /// the places of its head and its tail, 0 at the line and 1 at the far end; returns the number of further entries.
    pub(crate) fn view_link(&self, now: Time, most: usize, see: impl FnMut(Piece, [f64; 2])) -> u64 {
        self.link.view(now, &self.line, self.ahead_on_line(now), most, see)
    }

    /// Returns the rate of the line at `now`.
    pub(crate) fn rate_at(&self, now: Time) -> Rate {
        self.line.rate_at(now)
    }

    /// Returns the delay of the link at `now`, without its random part.
    pub(crate) fn delay_at(&self, now: Time) -> Span {
        self.link.delay_at(now)
    }

    /// Returns the departure after `now` of a packet that needs no event.
    pub(crate) fn departs_unawaited(&self, now: Time) -> Option<Time> {
        let at = self.line.free_at();
        (self.is_ahead() && at > now && at < Time::MAX).then_some(at)
    }
}
