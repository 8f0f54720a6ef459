//! Loss on links.

use cellway_net::Loss;
use cellway_units::Probability;

use crate::build::Builder;

impl<B: Clone> Builder<'_, B> {
    /// Returns the random losses of a link with ends of those names, one for each direction, each with its own random
    /// stream: "link/r1-s1/r1>s1/loss", with the name of the link first, as nodes may have several; or
    /// "link/ftp-1>r1/loss" for the only one of an implicit host.
    pub(crate) fn losses(&self, chance: Probability, [a, b]: [&str; 2], link: Option<&str>) -> [Loss; 2] {
        if chance.is_zero() {
            return Default::default();
        }
        let link = link.map_or(String::new(), |name| format!("{name}/"));
        [[a, b], [b, a]].map(|[from, to]| {
            let mut stream = self.streams.stream(&format!("link/{link}{from}>{to}/loss"));
            Loss::random(chance, move || stream.bits())
        })
    }
}
