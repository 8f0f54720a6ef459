//! Loss on links.

use cellway_net::PortId;
use cellway_units::Probability;

use crate::build::Builder;

impl<B: Clone> Builder<'_, B> {
    /// Loses units on a link with ends of those names, in both directions, each with a random stream of its own:
    /// "link/r1-s1/r1>s1/loss", with the name of the link first, as nodes may have several; or "link/ftp-1>r1/loss" for
    /// the only one of an implicit host.
    pub(crate) fn lose(&mut self, ports: [PortId; 2], chance: Probability, [a, b]: [&str; 2], link: Option<&str>) {
        if chance.is_zero() {
            return;
        }
        let link = link.map_or(String::new(), |name| format!("{name}/"));
        for (port, [from, to]) in ports.into_iter().zip([[a, b], [b, a]]) {
            let mut stream = self.streams.stream(&format!("link/{link}{from}>{to}/loss"));
            self.fabric.set_loss(port, chance, move || stream.bits());
        }
    }

    /// Loses the units with these numbers on a link, in each direction.
    pub(crate) fn lose_listed(&mut self, ports: [PortId; 2], numbers: &[Vec<u64>; 2]) {
        for (port, numbers) in ports.into_iter().zip(numbers) {
            self.fabric.set_lost(port, numbers.clone());
        }
    }
}
