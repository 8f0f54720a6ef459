//! The laws as they are in files: their names, and the names of their parameters.

use cellway_apps::Law;

use crate::file::LawName;

impl LawName {
    /// Returns the name of a law, and the values of its parameters.
    pub(crate) fn of(law: Law) -> (LawName, Vec<f64>) {
        match law {
            Law::Lognormal { mu, sigma } => (LawName::Lognormal, vec![mu, sigma]),
            Law::Pareto { minimum, shape } => (LawName::Pareto, vec![minimum, shape]),
            Law::Weibull { scale, shape } => (LawName::Weibull, vec![scale, shape]),
            Law::Exponential { mean } => (LawName::Exponential, vec![mean]),
        }
    }

    /// Returns the names of the parameters, in the order of their values.
    pub(crate) fn parameters(self) -> &'static [&'static str] {
        match self {
            LawName::Lognormal => &["mu", "sigma"],
            LawName::Pareto => &["minimum", "shape"],
            LawName::Weibull => &["scale", "shape"],
            LawName::Exponential => &["mean"],
        }
    }

    /// Returns the law of this name with these values; `None` if there are as many as it has not.
    pub(crate) fn law(self, values: &[f64]) -> Option<Law> {
        Some(match (self, values) {
            (LawName::Lognormal, &[mu, sigma]) => Law::Lognormal { mu, sigma },
            (LawName::Pareto, &[minimum, shape]) => Law::Pareto { minimum, shape },
            (LawName::Weibull, &[scale, shape]) => Law::Weibull { scale, shape },
            (LawName::Exponential, &[mean]) => Law::Exponential { mean },
            _ => return None,
        })
    }
}

/// Returns the name of a law in files.
pub fn law_name(law: Law) -> &'static str {
    LawName::of(law).0.name()
}

/// Returns a law whose parameters are rounded by `rounded`.
pub fn rounded_law(law: Law, rounded: impl Fn(f64) -> f64) -> Option<Law> {
    let (name, values) = LawName::of(law);
    name.law(&values.into_iter().map(rounded).collect::<Vec<f64>>())
}
