//! The rates with which a run starts: changes at 0 s are applied.

use cellway_units::Rate;

use crate::model::{ChangeOf, LinkIndex, NodeIndex, Scenario};

impl Scenario {
    /// Returns the rate of a link, in the direction from its end `from`, when the run starts.
    pub fn link_rate_at_start(&self, link: LinkIndex, from: NodeIndex) -> Rate {
        let end = usize::from(self.links[link.0].a != from);
        let is_here =
            |what| matches!(what, ChangeOf::Link(l, direction) if l == link && direction.ports().contains(&end));
        self.changed_at_start(is_here).unwrap_or(self.links[link.0].rate_of(end))
    }

    /// Returns the peak rate of a shaper when the run starts.
    pub fn shaper_rate_at_start(&self, shaper: usize) -> Rate {
        self.changed_at_start(|what| what == ChangeOf::Shaper(shaper)).unwrap_or(self.shapers[shaper].rate)
    }

    /// Returns the peak cell rate of the service of a group when the run starts, if it has one.
    pub fn pcr_at_start(&self, group: usize) -> Option<Rate> {
        self.changed_at_start(|what| what == ChangeOf::Pcr(group)).or(self.traffic[group].service.pcr())
    }

    /// Returns true if a rate changes after the start.
    pub fn changes_later(&self) -> bool {
        self.changes.iter().any(|change| !change.at.is_zero())
    }

    /// Returns the rate that the last of the changes at 0 s for which `is_of` holds sets, if any.
    fn changed_at_start(&self, is_of: impl Fn(ChangeOf) -> bool) -> Option<Rate> {
        let at_start = self.changes.iter().filter(|change| change.at.is_zero() && is_of(change.what));
        at_start.last().map(|change| change.rate)
    }
}
