//! Changes of the rates of packet lines.

use cellway_net::RateSchedule;
use cellway_scenario::{Change, ChangeOf, Framing, LinkIndex};
use cellway_units::{Rate, Time};

use crate::build::Builder;

impl<B: Clone> Builder<'_, B> {
    /// Returns the schedules of a link's two directions: the changes of a packet link; none of an ATM link, whose changes
    /// [`Testbed::change`](crate::Testbed::change) applies from cell to cell.
    pub(crate) fn schedules(&self, link: LinkIndex) -> [RateSchedule; 2] {
        let is_scheduled = self.scenario.links[link.0].framing != Framing::Atm;
        [0, 1].map(|end| {
            let of = |change: &Change| -> Option<(Time, Rate)> {
                let ChangeOf::Link(changed, direction) = change.what else { return None };
                let is_here = changed == link && direction.ports().contains(&end);
                is_here.then_some((Time::ZERO + change.at, change.rate))
            };
            RateSchedule::new(self.scenario.changes.iter().filter(|_| is_scheduled).filter_map(of).collect())
        })
    }
}
