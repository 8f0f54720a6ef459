//! The runs of a study by number: those of a point follow each other, one for each seed.

use std::collections::BTreeMap;
use std::ops::Range;

/// The numbers of replications of all points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replications {
    /// The number of the first run of each point, then that of all runs.
    starts: Vec<u64>,
}

impl Replications {
    /// Returns the runs of points with these numbers of replications.
    pub(crate) fn of(of_points: &[u64]) -> Replications {
        let mut starts = vec![0];
        let mut all = 0;
        starts.extend(of_points.iter().map(|number| {
            all += number;
            all
        }));
        Replications { starts }
    }

    /// Returns the number of runs.
    pub(crate) fn runs(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Returns the most replications of a point.
    pub(crate) fn most(&self) -> u64 {
        self.starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }

    /// Returns the runs of a point.
    pub(crate) fn runs_of(&self, point: usize) -> Range<u64> {
        self.starts[point]..self.starts[point + 1]
    }

    /// Returns the point of a run, and the number of its replication there, from 0.
    ///
    /// # Panics
    /// If there is no such run.
    pub(crate) fn find(&self, run: u64) -> (usize, u64) {
        let point = self.starts.partition_point(|start| *start <= run) - 1;
        assert!(run < self.runs(), "a run is one of some point");
        (point, run - self.starts[point])
    }
}

/// The runs that are the same as an earlier one, as their points are.
pub(crate) struct Repeats<'a> {
    replications: &'a Replications,
    /// The most replications of an earlier point that is the same, by point.
    covered: Vec<u64>,
}

impl Replications {
    /// Returns the runs that are the same as earlier ones, where points are the same that have equal `names`.
    pub(crate) fn repeats<T: Ord>(&self, names: impl Iterator<Item = T>) -> Repeats<'_> {
        let mut most = BTreeMap::new();
        let covered = names.enumerate().map(|(point, name)| {
            let runs = self.runs_of(point);
            let known = most.entry(name).or_insert(0);
            std::mem::replace(known, (*known).max(runs.end - runs.start))
        });
        Repeats { covered: covered.collect(), replications: self }
    }
}

impl Repeats<'_> {
    /// Returns true if a run is the same as an earlier one.
    ///
    /// # Panics
    /// If there is no such run.
    pub(crate) fn has(&self, run: u64) -> bool {
        let (point, replication) = self.replications.find(run);
        replication < self.covered[point]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_is_one_of_its_point() {
        let replications = Replications::of(&[2, 0, 3]);
        assert_eq!((replications.runs(), replications.most()), (5, 3));
        let found: Vec<(usize, u64)> = (0..5).map(|run| replications.find(run)).collect();
        assert_eq!(found, [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)]);
        assert_eq!((replications.runs_of(1), replications.runs_of(2)), (2..2, 2..5));
        assert_eq!(Replications::of(&[]).runs(), 0);
    }

    #[test]
    fn runs_of_equal_points_repeat_those_before() {
        let replications = Replications::of(&[1, 2, 3, 2]);
        let repeats = replications.repeats("aaba".chars());
        let all: Vec<u64> = (0..8).filter(|run| repeats.has(*run)).collect();
        assert_eq!(all, [1, 6, 7]);
    }
}
