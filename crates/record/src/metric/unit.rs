//! Units of metrics.

use crate::stats::Bounds;

/// The unit of the values of a metric, and with it their bounds: no measured value is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share of a whole, 0 to 1; also 0 for false and 1 for true.
    Share,
    /// A plain number.
    Count,
    /// ATM cells.
    Cell,
    /// ATM cells per second.
    CellPerSecond,
    /// AAL5 frames.
    Frame,
    /// IP packets.
    Packet,
    /// Cells at lines that carry cells, packets at others.
    CellOrPacket,
    /// TCP segments.
    Segment,
    /// Bytes.
    Byte,
    /// Bits per second.
    BitPerSecond,
    /// Seconds.
    Second,
    /// Events per second.
    PerSecond,
    /// Round trips of the scenario, without queueing.
    RoundTrip,
}

impl Unit {
    /// Returns the text in the column `unit`; for [`Unit::CellOrPacket`], of which each row has one, the text on pages.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Share | Unit::Count => "1",
            Unit::Cell => "cell",
            Unit::CellPerSecond => "cell/s",
            Unit::Frame => "frame",
            Unit::Packet => "packet",
            Unit::CellOrPacket => "cell or packet",
            Unit::Segment => "segment",
            Unit::Byte => "B",
            Unit::BitPerSecond => "bit/s",
            Unit::Second => "s",
            Unit::PerSecond => "1/s",
            Unit::RoundTrip => "rtt",
        }
    }

    /// Returns the bounds of values in this unit.
    pub fn bounds(self) -> Bounds {
        if self == Unit::Share { Bounds::SHARE } else { Bounds::NON_NEGATIVE }
    }
}

/// The units that a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueUnit {
    /// ATM cells.
    Cell,
    /// Whole packets.
    Packet,
}

impl QueueUnit {
    /// Returns "cell" or "packet".
    pub fn symbol(self) -> &'static str {
        Unit::from(self).symbol()
    }
}

impl From<QueueUnit> for Unit {
    fn from(unit: QueueUnit) -> Unit {
        match unit {
            QueueUnit::Cell => Unit::Cell,
            QueueUnit::Packet => Unit::Packet,
        }
    }
}
