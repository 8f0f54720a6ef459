//! A bound of the work of a run.

use cellway_scenario::{Framing, Scenario};
use cellway_units::CELL_BITS;

/// Returns the most cells and full packets that the lines of a run send, counted once a line: every link is busy in both
/// directions, and what the busiest direction carries passes two lines of hosts. Lines that other lines keep idle make it too
/// high, and packets that are not full too low.
pub fn hops_at_most(scenario: &Scenario) -> f64 {
    let full = scenario.traffic.iter().map(|group| group.largest_packet().0 * 8).max().unwrap_or(1).max(1);
    let mut all = 0.0;
    let mut busiest: f64 = 0.0;
    for link in &scenario.links {
        let unit = if link.framing == Framing::Atm { CELL_BITS.0 } else { full };
        for direction in [0, 1] {
            let units = link.rate_of(direction).as_bps() as f64 / unit as f64;
            all += units;
            busiest = busiest.max(units);
        }
    }
    (all + 2.0 * busiest) * scenario.run.duration.as_secs_f64()
}
