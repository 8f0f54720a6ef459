//! Changes that contradict each other, or what does not change.

use cellway_units::Rate;

use crate::check::Check;
use crate::check::network::Network;
use crate::model::{Change, ChangeOf, Shaper};
use crate::tree::at;

impl Check<'_> {
    /// After all changes of a moment no shaper may be above the line that it sends on. At the start none is.
    pub(super) fn shapers_stay_within(&mut self, changes: &[Change], network: &Network, shapers: &[Shaper]) {
        let mut lines: Vec<Rate> = network.links.iter().map(|link| link.rate).collect();
        let mut rates: Vec<Rate> = shapers.iter().map(|shaper| shaper.rate).collect();
        let mut order: Vec<usize> = (0..changes.len()).collect();
        order.sort_by_key(|&i| changes[i].at);
        for moment in order.chunk_by(|&a, &b| changes[a].at == changes[b].at) {
            for change in moment.iter().map(|&i| &changes[i]) {
                match change.what {
                    ChangeOf::Link(link) => lines[link.0] = change.rate,
                    ChangeOf::Shaper(shaper) => rates[shaper] = change.rate,
                    ChangeOf::Pcr(_) => {}
                }
            }
            for (k, shaper) in shapers.iter().enumerate() {
                let (line, rate) = (lines[shaper.link.0], rates[k]);
                let mut changed = moment.iter().rev().copied().filter(|&i| match changes[i].what {
                    ChangeOf::Link(link) => link == shaper.link,
                    ChangeOf::Shaper(place) => place == k,
                    ChangeOf::Pcr(_) => false,
                });
                let Some(i) = changed.next().filter(|_| rate > line) else { continue };
                let (name, link) = (&shaper.name, &network.links[shaper.link.0].name);
                let message = format!("from then on shaper {name:?} has {rate}, more than link {link:?}, {line}");
                self.refuse(&at!["change", i, "rate"], message, "a shaper of at most the rate of its line at any time");
            }
        }
    }
}
