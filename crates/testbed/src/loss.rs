//! Loss on the links of implicit hosts.

use cellway_net::Loss;
use cellway_units::Probability;

use crate::build::Builder;

impl<B: Clone> Builder<'_, B> {
    /// Returns the random losses of the link of an implicit host, one for each direction, each with its own random stream:
    /// "link/ftp-1>r1/loss".
    pub(crate) fn losses(&self, chance: Probability, [a, b]: [&str; 2]) -> [Loss; 2] {
        if chance.is_zero() {
            return Default::default();
        }
        [[a, b], [b, a]].map(|[from, to]| {
            let mut stream = self.streams.stream(&format!("link/{from}>{to}/loss"));
            Loss::random(chance, move || stream.bits())
        })
    }
}
