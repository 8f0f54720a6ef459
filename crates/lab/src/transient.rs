//! Whether the warm-up was long enough. `cellsim` section 2.3 plotted output over time to find out.

use cellway_record::stats::{Moments, mser};
use cellway_record::{RunKey, RunRecord};
use cellway_scenario::Point;

/// The relative change of the mean that a leftover of the transient may cause unmentioned. MSER alone
/// also cuts at harmless wiggles, of a series that hardly varies or of one that is noise throughout.
const TOLERATED: f64 = 0.01;

/// Mean of some bins, and the variance of a single one.
struct Spread {
    mean: f64,
    variance: Option<f64>,
    bins: f64,
}

fn spread(bins: &[f64]) -> Spread {
    let mut moments = Moments::new();
    bins.iter().for_each(|&bin| moments.push(bin));
    Spread { mean: mean(bins), variance: moments.variance(), bins: bins.len() as f64 }
}

impl Spread {
    /// Whether the means are further apart than noise explains: three standard errors. A single bin
    /// is taken to vary as those of the other part do.
    fn differs_from(&self, other: &Spread) -> bool {
        let variance = |s: &Spread, o: &Spread| s.variance.or(o.variance).unwrap_or(0.0) / s.bins;
        (self.mean - other.mean).abs() > 3.0 * (variance(self, other) + variance(other, self)).sqrt()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Per point, the total throughput of all conversations in each bin, summed over the replications:
/// averaging over seeds takes out the noise of single runs and leaves the transient.
#[derive(Default)]
pub(crate) struct TransientCheck {
    bins: Vec<Vec<f64>>,
}

impl TransientCheck {
    pub(crate) fn add(&mut self, key: &RunKey, record: &RunRecord) {
        let point = key.point as usize;
        if self.bins.len() <= point {
            self.bins.resize(point + 1, Vec::new());
        }
        let bins = &mut self.bins[point];
        let rows = record.series.iter().filter(|row| row.metric == "throughput");
        let mut bin = None::<(f64, usize)>;
        for row in rows {
            let t = row.t.unwrap_or_default();
            let index = match bin {
                None => 0,
                Some((last, index)) if last == t => index,
                Some((_, index)) => index + 1,
            };
            bin = Some((t, index));
            if bins.len() <= index {
                bins.resize(index + 1, 0.0);
            }
            bins[index] += row.value;
        }
    }

    /// The points whose transient outlasts the warm-up: the MSER rule cuts after it, and what stands
    /// between the warm-up and the cut moves the mean by more than [`TOLERATED`] and is not noise.
    pub(crate) fn doubtful<'a>(&self, points: impl Iterator<Item = &'a Point>) -> Vec<String> {
        points
            .zip(&self.bins)
            .filter(|(point, bins)| {
                let warmup = point.scenario.run.warmup.as_ps() / point.scenario.observe.interval.as_ps();
                let warmup = (warmup as usize).min(bins.len());
                mser(bins, 1).is_some_and(|cut| {
                    !cut.suffices(warmup) && cut.cut > warmup && {
                        let (left, settled) = (spread(&bins[warmup..cut.cut]), spread(&bins[cut.cut..]));
                        let moved = (mean(&bins[warmup..]) - settled.mean).abs();
                        moved > TOLERATED * settled.mean.abs() && left.differs_from(&settled)
                    }
                })
            })
            .map(|(point, _)| {
                let axes: Vec<String> = point.axes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                if axes.is_empty() { "the only point".to_owned() } else { axes.join(", ") }
            })
            .collect()
    }
}
