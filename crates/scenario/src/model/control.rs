//! Traffic control at output ports, and what changes while it runs.

use std::num::NonZeroU16;

use cellway_settings::choice;
use cellway_spec::PolicerAction;
use cellway_units::{Cells, Rate, Span};

use crate::model::{LinkIndex, NodeIndex};

/// A class of traffic groups at gateways, which share what these may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Unique among classes.
    pub name: String,
    /// Places in [`Scenario::traffic`](crate::Scenario::traffic), ascending, in no other class. None: the groups that are in no
    /// other class.
    pub traffic: Option<Vec<usize>>,
    /// Its weight.
    pub share: NonZeroU16,
    /// The most that a gateway sends of it, in bit/s of whole cells. Never zero.
    pub ceiling: Option<Rate>,
}

/// A shaper at an output port: one for each channel of the groups. Rates are bit/s of whole cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Unique among shapers.
    pub name: String,
    /// Whose output it shapes: a router, switch or gateway.
    pub at: NodeIndex,
    /// The ATM link that it sends on.
    pub link: LinkIndex,
    /// Places in [`Scenario::traffic`](crate::Scenario::traffic), ascending; all of these pass the port, at least one.
    pub traffic: Vec<usize>,
    /// The peak cell rate; never zero, at most that of the line.
    pub rate: Rate,
    /// The sustainable cell rate, at most `rate`, and the longest burst at the peak rate, at least 1 cell.
    pub sustained: Option<(Rate, Cells)>,
}

/// A policer of cells about to enter the queue of an output port: one for each channel of the groups (ITU-T I.371).
/// Rates are bit/s of whole cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policer {
    /// Unique among policers.
    pub name: String,
    /// Before whose output it stands: a router, switch or gateway.
    pub at: NodeIndex,
    /// The ATM link of that output.
    pub link: LinkIndex,
    /// Places in [`Scenario::traffic`](crate::Scenario::traffic), ascending; all of these pass the port, at least one.
    pub traffic: Vec<usize>,
    /// The peak cell rate. Never zero.
    pub pcr: Rate,
    /// The cell delay variation tolerance.
    pub cdvt: Span,
    /// The sustainable cell rate, at most `pcr`, and the longest burst at the peak rate, at least 1 cell.
    pub sustained: Option<(Rate, Cells)>,
    /// The action on cells that do not conform.
    pub action: PolicerAction,
}

/// A rate that changes while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Unique among changes that have one.
    pub name: Option<String>,
    /// The time since the start of the run; within the run.
    pub at: Span,
    /// Which rate.
    pub what: ChangeOf,
    /// The rate from then on. Never zero.
    pub rate: Rate,
}

choice! {
    /// A direction of a link, or both.
    pub enum LinkDirection {
        /// Both.
        Both = "both",
        /// From the first node of `between` to the second.
        Forward = "forward",
        /// From the second node of `between` to the first.
        Back = "back",
    }
}

impl LinkDirection {
    /// Returns the directions as indices of ports: 0 is forward, 1 is back.
    pub const fn ports(self) -> &'static [usize] {
        match self {
            LinkDirection::Both => &[0, 1],
            LinkDirection::Forward => &[0],
            LinkDirection::Back => &[1],
        }
    }
}

/// Which rate changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeOf {
    /// The peak rate of a shaper: its place in [`Scenario::shapers`](crate::Scenario::shapers).
    Shaper(usize),
    /// The rate of a link.
    Link(LinkIndex, LinkDirection),
    /// The peak cell rate of the service of a group: its place in [`Scenario::traffic`](crate::Scenario::traffic).
    Pcr(usize),
}
