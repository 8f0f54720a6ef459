//! Replications that are all alike: what they vary has no effect, so their intervals have no width.

use std::hash::{DefaultHasher, Hash, Hasher};

use cellway_record::{RunKey, RunRecord};

use crate::transient::ENOUGH_SEEDS;

/// The runs of one point.
#[derive(Clone, Copy, Default)]
struct Runs {
    first: u64,
    runs: u64,
    differ: bool,
}

/// Per point, if its replications had the same summary.
#[derive(Default)]
pub(crate) struct Alike {
    points: Vec<Runs>,
}

impl Alike {
    pub(crate) fn add(&mut self, key: &RunKey, record: &RunRecord) {
        let mut hasher = DefaultHasher::new();
        for row in &record.summary {
            (&*row.subject, row.value.to_bits()).hash(&mut hasher);
        }
        let summary = hasher.finish();
        let point = key.point as usize;
        if self.points.len() <= point {
            self.points.resize(point + 1, Runs::default());
        }
        let runs = &mut self.points[point];
        if runs.runs == 0 {
            runs.first = summary;
        }
        runs.differ |= summary != runs.first;
        runs.runs += 1;
    }

    /// Returns a warning if there are points whose replications were all alike.
    pub(crate) fn warning(&self) -> Option<String> {
        let alike = self.points.iter().filter(|of| of.runs > 1 && !of.differ).count();
        let all = self.points.iter().filter(|of| of.runs > 0).count();
        let points = match (alike, all) {
            (0, _) => return None,
            (1, 1) => String::new(),
            _ => format!(" at {alike} of {all} points"),
        };
        Some(format!(
            "all seeds gave the same figures{points}, so their intervals have no width: nothing that is random has an \
             effect there; accepted: starts that vary (traffic.NAME.jitter), or no more seeds than the check of the \
             warm-up takes, {ENOUGH_SEEDS}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use cellway_record::metric::slot::GOODPUT;
    use cellway_record::{Rows, Source};

    use super::*;

    fn alike(runs: &[(u32, f64)]) -> Option<String> {
        let mut alike = Alike::default();
        for (run, &(point, value)) in runs.iter().enumerate() {
            let key = RunKey { run: run as u32, point, seed: run as u64, axes: Vec::new() };
            let mut rows = Rows::new(Source::Simulate);
            rows.put(&"a".into(), &GOODPUT, value);
            alike.add(&key, &RunRecord { summary: rows.finish(), ..RunRecord::default() });
        }
        alike.warning()
    }

    #[test]
    fn only_points_of_several_equal_runs_are_named() {
        assert_eq!(alike(&[(0, 1.0), (1, 2.0)]), None);
        assert_eq!(alike(&[(0, 1.0), (0, 1.0), (0, 1.5)]), None);
        let only = alike(&[(0, 1.0), (0, 1.0)]).unwrap();
        assert!(only.starts_with("all seeds gave the same figures, so ") && only.ends_with("takes, 4"), "{only}");
        let two = [(0, 1.0), (0, 1.0), (1, 1.0), (1, 2.0)];
        assert!(alike(&two).unwrap().starts_with("all seeds gave the same figures at 1 of 2 points, so "));
    }
}
