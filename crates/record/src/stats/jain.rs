//! Jain's fairness index.

/// Returns Jain's index of shares: (sum x)^2 / (n sum x^2), 1 when all are equal and 1/n when one has everything. Jain,
/// Chiu and Hawe 1984 (DEC-TR-301). `None` if there are no shares, or all are zero.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_a_case_by_hand() {
        assert_eq!(jain(&[3.0; 5]), Some(1.0));
        assert_eq!(jain(&[0.0, 0.0, 7.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
