//! A claim of a paper: one row of `expected.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::values::{At, Figure};

/// One row of `expected.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Its name, unique in the paper.
    pub id: String,
    /// Section of the paper.
    #[serde(default)]
    pub section: String,
    /// Figure, table or equation of the paper.
    #[serde(default)]
    pub figure: String,
    /// The claim of the paper, in our words.
    pub claim: String,
    /// A short form for figures.
    #[serde(default)]
    pub(super) label: String,
    /// Number or trend.
    pub form: Form,
    /// The relation of the row to the paper.
    #[serde(default)]
    pub(super) origin: Origin,

    /// The number of the paper, in `unit`.
    pub(super) published: Option<f64>,
    /// The number as it is printed, if it is more than a number: "roughly 310".
    pub(super) published_text: Option<String>,
    /// Accepted deviation relative to the published number: 0.05 is 5 % to either side.
    pub(super) within: Option<f64>,
    /// The least accepted value, if `within` does not give it.
    pub(super) min: Option<f64>,
    /// Largest accepted value, likewise.
    pub(super) max: Option<f64>,
    /// The reason for this tolerance.
    #[serde(default)]
    pub(super) tolerance: String,
    /// Unit of all values of the row.
    #[serde(default)]
    pub(super) unit: String,
    /// True if the paper itself uses the equation outside its domain, so that a caveat does not change the verdict.
    #[serde(default)]
    pub(super) outside_domain: bool,

    /// The source of the judged value: the study if there is one, unless this key selects another.
    source: Option<Source>,
    /// The equation that predicts the value.
    pub(super) predict: Option<Predict>,
    /// The study that it is tested on.
    pub(crate) study: Option<String>,
    #[serde(default)]
    pub(super) subject: String,
    #[serde(default)]
    pub(super) metric: String,
    /// The value computed from the metric.
    #[serde(default)]
    pub(super) measure: Measure,
    #[serde(default)]
    pub(super) at: At,
    /// The other point, for a difference or a ratio.
    pub(super) from: Option<At>,
    /// The other point's study, if not the same.
    pub(crate) from_study: Option<String>,
    from_subject: Option<String>,
    from_metric: Option<String>,
    /// For a crossing: the axis, and the value that the metric reaches.
    pub(super) axis: Option<String>,
    pub(super) threshold: Option<f64>,
    /// For a worst deviation: a figure of theory that must be 1 at a point, such as the condition of a theorem.
    #[serde(rename = "where")]
    pub(super) domain: Option<String>,
    /// The metric times this is in the unit of the row.
    #[serde(default = "one")]
    pub(super) scale: f64,

    /// Parameters that the paper states, with their values: "window = 36592 B".
    #[serde(default)]
    pub(super) given: Vec<String>,
    /// Parameters that follow from other statements of the paper.
    #[serde(default)]
    pub(super) inferred: Vec<String>,
    /// Parameters tuned to this or another number of the paper, so that the row is no test.
    #[serde(default)]
    pub(super) fitted: Vec<String>,
    /// The attempts to explain a claim that does not reproduce.
    #[serde(default)]
    pub(super) tried: String,
    /// The part that remains without an explanation.
    #[serde(default)]
    pub(super) unexplained: String,
}

/// The kind of evidence of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A number.
    Number,
    /// An order or a trend.
    Trend,
}

/// The relation of a row to its paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A claim of the paper as it was first read.
    #[default]
    Paper,
    /// The same claim judged under another reading, added after a first run.
    Reading,
    /// Not a claim of the paper: a check that the experiment behaves as intended.
    Control,
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The runs of a study.
    Simulate,
    /// An equation.
    Predict,
    /// The runs of a study in real time, with the TCP of this host's kernel.
    Emulate,
    /// Runs in real time of the programs under test: real hosts and real gateways, over an emulated link.
    Measure,
}

impl Source {
    /// Returns the name of the source, as in tables and rows.
    pub fn word(self) -> &'static str {
        self.recorded().word()
    }

    /// Returns the source of rows in tables.
    pub(crate) fn recorded(self) -> cellway_record::Source {
        match self {
            Source::Simulate => cellway_record::Source::Simulate,
            Source::Predict => cellway_record::Source::Predict,
            Source::Emulate => cellway_record::Source::Emulate,
            Source::Measure => cellway_record::Source::Measure,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Measure {
    /// The metric at one point.
    #[default]
    Level,
    /// The metric at one point less that at another, seed by seed.
    Difference,
    /// The growth of the difference between two points from the other study to this one, seed by seed.
    Growth,
    /// The metric at one point over that at another, seed by seed.
    Ratio,
    /// The first value of an axis at which the mean of the metric reaches a threshold.
    Crossing,
    /// The largest distance of the metric from the theory for the same point, over all points.
    WorstDeviation,
    /// The least value of the metric over all points, each of which must have one.
    Least,
    /// The largest, likewise.
    Most,
}

/// The equation that predicts a value.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Predict {
    /// Its name: see `cellway predict --equations`.
    pub(super) equation: String,
    /// Its arguments, with their units.
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, String>,
    /// The divisor from the predicted value to the unit of the row: 1e6 for bit/s if the row has Mbit/s.
    #[serde(default = "one")]
    pub(super) per: f64,
}

fn one() -> f64 {
    1.0
}

impl Claim {
    /// Returns the source of the judged value.
    pub(super) fn source(&self) -> Source {
        let simulated = if self.study.is_some() { Source::Simulate } else { Source::Predict };
        self.source.unwrap_or(simulated)
    }

    /// Sets the source of a claim whose study is emulated or measured, or whose other study is.
    pub(super) fn resolve(&mut self, source: impl Fn(&str) -> Source) {
        let studies = [&self.study, &self.from_study];
        self.source = self.source.or_else(|| studies.into_iter().flatten().map(|id| source(id)).max());
    }

    /// Returns the figures that it needs, with their studies.
    pub(crate) fn figures(&self) -> Vec<(&str, Figure)> {
        let Some(study) = &self.study else { return Vec::new() };
        let own = (self.subject.clone(), self.metric.clone());
        vec![(study, own), (self.from_study.as_ref().unwrap_or(study), self.other_figure())]
    }

    /// Returns the points of sweeps that it uses, with their studies.
    pub(super) fn places(&self) -> Vec<(&str, &At)> {
        let Some(study) = &self.study else { return Vec::new() };
        let other = self.from_study.as_ref().unwrap_or(study);
        let mut all = vec![(study, Some(&self.at)), (other, self.from.as_ref())];
        // A growth is taken between the same two places of both studies.
        if self.measure == Measure::Growth {
            all.extend([(other, Some(&self.at)), (study, self.from.as_ref())]);
        }
        all.into_iter().filter_map(|(id, at)| Some((&id[..], at?))).collect()
    }

    /// Returns true if it is measured over many points.
    pub(super) fn crosses(&self) -> bool {
        matches!(self.measure, Measure::Crossing | Measure::WorstDeviation | Measure::Least | Measure::Most)
    }

    pub(super) fn other_figure(&self) -> Figure {
        let or = |own: &Option<String>, other: &String| own.as_ref().unwrap_or(other).clone();
        (or(&self.from_subject, &self.subject), or(&self.from_metric, &self.metric))
    }

    /// Returns the accepted range; infinite at an open side.
    pub(super) fn range(&self) -> (f64, f64) {
        match (self.published, self.within) {
            (Some(published), Some(within)) => {
                let half = published.abs() * within;
                (published - half, published + half)
            }
            _ => (self.min.unwrap_or(f64::NEG_INFINITY), self.max.unwrap_or(f64::INFINITY)),
        }
    }

    /// Returns the contradictions in the row, and its missing keys.
    pub(super) fn faults(&self) -> Vec<&'static str> {
        let (bounds, relative) = (self.min.is_some() || self.max.is_some(), self.within.is_some());
        let texts = [&self.given, &self.inferred, &self.fitted];
        let infinite = |number: Option<f64>| number.is_some_and(|n| !n.is_finite());
        let compared = matches!(self.measure, Measure::Difference | Measure::Growth | Measure::Ratio);
        let crossing = self.measure == Measure::Crossing;
        let measured = [&self.subject, &self.metric].into_iter().any(|name| !name.is_empty())
            || !self.at.is_empty()
            || [&self.from_study, &self.from_subject, &self.from_metric, &self.axis, &self.domain]
                .into_iter()
                .any(Option::is_some)
            || self.from.is_some()
            || self.threshold.is_some()
            || self.measure != Measure::Level
            || self.scale != one();
        let in_lists = |c: char| c == ',' || c.is_whitespace() || c.is_control();
        let checks = [
            (infinite(self.published), "published is not a finite number; accepted: a number such as 310"),
            (infinite(self.min), "min is not a finite number; accepted: a number such as 305, or no min"),
            (infinite(self.max), "max is not a finite number; accepted: a number such as 315, or no max"),
            (infinite(self.threshold), "threshold is not a finite number; accepted: a number such as 0.9"),
            (
                compared && self.from.is_none(),
                "its measure compares two points, and from is missing; accepted: from = {}",
            ),
            (crossing && (self.axis.is_none() || self.threshold.is_none()), "a crossing needs an axis and a threshold"),
            (self.id.is_empty(), "its id is empty"),
            (self.id.contains(in_lists), "its id has a comma, a space or a line break; accepted: an id such as fig-3"),
            (
                self.study.is_none() && measured,
                "it has a figure of a study, and study is missing; accepted: study = \"...\", or no subject, metric, \
                 measure, at, from, axis, threshold, where and scale",
            ),
            (bounds && relative, "it has within, and min or max; accepted: within alone, or min and max"),
            (!bounds && !relative, "it accepts anything: within, min or max is missing"),
            (relative && self.published.is_none(), "within needs a published number"),
            (
                self.within.is_some_and(|w| !(w >= 0.0 && w.is_finite())),
                "within is not a number of at least 0; accepted: a share of the published number such as 0.05",
            ),
            (
                relative && self.published == Some(0.0),
                "within is a share of the published number, which is 0; accepted: min and max",
            ),
            (self.min.zip(self.max).is_some_and(|(min, max)| min > max), "min is above max"),
            (self.study.is_none() && self.predict.is_none(), "it has neither a study nor an equation"),
            (!matches!(self.source, None | Some(Source::Predict)) && self.study.is_none(), "no study to be judged by"),
            (self.source() == Source::Predict && self.predict.is_none(), "no equation to be judged by"),
            (self.outside_domain && self.source() != Source::Predict, "outside-domain, but no equation judges it"),
            (self.study.is_some() && (self.subject.is_empty() || self.metric.is_empty()), "no subject or metric"),
            (!(self.scale > 0.0 && self.scale.is_finite()), "scale is not above 0"),
            (self.predict.as_ref().is_some_and(|p| !(p.per > 0.0 && p.per.is_finite())), "per is not above 0"),
            (texts.into_iter().flatten().any(|p| p.trim().is_empty()), "a parameter is empty"),
        ];
        checks.into_iter().filter_map(|(wrong, what)| wrong.then_some(what)).collect()
    }
}
