//! The end of the initial transient of a run: the marginal standard error rule.

/// The cut of the rule in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truncation {
    /// Observations to leave out at the start.
    pub cut: usize,
    /// Observations in the series.
    pub len: usize,
    /// True if the best cut lies before the last candidate, half the series: if not, the series was still changing and
    /// no cut can be trusted.
    pub settled: bool,
}

impl Truncation {
    /// Returns true if leaving out the first `warmup` observations is enough: the series settles, and does so by then.
    pub fn suffices(&self, warmup: usize) -> bool {
        self.settled && self.cut <= warmup
    }
}

/// MSER-m: of the means of batches of `batch` observations, cuts where the rest has the least standard error of its
/// mean. White 1997; White, Cobb and Spratt 2000. An incomplete batch at the end is left out. `None` for fewer than
/// four batches, or for batches of size zero.
pub fn mser(series: &[f64], batch: usize) -> Option<Truncation> {
    let means: Vec<f64> = series.chunks_exact(batch.max(1)).map(|b| b.iter().sum::<f64>() / b.len() as f64).collect();
    if batch == 0 || means.len() < 4 {
        return None;
    }
    // The sums below are of distances from one common value: this does not change the result and keeps its digits.
    let centre = means.iter().sum::<f64>() / means.len() as f64;
    let last = means.len() / 2;
    let (mut sum, mut squares, mut kept) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, means.len());
    for (d, mean) in means.iter().enumerate().rev() {
        let x = mean - centre;
        sum += x;
        squares += x * x;
        kept += 1.0;
        let statistic = (squares - sum * sum / kept).max(0.0) / (kept * kept);
        // From the back, so that of equal cuts the earliest wins.
        if d <= last && statistic <= best.0 {
            best = (statistic, d);
        }
    }
    Some(Truncation { cut: best.1 * batch, len: series.len(), settled: best.1 < last })
}

/// Applies [`mser`] with batches of five, the usual choice.
pub fn mser5(series: &[f64]) -> Option<Truncation> {
    mser(series, 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a fixed pattern of mean zero in place of noise.
    fn ripple(i: usize) -> f64 {
        ((i * 7919 + 13) % 101) as f64 / 101.0 - 0.5
    }

    #[test]
    fn a_step_is_cut_where_it_ends() {
        let series: Vec<f64> = (0..500).map(|i| if i < 60 { 20.0 } else { 0.0 } + ripple(i)).collect();
        let found = mser5(&series).unwrap();
        assert!(found.settled && (60..=75).contains(&found.cut), "{found:?}");
        assert!(found.suffices(100) && !found.suffices(50));
    }

    #[test]
    fn a_steady_series_needs_little_cut() {
        let series: Vec<f64> = (0..1000).map(ripple).collect();
        assert!(mser5(&series).unwrap().suffices(250));
    }

    #[test]
    fn a_series_that_keeps_rising_does_not_settle() {
        let series: Vec<f64> = (0..400).map(|i| i as f64).collect();
        let found = mser5(&series).unwrap();
        assert!(!found.settled && !found.suffices(usize::MAX));
    }

    /// Batch means 9, 1, 1, 1, 1, 1: the rest after the first has no spread at all.
    #[test]
    fn the_statistic_by_hand() {
        let series: Vec<f64> = [9.0, 1.0, 1.0, 1.0, 1.0, 1.0].iter().flat_map(|&m| [m; 5]).collect();
        assert_eq!(mser5(&series), Some(Truncation { cut: 5, len: 30, settled: true }));
        assert_eq!(mser5(&[2.5; 40]), Some(Truncation { cut: 0, len: 40, settled: true }));
    }

    #[test]
    fn too_short_for_a_cut() {
        assert_eq!(mser5(&[1.0; 19]), None);
        assert_eq!(mser(&[1.0; 19], 0), None);
    }
}
