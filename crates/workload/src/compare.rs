//! The distances between the distributions of two workload files.

use cellway_apps::Distribution;

use crate::model::{Class, WorkloadFile};

/// The factor of the distance that two samples of one distribution exceed with a probability of 5 %.
///
/// N. V. Smirnov, Table for estimating the goodness of fit of empirical distributions, Ann. Math. Statist. 19 (1948).
const FIVE_PER_CENT: f64 = 1.36;

/// The distance between a distribution of two files.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The class.
    pub class: String,
    /// The distribution.
    pub distribution: &'static str,
    /// The largest distance between the two cumulative distributions (Kolmogorov-Smirnov).
    pub distance: f64,
    /// The distance that samples of these sizes of one distribution exceed with a probability of 5 %.
    pub bound: f64,
    /// The sizes of the two samples.
    pub samples: [u64; 2],
    /// The means.
    pub means: [f64; 2],
}

/// A class or a distribution that only one of two files has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    /// The file that has it: 0 or 1.
    pub file: usize,
    /// The class.
    pub class: String,
    /// The distribution; the whole class if absent.
    pub distribution: Option<&'static str>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The distributions that both have, in the order of the first file.
    pub differences: Vec<Difference>,
    /// Those that only one has.
    pub only: Vec<Only>,
}

impl Difference {
    /// Returns true if the distance is larger than samples of one distribution explain.
    pub fn is_significant(&self) -> bool {
        self.distance > self.bound
    }
}

impl Comparison {
    /// Returns true if both have the same classes and distributions, and no distance is significant.
    pub fn is_alike(&self) -> bool {
        self.only.is_empty() && !self.differences.iter().any(Difference::is_significant)
    }
}

/// Compares the distributions of two files, classes by their names. `rtt` is compared as well.
pub fn compare(files: [&WorkloadFile; 2]) -> Comparison {
    let mut comparison = Comparison::default();
    for class in &files[0].classes {
        match files[1].class(&class.name).filter(|other| other.transport() == class.transport()) {
            Some(other) => compare_classes([class, other], &mut comparison),
            None => comparison.only.push(Only { file: 0, class: class.name.clone(), distribution: None }),
        }
    }
    for class in &files[1].classes {
        if files[0].class(&class.name).is_none_or(|other| other.transport() != class.transport()) {
            comparison.only.push(Only { file: 1, class: class.name.clone(), distribution: None });
        }
    }
    comparison
}

fn compare_classes(classes: [&Class; 2], comparison: &mut Comparison) {
    let class = classes[0].name.clone();
    for (file, other) in [(0, 1), (1, 0)] {
        for (name, distribution) in classes[file].distributions() {
            match classes[other].distribution(name) {
                Some(second) if file == 0 => {
                    comparison.differences.push(difference(class.clone(), name, [distribution, second]));
                }
                Some(_) => {}
                None => comparison.only.push(Only { file, class: class.clone(), distribution: Some(name) }),
            }
        }
    }
}

fn difference(class: String, distribution: &'static str, both: [&Distribution; 2]) -> Difference {
    let samples = both.map(|one| one.samples);
    let [n, m] = samples.map(|samples| samples as f64);
    Difference {
        class,
        distribution,
        // Octets and counts are whole numbers, however a file has come to its quantiles.
        distance: match Class::unit(distribution) {
            "s" => both[0].distance(both[1]),
            _ => both[0].whole_distance(both[1]),
        },
        bound: FIVE_PER_CENT * (1.0 / n + 1.0 / m).sqrt(),
        samples,
        // Means of quantiles are finite.
        means: both.map(|one| one.mean(false).unwrap_or(f64::INFINITY)),
    }
}
