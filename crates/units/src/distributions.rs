//! Numbers of a distribution from random bits.

/// Returns a number from 0 to below 1: the upper 53 of 64 random bits, which an `f64` holds exactly.
#[inline]
pub fn uniform(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a variate of the standard normal distribution, made of two draws of 64 random bits: the first of the pair of
/// G. E. P. Box and M. E. Muller (1958). It does not depend on the mathematical library of the system.
pub fn standard_normal(draws: [u64; 2]) -> f64 {
    let [u, v] = draws.map(uniform);
    libm::sqrt(-2.0 * libm::log1p(-u)) * libm::cos(2.0 * std::f64::consts::PI * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws of 1 - exp(-1/2) and of a whole, a quarter and a half turn: the radius is 1.
    #[test]
    fn a_pair_of_draws_is_a_radius_and_an_angle() {
        let part = |share: f64| (share * 18_446_744_073_709_551_616.0) as u64;
        let radius = part(1.0 - (-0.5f64).exp());
        for (turn, expected) in [(0.0, 1.0), (0.25, 0.0), (0.5, -1.0)] {
            assert!((standard_normal([radius, part(turn)]) - expected).abs() < 1e-12, "{turn}");
        }
        assert_eq!(standard_normal([0, 0]), 0.0);
        // The largest draw of all is finite.
        assert!(standard_normal([u64::MAX, 0]) < 9.0);
    }
}
