//! Whether the warm-up was long enough. `cellsim` section 2.3 plotted output over time to find out.

use cellway_record::stats::{Moments, mser};
use cellway_record::{RunKey, RunRecord};
use cellway_scenario::Point;

/// The relative change of the mean that a leftover of the transient may cause unmentioned. MSER alone
/// also cuts at harmless wiggles, of a series that hardly varies or of one that is noise throughout.
const TOLERATED: f64 = 0.01;

/// Whether the mean of `left` is further from that of `settled` than noise explains: three standard
/// errors, both parts taken to vary as the settled one does.
fn stands_out(left: &[f64], settled: &[f64]) -> bool {
    let mut noise = Moments::new();
    settled.iter().for_each(|&bin| noise.push(bin));
    let bins = 1.0 / left.len() as f64 + 1.0 / settled.len() as f64;
    (mean(left) - mean(settled)).abs() > 3.0 * (noise.variance().unwrap_or(0.0) * bins).sqrt()
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
                        let (left, settled) = (&bins[warmup..cut.cut], &bins[cut.cut..]);
                        let moved = (mean(&bins[warmup..]) - mean(settled)).abs();
                        moved > TOLERATED * mean(settled).abs() && stands_out(left, settled)
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
