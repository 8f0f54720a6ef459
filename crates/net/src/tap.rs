//! A tap on one node: a copy of all units that arrive at it and leave it, for captures; without RM cells.

use cellway_units::Time;

use crate::cell::Cell;
use crate::ids::{ChannelId, NodeId, PortId};
use crate::packet::Packet;

/// The direction of a unit at the tapped node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Its last bit has arrived.
    In,
    /// Its last bit has left.
    Out,
}

/// The copied unit.
#[derive(Clone, Debug)]
pub enum TapUnit<B> {
    /// A cell, with the packet that it is a piece of.
    Cell(Cell, Packet<B>),
    /// A whole packet.
    Packet(Packet<B>),
}

/// One observation of a tap.
#[derive(Clone, Debug)]
pub struct TapRecord<B> {
    /// When the last bit passed.
    pub at: Time,
    /// The port whose line carried it.
    pub port: PortId,
    /// The direction.
    pub direction: Direction,
    /// The channel of a cell; `None` for a whole packet.
    pub channel: Option<ChannelId>,
    /// The unit.
    pub unit: TapUnit<B>,
}

#[derive(Clone, Debug)]
pub(crate) struct Tap<B> {
    pub(crate) node: NodeId,
    pub(crate) records: Vec<TapRecord<B>>,
}
