//! The units in the network at an instant, for a reader who shows them. Nothing here changes the network, and a run
//! that is not shown pays nothing.

use cellway_units::{CELL_OCTETS, Rate, Span, Time};

use super::Fabric;
use crate::ids::{ChannelId, NodeId, PortId};
use crate::packet::Packet;
use crate::port::Piece;

/// A packet or adjacent cells of one frame, in a queue, on a line or on a link.
#[derive(Debug)]
pub struct UnitView<'a, B> {
    /// The packet that it is, or that the cells are of; `None` for an RM cell.
    pub packet: Option<&'a Packet<B>>,
    /// The channel of cells; of an RM cell that whose rate it is about. `None` for a whole packet.
    pub channel: Option<ChannelId>,
    /// The number of cells, or 1 for a whole packet.
    pub units: u32,
    /// The octets of the cells, or those of the IP packet.
    pub octets: u64,
    #[cfg(test)]
    pub(crate) piece: Piece,
}

impl<B: Clone> Fabric<B> {
    /// Returns all nodes.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Returns all ports. Those of a link follow each other.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = PortId> {
        (0..self.ports.len() as u32).map(PortId)
    }

    /// Returns the rate of a port's line at `now`; zero in an outage.
    pub fn rate_at(&self, port: PortId, now: Time) -> Rate {
        self.port(port).rate_at(now)
    }

    /// Returns the delay of a port's link at `now`, without its random part.
    pub fn delay_at(&self, port: PortId, now: Time) -> Span {
        self.port(port).delay_at(now)
    }

    /// Returns the first instant after `now` in which a unit moves: that of [`Fabric::deadline`], or the departure of a
    /// packet, of which the network needs no event if no other waits for it.
    pub fn next_move(&self, now: Time) -> Option<Time> {
        let departures = self.ports.iter().filter_map(|port| port.departs_unawaited(now));
        departures.chain(self.deadline()).min()
    }

    /// Passes the units that wait at a port to `see`, up to `most` entries; returns the number of further units. They
    /// are in the order of service as far as the queue has one: a round robin of cells and fair queues come queue by
    /// queue. Packets that a recording of a light load delays before the queue wait behind it.
    pub fn waiting_units(&self, port: PortId, most: usize, mut see: impl FnMut(UnitView<'_, B>)) -> u64 {
        self.port(port).view_waiting(most, |piece| see(self.unit(port, piece)))
    }

    /// Returns the unit on a port's line at `now`, and the part of it that has been sent, from 0 to 1.
    pub fn unit_on_line(&self, port: PortId, now: Time) -> Option<(UnitView<'_, B>, f64)> {
        let (piece, part) = self.port(port).view_line(now, &self.packets)?;
        Some((self.unit(port, piece), part))
    }

    /// Passes the units on a port's link to `see`, up to `most` entries, those that arrive first before others; returns
    /// the number of further entries. Each has the places of the last bits of its first and its last cell, from 0 at
    /// the line to 1 at the far end. With a delay that varies, a place is that within the present delay without its
    /// random part.
    pub fn units_on_link(
        &self,
        port: PortId,
        now: Time,
        most: usize,
        mut see: impl FnMut(UnitView<'_, B>, [f64; 2]),
    ) -> u64 {
        self.port(port).view_link(now, most, |piece, places| see(self.unit(port, piece), places))
    }

    fn unit(&self, port: PortId, piece: Piece) -> UnitView<'_, B> {
        let (packet, channel) = match piece.cells {
            None => (Some(self.packets.get(piece.frame)), None),
            Some(cells) if cells.flags.is_rm() => (None, Some(self.rms.about_of(piece.frame))),
            Some(cells) => {
                let channel = self.port(port).server().map(|server| server.channel(cells.slot));
                (Some(self.packets.get(piece.frame)), channel)
            }
        };
        let units = piece.units();
        let octets = match piece.cells {
            Some(_) => u64::from(units) * CELL_OCTETS,
            None => packet.map_or(0, |packet| packet.octets.into()),
        };
        UnitView {
            packet,
            channel,
            units,
            octets,
            #[cfg(test)]
            piece,
        }
    }
}
