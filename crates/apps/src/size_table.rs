//! Cumulative distributions of flow sizes, piecewise linear.

/// Octets of payload of the packets in which the published distributions count.
const PACKET: f64 = 1460.0;

/// Sizes of flows to a cluster that answers web searches, in packets: M. Alizadeh et al., "DCTCP",
/// SIGCOMM 2010, figure 4, with the knots of the simulations of pFabric (Alizadeh et al., SIGCOMM 2013).
const WEB_SEARCH: [(f64, f64); 11] = [
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20_000.0, 1.0),
];

/// Sizes of flows of a cluster for data mining, in packets: A. Greenberg et al., "VL2", SIGCOMM 2009, figure 2, with the
/// knots of the simulations of pFabric.
const DATA_MINING: [(f64, f64); 8] =
    [(1.0, 0.5), (2.0, 0.6), (3.0, 0.7), (7.0, 0.8), (267.0, 0.9), (2107.0, 0.95), (66_667.0, 0.99), (666_667.0, 1.0)];

/// A cumulative distribution of sizes, linear between its knots. The probability of the first knot is that of its size;
/// two knots of one size are a jump.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// Sizes (bytes) and the probability of at most that; both ascending, the last probability 1.
    knots: Vec<(f64, f64)>,
}

impl SizeTable {
    /// Takes knots that are in order and end at 1.
    pub(crate) fn new(knots: impl IntoIterator<Item = (f64, f64)>) -> SizeTable {
        SizeTable { knots: knots.into_iter().collect() }
    }

    /// Returns the distribution of a cluster that answers web searches.
    pub fn web_search() -> SizeTable {
        SizeTable::new(WEB_SEARCH.map(|(packets, probability)| (packets * PACKET, probability)))
    }

    /// Returns the distribution of a cluster for data mining.
    pub fn data_mining() -> SizeTable {
        SizeTable::new(DATA_MINING.map(|(packets, probability)| (packets * PACKET, probability)))
    }

    /// Returns the size that a share `u` of the flows does not exceed; 0 <= u < 1.
    pub(crate) fn quantile(&self, u: f64) -> f64 {
        let above = self.knots.partition_point(|knot| knot.1 <= u);
        let Some(&(size, probability)) = self.knots.get(above) else {
            return self.knots.last().map_or(0.0, |knot| knot.0);
        };
        match above.checked_sub(1).map(|before| self.knots[before]) {
            Some((least, p)) => least + (size - least) * ((u - p) / (probability - p)),
            None => size,
        }
    }

    /// Returns the mean (bytes).
    pub fn mean(&self) -> f64 {
        let first = self.knots.first().map_or(0.0, |knot| knot.0 * knot.1);
        first + self.knots.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The means that the simulations of pFabric use to turn a load into a rate of arrivals: 1138 packets for web search
    /// and 5116 for data mining.
    #[test]
    fn the_published_distributions_have_their_means() {
        let packets = |table: SizeTable| table.mean() / PACKET;
        assert!(
            (packets(SizeTable::web_search()) / 1138.0 - 1.0).abs() < 0.005,
            "{}",
            packets(SizeTable::web_search())
        );
        assert!((packets(SizeTable::data_mining()) / 5116.0 - 1.0).abs() < 0.0005);
    }

    #[test]
    fn quantiles_lie_on_the_lines_between_knots() {
        // Half of all are 100 B, a tenth is 300 B: the rest is even from 100 B to 300 B, and from 300 B to 500 B.
        let table = SizeTable::new([(100.0, 0.5), (300.0, 0.7), (300.0, 0.8), (500.0, 1.0)]);
        for (u, size) in [(0.0, 100.0), (0.49, 100.0), (0.5, 100.0), (0.6, 200.0), (0.75, 300.0), (0.9, 400.0)] {
            assert!((table.quantile(u) - size).abs() < 1e-9, "{u}: {}", table.quantile(u));
        }
        assert!((table.mean() - (50.0 + 40.0 + 30.0 + 80.0)).abs() < 1e-9);
    }
}
